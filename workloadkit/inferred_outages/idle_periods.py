"""Idle periods of a machine, and the confidence that one is an outage."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import WEEK, Clock, enclosing, interval_of
from workloadkit.fields import CANCELLED, FAILED
from workloadkit.trace import Trace


class StartedJobs(NamedTuple):
    """The jobs that ran with known times, in order of their starts.

    Parameters
    ----------
    submit, start, end : ndarray of float, shape (n_jobs,)
        [s]
    procs : ndarray of float, shape (n_jobs,)
        Processors used.
    failed : ndarray of bool, shape (n_jobs,)
        Whether they failed or were cancelled.
    """

    submit: NDArray[np.float64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    procs: NDArray[np.float64]
    failed: NDArray[np.bool_]


class Silences(NamedTuple):
    """Periods between consecutive distinct starts, shape (n_silences,).

    Parameters
    ----------
    begin, end : ndarray of float
        The two starts. [s]
    free : ndarray of float
        Free processors at the beginning.
    fits : ndarray of float
        Earliest time at which one of the jobs that start at the end could have started: it is
        submitted, and enough processors are free; the end, if there is no such time. [s]
    fits_first : ndarray of float
        The same for the first job in the queue only; else the end. [s]
    idle : ndarray of float
        Time since which no job runs; the end, if jobs still run. [s]
    together : ndarray of int
        Jobs that failed or were cancelled in the second in which the machine fell idle, if nothing
        else ended then; 0 if jobs still run.
    """

    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    free: NDArray[np.float64]
    fits: NDArray[np.float64]
    fits_first: NDArray[np.float64]
    idle: NDArray[np.float64]
    together: NDArray[np.int64]


def jobs_of(trace: Trace, *, waits: bool) -> StartedJobs:
    """Return the jobs of a log that ran, in order of their starts.

    Parameters
    ----------
    trace : Trace
    waits : bool
        Whether to use the waits and exclude jobs of unknown wait; else jobs start when submitted.
    """
    wait = trace.column("wait")
    known = trace.ran & ~np.isnan(wait) if waits else trace.ran
    submit = trace.column("submit")[known]
    start = submit + np.maximum(wait[known], 0) if waits else submit
    order = np.argsort(start, kind="stable")
    failed = np.isin(trace.column("status")[known], (FAILED, CANCELLED))
    end, procs = start + trace.column("run")[known], trace.used_procs[known]
    return StartedJobs(submit[order], start[order], end[order], procs[order], failed[order])


def silences(jobs: StartedJobs, capacity: float) -> Silences:
    """Return the periods between starts, and when jobs could have started in them.

    Nothing starts within such a period, so free processors only increase: a job that fits once
    fits until the end.

    Parameters
    ----------
    jobs : StartedJobs
        With at least two different starts.
    capacity : float
        Number of available processors.
    """
    instants, first = np.unique(jobs.start, return_index=True)
    last = np.append(first[1:], jobs.start.size)  # one past the last job of each instant
    order = np.argsort(jobs.end, kind="stable")
    ends = jobs.end[order]
    released = np.append(0, np.cumsum(jobs.procs[order]))
    taken = np.append(0, np.cumsum(jobs.procs))[last]
    n_ended = np.searchsorted(ends, instants, side="right")
    free = capacity - (taken - released[n_ended])

    # If as many jobs ended as started, none runs.
    all_ended = last[:-1] - 1
    idle = np.minimum(np.maximum(ends[all_ended], instants[:-1]), instants[1:])

    # For each job after the first instant: the period that its start ends.
    job = np.arange(last[0], jobs.start.size)
    silence = np.searchsorted(instants, jobs.start[job]) - 1
    lacking = np.maximum(jobs.procs[job] - free[silence], 0)
    enough = np.searchsorted(released, released[n_ended[silence]] + lacking, side="left") - 1
    room = np.where(lacking > 0, ends[np.clip(enough, 0, ends.size - 1)], instants[silence])
    since = np.maximum(np.maximum(jobs.submit[job], instants[silence]), room)
    since = np.minimum(since, jobs.start[job])
    fits = instants[1:].copy()
    np.minimum.at(fits, silence, since)
    in_line = np.minimum.accumulate(jobs.submit[::-1])[
        ::-1
    ]  # earliest submission among jobs that start no earlier
    leads = jobs.submit[job] <= in_line[first[silence + 1]]
    fits_first = instants[1:].copy()
    np.minimum.at(fits_first, silence[leads], since[leads])

    # Jobs that ended in the second at which the machine fell idle.
    low = np.searchsorted(ends, idle, side="left")
    high = np.searchsorted(ends, idle, side="right")
    failed = np.append(0, np.cumsum(jobs.failed[order]))
    only_failed = failed[high] - failed[low] == high - low
    fell = (idle < instants[1:]) & only_failed & (idle >= instants[:-1])
    together = np.where(fell, high - low, 0)
    return Silences(instants[:-1], instants[1:], free[:-1], fits, fits_first, idle, together)


# Confidence that an idle period is an outage, given the log's ordinary idle periods.

#: Minimum number of idle periods from which a tail is estimated.
FEWEST = 20

_HOUR = 3600
_MOST_HOURS = 876_600
_TAILS = (1, 0.2, 0.05)  # candidate tails, as shares of the idle periods


def confidence(
    lengths: NDArray[np.float64], expected: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Return the confidence that idle periods do not follow the log's ordinary distribution.

    Of the idle periods of a kind, :math:`n(x)` last at least :math:`x`, where the ordinary
    distribution predicts :math:`E(x)`. About :math:`E(x) / n(x)` of them are therefore ordinary:
    the tail-area false discovery rate [1]_. The confidence is one minus this rate, made
    non-decreasing in the length.

    Parameters
    ----------
    lengths : ndarray, shape (n,)
        Lengths of all idle periods of the kind, in any unit.
    expected : ndarray, shape (n,)
        :math:`E` for each length.

    Returns
    -------
    confidence : ndarray of float, shape (n,)
    as_long : ndarray of int, shape (n,)
        :math:`n(x)`.

    References
    ----------
    .. [1] B. Efron, "Large-scale inference", Cambridge University Press, 2010, chapter 2.

    Examples
    --------
    >>> lengths = np.array([5.0, 9000])
    >>> sure, as_long = confidence(lengths, by_share(lengths, np.arange(99.0)))
    >>> sure.round(3).tolist(), as_long.tolist()
    ([0.05, 0.98], [2, 1])
    """
    order = np.argsort(lengths, kind="stable")
    as_long = lengths.size - np.searchsorted(lengths[order], lengths, side="left")
    sure = np.empty(lengths.size)
    sure[order] = np.maximum.accumulate(np.maximum(1 - expected / as_long, 0)[order])
    return sure, as_long


def by_share(lengths: NDArray[np.float64], ordinary: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected number of idle periods as long, from the shares of the ordinary ones."""
    longer = ordinary.size - np.searchsorted(np.sort(ordinary), lengths, side="left")
    # add one: lengths never observed are possible
    return lengths.size * (1 + longer) / (1 + ordinary.size)


def by_tail(lengths: NDArray[np.float64], ordinary: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected number of idle periods as long, from the tail of all `ordinary` ones.

    The tail follows a generalized Pareto distribution through the median and third quartile of
    the excesses [1]_, so up to a quarter of them may be outages without a bias. The threshold is
    unknown: tails of all, a fifth and a twentieth of the periods are tried, and the largest
    expectation is returned. No tail is lighter than exponential.

    Parameters
    ----------
    lengths : ndarray, shape (n,)
    ordinary : ndarray
        At least one.

    References
    ----------
    .. [1] J. Pickands, "Statistical inference using extreme order statistics", Annals of
       Statistics 3, 1975.

    Examples
    --------
    >>> halving = -np.log2(1 - (np.arange(1000) + 0.5) / 1000)  # half of them end in each unit
    >>> by_tail(np.array([0.0, 1, 10]), halving).round(1).tolist()
    [1000.0, 500.0, 1.0]
    """
    ascending = np.sort(ordinary)
    expected = np.zeros(lengths.size)
    for share in _TAILS:
        place = int(ascending.size * (1 - share))
        if place and ascending.size - place < FEWEST:
            break
        excess = ascending[place:] - (ascending[place - 1] if place else 0)
        over = lengths - (ascending[place - 1] if place else 0)
        as_long = ascending.size - np.searchsorted(ascending, lengths, side="left")
        tail = excess.size * _pareto(np.maximum(over, 0), *np.quantile(excess, [0.5, 0.75]))
        expected = np.maximum(expected, np.where(over > 0, tail, as_long))
    return expected


def _pareto(over: NDArray[np.float64], median: float, quartile: float) -> NDArray[np.float64]:
    """Return the tail probability of each length, given the median and third quartile."""
    if not median > 0:
        return np.ones(over.size)
    shape = np.log2((quartile - median) / median) if quartile > 2 * median else 0.0
    if shape > 0:
        return (1 + (2**shape - 1) * over / median) ** (-1 / shape)
    return np.exp2(-over / median)


def expected_submissions(
    submit: NDArray[np.float64], clock: Clock, times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the number of submissions expected up to each time from the log's own cycle.

    The cycle is weekly if the log covers eight weeks or more, daily if it covers eight days, and
    absent otherwise or if the log covers more than a century.

    Parameters
    ----------
    submit : ndarray, shape (n_jobs,)
        Ascending. [s]
    clock : Clock
    times : ndarray
        Between the first and the last submission. [s]

    Examples
    --------
    >>> from workloadkit import Trace
    >>> trace = Trace.from_columns({"submit": [0, 3600, 7200, 10800]})
    >>> expected_submissions(trace.column("submit"), Clock.of(trace), np.array([0, 5400])).tolist()
    [0.0, 2.0]
    """
    first, last = submit[0], submit[-1]
    if (last - first) / _HOUR > _MOST_HOURS:
        return submit.size * (times - first) / (last - first)
    edges = enclosing(first, last, _HOUR)
    covered = (np.minimum(edges[1:], max(last, first + 1)) - edges[:-1]) / _HOUR
    days = np.ceil((last - first) / _HOUR) / 24
    period = next((hours for hours in (WEEK // _HOUR, 24) if days >= hours / 3), 1)
    place = (np.floor(clock.local(edges[:-1] + _HOUR / 2) / _HOUR) % period).astype(np.int64)
    jobs = np.bincount(place[interval_of(edges, submit)], minlength=period)
    rate = jobs / np.maximum(np.bincount(place, covered, minlength=period), 1e-9)
    total = np.append(0, np.cumsum(rate[place] * covered))
    return np.interp(times, np.append(edges[:-1], max(last, first + 1)), total)
