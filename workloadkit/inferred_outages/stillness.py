"""When a machine started nothing, though it could have; and when it had nothing to do."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import CANCELLED, FAILED
from workloadkit.trace import Trace


class Jobs(NamedTuple):
    """The jobs that ran and whose times are known, in the order of their starts.

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
    """What lies between each start and the next one that is later, shape (n_silences,).

    Parameters
    ----------
    begin, end : ndarray of float
        The one start, and the other. [s]
    free : ndarray of float
        Processors that are free as it begins.
    fits : ndarray of float
        Since when the first of the jobs that start at its end could have: it is submitted, and
        ends have made room for it; the end, if it had to wait so long. [s]
    fits_first : ndarray of float
        The same, where that job was the first in line; else the end. [s]
    idle : ndarray of float
        Since when no job ran; the end, if some still do. [s]
    together : ndarray of int
        Jobs that failed or were cancelled as the machine fell idle, if nothing else ended in that
        second; 0 where some still ran.
    """

    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    free: NDArray[np.float64]
    fits: NDArray[np.float64]
    fits_first: NDArray[np.float64]
    idle: NDArray[np.float64]
    together: NDArray[np.int64]


def jobs_of(trace: Trace, *, waits: bool) -> Jobs:
    """Return the jobs of a log that ran, in the order of their starts.

    Parameters
    ----------
    trace : Trace
    waits : bool
        Whether waits are known: then jobs without are left out; else all started when submitted.
    """
    wait = trace.column("wait")
    known = trace.ran & ~np.isnan(wait) if waits else trace.ran
    submit = trace.column("submit")[known]
    start = submit + np.maximum(wait[known], 0) if waits else submit
    order = np.argsort(start, kind="stable")
    failed = np.isin(trace.column("status")[known], (FAILED, CANCELLED))
    end, procs = start + trace.column("run")[known], trace.used_procs[known]
    return Jobs(submit[order], start[order], end[order], procs[order], failed[order])


def silences(jobs: Jobs, capacity: float) -> Silences:
    """Find the times between starts, and what could have been started in them.

    Nothing starts in a silence, so the room in it only grows: a job that fits once fits until the
    end.

    Parameters
    ----------
    jobs : Jobs
        Two starts or more that differ.
    capacity : float
        Processors that are there.
    """
    instants, first = np.unique(jobs.start, return_index=True)
    last = np.append(first[1:], jobs.start.size)  # of the jobs of each instant, and one beyond
    order = np.argsort(jobs.end, kind="stable")
    ends = jobs.end[order]
    released = np.append(0, np.cumsum(jobs.procs[order]))
    taken = np.append(0, np.cumsum(jobs.procs))[last]
    n_ended = np.searchsorted(ends, instants, side="right")
    free = capacity - (taken - released[n_ended])

    # As many ends as starts before: no job runs.
    all_ended = last[:-1] - 1
    idle = np.minimum(np.maximum(ends[all_ended], instants[:-1]), instants[1:])

    # Of each job but those of the first instant: the silence that its start ends.
    job = np.arange(last[0], jobs.start.size)
    silence = np.searchsorted(instants, jobs.start[job]) - 1
    lacking = np.maximum(jobs.procs[job] - free[silence], 0)
    enough = np.searchsorted(released, released[n_ended[silence]] + lacking, side="left") - 1
    room = np.where(lacking > 0, ends[np.clip(enough, 0, ends.size - 1)], instants[silence])
    since = np.maximum(np.maximum(jobs.submit[job], instants[silence]), room)
    since = np.minimum(since, jobs.start[job])
    fits = instants[1:].copy()
    np.minimum.at(fits, silence, since)
    in_line = np.minimum.accumulate(jobs.submit[::-1])[::-1]  # of the jobs that start no earlier
    leads = jobs.submit[job] <= in_line[first[silence + 1]]
    fits_first = instants[1:].copy()
    np.minimum.at(fits_first, silence[leads], since[leads])

    # What ended in the second at which the machine fell idle.
    low = np.searchsorted(ends, idle, side="left")
    high = np.searchsorted(ends, idle, side="right")
    failed = np.append(0, np.cumsum(jobs.failed[order]))
    only_failed = failed[high] - failed[low] == high - low
    fell = (idle < instants[1:]) & only_failed & (idle >= instants[:-1])
    together = np.where(fell, high - low, 0)
    return Silences(instants[:-1], instants[1:], free[:-1], fits, fits_first, idle, together)
