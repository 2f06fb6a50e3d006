"""Think times of closed users that depend on the response: the fixed point, and simulations."""

import heapq

import numpy as np
import pytest

from workloadkit.queueing import QueueingError, QueueingWarning, breaks, closed, mixed
from workloadkit.queueing.think_times import FIXED_POINT


def test_the_mean_think_time_is_that_of_its_own_responses():
    found = closed(N=[2, 5, 10], Z=breaks(1, [20, 30, 5], 3), S=1)
    mean = 1 + (np.array([20, 30, 5]) - 1) * closed([2, 5, 10], found.parameters["Z"], 1).sf(3)
    assert found.parameters["Z"] == pytest.approx(mean, rel=1e-10)
    assert found.check() == pytest.approx([0] * 3, abs=1e-12)
    both = mixed(0.3, 5, breaks(1, 20, 3), 1, servers=2)
    again = mixed(0.3, 5, both.parameters["Z"], 1, servers=2)
    assert both.parameters["Z"] == pytest.approx(1 + 19 * again.sf(3, "closed"), rel=1e-10)
    assert both.exactness == "approximation: fixed point of the think time"


def test_equal_or_never_reached_think_times_are_the_plain_model():
    assert closed(5, breaks(7, 7, 2), 1).R == pytest.approx(closed(5, 7, 1).R, rel=1e-8)
    assert mixed(0.4, 5, breaks(7, 99, 1e9), 1).Rc == pytest.approx(
        mixed(0.4, 5, 7, 1).Rc, rel=1e-8
    )
    assert closed(5, lambda r: 7 + 0 * r, 1).R == pytest.approx(closed(5, 7, 1).R, rel=1e-8)


def test_any_function_agrees_with_its_mean():
    found = closed(5, lambda r: 2 + 3 * r, 1)  # the mean of a straight line is that of the mean
    assert found.parameters["Z"] == pytest.approx(2 + 3 * found.R, rel=1e-4)


def test_what_has_no_single_answer_is_an_error():
    for ask, message in (
        (lambda: closed(10, breaks(20, 1, 3), 1), "Z falls with r, and several mean think times"),
        (lambda: mixed(0.3, 5, breaks(1, 2, 3), 1, p=0.5), "Z is a .*; with p it must be numbers"),
        (lambda: closed(0, breaks(1, 2, 3), 1), "N is 0; it must be finite, above 0"),
        (lambda: mixed(1.3, 5, breaks(1, 2, 3), 1), "lam is 1.3; it must be below"),
        (lambda: closed(5, breaks(1, 20, 3), 1).derivative("X", "S"), "Z depends on the response"),
    ):
        with pytest.raises(QueueingError, match=message):
            ask()
    with pytest.warns(QueueingWarning, match="1 of 2 points"):
        found = closed([1, 10], breaks(20, 1, 3), 1)
    assert np.isnan(found.X).tolist() == [False, True]


def simulated(N, think, c, lam, jobs, rng):
    """X and R of closed users, and R of open jobs, at c exponential servers, job by job."""
    events = [(rng.exponential(), user) for user in range(N)]
    if lam:
        events.append((rng.exponential(1 / lam), -1))
    heapq.heapify(events)
    free, closed_ones, open_ones, begun = [0.0] * c, [], [], 0.0
    while len(closed_ones) < jobs:
        now, user = heapq.heappop(events)
        end = max(now, heapq.heappop(free)) + rng.exponential()
        heapq.heappush(free, end)
        if user < 0:
            open_ones.append(end - now)
            heapq.heappush(events, (now + rng.exponential(1 / lam), -1))
            continue
        closed_ones.append(end - now)
        if len(closed_ones) == jobs // 10:
            begun = now
        heapq.heappush(events, (end + rng.exponential(think(end - now)), user))
    kept = closed_ones[jobs // 10 :]
    return len(kept) / (now - begun), np.mean(kept), np.mean(open_ones) if lam else np.nan


@pytest.mark.slow
def test_the_stated_errors_hold_in_simulations(rng):
    for _ in range(30):
        N, c = int(rng.integers(1, 21)), int(rng.choice([1, 3]))
        short, long, limit = rng.choice([0, 1, 5]), rng.choice([10, 20, 50]), rng.choice([1, 2, 4])
        lam = float(rng.choice([0, 0.3, 0.6])) * c
        X, R, Ro = simulated(
            N, lambda r, s=short, g=long, b=limit: s if r <= b else g, c, lam, 50_000, rng
        )
        found = mixed(lam, N, breaks(short, long, limit), 1, servers=c)
        assert abs(found.Xc / X - 1) < FIXED_POINT.error["Xc"] + 0.02
        assert abs(found.Rc / R - 1) < FIXED_POINT.error["Rc"] + 0.02
        if lam:
            assert abs(found.Ro / Ro - 1) < FIXED_POINT.error["Ro"] + 0.03
