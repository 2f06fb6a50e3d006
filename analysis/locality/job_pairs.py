"""Pairs of a user's jobs, by the distance of their sessions: how many, and how alike."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import delimit_sessions
from workloadkit.trace import Trace

#: What of the jobs is compared, and its name in words.
ATTRIBUTES = {"procs": "processors", "requested_time": "requested time", "run": "run time"}

#: How the ratios of many pairs are summed up, and the name in words.
MEASURES = {"average": "average", "identical": "share of identical pairs", "median": "median"}

#: Users who are compared one by one have at least so many sessions, and one of two jobs
#: (N. Zakay, thesis, 2018: the reading that gives the users of Tables II to IV).
LEAST_SESSIONS = 6

_ROUNDING = 1e-12  # averages that differ by less are equal: their sums are rounded


class Ascending(NamedTuple):
    """The jobs whose value of an attribute is known, by user, and by value for each user."""

    jobs: NDArray[np.int64]
    value: NDArray[np.float64]
    first: NDArray[np.int64]  # of each user, and the end


class UserJobs(NamedTuple):
    """The jobs of all users, one user after the other; sessions numbered in the same order."""

    log: str
    users: pd.Index
    user: NDArray[np.int64]
    session: NDArray[np.int64]
    first_job: NDArray[np.int64]  # of each user, and the end
    first_session: NDArray[np.int64]
    known: dict[str, Ascending]  # by attribute that is known of any job

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.users.size

    def compared(self) -> NDArray[np.bool_]:
        """Whether a user is one of those that are compared one by one."""
        jobs = np.bincount(self.session)
        largest = np.maximum.reduceat(jobs, self.first_session[:-1])
        return (np.diff(self.first_session) >= LEAST_SESSIONS) & (largest >= 2)


class Ratios(NamedTuple):
    """The ratios by user and distance, shape (n_users, n_distances) each."""

    pairs: NDArray[np.int64]
    total: NDArray[np.float64]
    identical: NDArray[np.int64]
    median: NDArray[np.float64]  # NaN without pairs, or where it was not asked for

    def measure(self, name: str) -> NDArray[np.float64]:
        """Return a measure of each user's ratios, NaN where there is no pair."""
        if name == "median":
            return self.median
        return quotient(self.total if name == "average" else self.identical, self.pairs)


def user_jobs(trace: Trace) -> UserJobs:
    """Take the jobs of known users that ran, with their sessions by arrival.

    Raises
    ------
    WorkloadError
        If there is none.
    """
    known = trace.column("user") != UNKNOWN
    if not (trace.ran & known).any():
        raise WorkloadError(f"{trace.name}: no job of a known user ran, so no sessions compare")
    if (trace.ran & ~known).any():
        trace = trace.select(known)
    started = delimit_sessions(trace)["session"].to_numpy()
    user, users = pd.factorize(trace.column("user")[trace.ran])
    by_user = np.argsort(user, kind="stable")
    # Sessions are numbered as they start; here a user's follow one another.
    user_of_session = np.empty(started.max() + 1, np.int64)
    user_of_session[started] = user
    number = np.empty_like(user_of_session)
    number[np.argsort(user_of_session, kind="stable")] = np.arange(number.size)
    user = user[by_user]
    ascending = {}
    for name in ATTRIBUTES:
        value = attribute_values(trace, name)[by_user]
        jobs = np.lexsort((value, user))
        jobs = jobs[value[jobs] >= 0]
        if jobs.size:
            ascending[name] = Ascending(jobs, value[jobs], _first(user[jobs], users.size))
    return UserJobs(
        trace.name,
        pd.Index(users, name="user"),
        user,
        number[started[by_user]],
        _first(user, users.size),
        _first(user_of_session, users.size),
        ascending,
    )


def attribute_values(trace: Trace, attribute: str) -> NDArray[np.float64]:
    """Return an attribute of the jobs that ran, in the order of the log.

    Raises
    ------
    ParameterError
        If it is not one of those that are compared.
    """
    if attribute not in ATTRIBUTES:
        raise ParameterError(f"no attribute {attribute!r}; known: {', '.join(ATTRIBUTES)}")
    values = trace.used_procs if attribute == "procs" else trace.column(attribute)
    return values[trace.ran]


def check_known(jobs: UserJobs, attributes: Collection[str]) -> None:
    """Raise an error for an attribute that is none, or not known of any job."""
    for name in attributes:
        if name not in ATTRIBUTES:
            raise ParameterError(f"no attribute {name!r}; known: {', '.join(ATTRIBUTES)}")
        if name not in jobs.known:
            raise WorkloadError(f"{jobs.log}: no {ATTRIBUTES[name]} is known")


def ratios(
    jobs: UserJobs,
    attribute: str,
    distances: NDArray[np.int64],
    *,
    session: NDArray[np.int64] | None = None,
    medians: bool = True,
) -> Ratios:
    """Compare the jobs of each user at some distances, also in other sessions than their own."""
    from workloadkit._kernels.locality import similarity_sums

    session = jobs.session if session is None else session
    gap = distances.max()  # between the sessions of two users, so that none are near
    apart = session + gap * (jobs.user + 1)
    n_sessions = jobs.first_session[-1] + gap * (jobs.n_users + 1)
    known = jobs.known[attribute]
    pairs, total, identical = similarity_sums(
        known.jobs, known.value, known.first, apart, n_sessions, distances
    )
    if medians:
        groups = np.arange(jobs.n_users + 1)
        median = upper_medians(jobs, attribute, distances, groups, session=session)
    else:
        median = np.full(pairs.shape, np.nan)
    return Ratios(pairs, total, identical, median)


def upper_medians(
    jobs: UserJobs,
    attribute: str,
    distances: NDArray[np.int64],
    groups: NDArray[np.int64],
    *,
    session: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Upper medians of the ratios by group and distance; `groups` are first users, and the end."""
    from workloadkit._kernels.locality import similarity_medians

    session = jobs.session if session is None else session
    known = jobs.known[attribute]
    of = session[known.jobs]
    by_session = np.argsort(of, kind="stable")  # and by value
    first_job = _first(of, int(jobs.first_session[-1]))
    value = known.value[by_session]
    return similarity_medians(value, first_job, jobs.first_session, groups, distances)


def compare_distances(
    found: Ratios, measure: str, at: int, other: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Sign of the difference of two distances by user, and whether there are pairs at both."""
    paired = (found.pairs[:, at] > 0) & (found.pairs[:, other] > 0)
    if measure == "identical":  # in Python's integers, which have no limit
        same, pairs = found.identical.astype(object), found.pairs.astype(object)
        difference = same[:, at] * pairs[:, other] - same[:, other] * pairs[:, at]
    else:
        values = found.measure(measure)
        difference = values[:, at] - values[:, other]
        least = _ROUNDING if measure == "average" else 0
        difference[~(np.abs(difference) > least)] = 0
    return np.sign(difference).astype(np.int64), paired


def quotient(above: float | NDArray, below: float | NDArray) -> NDArray[np.float64]:
    """Divide; NaN where there is nothing to divide by."""
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below)
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _first(group: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    """Where each of the groups 0..n_groups-1 begins once its members stand together, and ends."""
    return np.append(0, np.cumsum(np.bincount(group, minlength=n_groups)))
