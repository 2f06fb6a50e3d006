"""Idle periods: times in which a machine started no job although it could have."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
