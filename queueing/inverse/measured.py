"""What measurements tell of a system: think and service times, and whether it is open or closed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.queueing.arguments import (
    Condition,
    Floats,
    Value,
    count,
    not_negative,
    plain,
    points,
    positive,
)
from workloadkit.queueing.inverse.limits import Job, Parameters, excess, root, where_known
from workloadkit.queueing.users_at_servers import WHOLE_USERS


class UserTimes(NamedTuple):
    """Mean think time and mean service time."""

    Z: Value
    S: Value


def times_of_users(
    N: ArrayLike, X: ArrayLike, R: ArrayLike, servers: ArrayLike = 1, lam: ArrayLike = 0
) -> UserTimes:
    """Return the think and service times of closed users from throughput and response time.

    Z = N/X − R by the interactive response time law, for any servers [1]_. S is the value for which
    `closed` or `mixed` gives R. Both follow from X and R; the number of servers must be known. If
    response times are almost only service, S is R and the number of servers does not matter; near
    saturation, S is servers / X, and R determines only Z.

    Parameters
    ----------
    N : array_like
        Number of users, at least 1; whole for several servers.
    X : array_like
        Measured throughput, above 0.
    R : array_like
        Measured mean response time, at most N / X.
    servers : array_like, default 1
        Number of servers.
    lam : array_like, default 0
        Rate of additional open jobs.

    Returns
    -------
    UserTimes
        Z and S.

    Raises
    ------
    QueueingError
        If a parameter violates its condition.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    References
    ----------
    .. [1] P. J. Denning, J. P. Buzen, "The operational analysis of queueing network models", ACM
       Computing Surveys 10(3), 1978.

    Examples
    --------
    >>> from workloadkit.queueing import closed
    >>> measured = closed(N=10, Z=20, S=1.5)
    >>> Z, S = times_of_users(N=10, X=measured.X, R=measured.R)
    >>> round(Z, 12), round(S, 12)
    (20.0, 1.5)
    """
    at_least = Condition("N", lambda p: (p["N"] >= 1) & (p["N"] < np.inf), "be finite, 1 or more")
    passed = Condition("R", lambda p: p["R"] <= p["N"] / p["X"], "be at most N / X, a user's cycle")
    rules = [count("servers"), at_least, WHOLE_USERS, positive("X"), positive("R")]
    rules += [not_negative("lam"), passed]
    p = points(rules, N=N, X=X, R=R, servers=servers, lam=lam)
    p["Z"] = p["N"] / p["X"] - p["R"]
    return UserTimes(plain(p["Z"]), where_known(p, lambda p: _service(p, "closed")))


def service_of_jobs(X: ArrayLike, R: ArrayLike, servers: ArrayLike = 1) -> Value:
    """Return the mean service time of open jobs from throughput and response time.

    For exponential service: R / (1 + X R) with one server. Think times of open jobs are undefined.

    Parameters
    ----------
    X : array_like
        Measured throughput, 0 or more.
    R : array_like
        Measured mean response time, above 0.
    servers : array_like, default 1
        Number of servers.

    Returns
    -------
    float or ndarray
        S for which `queueing.mmc` gives R.

    Raises
    ------
    QueueingError
        If a parameter violates its condition.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    Examples
    --------
    >>> round(service_of_jobs(X=0.5, R=2), 12)
    1.0
    """
    rules = [count("servers"), not_negative("X"), positive("R")]
    p = points(rules, X=X, R=R, servers=servers)
    users = {"N": 0 * p["R"], "Z": 0 * p["R"]}
    given = {"lam": p["X"], "R": p["R"], "servers": p["servers"], **users}
    return where_known(given, lambda p: _service(p, "open"))


def _service(p: Parameters, job: Job) -> Floats:
    """Return the service time for which response times are R."""
    with np.errstate(divide="ignore"):
        capacity = np.where(p["lam"] > 0, p["servers"] / p["lam"] * (1 - 1e-15), np.inf)
    high = np.minimum(p["R"], capacity)
    low = high / 2
    while (slow := excess({**p, "S": low}, job) > 0).any():
        low = np.where(slow, low / 2, low)
    return root(p, job, "S", low, high)


# Open, closed or partly open system, by the number of jobs per session.

#: Mean jobs per session up to which a partly open system is like an open one, and from which
#: closed.
FEW, MANY = 5.0, 10.0


def kind_of_users(jobs_per_session: ArrayLike) -> str | NDArray[np.str_]:
    """Return whether users with sessions resemble an open or a closed model.

    A rule of thumb from simulations of a partly open system [1]_: up to 5 jobs per session, its
    response times are like those of an open system; from 10 on, like those of a closed one. In
    between, compare both with the re-open model.

    Parameters
    ----------
    jobs_per_session : array_like
        Mean number of jobs per session, 1 or more.

    Returns
    -------
    str or ndarray of str
        "open", "partly open" or "closed"; "" if undefined.

    Raises
    ------
    QueueingError
        If the number is below 1.

    Warns
    -----
    QueueingWarning
        If points of an array are below 1.

    References
    ----------
    .. [1] B. Schroeder, A. Wierman, M. Harchol-Balter, "Open versus closed: a cautionary tale",
       NSDI 2006.

    Examples
    --------
    >>> kind_of_users([1.4, 7, 30]).tolist()
    ['open', 'partly open', 'closed']
    """
    least = Condition(
        "jobs_per_session",
        lambda p: (p["jobs_per_session"] >= 1) & (p["jobs_per_session"] < np.inf),
        "be finite, 1 or more",
    )
    jobs = points([least], jobs_per_session=jobs_per_session)["jobs_per_session"]
    kinds = np.select(
        [jobs <= FEW, jobs >= MANY, ~np.isnan(jobs)], ["open", "closed", "partly open"], ""
    )
    return kinds if kinds.ndim else str(kinds)
