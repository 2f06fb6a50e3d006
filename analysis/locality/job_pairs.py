"""Pairs of a user's jobs by the distance of their sessions: counts and similarity."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.distinct import order_by
from workloadkit.errors import ParameterError, WorkloadError, quoted
from workloadkit.fields import UNKNOWN
from workloadkit.sessions import delimit_sessions
from workloadkit.trace import Trace

#: Compared attributes of jobs, and their titles.
ATTRIBUTES = {"procs": "processors", "requested_time": "requested time", "run": "run time"}

#: Aggregates of the ratios of pairs, and their titles.
MEASURES = {"average": "average", "identical": "share of identical pairs", "median": "median"}

#: Users compared individually have at least this many sessions, one of them with two jobs
#: (N. Zakay, thesis, 2018: the reading that gives the users of Tables II to IV).
LEAST_SESSIONS = 6

_ROOT = 2**31  # products of smaller numbers are 64-bit integers

_ROUNDING = 1e-12  # tolerance for equal averages, which have rounding errors


class Ascending(NamedTuple):
    """Jobs with a known attribute, sorted by user and value."""

    jobs: NDArray[np.int64]
    value: NDArray[np.float64]
    first: NDArray[np.int64]  # index by user, and the end


class UserJobs(NamedTuple):
    """Jobs sorted by user; sessions are numbered in the same order."""

    log: str
    users: pd.Index
    user: NDArray[np.int64]
    session: NDArray[np.int64]
    first_job: NDArray[np.int64]  # index by user, and the end
    first_session: NDArray[np.int64]
    known: dict[str, Ascending]  # by attribute with known values

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.users.size

    def compared(self) -> NDArray[np.bool_]:
        """Whether each user is compared individually."""
        jobs = np.bincount(self.session)
        largest = np.maximum.reduceat(jobs, self.first_session[:-1])
        return (np.diff(self.first_session) >= LEAST_SESSIONS) & (largest >= 2)


class Ratios(NamedTuple):
    """Ratios by user and distance, each of shape (n_users, n_distances)."""

    pairs: NDArray[np.int64]
    total: NDArray[np.float64]
    identical: NDArray[np.int64]
    median: NDArray[np.float64]  # NaN without pairs, or if not requested

    def measure(self, name: str) -> NDArray[np.float64]:
        """Return an aggregate of each user's ratios, NaN without pairs."""
        if name == "median":
            return self.median
        return quotient(self.total if name == "average" else self.identical, self.pairs)


def user_jobs(trace: Trace) -> UserJobs:
    """Return the jobs of known users that ran, with their sessions by arrival."""
    known = trace.column("user") != UNKNOWN
    if not (trace.ran & known).any():
        raise WorkloadError(f"{trace.name}: no job of a known user ran")
    if (trace.ran & ~known).any():
        trace = trace.select(known)
    started = delimit_sessions(trace)["session"].to_numpy()
    user, users = pd.factorize(trace.column("user")[trace.ran])
    by_user = order_by(user)
    # Sessions are numbered by their start; renumber them by user.
    user_of_session = np.empty(started.max() + 1, np.int64)
    user_of_session[started] = user
    number = np.empty_like(user_of_session)
    number[order_by(user_of_session)] = np.arange(number.size)
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
    """Return an attribute of the jobs that ran, in the order of the log."""
    if attribute not in ATTRIBUTES:
        raise ParameterError(
            f"unknown attribute {quoted(attribute)}; known: {', '.join(ATTRIBUTES)}"
        )
    values = trace.used_procs if attribute == "procs" else trace.column(attribute)
    return values[trace.ran]


def check_known(jobs: UserJobs, attributes: Collection[str]) -> None:
    """Check that the attributes exist and are known for some job."""
    for name in attributes:
        if name not in ATTRIBUTES:
            raise ParameterError(
                f"unknown attribute {quoted(name)}; known: {', '.join(ATTRIBUTES)}"
            )
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
    """Compare the jobs of each user at some distances, optionally in other sessions."""
    from workloadkit._kernels.statistics import similarity_sums

    session = jobs.session if session is None else session
    known = jobs.known[attribute]
    n_sessions, sums = int(jobs.first_session[-1]), {}
    for distance in distances[distances > 0].tolist() or [1]:
        of_both = similarity_sums(
            known.jobs, known.value, known.first, session, n_sessions, distance
        )
        sums[0], sums[distance] = ([found[:, k] for found in of_both] for k in (0, 1))
    by_distance = zip(*(sums[distance] for distance in distances.tolist()), strict=True)
    pairs, total, identical = (np.stack(found, axis=1) for found in by_distance)
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
    """Return upper medians of the ratios by group (first users, and the end) and distance."""
    from workloadkit._kernels.statistics import similarity_medians

    session = jobs.session if session is None else session
    known = jobs.known[attribute]
    of = session[known.jobs]
    by_session = order_by(of)  # and by value
    first_job = _first(of, int(jobs.first_session[-1]))
    value = known.value[by_session]
    return similarity_medians(value, first_job, jobs.first_session, groups, distances)


def compare_distances(
    found: Ratios, measure: str, at: int, other: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return, by user, the sign of the difference of two distances, and whether both have pairs."""
    paired = (found.pairs[:, at] > 0) & (found.pairs[:, other] > 0)
    if measure == "identical":  # Python integers do not overflow, but are slow
        exact = np.int64 if found.pairs.max(initial=0) < _ROOT else object
        same, pairs = found.identical.astype(exact), found.pairs.astype(exact)
        difference = same[:, at] * pairs[:, other] - same[:, other] * pairs[:, at]
    else:
        values = found.measure(measure)
        difference = values[:, at] - values[:, other]
        least = _ROUNDING if measure == "average" else 0
        difference[~(np.abs(difference) > least)] = 0
    return np.sign(difference).astype(np.int64), paired


def quotient(above: float | NDArray, below: float | NDArray) -> NDArray[np.float64]:
    """Divide; NaN where the divisor is 0."""
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below)
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _first(group: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    """Return the first index of each group 0..n_groups-1 of sorted members, and the end."""
    return np.append(0, np.cumsum(np.bincount(group, minlength=n_groups)))
