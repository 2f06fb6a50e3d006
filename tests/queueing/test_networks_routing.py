"""The stated errors of QNA and of sojourn times with overtaking, by simulations job by job."""

import heapq

import numpy as np
import pytest

from workloadkit.queueing import networks


def drawn(rng, mean, scv):
    """A time of a gamma (scv up to 1) or balanced hyperexponential law."""
    if scv == 0:
        return mean
    if scv <= 1:
        return rng.gamma(1 / scv, mean * scv)
    p = (1 + np.sqrt((scv - 1) / (scv + 1))) / 2
    share = p if rng.random() < p else 1 - p
    return rng.exponential(mean / (2 * share))


def sojourns(lam, S, routing, scv, servers, scv_arrivals, jobs, rng):
    """Times in the network of first come, first served stations, without the first tenth."""
    free, upto = [[0.0] * c for c in servers], np.cumsum(routing, axis=1)
    events, order, times = [], 0, []  # time, order, station, arrival (none: from outside)
    for k, rate in enumerate(lam):
        if rate:
            heapq.heappush(events, (drawn(rng, 1 / rate, scv_arrivals), -1 - k, k, None))
    while len(times) < jobs:
        now, _, k, born = heapq.heappop(events)
        if born is None:
            born, order = now, order + 1
            later = now + drawn(rng, 1 / lam[k], scv_arrivals)
            heapq.heappush(events, (later, order, k, None))
        end = max(now, heapq.heappop(free[k])) + drawn(rng, S[k], scv[k])
        heapq.heappush(free[k], end)
        to = int(np.searchsorted(upto[k], rng.random(), side="right"))
        if to < len(S):
            order += 1
            heapq.heappush(events, (end, order, to, born))
        else:
            times.append(end - born)
    return np.array(times[jobs // 10 :])


TANDEM, LOOP = [[0, 1.0], [0, 0]], [[0.1, 0.7], [0.3, 0]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("routing", "loads", "scv", "scv_arrivals", "error"),
    [
        (TANDEM, [0.7, 0.5], [0.0, 4.0], 1.0, 0.2),
        (TANDEM, [0.5, 0.8], [4.0, 1.0], 0.25, 0.2),
        (TANDEM, [0.6, 0.6], [2.0, 0.25], 4.0, 0.2),
        (LOOP, [0.3, 0.7], [2.0, 4.0], 0.25, 0.4),
        (LOOP, [0.6, 0.7], [1.0, 0.0], 4.0, 0.4),
    ],
)
def test_the_errors_of_qna_are_as_stated(routing, loads, scv, scv_arrivals, error, rng):
    visits = np.linalg.inv(np.eye(2) - np.array(routing))[0]
    S = np.array(loads) / visits
    found = networks.qna([1, 0], S, routing, scv=scv, scv_arrivals=scv_arrivals)
    times = sojourns([1.0, 0], S, routing, scv, [1, 1], scv_arrivals, 150_000, rng)
    assert abs(found.R / times.mean() - 1) < error + 0.05
    assert found.exactness.error["R"] == 0.4


@pytest.mark.slow
def test_overtaking_makes_long_sojourns_longer_than_stated(rng):
    for lam, S, routing, short in (
        ([0.4], [1.0], [[0.5]], 0.28),
        ([0.5, 0], [1.0, 0.6], [[0, 1.0], [0.2, 0]], 0.1),
    ):
        found = networks.jackson(lam, S, routing)
        times = sojourns(lam, S, routing, [1.0] * len(S), [1] * len(S), 1.0, 300_000, rng)
        assert found.R == pytest.approx(times.mean(), rel=0.08)
        known = np.quantile(times, 0.99)
        assert -short - 0.08 < networks.sojourn(found).ppf(0.99) / known - 1 < 0.05


@pytest.mark.slow
def test_sojourns_without_overtaking_are_simulated(rng):
    found = networks.sojourn(networks.open_network([0.7, 0.5], lam=1.0))
    times = sojourns([1.0, 0], [0.7, 0.5], TANDEM, [1, 1], [1, 1], 1.0, 200_000, rng)
    for share in (0.5, 0.9, 0.99):
        assert found.ppf(share) == pytest.approx(np.quantile(times, share), rel=0.06)
