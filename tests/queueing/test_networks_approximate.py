"""Approximate mean value analysis: fixed points, and how far they are from the truth."""

import numpy as np
import pytest

from workloadkit.queueing import QueueingError
from workloadkit.queueing.networks import bard_schweitzer, linearizer, mva


def drawn(rng, with_servers):
    """A random network of up to 3 classes and 6 stations."""
    R, K = rng.integers(1, 4), rng.integers(1, 7)
    N = rng.integers(1, 21 if R < 3 else 9, size=R)
    even = rng.random() < 0.5
    demands = rng.uniform(0, 1, (R, K)) if even else 10 ** rng.uniform(-2, 0, (R, K))
    Z = np.where(rng.random(R) < 0.3, 0, 10 ** rng.uniform(-1, 2, R))
    servers = np.where(rng.random(K) < 0.5, rng.integers(1, 9, K), 1) if with_servers else None
    return demands, N, Z, servers


def errors_stay_within(solve, seeds, with_servers):
    """Whether the largest errors over random networks are within what `exactness` says."""
    rng = np.random.default_rng(20260101)
    largest = dict.fromkeys("XRU", 0.0)
    for _ in range(seeds):
        demands, N, Z, servers = drawn(rng, with_servers)
        exact = mva(demands, N, Z, servers=servers)
        found = solve(demands, N, Z, servers=servers)
        for name in largest:
            error = np.max(np.abs(getattr(found, name) / getattr(exact, name) - 1))
            largest[name] = max(largest[name], float(error))
    stated = found.exactness.error if not with_servers else None
    if stated is None:
        stated = solve([1.0], 2, servers=[2]).exactness.error
    assert all(largest[name] <= stated[name] for name in largest), largest
    return largest, stated


@pytest.mark.parametrize("with_servers", [False, True])
@pytest.mark.parametrize("solve", [bard_schweitzer, linearizer])
def test_errors_of_some_networks_are_as_stated(solve, with_servers):
    errors_stay_within(solve, 5, with_servers)


@pytest.mark.slow
@pytest.mark.parametrize("with_servers", [False, True])
@pytest.mark.parametrize("solve", [bard_schweitzer, linearizer])
def test_errors_of_many_networks_are_as_stated(solve, with_servers):
    largest, stated = errors_stay_within(solve, 400, with_servers)
    assert largest["X"] > stated["X"] / 3  # what is stated is not idle either


def test_linearizer_is_nearer_than_its_start():
    demands, N = [[0.5, 1.0, 0.2], [0.3, 0.1, 1.0]], [6, 4]
    exact = mva(demands, N, 1.0).X
    first, third = (linearizer(demands, N, 1.0, iterations=i).X for i in (1, 3))
    assert first == pytest.approx(bard_schweitzer(demands, N, 1.0).X, rel=1e-12)
    assert np.abs(third - exact).max() < np.abs(first - exact).max() / 5


def test_one_job_alone_is_exact():
    for solve in (bard_schweitzer, linearizer):
        found = solve([0.5, 1.0], 1, 3.0, servers=[4, 1])
        assert pytest.approx(1 / 4.5, rel=1e-12) == found.X
        assert found.check() < 1e-12


def test_large_populations_reach_the_bottleneck():
    found = bard_schweitzer([[1.0, 2.0], [3.0, 0.5]], [10**6, 10**6], 10.0)
    assert found.U.sum(axis=0) == pytest.approx([1, 1], rel=1e-4)
    assert linearizer([1.0, 2.0], [0, 10**5], 5.0).X == pytest.approx([0, 0.5], rel=1e-4)


def test_no_station_is_used_for_more_than_all_its_time():
    # Linearizer itself makes these classes use 1.00012 and 1.00001 of their second station
    for demands, N, Z in (
        ([[0.1, 0], [1, 1], [0, 0.1]], [1, 1, 3], [0.5, 1, 0]),
        ([[1e-300, 10], [1, 1]], [3, 3], [0.001, 2.5]),
    ):
        found = linearizer(demands, N, Z)
        assert found.U[:, 1].sum() == pytest.approx(1, abs=1e-12)
        assert found.U.sum(axis=0).max() <= 1 + 1e-12
        assert found.check() == pytest.approx(np.zeros(len(N)), abs=1e-12)
        assert found.X == pytest.approx(mva(demands, N, Z).X, rel=0.01)


def test_iterations_are_counted():
    for wrong in (0, 1.5, True):
        with pytest.raises(QueueingError, match="iterations is"):
            linearizer([1.0], 3, iterations=wrong)
