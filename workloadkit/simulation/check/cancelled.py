"""Jobs that were cancelled while they waited, in a schedule and in its log."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import plural
from workloadkit.settings.simulation import Passes
from workloadkit.simulation.check.feasible import Listed, match_jobs
from workloadkit.simulation.check.verdicts import (
    INSTANT,
    ScheduleClaim,
    refuted,
    seconds,
)
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.workload import Workload, that_ran
from workloadkit.simulation.workload.from_log import cancelled_in_queue, needed_procs
from workloadkit.trace import Trace

_RESOURCES = ("processors", "KB of memory", "GPUs")


class Cancelled(NamedTuple):
    """The cancelled jobs that a schedule lists.

    Parameters
    ----------
    jobs : Listed
        The start is NaN for those that left the queue, and for all in a log.
    leaves : ndarray
        When they leave the queue, unless they start before. [s]
    """

    jobs: Listed
    leaves: NDArray


def listed_cancelled(schedule: Schedule | Trace, machine: int | None) -> Cancelled:
    """Return the cancelled jobs of a schedule; a log lists them with their recorded waits."""
    columns: Any
    if isinstance(schedule, Schedule) and schedule.cancelled is None:
        columns = [np.empty(0, np.int64)] * 6
        leaves = columns[0]
    elif isinstance(schedule, Schedule):
        assert schedule.cancelled is not None
        w, start = schedule.cancelled.workload, schedule.cancelled.start
        columns = w.job, w.submit, start, w.run, w.procs, w.procs.astype(np.float64)
        leaves = np.asarray(w.leaves)
    else:
        needed = needed_procs(schedule)
        rows = np.flatnonzero(cancelled_in_queue(schedule) & (needed <= (machine or np.inf)))
        job, submit, wait = (schedule.column(n)[rows] for n in ("job", "submit", "wait"))
        unknown = np.full(rows.size, np.nan)
        columns = job, submit, unknown, unknown, needed[rows], unknown
        leaves = submit + wait
    no = np.zeros(leaves.size, bool)
    return Cancelled(Listed._make((*columns, no, no)), leaves)


def cancelled_jobs_are_the_logs(
    workload: Workload,
    schedule: Schedule | Trace,
    listed: Cancelled,
    passes: Passes,
    *,
    records: bool,
) -> tuple[ScheduleClaim, NDArray[np.float64] | None]:
    """Check that cancelled jobs leave the queue as in the log, unless they start before.

    `records` is whether the schedule records that they were kept.

    Returns
    -------
    claim : ScheduleClaim
    began : ndarray of float64, shape (n_jobs,), or None
        Start of each cancelled job of the workload, NaN for those that left and for jobs that ran;
        None if the schedule does not contain the starts.
    """
    text = "cancelled jobs leave the queue as in the log, or start before"
    its = np.setdiff1d(np.arange(workload.row.size), that_ran(workload))
    w, (jobs, leaves) = workload.take(its), listed
    if its.size and not jobs.job.size and not records:
        why = f"the schedule lists none of {plural(its.size, 'job')}"
        return ScheduleClaim(text, "not applicable", why), None
    at, others = match_jobs(w, jobs)
    due = np.empty(0) if w.leaves is None else w.leaves
    if (at < 0).any():
        i = int(np.argmax(at < 0))
        why = f"job {w.job[i]}, cancelled at {seconds(due[i])}, is missing"
        return refuted(text, why, int((at < 0).sum()) + others.size), None
    if others.size:
        why = f"job {jobs.job[others[0]]} is not one of them in the log"
        return refuted(text, why, others.size), None
    start, tolerance = jobs.start[at], 0 if due.dtype.kind == "i" else INSTANT
    for wrong, what, times in (
        (np.abs(jobs.submit[at] - w.submit) > tolerance, "is submitted", jobs.submit[at]),
        (np.abs(leaves[at] - due) > tolerance, "is cancelled", leaves[at]),
        (start < w.submit, "starts before its submission,", start),
        (_is_late(start, due, w.submit, passes), "starts after it is cancelled,", start),
    ):
        if wrong.any():
            i = int(np.argmax(wrong))
            why = f"job {w.job[i]} {what} at {seconds(times[i])}"
            more = f"; in the log it is submitted at {seconds(w.submit[i])} and cancelled at"
            return refuted(text, f"{why}{more} {seconds(due[i])}", int(wrong.sum())), None
    if not isinstance(schedule, Schedule):
        why = f"{plural(its.size, 'job')}; a log does not contain which of them started"
        return ScheduleClaim(text, "proved", why), None
    began = np.full(workload.row.size, np.nan)
    began[its] = start
    n_started = int(np.count_nonzero(~np.isnan(start)))
    return ScheduleClaim(text, "proved", f"{plural(its.size, 'job')}, {n_started:,} started"), began


def _is_late(start: NDArray, leaves: NDArray, submit: NDArray, passes: Passes) -> NDArray[np.bool_]:
    """Whether jobs start when they have left: before the pass of their second, or at its end."""
    in_time = (start == leaves) & (leaves > submit) & (passes == "event")
    late: NDArray[np.bool_] = (start >= leaves) & ~in_time
    return late
