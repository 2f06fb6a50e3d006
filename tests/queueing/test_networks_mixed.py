"""Networks of closed and open classes."""

import math

import numpy as np
import pytest

from workloadkit.queueing import QueueingError, mixed
from workloadkit.queueing.networks import mixed_mva, mva


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
