"""Descriptions of machines, from which a simulation makes its state; one pool is the plainest."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import move
from workloadkit.simulation.machine.ledger import FREE, PLANNED
from workloadkit.simulation.supports import Memory

if TYPE_CHECKING:
    from workloadkit.simulation.machine.described import Described
    from workloadkit.simulation.machine.reservable import Reservable


@dataclass(frozen=True)
class Hardware:
    """Base of machines, in the forms of both engines; override `plain` and `compiled`.

    Parameters
    ----------
    procs : int
        Processors.
    """

    procs: int

    #: Whether a job's needs depend on its number of processors alone, so that long queues may be
    #: searched by size.
    by_size = False

    #: Whether jobs may run for less than their run time.
    cuts_runs = False

    #: Whether jobs may be stopped by outages.
    has_outages = False

    #: Whether it is made from a description.
    is_described = False

    #: What it remembers of the jobs, as parts do.
    memory_of_places: ClassVar[Memory | None] = None

    #: What the places of running jobs belong to, where jobs have places: what has the same name has
    #: the same places. Empty for processors without numbers.
    numbering = ""

    #: Whether it can be reserved: then some jobs of the log are not submitted as usual.
    is_reservable = False

    @property
    def capacity(self) -> int:
        """Number of jobs that can run at once."""
        return self.procs

    @property
    def without_outages(self) -> "Hardware":
        """The machine without outages, for policies that simulate."""
        return self

    def kinds(self, jobs: Any) -> Any:
        """Return a number for the needs of each job, ascending with its processors.

        Jobs with equal needs fit alike. None if long queues cannot be searched by needs.
        """
        return jobs.procs if self.by_size else None

    def serving(self, workload: Any) -> "Hardware":
        """Return the machine for the jobs of a workload, in the compiled engine."""
        return self

    def submissions(self, jobs: Any) -> tuple[Any, Any]:
        """Return the tables of the jobs, and what submits them, in the compiled engine.

        That is a part of the state, see `streams`; by default None: all, at their submit times.
        """
        return jobs, None

    def plain(self) -> Any:
        """Return a `machine.plain.Machine` for one simulation in the plain-Python engine."""
        raise NotImplementedError

    def compiled(self, jobs: Any, n_planned: int) -> Any:
        """Return the machine's part of the compiled state, with `n_planned` rows for a profile.

        See `machine.ledger`.
        """
        raise NotImplementedError

    def go_on(self, state: Any) -> Any:
        """Return the state to continue with after the loop has returned."""
        return state

    def in_order(self, state: Any) -> NDArray[np.int64]:
        """Return the running jobs in the order of their starts, of equal ones in that of ends."""
        running = state.end_jobs[: state.at.n_running]
        order: NDArray[np.int64] = running[
            np.lexsort((-np.arange(running.size), state.start[running]))
        ]
        return order

    def places(self, state: Any, jobs: NDArray[np.int64]) -> Mapping[str, Any]:
        """Return columns with the places of running jobs, if they have places."""
        return {}

    def put(self, state: Any, jobs: NDArray[np.int64], places: Sequence[Any]) -> None:
        """Set the places of jobs that are about to run, until `settle`."""

    def settle(self, state: Any, jobs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the jobs that run that have found no place."""
        return jobs[:0]

    def claims(self, state: Any, jobs: NDArray[np.int64]) -> Mapping[str, Any]:
        """Return columns with what is reserved for waiting jobs, if that has places."""
        return {}

    def claim_again(self, state: Any, jobs: NDArray[np.int64], claims: Sequence[Any]) -> None:
        """Reserve what `claims` returned."""

    def columns(self, state: Any) -> Mapping[str, Any]:
        """Return further columns of `Schedule.jobs`, by name: a value for each job."""
        return {}

    def runs(self, state: Any) -> Sequence[Any]:
        """Return the runs of jobs on numbered processors, if there are any."""
        return ()

    def what_stays_down(self) -> str:
        """Describe the processors that never come up again, for messages."""
        return ""


class GroupMachine(NamedTuple):
    """The machine of a group, and the jobs that it serves.

    Parameters
    ----------
    name : str
    hardware : Hardware
    jobs : ndarray of int64
        Places in the workload.
    """

    name: str
    hardware: Hardware
    jobs: NDArray[np.int64]


def enlarged(history: Any) -> Any:
    """Return a tuple of arrays of twice the size, which begin with the values of the old ones."""
    import numpy as np

    return history._make(np.append(values, np.zeros_like(values)) for values in history)


# One pool of processors that are all alike.


def is_described(machine: Any) -> "TypeGuard[Described]":
    """Whether a machine is made from a description."""
    return getattr(machine, "is_described", False)


def is_reservable(machine: Any) -> "TypeGuard[Reservable]":
    """Whether a machine can be reserved."""
    return getattr(machine, "is_reservable", False)


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


register_functions(PoolState, sys.modules[__name__])
