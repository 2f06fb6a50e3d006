"""Who is present in a simulation of users who react, and what they may do."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import Clock
from workloadkit.dependencies import TIMES, Activities, activities
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

#: Further columns of `Schedule.jobs`, by name.
Notes = Mapping[str, NDArray]


class Incarnations(NamedTuple):
    """The users of a simulation, in the order of their numbers.

    Each is an incarnation of a *member*: of a user whose jobs are known. All that a member did
    before the opening counts as submitted and ended.

    Parameters
    ----------
    member : ndarray of int64, shape (n_users,)
        A place in `Activities.user`.
    opening : ndarray of int64, shape (n_users,)
        A place in `Activities.job`: the job that comes first.
    begin : ndarray, shape (n_users,)
        When it is submitted. The others of its batch follow as they did. [s]
    shift : ndarray, shape (n_users,)
        Local time of what the user does less that of the member: whole weeks. [s]
    again : ndarray of bool, shape (n_users,)
        Whether the user begins again after the end of the last job.
    until : ndarray, shape (n_users,)
        From then on the user submits nothing; the greatest number there is for no end. [s]
    """

    member: NDArray[np.int64]
    opening: NDArray[np.int64]
    begin: NDArray
    shift: NDArray
    again: NDArray[np.bool_]
    until: NDArray


class SessionTimes(NamedTuple):
    """Sessions of the members, as `Activities` has them, on the clock that shows local time.

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
    """Who is present, and what they may do.

    All times are int64, or all are float64.

    Parameters
    ----------
    workload : Workload
        The jobs of the members; their submit times are those of the log.
    activities : Activities
        What the members did; places of jobs are those in `workload`.
    users : Incarnations
    clock : Clock
        Of the simulation.
    sessions : SessionTimes
        On that clock, before any shift.
    first_time : ndarray, shape (n_members,)
        Local time of each member's first job, likewise. [s]
    pause : ndarray, shape (n_members,)
        How long one who begins again rests before. [s]
    until : int or float
        No job is submitted from then on; the greatest number there is for no end. [s]
    numbered : bool
        Whether jobs keep the numbers that they have in the log; else they are numbered by
        submission.
    kept : dict
        What behaviours have worked out of all this but `users` and `until`, for further simulations
        of the same members.
    """

    workload: Workload
    activities: Activities
    users: Incarnations
    clock: Clock
    sessions: SessionTimes
    first_time: NDArray
    pause: NDArray
    until: Any
    numbered: bool = True
    kept: dict[Any, Any] = field(default_factory=dict)


def activities_of(trace: Trace, workload: Workload) -> tuple[Workload, Activities]:
    """Find what the users of a workload did; places of jobs are those in the workload.

    Parameters
    ----------
    trace : Trace
        The log that the workload is of.
    workload : Workload

    Returns
    -------
    workload : Workload
        The same; its times are float64 where those of the activities are not all whole.
    activities : Activities
        Its times are of the same type.
    """
    simulated = trace.take(workload.row)
    found = activities(simulated)
    dtype = np.result_type(workload.submit, found.arrival)
    times = {name: getattr(workload, name).astype(dtype) for name in ("submit", "run", "estimate")}
    found = found._replace(**{name: getattr(found, name).astype(dtype) for name in TIMES})
    return replace(workload, **times), found


def no_end(dtype: np.dtype) -> Any:
    """Return the greatest time there is."""
    return np.iinfo(dtype).max if dtype.kind == "i" else np.inf
