"""Small kernels on lists: the same results, to the last bit, as on arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from workloadkit._kernels import statistics
from workloadkit._kernels.compile import SmallKernel, in_python
from workloadkit._kernels.lists import on_lists


def first_of(group, n_groups):
    return np.append(0, np.cumsum(np.bincount(group, minlength=n_groups)))


def sessions_of_users(rng, n):
    """Jobs by user and value: order, value, and first of each user; and sessions by user."""
    user, session = np.sort(rng.integers(0, 3, n)), np.arange(n) // 2
    value = rng.integers(0, 4, n) / 3
    order = np.lexsort((value, user))
    return order, value[order], first_of(user, 3), session


def of_similarity(rng, n):
    order, value, first, session = sessions_of_users(rng, n)
    return order, value, first, session, n // 2 + 1, 2


def of_medians(rng, n):
    value = np.sort(rng.integers(0, 4, (n, 2)) / 3, axis=1).ravel()
    first_job, first_session = np.arange(0, 2 * n + 1, 2), np.array([0, n // 2, n])
    return value, first_job, first_session, np.array([0, 2]), np.array([0, 1])


def of_weighted_medians(rng, n):
    user, weights = rng.integers(0, 3, n), rng.integers(0, 3, (4, 3)).astype(float)
    total, start, below = weights[:, user].sum(axis=1), np.zeros(4, np.int64), np.zeros(4)
    return np.sort(rng.random(n)), user, weights, total, start, below


def of_windows(rng, n):
    size = np.array([n, n // 2, 1])
    return rng.integers(0, 3, n).astype(float), np.zeros(3, np.int64), size


def of_sessions(rng, n):
    submit = np.sort(rng.integers(0, 99, n))
    end = submit + rng.integers(0, 30, n)
    return submit, submit + 5, end, rng.integers(0, 2, n), 2, 9.5, True


ARGUMENTS = {
    "similarity_sums": of_similarity,
    "similarity_medians": of_medians,
    "shuffled_within": lambda rng, n: (rng.integers(0, 9, n), np.array([0, n // 2, n]), rng),
    "exact_depths": lambda rng, n: (rng.integers(0, 5, n), 5),
    "inversions": lambda rng, n: (rng.integers(0, 5, n), rng.integers(1, 4, n), 5),
    "near_depths": lambda rng, n: (rng.random(n) * 90, 0.05),
    "largest_counts": lambda rng, n: (rng.integers(0, 5, n), rng.integers(0, 3, n), 3, 5),
    "weighted_medians": of_weighted_medians,
    "rescaled_ranges": of_windows,
    "fluctuations": lambda rng, n: (rng.random(n), np.array([2, 4])),
    "label_sessions": of_sessions,
}  # fmt: skip


def bits(found):
    found = found if isinstance(found, tuple) else (found,)
    return [(np.asarray(part).dtype, np.asarray(part).tobytes()) for part in found]


def test_all_small_kernels_are_here():
    small = {name for name, it in vars(statistics).items() if isinstance(it, SmallKernel)}
    assert small <= set(ARGUMENTS) and set(ARGUMENTS) <= set(vars(statistics))


@pytest.mark.parametrize("name", ARGUMENTS)
@given(integers(0, 99), integers(4, 200))
def test_results_are_those_of_arrays(name, seed, n):
    function = in_python(getattr(statistics, name))
    ours, theirs = (ARGUMENTS[name](np.random.default_rng(seed), n) for _ in range(2))
    assert bits(on_lists(function)(*ours)) == bits(function(*theirs))
