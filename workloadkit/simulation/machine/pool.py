"""One pool of processors that are all alike."""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.machine.ledger import FREE, PLANNED, SPARE
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.running import move
from workloadkit.simulation.state import N_RUNNING


class PoolState(NamedTuple):
    """Free processors.

    Parameters
    ----------
    level : ndarray of int64, shape (n_rows,)
        By row, see `ledger`.
    shadow : ndarray, shape (1,)
        Start of the job with the reservation. [s]
    """

    level: NDArray[np.int64]
    shadow: NDArray


def new_pool(procs: int, dtype: np.dtype, n_planned: int = 0) -> PoolState:
    """Return the free processors, with `n_planned` rows for a profile."""
    level = np.empty(PLANNED + n_planned, np.int64)
    level[FREE] = procs
    return PoolState(level, np.empty(1, dtype))


@inline
def need_of(state, job, now):
    """Return the processors of a job."""
    return state.jobs.procs[job]


@inline
def has_room(state, row, need):
    """Whether so many are free."""
    return state.machine.level[row] >= need


@inline
def occupy(state, row, need):
    """Take so many."""
    state.machine.level[row] -= need


@inline
def vacate(state, row, need):
    """Give so many back."""
    state.machine.level[row] += need


@inline
def copy_row(state, row, other):
    """Copy the level of another row."""
    state.machine.level[row] = state.machine.level[other]


@inline
def same_rows(state, row, other):
    """Whether two levels are equal."""
    return state.machine.level[row] == state.machine.level[other]


@inline
def room(state, row, now):
    """Return how many are free."""
    return state.machine.level[row]


@inline
def move_rows(state, rows, by):
    """Move rows as the default does, with one look-up of the levels."""
    low, high = rows
    move(state.machine.level, low, high, by)


@inline
def is_full(state, what, now):
    """Whether none is free."""
    return state.machine.level[FREE] <= 0


@inline
def reserve(state, job, now):
    """Reserve as the default does, in registers."""
    level, procs, needed = state.machine.level, state.jobs.procs, state.jobs.procs[job]
    ends, jobs = state.planned_ends, state.planned_jobs
    free, place = level[FREE], state.at[N_RUNNING] - 1
    while free < needed and place >= 0:
        free += procs[jobs[place]]
        place -= 1
    if free < needed:
        state.machine.shadow[0], level[SPARE] = state.never, 0
        return state.never
    shadow = now if place + 1 == state.at[N_RUNNING] else max(ends[place + 1], now)
    while place >= 0 and ends[place] <= shadow:
        free += procs[jobs[place]]
        place -= 1
    state.machine.shadow[0], level[SPARE] = shadow, free - needed
    return shadow


register_functions(PoolState, sys.modules[__name__])
