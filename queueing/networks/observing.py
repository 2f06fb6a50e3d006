"""Measures of a system in an interval: counts, busy time, and sums over jobs."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, numbers
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted


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


def observe(
    submit: ArrayLike,
    start: ArrayLike,
    end: ArrayLike,
    *,
    servers: float = 1,
    procs: ArrayLike = 1,
    window: tuple[float, float] | None = None,
    users: float | None = None,
    think: float | None = None,
    visits: float | None = None,
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

    Returns
    -------
    Observation

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
        users=users,
        think=think,
        at_begin=before,
        at_end=after,
        visits=visits,
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
