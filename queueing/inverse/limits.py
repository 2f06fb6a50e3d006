"""How many users, or how many jobs a unit of time, until responses take too long."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from queueing.arguments import (
    Flags,
    Floats,
    Rule,
    Value,
    count,
    missing,
    not_negative,
    plain,
    points,
    positive,
)
from queueing.errors import QueueingError
from queueing.inverse.solving import (
    Job,
    Parameters,
    excess,
    response,
    root,
    where_known,
)
from queueing.multi_server import MOST, WHOLE_USERS
from queueing.spare_capacity import stable

#: Users of one server that floating-point numbers count.
_COUNTED = 1e15

_SHARE = Rule("q", lambda p: (p["q"] > 0) & (p["q"] < 1), "be above 0 and below 1")


def users_for_response(
    R: ArrayLike,
    Z: ArrayLike,
    S: ArrayLike,
    lam: ArrayLike = 0,
    q: ArrayLike | None = None,
    job: Job = "closed",
) -> Value:
    """Return the number of closed users, a real number, with which a response time is R.

    For one server; N between two whole numbers is that of `queueing.mixed`.

    Parameters
    ----------
    R : array_like
        Response time: the mean, or the percentile that q tells.
    Z : array_like
        Mean think time, 0 or more.
    S : array_like
        Mean service time, above 0.
    lam : array_like, default 0
        Rate of open jobs besides; lam S < 1.
    q : array_like, optional
        Share of jobs with a response of at most R; by default R is the mean.
    job : {"closed", "open"}
        Whose response time.

    Returns
    -------
    float or ndarray
        N, 1 or more; where open jobs are meant, 0 or more.

    Raises
    ------
    QueueingError
        If a parameter breaks its condition, or R is below that of the fewest users, or above that
        of the most that are counted, 1e15, and 50 million where there are several servers.

    Warns
    -----
    QueueingWarning
        If points of an array break a condition; they are NaN.

    Examples
    --------
    >>> N = users_for_response(R=5, Z=20, S=1)
    >>> round(N, 4)
    22.7445
    >>> from queueing import closed
    >>> round(closed(N, Z=20, S=1).R, 12)
    5.0
    """
    fewest = _fewest(job)
    p = _checked("N", fewest, job, q, R=R, Z=Z, S=S, servers=1, lam=lam)

    def solve(p: Parameters, breaks: Floats) -> Floats:
        return root(p, job, "N", np.full(breaks.shape, float(fewest)), breaks)

    return _users(p, job, solve)


def most_users(
    R: ArrayLike,
    Z: ArrayLike,
    S: ArrayLike,
    servers: ArrayLike = 1,
    lam: ArrayLike = 0,
    q: ArrayLike | None = None,
    job: Job = "closed",
) -> Value:
    """Return the largest whole number of closed users with which a response time is at most R.

    Parameters
    ----------
    R, Z, S, lam, q, job
        As of `users_for_response`; lam S < servers.
    servers : array_like, default 1
        Number of servers.

    Returns
    -------
    float or ndarray
        N, a whole number.

    Raises
    ------
    QueueingError
        If a parameter breaks its condition, or R is below that of the fewest users, or above that
        of the most that are counted, 1e15, and 50 million where there are several servers.

    Warns
    -----
    QueueingWarning
        If points of an array break a condition; they are NaN.

    Examples
    --------
    >>> most_users(R=[2, 5, 50], Z=20, S=1, servers=[1, 1, 4]).tolist()
    [12.0, 22.0, 280.0]
    >>> most_users(R=5, Z=20, S=1, q=0.95)
    10.0
    """
    fewest = _fewest(job)
    p = _checked("N", fewest, job, q, R=R, Z=Z, S=S, servers=servers, lam=lam)

    def solve(p: Parameters, breaks: Floats) -> Floats:
        keeps = np.full(breaks.shape, float(fewest))
        while (breaks - keeps > 1).any():
            middle = np.floor((keeps + breaks) / 2)
            slow = excess({**p, "N": middle}, job) > 0
            keeps, breaks = np.where(slow, keeps, middle), np.where(slow, middle, breaks)
        return keeps

    return _users(p, job, solve)


def most_jobs(
    R: ArrayLike,
    S: ArrayLike,
    servers: ArrayLike = 1,
    N: ArrayLike = 0,
    Z: ArrayLike = 0,
    q: ArrayLike | None = None,
    job: Job = "open",
) -> Value:
    """Return the largest rate of open jobs with which a response time is at most R.

    Parameters
    ----------
    R : array_like
        Response time: the mean, or the percentile that q tells.
    S : array_like
        Mean service time, above 0.
    servers : array_like, default 1
        Number of servers.
    N, Z : array_like, default 0
        Number of closed users besides, and their mean think time.
    q : array_like, optional
        Share of jobs with a response of at most R; by default R is the mean.
    job : {"open", "closed"}
        Whose response time; with closed jobs, N is 1 or more.

    Returns
    -------
    float or ndarray
        The largest lam.

    Raises
    ------
    QueueingError
        If a parameter breaks its condition, or R is below that without open jobs.

    Warns
    -----
    QueueingWarning
        If points of an array break a condition; they are NaN.

    Examples
    --------
    With one server and no users, 1/S − 1/R:

    >>> most_jobs(R=[2, 10], S=1).round(12).tolist()
    [0.5, 0.9]
    >>> round(most_jobs(R=10, S=1, servers=4, N=20, Z=10, q=0.99), 6)
    2.269343
    """
    p = _checked("lam", 0.0, job, q, R=R, S=S, servers=servers, N=N, Z=Z)

    def solve(p: Parameters) -> Floats:
        capacity = p["servers"] / p["S"] * (1 - 1e-15)
        return root(p, job, "lam", np.zeros(capacity.shape), capacity)

    return where_known(p, solve)


def _fewest(job: Job) -> int:
    """Return the number of users that there must be, to have that job's response time."""
    if job not in ("closed", "open"):
        raise QueueingError(f"job is {job!r}; it must be closed or open")
    return int(job == "closed")


def _checked(
    name: str, least: float, job: Job, q: ArrayLike | None, **given: ArrayLike
) -> dict[str, Floats]:
    """Hold parameters to their conditions, and R to what there is at the least of the sought."""
    rules = [positive("R"), not_negative("Z"), positive("S"), count("servers")]
    if q is not None:
        given["q"] = q
        rules.append(_SHARE)
    if name == "N":
        rules += [not_negative("lam"), stable()]
        without = "of one user" if least else "without users"
    else:
        fewest = Rule("N", lambda p: p["N"] >= _fewest(job), "be 1 or more for closed jobs")
        rules += [not_negative("N"), fewest, WHOLE_USERS]
        without = "without open jobs"

    def attainable(p: Parameters) -> Flags:
        held = np.logical_and.reduce([rule.holds(p) for rule in rules])
        p = {key: value[held] for key, value in p.items()}
        found = np.asarray(~held)  # others are to blame there
        found[held] = excess({**p, name: np.full(p["R"].shape, least)}, job) <= 1e-14
        return found

    words = f"be at least that {without}"
    if all(np.ndim(value) == 0 for value in given.values()):
        p = points(rules, **given)
        limit = response({**p, name: np.asarray(least)}, job).item()
        words = f"be at least {limit:.6g}, that {without}"
    return points([*rules, Rule("R", attainable, words)], **given)


def _users(p: Parameters, job: Job, solve: Callable[[dict[str, Floats], Floats], Floats]) -> Value:
    """Solve for a number of users, from a number of them with whom responses take too long."""
    flat = {name: value.ravel() for name, value in p.items()}
    most = np.where(flat["servers"] > 1, MOST - flat["servers"], _COUNTED)
    found = np.full(most.shape, np.nan)
    known = np.flatnonzero(~np.isnan(flat["R"]))
    breaks = _too_many({name: value[known] for name, value in flat.items()}, job, most[known])
    here = known[~np.isnan(breaks)]
    if here.size:
        at = {name: value[here] for name, value in flat.items()}
        found[here] = solve(at, breaks[~np.isnan(breaks)])
    too_long = {
        int(i): f"R is {flat['R'][i]:g}; it must be so short that not even {most[i]:,.0f} users "
        "keep it"
        for i in known[np.isnan(breaks)]
    }
    missing(too_long, p["R"].shape)
    return plain(found.reshape(p["R"].shape))


def _too_many(p: Parameters, job: Job, most: Floats) -> Floats:
    """Return numbers of closed users with whom responses take longer than R; NaN beyond most."""
    with np.errstate(over="ignore"):
        # at most this many a unit of time, after R + Z at least, where R is a mean
        capacity = (p["servers"] - p["lam"] * p["S"]) / p["S"]
        found = np.floor(np.maximum((p["R"] + p["Z"]) * capacity, 1)) + 1
    while True:
        found[found > most] = np.nan
        fast = ~np.isnan(found)
        at = {**{name: value[fast] for name, value in p.items()}, "N": found[fast]}
        fast[fast] = excess(at, job) <= 0
        if not fast.any():
            return found
        found[fast] *= 2
