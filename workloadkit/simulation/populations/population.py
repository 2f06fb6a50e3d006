"""Populations: the users of a log as recorded, and when each is present."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import DAY, Clock
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from workloadkit.dependencies import Activities

# The users who are present in a simulation, and their recorded activities.

#: Further columns of `Schedule.jobs`, by name.
Notes = Mapping[str, NDArray]


class Incarnations(NamedTuple):
    """The users of a simulation, in the order of their numbers.

    Each is an incarnation of a *member*: a user with recorded jobs. All jobs of a member before the
    opening count as submitted and ended.

    Parameters
    ----------
    member : ndarray of int64, shape (n_users,)
        A place in `Activities.user`.
    opening : ndarray of int64, shape (n_users,)
        First job, as a place in `Activities.job`.
    begin : ndarray, shape (n_users,)
        Time of its submission. The rest of its batch follows at the recorded intervals. [s]
    shift : ndarray, shape (n_users,)
        Local time of the user's activities minus that of the member's: whole weeks. [s]
    again : ndarray of bool, shape (n_users,)
        Whether the user begins again after the end of the last job.
    until : ndarray, shape (n_users,)
        End of the user's submissions; the largest possible number for none. [s]
    """

    member: NDArray[np.int64]
    opening: NDArray[np.int64]
    begin: NDArray
    shift: NDArray
    again: NDArray[np.bool_]
    until: NDArray


class SessionTimes(NamedTuple):
    """Sessions of the members, as in `Activities`, in local time.

    Parameters
    ----------
    begin, until, end : ndarray, shape (n_sessions,)
        First submission, last submission and latest end, in local time. [s]
    """

    begin: NDArray
    until: NDArray
    end: NDArray


@dataclass(frozen=True, eq=False)
class Present:
    """The users who are present, with their activities.

    All times are int64, or all are float64.

    Parameters
    ----------
    workload : Workload
        The jobs of the members, with the log's submit times.
    activities : Activities
        Activities of the members; places of jobs are those in `workload`.
    users : Incarnations
    clock : Clock
        Of the simulation.
    sessions : SessionTimes
        In the clock's local time, before any shift.
    first_time : ndarray, shape (n_members,)
        Local time of each member's first job. [s]
    pause : ndarray, shape (n_members,)
        Pause of each member before beginning again. [s]
    until : int or float
        End of all submissions; the largest possible number for none. [s]
    numbered : bool
        Whether jobs keep their numbers in the log; otherwise they are numbered by submission.
    kept : dict
        Results that behaviours derive from all but `users` and `until`, for further simulations of
        the same members.
    """

    workload: Workload
    activities: "Activities"
    users: Incarnations
    clock: Clock
    sessions: SessionTimes
    first_time: NDArray
    pause: NDArray
    until: Any
    numbered: bool = True
    kept: dict[Any, Any] = field(default_factory=dict)


def activities_of(trace: Trace, workload: Workload) -> "tuple[Workload, Activities]":
    """Return the activities of a workload's users; places of jobs are those in the workload.

    Parameters
    ----------
    trace : Trace
        The log of the workload.
    workload : Workload

    Returns
    -------
    workload : Workload
        The same, with float64 times if some times of the activities are not whole.
    activities : Activities
        Its times are of the same type.
    """
    from workloadkit.dependencies import TIMES, activities

    simulated = trace.take(workload.row)
    found = activities(simulated)
    dtype = np.result_type(workload.submit, found.arrival)
    times = {name: getattr(workload, name).astype(dtype) for name in ("submit", "run", "estimate")}
    found = found._replace(**{name: getattr(found, name).astype(dtype) for name in TIMES})
    return replace(workload, **times), found


def no_end(dtype: np.dtype) -> Any:
    """Return the largest possible time."""
    return np.iinfo(dtype).max if dtype.kind == "i" else np.inf


@runtime_checkable
class Population(Protocol):
    """The users who are present in a simulation of a log's users.

    A population that draws random numbers has an attribute `draws`.
    """

    name: ClassVar[str]

    def log(self, trace: Trace, seed: int) -> Trace:
        """Return the log of the users who are present, if they do not react."""
        ...

    def present(self, trace: Trace, as_workload: Callable[[Trace], Workload], seed: int) -> Present:
        """Return the users who are present.

        Parameters
        ----------
        trace : Trace
            The log.
        as_workload : callable
            Converts a log into a workload, by the settings of the simulation.
        seed : int
            Of all random draws.
        """
        ...

    def result(
        self, present: Present, trace: Trace, workload: Workload, notes: Notes
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log of the submitted jobs, these jobs as its workload, and notes on them.

        Parameters
        ----------
        present : Present
        trace : Trace
        workload : Workload
            In the order of (submit, job number); `row` is the place of each job in
            `present.workload`, `user` its incarnation, from 0.
        notes : mapping of str to ndarray, shape (n_jobs,)
        """
        ...


# The users of a log, as recorded.

#: Period after the log for which clock changes are computed. [s]
_BEYOND = 20 * 365 * DAY


@dataclass(frozen=True)
class Recorded:
    """Each user of the log is present once, from the first job to the last."""

    name: ClassVar[str] = "recorded"

    def log(self, trace: Trace, seed: int) -> Trace:
        """Return the log unchanged."""
        return trace

    def present(self, trace: Trace, as_workload: Callable[[Trace], Workload], seed: int) -> Present:
        """Return the users of a log; see `Population.present`."""
        workload, acts = activities_of(trace, as_workload(trace))
        dtype = workload.submit.dtype
        clock = Clock.of(trace, beyond=_BEYOND)
        n_users = acts.user.size
        nothing = np.zeros(n_users, dtype)
        first = acts.arrival[acts.first_batch[:-1]]
        users = Incarnations(
            member=np.arange(n_users),
            opening=acts.first_job[acts.first_batch[:-1]],
            begin=first,
            shift=nothing,
            again=np.zeros(n_users, dtype=bool),
            until=np.full(n_users, no_end(dtype), dtype),
        )
        local = [clock.local(times).astype(dtype) for times in (acts.begin, acts.until, acts.end)]
        return Present(
            workload=workload,
            activities=acts,
            users=users,
            clock=clock,
            sessions=SessionTimes(*local),
            first_time=clock.local(first).astype(dtype),
            pause=nothing,
            until=no_end(dtype),
        )

    def result(
        self, present: Present, trace: Trace, workload: Workload, notes: Notes
    ) -> tuple[Trace, Workload, Notes]:
        """Return the log, and its jobs as submitted; see `Population.result`."""
        taken = present.workload.take(workload.row)
        names = ("submit", "run", "estimate", "limit", "killed")
        submitted = {name: getattr(workload, name) for name in names}
        left_out = trace.n_jobs - workload.row.size
        return trace, replace(taken, **submitted, left_out=left_out), notes
