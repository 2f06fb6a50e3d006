"""The jobs of a schedule in the form that the checks take, and those that were cancelled."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import plural
from workloadkit.settings.simulation import Passes
from workloadkit.simulation.check.feasible import Listed, match_jobs
from workloadkit.simulation.check.verdicts import (
    INSTANT,
    ScheduleClaim,
    as_instants,
    refuted,
    seconds,
)
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.machine.shutdowns import Shutdown
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.workload import Workload, that_ran
from workloadkit.simulation.workload.from_log import cancelled_in_queue, needed_procs
from workloadkit.trace import Trace


class ScheduleCase(NamedTuple):
    """The jobs of a schedule in the order of arrival, to be checked against a policy.

    Parameters
    ----------
    row : ndarray of int64, shape (n_jobs,)
        Of each job in the workload.
    job, user : ndarray of int64, shape (n_jobs,)
        Job and user numbers.
    submit, start, end, planned_end : ndarray, shape (n_jobs,)
        Times of each job; the planned end is the start plus the estimate. [s]
    run, estimate : ndarray, shape (n_jobs,)
        Run time, and what the scheduler plans with. [s]
    procs : ndarray of int64, shape (n_jobs,)
        Processors that each job needs.
    recorded_start : ndarray, shape (n_jobs,)
        Start in the log. [s]
    lost : ndarray of bool, shape (n_jobs,)
        Whether an outage ended the job.
    machine : int
        Processors of the machine.
    whole : bool
        Whether the simulation was in whole seconds; all times are int64 then.
    by_event : bool
        Whether there is a pass after each event.
    reacting : bool
        Whether users react: they may submit as soon as a job ends.
    outages : Interruptions, optional
        Outages, and the runs that they stopped.
    leaves : ndarray, optional
        When jobs that were cancelled while they waited leave the queue, unless the policy starts
        them before; a time after all times for jobs that ran. The starts and ends of those that
        leave are such a time. None if there are no cancelled jobs. [s]
    starts_known : bool
        Whether the schedule contains which of the cancelled jobs started, and when.
    tie : float
        How far times may be apart that are one, before they are rounded; 0 to compare them as they
        are. [s]
    """

    row: NDArray[np.int64]
    job: NDArray[np.int64]
    user: NDArray[np.int64]
    submit: NDArray
    start: NDArray
    end: NDArray
    planned_end: NDArray
    run: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    recorded_start: NDArray
    lost: NDArray[np.bool_]
    machine: int
    whole: bool
    by_event: bool
    reacting: bool
    outages: "Interruptions | None" = None
    leaves: NDArray | None = None
    starts_known: bool = False
    tie: float = 0

    @property
    def ran(self) -> NDArray[np.bool_]:
        """Which of the jobs ran in the log."""
        if self.leaves is None:
            return np.ones(self.row.size, bool)
        return self.leaves == never(self.leaves.dtype)

    @property
    def exact(self) -> bool:
        """Whether no sum of times rounds: all are multiples of one power of two."""
        every = [self.submit, self.run, self.estimate, *self._times().values()]
        every = [times[times < never(times.dtype)].astype(np.float64) for times in every]
        most = sum(float(np.abs(times).sum()) for times in every[1:3]) + max(
            float(np.abs(times).max(initial=0)) for times in every
        )
        unit = np.ldexp(1.0, np.frexp(most)[1] - 53)
        return all(bool((np.fmod(times, unit) == 0).all()) for times in every)

    def rounded(self) -> "ScheduleCase":
        """Return the case with times that count as one if they differ only by rounding."""
        known = {name: times[~np.isinf(times)] for name, times in self._times().items()}
        merged = dict(zip(known, as_instants(*known.values()), strict=True))
        columns: dict[str, Any] = {}
        for name, times in self._times().items():
            columns[name] = times.copy()
            columns[name][~np.isinf(times)] = merged[name]
        last = float(np.abs(merged["end"]).max())
        return self._replace(**columns, tie=max(INSTANT, 8 * float(np.spacing(last))))

    def _times(self) -> dict[str, NDArray]:
        names = ("submit", "start", "end", "planned_end", "leaves")
        return {n: times for n in names if (times := getattr(self, n)) is not None}


class Interruptions(NamedTuple):
    """Outages during a schedule, and the runs that they stopped.

    Parameters
    ----------
    time : ndarray, shape (n_changes,)
        Times of change, ascending. [s]
    up : ndarray of int64, shape (n_changes,)
        Change in the number of working processors at each of these times.
    begin, until : ndarray, shape (n_announced,)
        Period in which each announced outage is known. [s]
    job : ndarray of int64, shape (n_stopped,)
        Job of each stopped run, as its place in the order of arrival.
    start, end : ndarray, shape (n_stopped,)
        Start and end of each stopped run, in the order of the ends. [s]
    """

    time: NDArray
    up: NDArray[np.int64]
    begin: NDArray
    until: NDArray
    job: NDArray[np.int64]
    start: NDArray
    end: NDArray


def interruptions_of(
    case: ScheduleCase,
    at: NDArray[np.int64],
    runs: Listed,
    stopped: NDArray[np.int64],
    down: Sequence[Shutdown],
) -> Interruptions:
    """Return the outages and the runs that they stopped; `at` and `stopped` are schedule places."""
    dtype = case.start.dtype
    its = np.flatnonzero(case.ran)
    places = np.empty(its.size, np.int64)
    places[at[case.row[its]]] = its
    start = runs.start[its.size :]
    end = start + runs.run[its.size :]
    order = np.argsort(end, kind="stable")
    order = order[(end > start)[order]]  # a run of zero length occupies no processor
    n_down, changes = np.zeros(case.machine, np.int64), []
    events = [(s.start, 1, s.processors) for s in down]
    events += [(s.end, -1, s.processors) for s in down if s.end < np.inf]
    for time, more, processors in sorted(events, key=lambda event: event[0]):
        before = np.count_nonzero(n_down)
        n_down[processors] += more
        changes.append((time, before - np.count_nonzero(n_down)))
    known = [s for s in down if s.announced is not None]
    return Interruptions(
        time=np.array([time for time, _ in changes], dtype),
        up=np.array([up for _, up in changes], np.int64),
        begin=np.array([s.announced for s in known], dtype),
        until=np.array([s.start if s.end == np.inf else s.end for s in known], dtype),
        job=places[stopped[order]],
        start=start[order].astype(dtype),
        end=end[order].astype(dtype),
    )


def make_case(
    workload: Workload,
    listed: Listed,
    at: NDArray[np.int64],
    machine: int,
    passes: Passes,
    *,
    reacting: bool,
    began: NDArray[np.float64] | None = None,
) -> ScheduleCase:
    """Sort the jobs of a schedule by arrival.

    `at` is the place of each job in the schedule; any number for jobs that were cancelled. `began`
    is when these started, NaN for those that did not and for jobs that ran; None if unknown.
    """
    ran = np.isin(np.arange(workload.row.size), that_ran(workload))
    job, at = workload.job, at[ran]
    submit = workload.submit.astype(np.result_type(workload.submit, listed.submit))
    start = np.full(job.size, np.nan) if began is None else began.copy()
    submit[ran], start[ran] = listed.submit[at], listed.start[at]
    run: NDArray = workload.run.astype(np.float64)
    lost = np.zeros(job.size, bool)
    lost[ran] = listed.lost[at] & (listed.run[at] < run[ran] - INSTANT)
    run[lost] = listed.run[at][lost[ran]]
    recorded_start = submit + workload.wait
    estimate, leaves, known = workload.estimate, workload.leaves, ~np.isnan(start)
    whole = workload.submit.dtype.kind == "i" and all(
        (times == np.rint(times)).all() for times in (submit, start[known], run)
    )
    dtype = np.dtype(np.int64 if whole else np.float64)
    submit, run, estimate = (times.astype(dtype) for times in (submit, run, estimate))
    start, end, planned_end = (
        np.where(known, start, 0).astype(dtype) + more for more in (0, run, estimate)
    )
    for times in (start, end, planned_end):
        times[~known] = never(dtype)
    if leaves is not None:
        leaves = np.where(ran, never(dtype), leaves).astype(dtype)

    order = np.arange(job.size)
    if (np.diff(submit) < 0).any():  # submitted at other times than in the log
        order = np.lexsort((job, submit))
    return ScheduleCase(
        row=order,
        job=job[order],
        user=workload.user[order],
        submit=submit[order],
        start=start[order],
        end=end[order],
        planned_end=planned_end[order],
        run=run[order],
        estimate=estimate[order],
        procs=workload.procs[order],
        recorded_start=recorded_start[order],
        lost=lost[order],
        machine=machine,
        whole=whole,
        by_event=passes == "event",
        reacting=reacting,
        leaves=None if leaves is None else leaves[order],
        starts_known=began is not None,
    )


# Jobs that were cancelled while they waited, in a schedule and in its log.


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
