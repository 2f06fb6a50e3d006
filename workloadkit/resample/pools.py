"""The pools of users that new logs are drawn from."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK
from workloadkit.header import Header
from workloadkit.utility import Utilities

#: Kinds of members, as numbers and in the order of the pools.
LONG_TERM_USER, TEMPORARY_USER, RARE_USER = range(3)


@dataclass(frozen=True)
class PooledLog:
    """What is kept of a log beside its jobs.

    Parameters
    ----------
    name, identity : str
    header : Header
    begin, end : float
        When logging began, and the last submission. [s]
    origin : float
        Local time at which its week 0 begins. [s]
    """

    name: str
    identity: str
    header: Header
    begin: float
    end: float
    origin: float

    @property
    def weeks(self) -> float:
        """How many weeks the log is long."""
        return (self.end - self.begin) / WEEK

    @property
    def n_weeks(self) -> int:
        """How many weeks, counted from its begin, the log reaches into."""
        return max(math.ceil(self.weeks), 1)


class Members(NamedTuple):
    """The users in the pools: log by log, long-term ones first, then temporary and rare ones.

    A rare behaviour is a member of its own. Each array has the shape (n_members,), except `first`.

    Parameters
    ----------
    log : ndarray of int
        Place of the log.
    user : ndarray of int
        Number of the user in that log.
    kind : ndarray of int
        0 long-term, 1 temporary, 2 rare.
    n_weeks : ndarray of int
        Weeks from that of the first job to that of the last, both counted.
    period : ndarray of int
        Weeks from the first job to the same job when the member is regenerated.
    weight : ndarray of float
        How eagerly the member is drawn; all 1 for uniform draws.
    first : ndarray of int, shape (n_members + 1,)
        The jobs of member i are those from ``first[i]`` to before ``first[i + 1]``.
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
        """Return the members of one pool who can be drawn: those whose weight is not 0."""
        pool = self.of(log, kind)
        return pool[self.weight[pool] > 0]

    @property
    def n_jobs(self) -> NDArray[np.int64]:
        """Number of jobs of each."""
        return np.diff(self.first)


class Pieces(NamedTuple):
    """Sessions, batches or jobs of the members, one after the other.

    Parameters
    ----------
    of_job : ndarray of int, shape (n_jobs,)
        Piece of each job.
    week : ndarray of int, shape (n_pieces,)
        Week of the member's activity in which the piece begins.
    first : ndarray of int, shape (n_members + 1,)
        The pieces of member i are those from ``first[i]`` to before ``first[i + 1]``.
    """

    of_job: NDArray[np.int64]
    week: NDArray[np.int64]
    first: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pools:
    """All that is needed of one log or several to draw new ones: made once, only read after that.

    The jobs are in the order of the members, those of a member in the order of the log.

    Parameters
    ----------
    logs : tuple of PooledLog
        New logs have the header and the calendar of the first.
    members : Members
    row : ndarray of int, shape (n_jobs,)
        Row of each job in its log.
    time : ndarray of float, shape (n_jobs,)
        Local time of each job since the begin of its member's first week; it never falls within
        a member, also where clocks are set back. [s]
    week : ndarray of int, shape (n_jobs,)
        Week of each job, counted from its member's first.
    line : ndarray of int, shape (n_jobs,)
        The weeks of all members on one ascending line: member × `stride` + `week`.
    columns : mapping of str to ndarray, shape (n_jobs,)
        The fields of the jobs as in `Trace.jobs`.
    before : ndarray of int, shape (n_jobs,), or None
        Place of the job that field 17 names, -1 where it is not among the member's; None if no
        job has one.
    utilities : Utilities or None
        The jobs' utility functions, if any has one.
    pieces : Pieces or None
        What is moved on its own; None if users stay whole.
    whole : bool
        Whether all submit times are whole seconds.
    notes : tuple of str
        What a user should be told: the jobs that are left out, a pool that is empty.
    """

    logs: tuple[PooledLog, ...]
    members: Members
    row: NDArray[np.int64]
    time: NDArray[np.float64]
    week: NDArray[np.int64]
    line: NDArray[np.int64]
    columns: dict[str, NDArray]
    before: NDArray[np.int64] | None
    utilities: Utilities | None
    pieces: Pieces | None
    whole: bool
    notes: tuple[str, ...]

    @property
    def stride(self) -> int:
        """How far apart the members are on the `line` of weeks."""
        return int(self.members.n_weeks.max()) + 1
