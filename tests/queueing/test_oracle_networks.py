"""Networks against the sum over all their states, and approximations against plain writings."""

import numpy as np
import pytest

from tests.oracles import queueing_networks as oracle
from tests.oracles.queueing_accuracy import error
from workloadkit.queueing import networks

INF = np.inf


def speed(servers):
    """How fast a station works with n jobs."""
    return lambda n: n if servers == INF else min(n, int(servers))


def agree(result, known, tolerance):
    """Compare throughputs and numbers at stations, class by class."""
    X, Q = np.atleast_1d(result.X), np.atleast_2d(result.Q)
    for r, value in enumerate(known["X"]):
        assert error(X[r], value) < tolerance, ("X", r)
        for k, number in enumerate(known["Q"][r]):
            assert abs(Q[r, k] - float(number)) <= tolerance * max(1, float(number)), (r, k)


SINGLE = [
    ([0.4, 1.0, 0.2], 7, 0.0, None),
    ([0.4, 1.0, 0.2], 1, 5.0, None),
    ([2.0, 2.0], 20, 10.0, None),
    ([1.0, 0.0, 3.0], 6, 1.0, None),
    ([1.0, 0.5], 9, 2.0, [3, 1]),
    ([1.0, 0.5, 2.0], 8, 0.0, [2, 1, INF]),
    ([5.0, 1.0], 12, 1.0, [8, 1]),
    ([0.3, 0.3], 10, 0.5, [2, 4]),
]


@pytest.mark.parametrize(("demands", "N", "Z", "servers"), SINGLE)
def test_one_class_against_all_states(demands, N, Z, servers):
    speeds = [speed(c) for c in servers] if servers else None
    known = oracle.by_states([demands], [N], [Z], speeds)
    for solve in (networks.mva, networks.convolution):
        result = solve(demands, N, Z, servers=servers)
        agree(result, known, 1e-12)
        assert pytest.approx(N / float(known["X"][0]) - Z, rel=1e-11) == result.R
        if servers is None:
            busy = [float(share) for share in known["busy"]]
            assert pytest.approx(busy, rel=1e-12) == result.U
        divisors = [1 if c == INF else c for c in servers or [1] * len(demands)]
        used = [float(known["X"][0]) * d / c for d, c in zip(demands, divisors, strict=True)]
        assert pytest.approx(used, rel=1e-12) == result.U


CLASSES = [
    ([[0.5, 1.0, 0.2], [0.3, 0.1, 1.0]], [3, 2], [2.0, 0.0], None),
    ([[0.5, 1.0], [0.3, 2.0], [1.0, 0.1]], [2, 1, 2], [0.0, 4.0, 1.0], None),
    ([[1.0, 0.0], [0.5, 2.0]], [2, 3], [0.0, 0.0], None),
    ([[0.5, 1.0], [0.5, 2.0]], [3, 0], [1.0, 1.0], None),
    ([[1.0, 1.0, 0.4], [1.0, 0.7, 0.1]], [2, 3], [0.5, 3.0], [2, 1, INF]),
    ([[2.0, 0.5], [2.0, 0.1]], [4, 3], [1.0, 0.0], [3, 1]),
]


@pytest.mark.parametrize(("demands", "N", "Z", "servers"), CLASSES)
def test_classes_against_all_states(demands, N, Z, servers):
    speeds = [speed(c) for c in servers] if servers else None
    known = oracle.by_states(demands, N, Z, speeds)
    agree(networks.mva(demands, N, Z, servers=servers), known, 1e-12)
    agree(networks.convolution(demands, N, Z, servers=servers), known, 1e-12)


def test_speeds_that_depend_on_the_number_against_all_states():
    rising = [1.0, 1.5, 1.75, 2.5]
    plain = [lambda n: rising[min(n, 4) - 1], lambda n: 1]
    known = oracle.by_states([[1.0, 0.6]], [9], [2.0], plain)
    agree(networks.mva([1.0, 0.6], 9, 2.0, speeds={0: rising}), known, 1e-12)
    falling = [1.0, 0.8, 0.25, 0.125]
    plain = [lambda n: 1, lambda n: falling[min(n, 4) - 1]]
    known = oracle.by_states([[1.0, 0.6], [0.2, 0.6]], [4, 3], [2.0, 0.0], plain)
    agree(
        networks.mva([[1.0, 0.6], [0.2, 0.6]], [4, 3], [2.0, 0.0], speeds={1: falling}),
        known,
        1e-12,
    )


@pytest.mark.parametrize("seed", range(6))
def test_networks_at_random_against_all_states(seed):
    rng = np.random.default_rng(seed)
    classes, stations = rng.integers(1, 3), rng.integers(2, 4)
    demands = rng.exponential(1, (classes, stations)).round(3)
    N, Z = rng.integers(1, 5, classes), rng.exponential(2, classes).round(2)
    known = oracle.by_states(demands.tolist(), N.tolist(), Z.tolist())
    agree(networks.mva(demands, N, Z), known, 1e-12)


LARGE = [
    ([[0.5, 1.0, 0.2], [0.3, 0.1, 1.0]], [30, 20], [2.0, 0.0]),
    ([[1.0, 1.0, 1.0]], [50], [10.0]),
    ([[0.5, 1.0], [0.3, 2.0], [1.0, 0.1]], [5, 1, 9], [0.0, 4.0, 1.0]),
]


@pytest.mark.parametrize(("demands", "N", "Z"), LARGE)
def test_bard_and_schweitzer_solve_their_equations(demands, N, Z):
    result = networks.bard_schweitzer(demands, N, Z)
    residual = oracle.schweitzer_residual(
        demands, N, Z, np.ravel(result.X), np.atleast_2d(result.Q)
    )
    assert residual < 1e-8


@pytest.mark.parametrize(("demands", "N", "Z"), LARGE + [c[:3] for c in CLASSES[:2]])
def test_linearizer_is_that_of_chandy_and_neuse(demands, N, Z):
    X, Q = oracle.linearizer(demands, N, Z)
    result = networks.linearizer(demands, N, Z)
    busiest = np.max(np.ravel(X) @ np.atleast_2d(demands))
    if busiest > 1:  # more than there is, which is not handed on
        assert np.ravel(result.X) == pytest.approx(X, rel=2 * (busiest - 1))
        assert np.max(np.atleast_2d(result.U).sum(axis=0)) == pytest.approx(1, abs=1e-12)
        return
    assert np.ravel(result.X) == pytest.approx(X, rel=1e-7)
    assert np.atleast_2d(result.Q) == pytest.approx(np.array(Q), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_enclose_what_is_exact(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        demands = rng.exponential(1, rng.integers(1, 6))
        Z = float(rng.choice([0.0, rng.exponential(5)]))
        N = int(rng.integers(1, 60))
        exact = networks.mva(demands, N, Z)
        found = networks.bounds(demands, N, Z)
        D, longest = demands.sum(), demands.max()
        assert found.D_max == pytest.approx(longest)
        assert found.N_star == pytest.approx((D + Z) / longest)
        assert found.asymptotic.X_upper == pytest.approx(min(1 / longest, N / (D + Z)))
        assert found.asymptotic.X_lower == pytest.approx(N / (N * D + Z))
        for pair in (found.asymptotic, found.balanced_job, found.geometric):
            assert pair.X_lower * (1 - 1e-12) <= exact.X <= pair.X_upper * (1 + 1e-12)
            assert pair.R_lower * (1 - 1e-12) - 1e-12 <= exact.R
            assert pair.R_upper * (1 + 1e-12) + 1e-12 >= exact.R
            assert pair.X_lower >= found.asymptotic.X_lower * (1 - 1e-12)
            assert pair.X_upper <= found.asymptotic.X_upper * (1 + 1e-12)
