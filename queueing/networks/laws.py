"""Operational laws of any system, and the measures of a system in an interval.

They hold for averages measured over any interval with as many arrivals as departures, for any
distributions and order of service [1]_.

.. [1] P. J. Denning, J. P. Buzen, "The operational analysis of queueing network models", ACM
   Computing Surveys 10(3), 1978.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import (
    Condition,
    Flags,
    Floats,
    Value,
    count,
    not_negative,
    numbers,
    plain,
    points,
    positive,
)
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.networks.model import finite_not_negative, hold


def utilization_law(X: ArrayLike, S: ArrayLike, servers: ArrayLike = 1) -> Value:
    """Return U = X S / c, the utilization of a server.

    Parameters
    ----------
    X : array_like
        Completions per unit of time.
    S : array_like
        Mean service time per completion.
    servers : array_like, default 1

    Examples
    --------
    >>> utilization_law(X=40, S=0.025, servers=2)
    0.5
    """
    at = points([not_negative("X"), not_negative("S"), count("servers")], X=X, S=S, servers=servers)
    return _product(at["X"], at["S"] / at["servers"])


def littles_law(X: ArrayLike, R: ArrayLike) -> Value:
    """Return Q = X R, the mean number of jobs.

    Parameters
    ----------
    X : array_like
        Completions per unit of time.
    R : array_like
        Mean time of a job in the system.

    Examples
    --------
    >>> littles_law(X=2, R=[1, 3])
    array([2., 6.])
    """
    at = points([not_negative("X"), not_negative("R")], X=X, R=R)
    return _product(at["X"], at["R"])


def forced_flow_law(X: ArrayLike, visits: ArrayLike) -> Value:
    """Return X_k = V_k X, the throughput of a station.

    Parameters
    ----------
    X : array_like
        Throughput of the system.
    visits : array_like
        Visits of a job to the station.

    Examples
    --------
    >>> forced_flow_law(X=0.5, visits=[20, 8])
    array([10.,  4.])
    """
    at = points([not_negative("X"), not_negative("visits")], X=X, visits=visits)
    return _product(at["X"], at["visits"])


def interactive_response_time(N: ArrayLike, X: ArrayLike, Z: ArrayLike) -> Value:
    """Return R = N/X - Z, the mean response time of users with think times.

    Parameters
    ----------
    N : array_like
        Number of users.
    X : array_like
        Completions per unit of time.
    Z : array_like
        Mean think time.

    Raises
    ------
    QueueingError
        If a parameter violates its condition, or X exceeds N / Z.

    Warns
    -----
    QueueingWarning
        If points of an array violate a condition; they are NaN.

    Examples
    --------
    >>> interactive_response_time(N=20, X=0.5, Z=30)
    10.0
    """
    rules = [not_negative("N"), positive("X"), not_negative("Z")]
    most = Condition("X", _few_enough, "be at most N / Z")
    at = points([*rules, most], N=N, X=X, Z=Z)
    with np.errstate(over="ignore"):
        return plain(np.maximum(at["N"] / at["X"] - at["Z"], 0.0))


def _few_enough(p: Mapping[str, Floats]) -> Flags:
    rounding = 4 * np.finfo(np.float64).eps
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return p["N"] / p["X"] >= p["Z"] * (1 - rounding)


def _product(left: Floats, right: Floats) -> Value:
    with np.errstate(over="ignore"):
        return plain(left * right)


class Bottleneck(NamedTuple):
    """The station that limits throughput.

    Parameters
    ----------
    station : int
        Index of the station; the first if several.
    D_max : float
        Demand per server.
    X_max : float
        Maximum throughput, 1/D_max.
    N_star : float
        Population above which jobs must queue, (ΣD + Z)/D_max.
    """

    station: int
    D_max: float
    X_max: float
    N_star: float


def bottleneck(demands: ArrayLike, Z: float = 0.0, servers: ArrayLike = 1) -> Bottleneck:
    """Return the station that limits throughput, and the limit.

    Parameters
    ----------
    demands : array_like, shape (K,)
        Service demand of a job at each station, over all visits.
    Z : float, default 0
        Think time.
    servers : array_like, shape (K,), default 1
        Servers of each station; inf for a delay station.

    Examples
    --------
    >>> bottleneck([0.605, 2.1, 1.35], Z=15).station
    1
    """
    demand, think, c = numbers("demands", demands), numbers("Z", Z), numbers("servers", servers)
    if demand.ndim != 1 or not demand.size:
        raise QueueingError(f"the shape of demands is {demand.shape}; it must be (K,)")
    hold("demands", demand, finite_not_negative, "be finite, 0 or more")
    hold("Z", think, finite_not_negative, "be finite, 0 or more")
    hold("servers", c, lambda v: v >= 1, "be 1 or more")
    if think.ndim or c.ndim > 1 or c.size not in (1, demand.size):
        raise QueueingError("Z must be one number, servers one or as many as demands")
    each = demand / c
    station = int(np.argmax(each))
    top = float(each[station])
    if top == 0:
        raise QueueingError("demands are all 0 or pure delays; no station limits throughput")
    return Bottleneck(station, top, 1 / top, float((demand.sum() + think) / top))


# Measures of a system in an interval: counts, busy time, and sums over jobs.


@dataclass(frozen=True, kw_only=True)
class Observation(DisplayedResult):
    """Measures of a system, or of a station, in an interval; unknown ones may be omitted.

    Parameters
    ----------
    time : float
        Length T of the interval.
    arrivals, completions : float
        Number of arrivals A and of completions C.
    busy : float, optional
        Busy time B, summed over servers.
    job_time : float, optional
        Integral W of the number of jobs over the interval: waiting or in service.
    waiting_time : float, optional
        Integral of the number of waiting jobs.
    service : float, optional
        Mean server time of the completed jobs (times processors, if servers are processors).
    response, wait : float, optional
        Mean times of these jobs from submission to end and to start.
    servers : float, default 1
    users, think : float, optional
        Users N of a closed system, and their mean think time Z.
    at_begin, at_end : float, optional
        Jobs present at the begin and end of the interval.
    visits : float, optional
        Visits of a job to this station.

    Raises
    ------
    QueueingError
        If a measure is not finite or negative, or time or servers are 0.
    """

    time: float
    arrivals: float
    completions: float
    busy: float | None = None
    job_time: float | None = None
    waiting_time: float | None = None
    service: float | None = None
    response: float | None = None
    wait: float | None = None
    servers: float = 1.0
    users: float | None = None
    think: float | None = None
    at_begin: float | None = None
    at_end: float | None = None
    visits: float | None = None

    def __post_init__(self) -> None:
        """Check the measures."""
        for known in fields(self):
            value = getattr(self, known.name)
            if value is None:
                continue
            number = numbers(known.name, value)
            if number.ndim or not 0 <= number < np.inf:
                raise QueueingError(
                    f"{known.name} is {quoted(value)}; it must be a finite number, 0 or more"
                )
            if number == 0 and known.name in ("time", "servers"):
                raise QueueingError(f"{known.name} is 0; it must be above 0")

    @property
    def X(self) -> float:
        """Throughput C/T."""
        return self.completions / self.time

    @property
    def flow_balance_error(self) -> float:
        """Arrivals minus completions, relative to the completions; nan without completions."""
        if not self.completions:
            return float("nan")
        return (self.arrivals - self.completions) / self.completions


class System(TypedDict, total=False):
    """What a schedule does not contain of the system: measures of an `Observation`."""

    users: float | None
    think: float | None
    visits: float | None


def observe(
    submit: ArrayLike,
    start: ArrayLike,
    end: ArrayLike,
    *,
    servers: float = 1,
    procs: ArrayLike = 1,
    window: tuple[float, float] | None = None,
    **system: Unpack[System],
) -> Observation:
    """Measure a schedule in an interval.

    Parameters
    ----------
    submit, start, end : array_like, shape (n_jobs,)
        Times of the jobs (or visits to a station), in any order.
    servers : float, default 1
        Servers, or processors.
    procs : array_like, default 1
        Servers that each job uses.
    window : (float, float), optional
        Begin (inclusive) and end (exclusive) of the interval. By default from the first submission
        to the last end, both inclusive, so that no jobs are present before or after.
    users, think : float, optional
        Users of a closed system and their mean think time.
    visits : float, optional
        Visits of a job to this station.

    Raises
    ------
    QueueingError
        If times are not finite or not in order (the message names the job); if there are no jobs,
        or the interval has no length.

    Examples
    --------
    Three jobs on one server:

    >>> seen = observe(submit=[0, 1, 2], start=[0, 2, 5], end=[2, 5, 6])
    >>> seen.time, seen.busy, seen.job_time, seen.response
    (6.0, 6.0, 10.0, 3.3333333333333335)
    """
    times = _times(submit, start, end)
    submitted, started, ended = times
    width = _width(procs, submitted.shape)
    if window is None:
        begin, until = submitted.min(), ended.max()
        came = left = np.ones(submitted.shape, np.bool_)
        before = after = 0
    else:
        edges = numbers("window", window)
        if edges.shape != (2,):
            raise QueueingError(f"window is {quoted(window)}; it must have a begin and an end")
        begin, until = edges
        came, left = ((begin <= t) & (t < until) for t in (submitted, ended))
        before, after = (int(((submitted < t) & (ended >= t)).sum()) for t in (begin, until))
    if not 0 < until - begin < np.inf:
        raise QueueingError(f"window is from {begin:g} to {until:g}; it must have a length")

    def inside(first: Floats, last: Floats) -> Floats:
        return np.maximum(np.minimum(last, until) - np.maximum(first, begin), 0.0)

    def mean(values: Floats) -> float | None:
        return float(values[left].mean()) if left.any() else None

    return Observation(
        time=float(until - begin),
        arrivals=int(came.sum()),
        completions=int(left.sum()),
        busy=float((width * inside(started, ended)).sum()),
        job_time=float(inside(submitted, ended).sum()),
        waiting_time=float(inside(submitted, started).sum()),
        service=mean(width * (ended - started)),
        response=mean(ended - submitted),
        wait=mean(started - submitted),
        servers=servers,
        at_begin=before,
        at_end=after,
        **system,
    )


def _times(*given: ArrayLike) -> tuple[Floats, Floats, Floats]:
    names = ("submit", "start", "end")
    submit, start, end = (numbers(n, value) for n, value in zip(names, given, strict=True))
    if submit.ndim != 1 or not submit.shape == start.shape == end.shape:
        raise QueueingError(
            f"the shapes of submit, start and end are {submit.shape}, {start.shape} and "
            f"{end.shape}; all must be (n_jobs,)"
        )
    if not submit.size:
        raise QueueingError("submit is empty; at least one job is required")
    for name, times in zip(names, (submit, start, end), strict=True):
        if not np.isfinite(times).all():
            job = int(np.argmin(np.isfinite(times)))
            raise QueueingError(f"{name} of job {job} is {times[job]:g}; it must be finite")
    for name, first, last in (("start", submit, start), ("end", start, end)):
        if (last < first).any():
            job = int(np.argmax(last < first))
            earlier = "submit" if name == "start" else "start"
            raise QueueingError(
                f"{name} of job {job} is {last[job]:g}; it must not be before its {earlier}, "
                f"{first[job]:g}"
            )
    return submit, start, end


def _width(procs: ArrayLike, shape: tuple[int, ...]) -> Floats:
    width = numbers("procs", procs)
    if width.shape not in ((), shape):
        raise QueueingError(f"the shape of procs is {width.shape}; the jobs need {shape}")
    if not ((width > 0) & (width < np.inf)).all():
        raise QueueingError("procs must be finite and above 0")
    return width
