"""Jobs that need several servers at once: published results, limits, bounds, and a simulation."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workloadkit import queueing
from workloadkit.queueing.errors import QueueingError
from workloadkit.queueing.parallel import (
    capacity,
    least_response,
    parallel_jobs,
    saturation_throughput,
)


def criterion(p, need, servers):
    """Mean time per job of Rumyantsev and Morozov (2017) for equal means, in exact fractions.

    j jobs are in service if their sizes sum to at most the servers and the next does not fit; then
    a completion takes 1/j.
    """
    sizes = dict(zip(need, p, strict=True))
    sums, total = {0: Fraction(1)}, Fraction(0)
    for j in range(1, servers + 1):
        before, sums = sums, {}
        for (i, a), (n, b) in itertools.product(before.items(), sizes.items()):
            if i + n <= servers:
                sums[i + n] = sums.get(i + n, 0) + a * b
        for i, a in sums.items():
            blocked = sum(b for n, b in sizes.items() if i + n > servers)
            total += a * blocked / j
    return total


@examples(40)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.lists(st.integers(1, 6), min_size=3, max_size=3, unique=True),
)
def test_saturation_with_equal_means_is_the_published_criterion(weights, need):
    need = need[: len(weights)]
    p = [Fraction(w, sum(weights)) for w in weights]
    found = saturation_throughput([float(x) for x in p], need, 1, 6)
    assert found == pytest.approx(float(1 / criterion(p, need, 6)), rel=1e-10)


def first_come(rng, n, lam, p, need, S, servers):
    """Starts by the definition: in order, each job as soon as it fits; waits if lam is infinite."""
    kind = rng.choice(len(p), n, p=p)
    run = rng.exponential(np.asarray(S, dtype=float)[kind])
    submit = np.cumsum(rng.exponential(1 / lam, n)) if np.isfinite(lam) else np.zeros(n)
    free = np.zeros(servers)  # times at which servers become free
    start, now = np.empty(n), 0.0
    for j in range(n):
        free.sort()
        now = start[j] = max(now, submit[j], free[need[kind[j]] - 1])
        free[: need[kind[j]]] = now + run[j]
    return submit, start, start + run


@pytest.mark.parametrize(
    ("p", "need", "S", "servers"),
    [([0.5, 0.5], [1, 2], [1, 3], 2), ([0.7, 0.3], [1, 4], [2, 0.5], 5)],
)
def test_saturation_of_two_classes_with_different_means(p, need, S, servers):
    _, _, end = first_come(np.random.default_rng(1), 40_000, np.inf, p, need, S, servers)
    found = saturation_throughput(p, need, S, servers)
    assert 40_000 / end.max() == pytest.approx(found, rel=0.02)


@examples(20)
@given(st.floats(0.05, 0.95), st.integers(1, 8))
def test_jobs_of_one_server_are_m_m_c(load, servers):
    found = parallel_jobs(load * servers, [1.0], [1], 1, servers)
    assert pytest.approx(queueing.mmc(load * servers, 1, servers).R, rel=1e-8) == found.R
    assert found.saturation == pytest.approx(servers)


@examples(20)
@given(st.floats(0.05, 0.95), st.integers(1, 8))
def test_jobs_of_all_servers_are_m_m_1(load, servers):
    found = parallel_jobs(load, [1.0], [servers], 1, servers)
    assert pytest.approx(queueing.mm1(load, 1).R, rel=1e-8) == found.R
    assert found.U == pytest.approx(load)


def test_small_loads_do_not_wait_and_classes_that_are_equal_may_be_joined():
    found = parallel_jobs(1e-6, [0.5, 0.5], [1, 2], [1, 3], 2)
    assert found.R == pytest.approx(2, rel=1e-5)
    split = parallel_jobs(1.1, [0.3, 0.3, 0.4], [1, 1, 2], 1, 3)
    joined = parallel_jobs(1.1, [0.6, 0.4], [1, 2], 1, 3)
    assert split.R == pytest.approx(joined.R)
    assert split.class_W[0] == pytest.approx(split.class_W[1])


def test_littles_law_holds_for_each_class():
    found = parallel_jobs(1.0, [0.6, 0.3, 0.1], [1, 2, 4], [1, 2, 0.5], 4)
    assert found.class_Q == pytest.approx(found.class_X * found.class_R)
    assert found.class_Q.sum() == pytest.approx(found.Q)
    assert found.X * found.R == pytest.approx(found.Q)


def test_a_simulation_agrees():
    given = [0.6, 0.3, 0.1], [1, 2, 4], [1, 2, 0.5], 4
    runs = []
    for seed in range(8):
        submit, start, _ = first_come(np.random.default_rng(seed), 8000, 1.0, *given)
        runs.append((start - submit)[500:].mean())
    error = np.std(runs, ddof=1) / np.sqrt(8)
    assert np.mean(runs) == pytest.approx(parallel_jobs(1.0, *given).W, abs=6 * error)


def test_the_capacity_counts_what_fits_together():
    assert capacity([1.0], [3], 1, 4) == pytest.approx(1)
    assert capacity([0.5, 0.5], [1, 3], 1, 4) == pytest.approx(2)  # one of each, always
    for p, need, S in (([0.6, 0.4], [1, 2], [1, 2]), ([0.5, 0.3, 0.2], [1, 3, 4], [2, 1, 1])):
        work = np.dot(p, np.multiply(need, S))
        assert saturation_throughput(p, need, S, 4) <= capacity(p, need, S, 4) + 1e-9
        assert capacity(p, need, S, 4) <= 4 / work + 1e-9


def test_no_scheduler_is_below_the_bound():
    assert least_response(0.8, [1.0], [1], 1, 1) == pytest.approx(queueing.srpt(0.8, 1).R)
    assert least_response(0.01, [0.5, 0.5], [1, 2], [1, 3], 4) == pytest.approx(2)
    found = parallel_jobs(1.0, [0.6, 0.4], [1, 2], 1, 2)
    assert least_response(1.0, [0.6, 0.4], [1, 2], 1, 2) < found.R


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1.2, [0.5, 0.5], [1, 2], 1, 2), "lam is 1.2; it must be above 0 and below 1.14286"),
        ((1, [0.5, 0.6], [1, 2], 1, 2), "a sum of 1, which is 1.1"),
        ((1, [0.5, 0.5], [1, 3], 1, 2), "need must be whole numbers from 1 to 2"),
        ((1, [0.5, 0.5], [1], 1, 2), "both must be"),
        ((1, [1.0], [1], 0, 2), "S must be finite and above 0"),
        ((1, [1.0], [1], 1, 1.5), "servers is 1.5"),
    ],
)
def test_what_has_no_solution_is_an_error(given, message):
    with pytest.raises(QueueingError, match=message):
        parallel_jobs(*given)
