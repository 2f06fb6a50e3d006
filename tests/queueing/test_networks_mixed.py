"""Networks of closed and open classes."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from tests.oracles import queueing_chains as chains
from workloadkit.queueing import QueueingError, closed, mixed
from workloadkit.queueing.networks import jobs_at, mixed_mva, mva, sojourn


def test_one_station_is_the_mixed_model():
    for N, Z, S, lam in ((5, 8.0, 1.0, 0.3), (1, 0.0, 2.0, 0.1), (40, 10.0, 0.5, 1.9)):
        found, known = mixed_mva([S], N, Z, [S], lam), mixed(lam, N, Z, S)
        assert found.X == pytest.approx(known.Xc, rel=1e-12)
        assert found.R == pytest.approx(known.Rc, rel=1e-12)
        assert found.open.R == pytest.approx(known.Ro, rel=1e-12)
        assert found.check() < 1e-13
        assert found.open.check() < 1e-13


def test_is_what_the_weights_of_states_give():
    closed, passing, lam, N, Z = (1.0, 0.4), (0.5, 1.2), 0.5, 4, 2.0
    m = np.arange(400)  # open jobs at a station
    total, at_closed, at_open = 0.0, np.zeros(2), np.zeros(2)
    for first in range(N + 1):
        for second in range(N + 1 - first):
            n = first, second
            weight = Z ** (N - first - second) / math.factorial(N - first - second)
            means = np.zeros(2)
            for k in range(2):
                terms = np.array([math.comb(int(j) + n[k], n[k]) for j in m], float)
                terms *= (lam * passing[k]) ** m * closed[k] ** n[k]
                weight *= terms.sum()
                means[k] = terms @ m / terms.sum()
            total += weight
            at_closed += weight * np.array(n)
            at_open += weight * means
    found = mixed_mva(closed, N, Z, passing, lam)
    assert found.Q == pytest.approx(at_closed / total, rel=1e-12)
    assert found.open.Q == pytest.approx(at_open / total, rel=1e-12)


def test_without_open_jobs_or_without_closed_ones():
    none = mixed_mva([[1.0, 0.5], [0.2, 0.2]], [3, 2], 1.0, [[1.0, 1.0]], [0.0])
    assert pytest.approx(mva([[1.0, 0.5], [0.2, 0.2]], [3, 2], 1.0).X, rel=1e-14) == none.X
    alone = mixed_mva([1.0, 1.0], 0, 1.0, [0.5, 3.0], 1.0, servers=[1, np.inf])
    assert alone.open.R == pytest.approx(0.5 / 0.5 + 3.0)
    assert alone.open.to_frame()["station"].tolist() == [0, 1]


def test_open_classes_share_the_servers():
    closed, passing, lam = [1.0, 0.5], np.array([[1.0, 0.2], [0.5, 0.8]]), np.array([0.1, 0.3])
    found = mixed_mva(closed, 4, 2.0, passing, lam)
    left = np.array([0.75, 0.74])  # they use 0.1 + 0.15 of the first, and 0.02 + 0.24
    slowed = mva(closed / left, 4, 2.0)
    assert found.X == pytest.approx(slowed.X, rel=1e-13)
    assert found.open.X.tolist() == [0.1, 0.3]
    assert found.open.R == pytest.approx(passing / left @ (1 + slowed.Q), rel=1e-13)
    assert found.open.U == pytest.approx(np.array([[0.1, 0.02], [0.15, 0.24]]), rel=1e-13)


def test_the_station_that_open_jobs_fill_is_named():
    passing = [5.0, 0.5, 2.0]  # the first only delays
    with pytest.raises(QueueingError, match="lam: open jobs use 2 of station 2; it must be"):
        mixed_mva([1.0, 1.0, 1.0], 2, 1.0, passing, 1.0, servers=[math.inf, 1, 1])


def test_bad_input_is_named():
    for given, message in (
        ({"lam": 1.0}, "lam: open jobs use 1 of station 0"),
        ({"lam": -1.0}, "lam is -1; it must be from 0 to"),
        ({"lam": [0.5]}, "the shape of lam is"),
        ({"open_demands": [1.0, 1.0]}, "the shape of open_demands is"),
        ({"open_demands": [math.nan]}, r"open_demands\[0\] is nan"),
        ({"N": [1, 2]}, "it must be one number"),
    ):
        usual = {"demands": [1.0], "N": 2, "Z": 1.0, "open_demands": [1.0], "lam": 0.5}
        with pytest.raises(QueueingError, match=message):
            mixed_mva(**(usual | given))


def line(N, Z, S, lam, c, most, after=None):
    """Chain of the kinds of jobs in line, and of open jobs at a second server of mean `after`."""

    def moves(state):
        row, second = state
        users = row.count("c")
        if len(row) < most:
            yield (N - users) / Z, (row + "c", second)
            yield lam, (row + "o", second)
        for place in range(min(c, len(row))):
            left = row[:place] + row[place + 1 :]
            more = row[place] == "o" and after is not None and second < 5
            yield 1 / S, (left, second + more)
        if second:
            yield 1 / after, (row, second - 1)

    return chains.stationary(("", 0), moves)


@pytest.mark.parametrize("servers", [1, 2])
def test_responses_at_one_station_are_those_of_the_chain(servers):
    N, Z, S, lam, t = 2, 5.0, 1.0, 0.2, [0.4, 2.0, 7.0]
    found = mixed_mva([S], N, Z, [S], lam, servers=[servers])
    law = line(N, Z, S, lam, servers, 16)
    for part, rate in ((found.open, lambda _: lam), (found, lambda s: N - s[0].count("c"))):
        met = chains.tilted(law, rate, lambda s: len(s[0]))
        expected = [chains.response_survival(x, met, S, servers) for x in t]
        time = sojourn(part)
        assert time.sf(t) == pytest.approx(expected, abs=2e-7)
        assert time.mean == pytest.approx(part.R, rel=1e-12)
        assert time.exactness == "exact"


def test_responses_over_two_stations_are_those_of_the_chain():
    """A job in the line of the first station, which closed jobs use; then at the second one."""
    N, Z, S, lam, after = 2, 4.0, 1.0, 0.1, 0.8
    law = line(N, Z, S, lam, 1, 7, after)
    gone, states, rates = ("", -1), {}, []
    waiting = list(law)
    while waiting:  # the job follows those in `row`, then those at the second server
        state = waiting.pop()
        if state in states:
            continue
        states[state] = len(states)
        row, second = state
        if row == "-":  # it is at the second server
            after_this = [(1 / after, (row, second - 1) if second else gone)]
        else:
            moved = (row[1:], second + (row[0] == "o")) if row else ("-", second)
            after_this = [(1 / S, moved), (1 / after if second else 0.0, (row, second - 1))]
        for rate, to in after_this:
            if rate:
                rates.append((state, to, rate))
                if to != gone:
                    waiting.append(to)
    flow = np.zeros((len(states), len(states)))
    for state, to, rate in rates:
        flow[states[state], states[state]] -= rate
        if to != gone:
            flow[states[state], states[to]] += rate
    start = np.zeros(len(states))
    for state, chance in law.items():
        start[states[state]] += chance
    found = mixed_mva([S, 0.0], N, Z, [S, after], lam)
    time = sojourn(found.open)
    for t in (1.0, 4.0):
        assert time.sf(t) == pytest.approx((start @ expm(flow * t)).sum(), abs=5e-5)
    assert time.mean == pytest.approx(found.open.R, rel=1e-12)
    # closed jobs of another class, which do not pass the path, change nothing
    more = mixed_mva([[S, 0.0, 0.0], [0.0, 0.0, 3.0]], [N, 4], Z, [S, after, 0.0], lam)
    assert sojourn(more.open).sf([1.0, 4.0]) == pytest.approx(time.sf([1.0, 4.0]), rel=1e-12)


def test_quantiles_at_one_station_are_those_of_the_single_models():
    for servers, N in ((1, 3), (3, 5), (2, 20)):
        found = mixed_mva([1.0], N, 5.0, [1.0], 0.4, servers=[servers])
        known = mixed(0.4, N, 5.0, 1.0, servers=servers)
        for share in (0.5, 0.99):
            assert sojourn(found).ppf(share) == pytest.approx(known.ppf(share, "closed"), rel=1e-9)
            assert sojourn(found.open).ppf(share) == pytest.approx(known.ppf(share, "open"), 1e-9)
        only = mva([1.0], N, 5.0, servers=[servers])
        assert sojourn(only).ppf(0.9) == pytest.approx(closed(N, 5, 1, servers).ppf(0.9), rel=1e-9)
    assert jobs_at(found.open, 0) == pytest.approx(jobs_at(found, 0, job="open"), rel=1e-15)


def test_responses_without_a_formula_are_refused():
    for part, message in (
        (mixed_mva([1.0, 0.5], 2, 1.0, [1.0, 0.5], 0.3).open, "closed jobs queue at several stat"),
        (mva([1.0, 0.5], 2, 1.0), r"several stations of the path \(0, 1\)"),
        (mixed_mva([0.5], 2, 1.0, [1.0], 0.3).open, "station 0 is visited more than once"),
        (mva([1.0], 2, 1.0, visits=[2]), "station 0 is visited more than once"),
        (mva([1.0], 2, 1.0, speeds={0: [1, 3]}), "or its speed varies"),
        (mva([1.0], [2, 3], 1.0), "N is 2 numbers"),
        (mva([1.0], 0, 1.0), "N is 0"),
        (mixed_mva([1.0], 301, 1.0, [1.0], 0.3).open, "N is above 300"),
        (mva([[1.0], [1.0]], [2, 2], 1.0), "of several classes"),
    ):
        with pytest.raises(QueueingError, match=message):
            sojourn(part)


def test_overtaking_is_named():
    from workloadkit.queueing.networks import jackson, open_network

    for found, exact in (
        (open_network([1.0, 0.5], 0.5, servers=[2, 2]), True),
        (open_network([1.0, 0.5, 1.0], 0.5, servers=[1, 2, 1]), False),
        (open_network([1.0, 0.0, 1.0], 0.5, servers=[1, 2, 1]), True),
        (jackson([0.5], [0.5], [[0.5]]), False),
        (jackson([0.5, 0, 0], [1, 1, 1], [[0, 0.5, 0.5], [0, 0, 0], [0, 0, 0]]), True),
        (jackson([0.5, 0, 0], [1, 1, 1], [[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]]), False),
    ):
        assert sojourn(found).exactness.startswith("exact") == exact
