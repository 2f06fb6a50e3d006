"""Number of users, or rate of jobs, at which response times reach a limit."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import (
    Condition,
    Flags,
    Floats,
    Value,
    count,
    missing,
    not_negative,
    plain,
    points,
    positive,
)
from workloadkit.queueing.closed_users import MixedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.product_form import closed_and_open
from workloadkit.queueing.users_at_servers import MOST, WHOLE_USERS, stable

# Response times relative to a limit, and root finding for a parameter.

Job = Literal["closed", "open"]
Parameters = Mapping[str, Floats]


def response(p: Parameters, job: Job) -> Floats:
    """Return the response time that should be R: the mean, or the quantile at q."""
    model = _model(p)
    if "q" in p:
        return np.asarray(model.ppf(p["q"], job))
    return np.asarray(model.Rc if job == "closed" else model.Ro)


def excess(p: Parameters, job: Job) -> Floats:
    """Return a measure with the sign of response time minus R."""
    if "q" in p:
        return np.asarray(_model(p).sf(p["R"], job)) / (1 - p["q"]) - 1
    return response(p, job) / p["R"] - 1


def _model(p: Parameters) -> MixedResult:
    return closed_and_open(p["lam"], p["N"], p["Z"], p["S"], p["servers"])


def where_known(p: Parameters, solve: Callable[[Parameters], Floats]) -> Value:
    """Solve the points that satisfy all conditions, as flat arrays."""
    here = ~np.isnan(p["R"])
    found = np.full(here.shape, np.nan)
    if here.any():
        found[here] = solve({name: value[here] for name, value in p.items()})
    return plain(found)


def root(p: Parameters, job: Job, name: str, low: Floats, high: Floats) -> Floats:
    """Return the value of a parameter for which response times are R, or the nearest end."""
    from scipy.optimize.elementwise import find_root

    others = {key: value for key, value in p.items() if key != name}

    def function(x: Floats, *values: Floats) -> Floats:
        return excess({**dict(zip(others, values, strict=True)), name: x}, job)

    args = tuple(others.values())
    at_low, at_high = function(low, *args), function(high, *args)
    found = np.where(at_low >= 0, low, high)
    inside = (at_low < 0) & (at_high > 0)
    if inside.any():
        found[inside] = find_root(
            function,
            (low[inside], high[inside]),
            args=tuple(value[inside] for value in args),
            tolerances={"xrtol": 1e-14, "xatol": 0},
        ).x
    return found


#: Largest number of users at one server that floating-point numbers can count.
_COUNTED = 1e15

_SHARE = Condition("q", lambda p: (p["q"] > 0) & (p["q"] < 1), "be above 0 and below 1")


def users_for_response(
    R: ArrayLike,
    Z: ArrayLike,
    S: ArrayLike,
    lam: ArrayLike = 0,
    q: ArrayLike | None = None,
    job: Job = "closed",
) -> Value:
    """Return the number of closed users, a real number, for which a response time is R.

    For one server; a fractional N is that of `queueing.mixed`.

    Parameters
    ----------
    R : array_like
        Response time: the mean, or the quantile at q.
    Z : array_like
        Mean think time, 0 or more.
    S : array_like
        Mean service time, above 0.
    lam : array_like, default 0
        Rate of additional open jobs; lam S < 1.
    q : array_like, optional
        Probability of a response time of at most R; by default R is the mean.
    job : {"closed", "open"}
        Kind of jobs with the response time.

    Returns
    -------
    float or ndarray
        N, at least 1, or at least 0 for open jobs.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or R is below the response time of the fewest users,
        or above that of the most users (1e15, or 50 million for several servers).

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    Examples
    --------
    >>> N = users_for_response(R=5, Z=20, S=1)
    >>> round(N, 4)
    22.7445
    >>> from workloadkit.queueing import closed
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
    """Return the largest whole number of closed users for which a response time is at most R.

    Parameters
    ----------
    R, Z, S, lam, q, job
        See `users_for_response`; lam S < servers.
    servers : array_like, default 1
        Number of servers.

    Returns
    -------
    float or ndarray
        N, a whole number.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or R is below the response time of the fewest users,
        or above that of the most users (1e15, or 50 million for several servers).

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

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
    """Return the largest rate of open jobs for which a response time is at most R.

    Parameters
    ----------
    R : array_like
        Response time: the mean, or the quantile at q.
    S : array_like
        Mean service time, above 0.
    servers : array_like, default 1
        Number of servers.
    N, Z : array_like, default 0
        Number of additional closed users, and their mean think time.
    q : array_like, optional
        Probability of a response time of at most R; by default R is the mean.
    job : {"open", "closed"}
        Kind of jobs with the response time; for closed jobs, N must be at least 1.

    Returns
    -------
    float or ndarray
        The largest lam.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or R is below the response time without open jobs.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    Examples
    --------
    With one server and no closed users, 1/S − 1/R:

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
    """Return the minimum number of users for a response time of this kind of jobs."""
    if job not in ("closed", "open"):
        raise QueueingError(f"job is {quoted(job)}; it must be closed or open")
    return int(job == "closed")


def _checked(
    name: str, least: float, job: Job, q: ArrayLike | None, **given: ArrayLike
) -> dict[str, Floats]:
    """Check parameters, and R against the response time at the smallest value of the unknown."""
    rules = [positive("R"), not_negative("Z"), positive("S"), count("servers")]
    if q is not None:
        given["q"] = q
        rules.append(_SHARE)
    if name == "N":
        rules += [not_negative("lam"), stable()]
        without = "for one user" if least else "without users"
    else:
        fewest = Condition("N", lambda p: p["N"] >= _fewest(job), "be 1 or more for closed jobs")
        rules += [not_negative("N"), fewest, WHOLE_USERS]
        without = "without open jobs"

    def attainable(p: Parameters) -> Flags:
        held = np.logical_and.reduce([rule.holds(p) for rule in rules])
        p = {key: value[held] for key, value in p.items()}
        found = np.asarray(~held)  # other conditions are violated there
        found[held] = excess({**p, name: np.full(p["R"].shape, least)}, job) <= 1e-14
        return found

    words = f"be at least the response time {without}"
    if all(np.ndim(value) == 0 for value in given.values()):
        p = points(rules, **given)
        limit = response({**p, name: np.asarray(least)}, job).item()
        words = f"be at least {limit:.6g}, the response time {without}"
    return points([*rules, Condition("R", attainable, words)], **given)


def _users(p: Parameters, job: Job, solve: Callable[[dict[str, Floats], Floats], Floats]) -> Value:
    """Solve for a number of users, given an upper bound with too long response times."""
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
        int(i): f"R is {flat['R'][i]:g}; it is not exceeded even with {most[i]:,.0f} users"
        for i in known[np.isnan(breaks)]
    }
    missing(too_long, p["R"].shape)
    return plain(found.reshape(p["R"].shape))


def _too_many(p: Parameters, job: Job, most: Floats) -> Floats:
    """Return numbers of closed users with response times above R; NaN beyond `most`."""
    with np.errstate(over="ignore"):
        # an upper bound on throughput times R + Z, for a mean R
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
