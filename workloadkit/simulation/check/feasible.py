"""Rules for every schedule: its jobs are those of the log, and the machine has room for them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import plural
from workloadkit.fields import CANCELLED, COMPLETED, FAILED
from workloadkit.simulation.check.verdicts import (
    INSTANT,
    ScheduleClaim,
    as_instants,
    jobs_named,
    refuted,
    seconds,
    use_of,
)
from workloadkit.simulation.machine.shutdowns import Shutdown, UserOutage
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.workload import Workload, never
from workloadkit.trace import Trace


class Listed(NamedTuple):
    """The jobs as the schedule lists them; NaN for an unknown start."""

    job: NDArray[np.int64]
    submit: NDArray
    start: NDArray
    run: NDArray
    procs: NDArray  # processors needed
    used: NDArray  # processors used; NaN for unknown
    stopped: NDArray[np.bool_]  # at the estimate
    lost: NDArray[np.bool_]  # failed, perhaps by an outage


def listed_jobs(schedule: Schedule | Trace) -> Listed:
    """Return the jobs of a schedule; jobs of a log that never ran are left out."""
    if isinstance(schedule, Schedule):
        w = schedule.workload
        used = w.procs.astype(np.float64)
        lost = np.asarray(schedule.columns.get("lost", np.zeros(used.size)), dtype=bool)
        return Listed(w.job, w.submit, schedule.start, w.run, w.procs, used, w.killed, lost)
    rows = np.flatnonzero(schedule.ran)
    names = ("job", "submit", "wait", "run", "procs", "requested_procs", "status")
    job, submit, wait, run, used, requested, status = (
        schedule.column(name)[rows] for name in names
    )
    procs = np.where(requested > 0, requested, schedule.used_procs[rows])
    stopped, lost = status == CANCELLED, status == FAILED
    return Listed(job, submit, submit + wait, run, procs, used, stopped, lost)


def match_jobs(workload: Workload, listed: Listed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find each job of the log in the schedule; return its place or -1, and the unmatched places.

    Jobs are matched by number and submit time; the rest by number and order. Among several equal
    jobs, processors and run time decide, then their order.
    """
    n = workload.job.size
    if n == listed.job.size:
        same = (workload.run == listed.run) | listed.lost
        for name in ("job", "submit", "procs"):
            same &= getattr(workload, name) == getattr(listed, name)
        if same.all():
            return np.arange(n), np.empty(0, np.int64)
    at = np.full(n, -1)
    free = np.ones(listed.job.size, dtype=bool)
    for keys, order in ((["job", "submit"], ["procs", "run"]), (["job"], ["submit"])):
        ours, theirs = np.flatnonzero(at < 0), np.flatnonzero(free)
        a, b = (
            pd.DataFrame({name: getattr(jobs, name)[rows] for name in (*keys, *order)})
            .astype({"submit": np.float64})
            .assign(place=rows)
            .sort_values(order, kind="stable")
            .assign(nth=lambda t, keys=keys: t.groupby(keys).cumcount())
            for jobs, rows in ((workload, ours), (listed, theirs))
        )
        found = a.merge(b, on=[*keys, "nth"])
        at[found["place_x"]] = found["place_y"]
        free[found["place_y"]] = False
    return at, np.flatnonzero(free)


def each_is_there_once(
    workload: Workload,
    listed: Listed,
    at: NDArray[np.int64],
    others: NDArray[np.int64],
    n_ran: int,
) -> ScheduleClaim:
    """Check that each job that ran occurs once, and no other."""
    text = "each job that ran occurs once, no other does"
    dropped = n_ran - workload.job.size
    if dropped:
        text += f" (without {plural(dropped, 'job')} larger than the machine)"
    lost = np.flatnonzero(at < 0)
    if lost.size:
        submit = seconds(workload.submit[lost[0]])
        why = f"job {workload.job[lost[0]]}, submitted at {submit}, is missing"
        return refuted(text, why, lost.size + others.size)
    if others.size:
        job = listed.job[others[0]]
        twice = job in workload.job
        why = f"job {job} occurs twice" if twice else f"job {job} is not in the log"
        return refuted(text, why, others.size)
    return ScheduleClaim(text, "proved", plural(workload.job.size, "job"))


def needs_are_the_logs(
    trace: Trace, workload: Workload, listed: Listed, at: NDArray[np.int64], changing: bool
) -> ScheduleClaim:
    """Check processors and run times."""
    text = "processors and run times equal the log's"
    w, ours = workload, np.flatnonzero(at >= 0)
    theirs = at[ours]
    procs, run, used = listed.procs[theirs], listed.run[theirs], listed.used[theirs]
    needed, runs, killed = w.procs[ours], w.run[ours], w.killed[ours]
    in_log = trace.used_procs[w.row[ours]]
    more = (procs != needed) | ((used > 0) & (used != needed) & (used != in_log))
    if more.any():
        i = int(np.argmax(more))
        seen = procs[i] if procs[i] != needed[i] else used[i]
        why = f"job {w.job[ours[i]]} has {plural(seen, 'processor')}, in the log {needed[i]:,}"
        return refuted(text, why, more.sum())
    lost = listed.lost[theirs] & (run < runs) & changing
    longer = ~(np.abs(run - runs) <= (0 if runs.dtype.kind == "i" else INSTANT)) & ~lost
    if longer.any():
        i = int(np.argmax(longer))
        where = "stopped at its estimate" if killed[i] else "in the log"
        seen, due = seconds(run[i]), seconds(runs[i])
        return refuted(text, f"job {w.job[ours[i]]} runs {seen}, {where} {due}", longer.sum())
    unmarked = killed & ~listed.stopped[theirs] & ~lost
    if unmarked.any():
        job = w.job[ours[np.argmax(unmarked)]]
        why = f"job {job} is stopped at its estimate but not marked so (status {CANCELLED})"
        return refuted(text, why, unmarked.sum())
    stopped = f", {killed.sum():,} of them stopped at their estimates" if killed.any() else ""
    stopped += f", {lost.sum():,} lost" if lost.any() else ""
    return ScheduleClaim(text, "proved", plural(ours.size, "job") + stopped)


def other_fields_are_the_logs(
    trace: Trace,
    workload: Workload,
    schedule: Schedule | Trace,
    at: NDArray[np.int64],
    changing: bool,
) -> ScheduleClaim:
    """Check the fields that a simulator copies; fields written as unknown are not compared."""
    text = "all other fields equal the log's"
    ours = np.flatnonzero(at >= 0)
    rows = workload.row[ours]
    if isinstance(schedule, Schedule):
        theirs, there = schedule.source, schedule.workload.row[at[ours]]
    else:
        theirs, there = schedule, np.flatnonzero(schedule.ran)[at[ours]]
    wrong, first = 0, ""
    for name in _HANDED_ON:
        due, found = trace.column(name)[rows], theirs.column(name)[there]
        if name == "cpu":  # that of a run that was cut is not determined
            whole = theirs.column("run")[there] == trace.column("run")[rows]
            due = np.where(whole, due, found)
        if name == "status" and isinstance(schedule, Trace):
            due = np.where(
                (due < 0) & (found == COMPLETED), COMPLETED, due
            )  # the simulation ran it
            due = np.where(workload.killed[ours], CANCELLED, due)
            due = np.where(changing & (found == FAILED), FAILED, due)
        other = np.flatnonzero((found != due) & (found >= 0))  # False for NaN
        wrong += other.size
        if other.size and not first:
            i = other[0]
            job, seen = workload.job[ours[i]], f"{name} {found[i]:g}"
            first = f"job {job} has {seen}, in the log {due[i]:g}"
    if wrong:
        return refuted(text, first, wrong)
    return ScheduleClaim(text, "proved", f"{len(_HANDED_ON)} fields")


#: Fields that no simulation changes, except the status and CPU time of stopped jobs.
_HANDED_ON = (
    *("cpu", "memory", "requested_procs", "requested_time", "requested_memory", "status", "user"),
    *("group", "executable", "queue", "partition", "preceding_job", "think_time"),
)


def submit_times_are_the_logs(
    workload: Workload, listed: Listed, at: NDArray[np.int64], offered_load: float | None
) -> ScheduleClaim:
    """Check submit times."""
    text = "submit times equal the log's"
    if offered_load is not None:
        text += f" at an offered load of {offered_load:g}"
    ours = np.flatnonzero(at >= 0)
    due, submit = workload.submit[ours], listed.submit[at[ours]]
    moved = np.flatnonzero(due != submit)
    if moved.size:
        i = moved[0]
        job = workload.job[ours[i]]
        why = f"job {job}, matched by number and order, is submitted at {seconds(submit[i])}"
        return refuted(text, f"{why}, not {seconds(due[i])}", moved.size)
    return ScheduleClaim(text, "proved", plural(ours.size, "job"))


def every_job_starts(listed: Listed) -> ScheduleClaim:
    """Check that all starts are known."""
    text = "every job starts"
    waits = np.flatnonzero(~np.isfinite(listed.start))
    if waits.size:
        return refuted(text, f"the wait of job {listed.job[waits[0]]} is unknown", waits.size)
    return ScheduleClaim(text, "proved", plural(listed.job.size, "job"))


def none_starts_early(listed: Listed) -> ScheduleClaim:
    """Check that no job starts before its submission."""
    text = "no job starts before its submission"
    early = np.flatnonzero(listed.start < listed.submit)
    if early.size:
        i = early[0]
        start, submit = seconds(listed.start[i]), seconds(listed.submit[i])
        why = f"job {listed.job[i]} starts at {start}, submitted at {submit}"
        return refuted(text, why, early.size)
    known = np.isfinite(listed.start)
    waiting = int((listed.start[known] > listed.submit[known]).sum())
    return ScheduleClaim(text, "proved", f"{waiting:,} waited")


def state_goes_on(
    workload: Workload, listed: Listed, at: NDArray[np.int64], begin: float
) -> ScheduleClaim:
    """Check that jobs which run in the state keep their starts, and no other starts before it.

    Parameters
    ----------
    workload : Workload
        The jobs of the log, of which some have begun.
    listed : Listed
    at : ndarray of int64
        Place of each job of the log in the schedule.
    begin : float
        The instant of the state. [s]
    """
    text = "running jobs keep their starts, and all others start after the state"
    assert workload.begun is not None  # as there is a state
    start, runs = listed.start[at], workload.begun != never(workload.begun.dtype)
    wrong = np.flatnonzero(np.where(runs, start != workload.begun, start < begin))
    if wrong.size:
        i = wrong[0]
        should = f"started at {seconds(workload.begun[i])}" if runs[i] else "waits"
        why = f"job {workload.job[i]} starts at {seconds(start[i])}; in the state it {should}"
        return refuted(text, why, wrong.size)
    return ScheduleClaim(text, "proved", f"{int(runs.sum()):,} ran")


def with_stopped_runs(
    listed: Listed, schedule: Schedule | Trace
) -> tuple[Listed, NDArray[np.int64]]:
    """Return the jobs of a schedule followed by their stopped runs, and the jobs of these.

    A log contains no stopped runs. The run of a lost job was stopped, and is in the list already.
    """
    runs = schedule.runs if isinstance(schedule, Schedule) else ()
    stopped = [run for run in runs if run.interrupted and run.start != listed.start[run.row]]
    rows = np.array([run.row for run in stopped], dtype=np.int64)
    if not stopped:
        return listed, rows
    columns: Any = [column[rows] for column in listed]
    again = Listed(*columns)._replace(
        start=np.array([run.start for run in stopped]),
        run=np.array([run.end - run.start for run in stopped]),
    )
    both: Any = [np.concatenate(pair) for pair in zip(listed, again, strict=True)]
    return Listed(*both), rows


def stopped_runs_come_first(listed: Listed, runs: Listed, rows: NDArray[np.int64]) -> ScheduleClaim:
    """Check that stopped runs lie between the submission and the start of their jobs."""
    text = "stopped runs lie between submission and start"
    stopped = slice(listed.job.size, None)
    start, run = runs.start[stopped], runs.run[stopped]
    submit, last = listed.submit[rows], listed.start[rows]
    outside = ~((submit <= start) & (run >= 0) & (start + run <= last))
    if outside.any():
        i = int(np.argmax(outside))
        why = (
            f"job {listed.job[rows[i]]}, submitted at {seconds(submit[i])} and started at "
            f"{seconds(last[i])}, ran from {seconds(start[i])} for {seconds(run[i])}"
        )
        return refuted(text, why, int(outside.sum()))
    return ScheduleClaim(text, "proved", plural(rows.size, "run"))


def no_processor_is_used_twice(
    listed: Listed, machine: int | None, shutdowns: Sequence[Shutdown], recorded: bool
) -> ScheduleClaim:
    """Check that no more processors are in use than work."""
    text = "no processor is used twice at one time"
    known = np.flatnonzero(np.isfinite(listed.start))
    if not known.size:
        return ScheduleClaim(text, "not applicable", "no start is known")
    job, start, run, procs = (
        column[known] for column in (listed.job, listed.start, listed.run, listed.procs)
    )
    procs = procs.astype(np.int64)
    end = start + run
    if not ((start == np.rint(start)).all() and (run == np.rint(run)).all()):
        start, end = as_instants(start, end)
    use = use_of(start, end, procs)
    peak = int(use.after.max())
    if recorded or machine is None:
        of = "" if machine is None else f" of {machine:,}"
        why = f"a log's own schedule may use more; at most {peak:,}{of}"
        return ScheduleClaim(text, "not applicable", why)

    time = distinct(np.concatenate([use.time, *_changes(shutdowns)]))
    up = machine - _down(shutdowns, time)
    held = np.concatenate([[0], use.after])[np.searchsorted(use.time, time, side="right")]
    over = held > up
    # a job of run time 0 adds to those that run through its instant; it may come before an outage
    moment = np.flatnonzero(end == start)
    when = np.searchsorted(time, start[moment])
    most = use.through[use.begin[moment]] + procs[moment]
    above = most > np.maximum(up[when], np.concatenate([[machine], up])[when])
    over[when[above]] = True
    if over.any():
        place = int(np.argmax(over))
        now, used = time[place], held[place]
        there = (start <= now) & (end > now)
        if used <= up[place]:
            extra = moment[above & (when == place)]
            one = extra[np.argmax(procs[extra])]
            there = (start < now) & (end > now)
            there[one] = True
            used = procs[there].sum()
        why = f"{used:,} of {up[place]:,} at {seconds(now)}, by {jobs_named(job[there])}"
        return ScheduleClaim(text, "refuted", why)
    peak = max(peak, int(most.max(initial=0)))
    outages = f", outages: {len(shutdowns):,}" if shutdowns else ""
    return ScheduleClaim(text, "proved", f"at most {peak:,} of {machine:,}{outages}")


def held_jobs_do_not_run(
    workload: Workload,
    runs: Listed,
    at: NDArray[np.int64],
    stopped: NDArray[np.int64],
    holds: Sequence[UserOutage],
) -> ScheduleClaim:
    """Check that no job of a user runs during an outage of the user; `stopped` are its runs."""
    text = "no job runs during an outage of its user"
    user = np.empty(at.size, np.int64)
    user[at] = workload.user
    user = np.concatenate([user, user[stopped]])
    start, end = runs.start, runs.start + runs.run
    for hold in holds:
        during = (start < hold.end) & ((end > hold.start) | (start == end) & (start > hold.start))
        wrong = during & np.isin(user, hold.users)
        if wrong.any():
            i = int(np.argmax(wrong))
            why = f"job {runs.job[i]} of user {user[i]}, started at {seconds(start[i])}"
            return refuted(text, f"{why}, in outage {hold.number}", int(wrong.sum()))
    return ScheduleClaim(text, "proved", plural(len(holds), "outage"))


def _changes(shutdowns: Sequence[Shutdown]) -> list[NDArray]:
    """Return the times at which processors go down and come up."""
    times = [time for shutdown in shutdowns for time in (shutdown.start, shutdown.end)]
    return [np.array([time for time in times if np.isfinite(time)])] if times else []


def _down(shutdowns: Sequence[Shutdown], time: NDArray) -> NDArray[np.int64]:
    """Return the number of processors that are down from each of these instants on."""
    down = np.zeros(time.size, dtype=np.int64)
    for change in map(float, distinct(np.concatenate([[], *_changes(shutdowns)]))):
        hit = [s.processors for s in shutdowns if s.start <= change < s.end]
        down[time >= change] = distinct(np.concatenate(hit)).size if hit else 0
    return down
