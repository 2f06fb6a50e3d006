"""The pools of users from which new logs are drawn, and the statistics of these users."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK, Clock
from workloadkit.errors import WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.header import Header
from workloadkit.metrics import RUN_CLASSES
from workloadkit.sessions import delimit_sessions
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd


#: Kinds of members, as numbers, in the order of the pools.
LONG_TERM_USER, TEMPORARY_USER, RARE_USER = range(3)


@dataclass(frozen=True)
class PooledLog:
    """Properties of a log, without its jobs.

    Parameters
    ----------
    name, identity : str
    header : Header
    begin, end : float
        Begin of logging, and last submission. [s]
    origin : float
        Local time of the begin of week 0. [s]
    """

    name: str
    identity: str
    header: Header
    begin: float
    end: float
    origin: float

    @property
    def weeks(self) -> float:
        """Length of the log in weeks."""
        return (self.end - self.begin) / WEEK

    @property
    def n_weeks(self) -> int:
        """Number of started weeks from the begin of the log."""
        return max(math.ceil(self.weeks), 1)


class Members(NamedTuple):
    """The users in the pools, by log: long-term, temporary, and rare ones.

    A rare behaviour is a separate member. Each array has shape (n_members,), except `first`.

    Parameters
    ----------
    log : ndarray of int
        Index of the log.
    user : ndarray of int
        User number in that log.
    kind : ndarray of int
        0 long-term, 1 temporary, 2 rare.
    n_weeks : ndarray of int
        Weeks from that of the first job to that of the last, inclusive.
    period : ndarray of int
        Weeks from the first job to its repetition when the member is regenerated.
    weight : ndarray of float
        Relative probability of being drawn; all 1 for uniform draws.
    first : ndarray of int, shape (n_members + 1,)
        The jobs of member i are ``first[i]`` to ``first[i + 1] - 1``.
    """

    log: NDArray[np.int64]
    user: NDArray[np.int64]
    kind: NDArray[np.int64]
    n_weeks: NDArray[np.int64]
    period: NDArray[np.int64]
    weight: NDArray[np.float64]
    first: NDArray[np.int64]

    def of(self, log: int, kind: int) -> NDArray[np.int64]:
        """Return the members of one pool."""
        return np.flatnonzero((self.log == log) & (self.kind == kind))

    def drawable(self, log: int, kind: int) -> NDArray[np.int64]:
        """Return the members of one pool with a positive weight."""
        pool = self.of(log, kind)
        return pool[self.weight[pool] > 0]

    @property
    def n_jobs(self) -> NDArray[np.int64]:
        """Number of jobs of each member."""
        return np.diff(self.first)


class Pieces(NamedTuple):
    """Sessions, batches or jobs of the members, concatenated.

    Parameters
    ----------
    of_job : ndarray of int, shape (n_jobs,)
        Piece of each job.
    week : ndarray of int, shape (n_pieces,)
        Week of the member's activity in which the piece begins.
    first : ndarray of int, shape (n_members + 1,)
        The pieces of member i are ``first[i]`` to ``first[i + 1] - 1``.
    """

    of_job: NDArray[np.int64]
    week: NDArray[np.int64]
    first: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ResamplingPools:
    """Data of one or several logs for drawing new ones; built once and then only read.

    Jobs are in the order of the members, those of a member in the order of the log.

    Parameters
    ----------
    logs : tuple of PooledLog
        New logs have the header and the calendar of the first one.
    members : Members
    row : ndarray of int, shape (n_jobs,)
        Row of each job in its log.
    time : ndarray of float, shape (n_jobs,)
        Local time of each job since the begin of its member's first week, not decreasing within a
        member. [s]
    week : ndarray of int, shape (n_jobs,)
        Week of each job, counted from its member's first.
    line : ndarray of int, shape (n_jobs,)
        Weeks of all members as one ascending sequence: member × `stride` + `week`.
    trace : Trace
        The jobs, with all that the logs know of them, in the header and the calendar of the first.
    before : ndarray of int, shape (n_jobs,), or None
        Index of the preceding job (field 17), -1 if it is not the member's; None if no job has
        one.
    pieces : Pieces or None
        Units that are moved individually; None if users stay whole.
    whole : bool
        Whether all submit times are whole seconds.
    notes : tuple of str
        Messages for the user: jobs left out, empty pools.
    """

    logs: tuple[PooledLog, ...]
    members: Members
    row: NDArray[np.int64]
    time: NDArray[np.float64]
    week: NDArray[np.int64]
    line: NDArray[np.int64]
    trace: Trace
    before: NDArray[np.int64] | None
    pieces: Pieces | None
    whole: bool
    notes: tuple[str, ...]

    @property
    def stride(self) -> int:
        """Distance of consecutive members on `line`."""
        return int(self.members.n_weeks.max()) + 1


# Statistics of the users of a log, and their classes.

#: Classes of users, by column of `user_table`.
USER_CLASSES = {
    "size": ("serial", "parallel"),
    "length": tuple(RUN_CLASSES),
    "share": ("heavy", "light"),
    "frequency": ("frequent", "occasional"),
}


def user_table(trace: Trace) -> "pd.DataFrame":
    """Return statistics of each user of a log, and the user's classes.

    Users differ: some run long jobs, others prefer many small ones [1]_. Resampling can prefer
    the classes defined here.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran and jobs of unknown user are left out.

    Returns
    -------
    DataFrame
        By `user`, ascending: number of `jobs`; their `work` [processor-seconds]; mean `run` [s],
        `procs` and `memory` per processor, used or else requested [KB], NaN if unknown;
        `serial_share`, the share of jobs on one processor; number of `sessions` (by arrival,
        60 min); `weeks` from the first job to the last, inclusive. The classes are:

        - `size`: "serial" if all jobs ran on one processor, else "parallel";
        - `length`: "short", "medium" or "long" by the median run time, up to 1 min, up to 10 min,
          or longer (the classes of run times of `workloadkit.metrics`);
        - `share`: "heavy" for the fewest users with half of the work together, "light" for the
          others;
        - `frequency`: "frequent" for the fewest users with half of the jobs together, "occasional"
          for the others.

    Raises
    ------
    WorkloadError
        If no job of a known user ran.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation: Practice and Experience 26, 2014,
       section 6.5.4.

    Examples
    --------
    >>> log = {"submit": [0, 5, 9, 9], "run": [9, 9, 9, 4000], "procs": [1, 1, 1, 8]}
    >>> table = user_table(Trace.from_columns({**log, "user": [3, 3, 3, 7]}))
    >>> table[["jobs", "work", "size", "length", "share", "frequency"]]
          jobs     work      size length  share   frequency
    user
    3        3     27.0    serial  short  light    frequent
    7        1  32000.0  parallel   long  heavy  occasional
    """
    import pandas as pd

    check_trace(trace)
    known = trace.select(trace.ran & (trace.column("user") != UNKNOWN))
    if not known.n_jobs:
        raise WorkloadError(f"{trace.name}: no job of a known user ran")
    local = Clock.of(known).local(known.column("submit"))
    procs, run = known.used_procs, known.column("run")
    memory = known.column("memory")
    jobs = pd.DataFrame(
        {
            "user": known.column("user"),
            "work": run * procs,
            "run": run,
            "procs": procs,
            "memory": np.where(memory >= 0, memory, known.column("requested_memory")),
            "serial": procs == 1,
            "session": delimit_sessions(known)["session"].to_numpy(),
            "week": np.floor((local - local[0]) / WEEK),
        }
    )
    of_user = jobs.groupby("user")
    table = pd.DataFrame(
        {
            "jobs": of_user.size(),
            "work": of_user["work"].sum(),
            **{name: of_user[name].mean() for name in ("run", "procs", "memory")},
            "serial_share": of_user["serial"].mean(),
            "sessions": of_user["session"].nunique(),
            "weeks": (of_user["week"].max() - of_user["week"].min() + 1).astype(np.int64),
        }
    )
    median = of_user["run"].median().to_numpy()
    choices = {
        "size": table["serial_share"].to_numpy() < 1,
        "length": np.searchsorted([*RUN_CLASSES.values()], median),
        "share": ~_makes_half(table["work"].to_numpy()),
        "frequency": ~_makes_half(table["jobs"].to_numpy()),
    }
    for name, names in USER_CLASSES.items():
        table[name] = np.array(names, dtype=object)[choices[name].astype(np.int64)]
    return table


def _makes_half(amount: NDArray) -> NDArray[np.bool_]:
    """Return whether each is among the fewest that together have half of the sum."""
    order = np.argsort(-amount, kind="stable")
    before = np.cumsum(amount[order]) - amount[order]
    makes = np.zeros(amount.size, dtype=bool)
    makes[order] = before < amount.sum() / 2
    return makes
