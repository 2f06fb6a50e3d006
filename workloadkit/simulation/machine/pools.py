"""Processors that are all alike, alone or with pools of other resources, for both engines."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.machine.ledger import FREE, PLANNED
from workloadkit.simulation.machine.plain import Machine, Pool
from workloadkit.simulation.plain.job import Job, JobView


@dataclass(frozen=True, eq=False)
class Pools(Hardware):
    """Processors and pools that serve the jobs of one log.

    Parameters
    ----------
    procs : int
    amounts : sequence of int
        Of the pools.
    need : ndarray of int64, shape (n_jobs, n_pools)
        What each job of the log needs of them.
    row : ndarray of int64, optional
        Place in the log of each job of the simulation; by default the jobs are those of the log.
    """

    amounts: Sequence[int]
    need: NDArray[np.int64]
    row: NDArray[np.int64] | None = None

    def plain(self) -> Machine:
        """Return the machine for one simulation in the plain-Python engine."""
        return Machine(self.procs, PoolsLevel(self.procs, self.amounts, self.need))

    def serving(self, workload: Any) -> "Pools":
        """Return the machine for the jobs of a workload."""
        users = workload.users
        return self if users is None else replace(self, row=users.tables.row)

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the machine's part of the compiled state, with `n_planned` rows for a profile."""
        level = np.empty(PLANNED + n_planned, np.int64)
        more = np.empty((PLANNED + n_planned, len(self.amounts)), np.int64)
        level[FREE], more[FREE] = self.procs, self.amounts
        return PoolsState(level, np.empty(1, jobs.submit.dtype), more, self.need, self.row)


class PoolsLevel(Pool):
    """What is free of processors and pools, in plain Python.

    Parameters
    ----------
    free : int
        Processors.
    more : sequence of int
        Of each pool.
    need : ndarray of int64, shape (n_jobs, n_pools)
        What each job of the log needs of them.
    """

    __slots__ = ("more", "need")

    def __init__(self, free: int, more: Sequence[int], need: NDArray[np.int64]) -> None:
        super().__init__(free)
        self.more, self.need = list(more), need

    def _of(self, job: Job | JobView) -> list[int]:
        record = job if isinstance(job, Job) else job._record
        amounts: list[int] = self.need[record.row].tolist()
        return amounts

    def fits(self, job: Job | JobView) -> bool:
        """Whether enough is free for a job."""
        needs = zip(self._of(job), self.more, strict=True)
        return super().fits(job) and all(need <= free for need, free in needs)

    def take(self, job: Job | JobView) -> None:
        """Take what a job needs."""
        super().take(job)
        self.more = [free - need for need, free in zip(self._of(job), self.more, strict=True)]

    def give_back(self, job: Job | JobView) -> None:
        """Return what a job needs."""
        super().give_back(job)
        self.more = [free + need for need, free in zip(self._of(job), self.more, strict=True)]

    def copy(self) -> "PoolsLevel":
        """Return a copy."""
        return PoolsLevel(self.free, self.more, self.need)

    def __eq__(self, other: object) -> bool:
        """Whether as much is free."""
        return super().__eq__(other) and self.more == getattr(other, "more", None)

    __hash__ = None

    def __str__(self) -> str:
        """Describe the level."""
        return f"{super().__str__()}, {', '.join(map(str, self.more))} of the pools"


class PoolsState(NamedTuple):
    """Free processors and pools.

    Parameters
    ----------
    level, shadow : ndarray
        As in `pool.PoolState`.
    more : ndarray of int64, shape (n_rows, n_pools)
        Free amounts of pools, by row, see `ledger`.
    need : ndarray of int64, shape (n_log_jobs, n_pools)
        What each job of the log needs.
    row : ndarray of int64, shape (n_jobs,), or None
        Place in the log of each job; None where the jobs are those of the log, in their order.
    """

    level: NDArray[np.int64]
    shadow: NDArray
    more: NDArray[np.int64]
    need: NDArray[np.int64]
    row: NDArray[np.int64] | None


@inline
def row_of(rows, job):
    """Return the place of a job in the log."""
    if rows is None:  # one of the branches is removed at compilation
        return job
    return rows[job]


@inline
def need_of(state, job, now):
    """Return the job."""
    return job


@inline
def has_room(state, row, job):
    """Whether a level has what a job needs."""
    return state.machine.level[row] >= state.jobs.procs[job] and _have_more(state, row, job)


@inline
def _have_more(state, row, job):
    more, need, place = state.machine.more, state.machine.need, row_of(state.machine.row, job)
    for pool in range(need.shape[1]):
        if more[row, pool] < need[place, pool]:
            return False
    return True


@inline
def occupy(state, row, job):
    """Take what a job needs."""
    _change(state, row, job, -1)


@inline
def vacate(state, row, job):
    """Return what a job needs."""
    _change(state, row, job, 1)


@inline
def _change(state, row, job, sign):
    more, need, place = state.machine.more, state.machine.need, row_of(state.machine.row, job)
    state.machine.level[row] += sign * state.jobs.procs[job]
    for pool in range(need.shape[1]):
        more[row, pool] += sign * need[place, pool]


@inline
def copy_row(state, row, other):
    """Copy a level."""
    more = state.machine.more
    state.machine.level[row] = state.machine.level[other]
    for pool in range(more.shape[1]):
        more[row, pool] = more[other, pool]


@inline
def same_rows(state, row, other):
    """Whether two levels are equal."""
    more, same = state.machine.more, state.machine.level[row] == state.machine.level[other]
    for pool in range(more.shape[1]):
        same &= more[row, pool] == more[other, pool]
    return same


@inline
def is_full(state, what, now):
    """Whether no processor is free."""
    return state.machine.level[FREE] <= 0


register_functions(PoolsState, sys.modules[__name__])


# Processors that are all alike and always available.


@dataclass(frozen=True)
class OnePool(Hardware):
    """A machine of identical processors."""

    by_size = True

    def plain(self) -> Machine:
        """Return the machine for one simulation in the plain-Python engine."""
        return Machine(self.procs)

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the machine's part of the compiled state, with `n_planned` rows for a profile."""
        from workloadkit.simulation.machine.hardware import new_pool

        return new_pool(self.procs, jobs.submit.dtype, n_planned)
