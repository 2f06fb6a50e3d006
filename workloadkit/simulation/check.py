"""Prove or refute a schedule: what it claims to be, found again from the log and the schedule.

Of the simulator nothing is used here but what it is asked to run, the jobs of a log: who made a
schedule, and how, makes no difference.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadWarning
from workloadkit.fields import CANCELLED, FAILED, MAX_PROCS
from workloadkit.io.outages import Outages, read_outages
from workloadkit.provenance import provenance
from workloadkit.simulation import schedulers
from workloadkit.simulation.claims import (
    INSTANT,
    Claim,
    Report,
    as_instants,
    count_of,
    jobs_named,
    refuted,
    seconds,
    use_of,
)
from workloadkit.simulation.machine.shutdowns import Shutdown, settle
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.promises import Case, claims_of
from workloadkit.simulation.scaling import scaled_log
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedulers import Easy, Reservations
from workloadkit.simulation.workload import (
    Estimates,
    Overrun,
    Oversize,
    Passes,
    Workload,
    check_choice,
    machine_size,
    make_workload,
)
from workloadkit.trace import Trace, check_trace


def check_schedule(
    trace: Trace,
    schedule: Schedule | Trace,
    *,
    procs: int | None = None,
    policy: str | Policy | None = None,
    oversize: Oversize | None = None,
    estimates: Estimates | None = None,
    overrun: Overrun | None = None,
    passes: Passes | None = None,
    offered_load: float | None = None,
    outages: Outages | str | os.PathLike[str] | None = None,
) -> Report:
    """Prove or refute that a schedule is one of a log's jobs, on a machine, under a policy.

    Whoever made the schedule, these are checked of any:

    - Every job of the log that ran is there once, and no other, with the log's submit time,
      processors and run time. A job is known by its number and submit time; jobs at other times
      than the log's are told by number and order, and refuted.
    - Every job starts, and none before its submission.
    - Never more processors are in use than the machine has. Their number proves that none is used
      twice: where at every instant enough are free, each job can be given processors of its own
      when it starts. At an instant what ends gives way to what starts; a job of run time 0 needs
      its processors beside those that run right through its instant.

    Under a policy these, too, of the times in the schedule; "the queue" is in the order of
    (submit, job number), of (submit, place in the log) for passes by event:

    - All but recorded: no job waits while the machine stands empty.
    - fcfs: jobs start in the order of the queue. fcfs, easy, reservations: the head of the queue
      starts as soon as it fits. The two together leave fcfs no other schedule.
    - easy, reservations: a job that becomes the head of the queue starts by the shadow time found
      then: when the jobs that run at that point of the pass leave it enough processors, by their
      estimates; with exact estimates, when nothing that started later could have delayed it.
    - easy, reservations with several of these: the same jobs start, and none else, in each pass
      that can be told apart from others, as if the reservations were made anew from what runs
      then: a job with a reservation starts as soon as its hole begins, and no other starts where
      something is reserved. That a reservation of a pass is kept in the next one is promised to
      the first of them alone, as estimates that were too long let them move. Whole seconds only.
    - conservative: each job starts by its first promise: the earliest hole for its estimate that
      the jobs running at its submission, by their estimates, and the reservations of those that
      wait then leave it. The reservations are kept by the definition alone (after terminations
      each waiting job, in the order of arrival, moves to the earliest hole), while the jobs start
      and end when the schedule says. With exact estimates nothing moves, and all who backfill
      conservatively promise the same. Where a schedule does not follow the reservations, promises
      go on from what runs: a job whose time has passed is planned anew, and all that wait are if
      one that starts early takes what was reserved. Whole seconds only: with decimals rounding
      would decide what fits into a hole.
    - recorded: each job starts its recorded wait after its submission; it may use more than the
      machine.

    Where jobs outlive their estimates (``overrun="late"``) promises cannot be kept and are not
    checked. With outages nothing is checked of a policy, but that no more processors are in use
    than are up; jobs may end early, failed (status 0). At instants with several passes (by event,
    where a job of run time 0 starts, with decimals) the schedule does not tell which pass made a
    job the head; its shadow time is then the one after the last of them, which is never later.

    Parameters
    ----------
    trace : Trace
        The log.
    schedule : Schedule or Trace
        A simulation's result, or a log that a simulator wrote, with the jobs of `trace` and the
        waits of the simulation.
    procs : int, optional
        Processors of the machine; by default those of the Schedule, or the MaxProcs of the log.
    policy : str or object, optional
        What scheduled the jobs; by default what the Schedule says, else nothing is checked of it.
    oversize, estimates, overrun, passes, offered_load : optional
        What was asked of the simulation, as in `simulate`; by default what the Schedule says,
        else the defaults of `simulate`.
    outages : Outages or path, optional
        Those that were simulated; a Schedule does not hold them.

    Returns
    -------
    Report

    Raises
    ------
    ParameterError
        For an unknown name or a value that cannot be.
    WorkloadError
        Where the log cannot be simulated: no job ran, the machine is unknown, jobs are larger
        than it.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> schedule = trace.with_columns(wait=[0, 9, 0])
    >>> bool(check_schedule(trace, schedule, procs=4, policy="easy"))
    True
    >>> for claim in check_schedule(trace, schedule, procs=4, policy="fcfs").refuted:
    ...     print(claim)
    jobs start in the order of arrival: job 3 starts at 2 s, before job 2 at 10 s
    """
    check_trace(trace)
    if not isinstance(schedule, Schedule):
        check_trace(schedule, "schedule")
    said = schedule.parameters if isinstance(schedule, Schedule) else {}
    named = _policy_named(policy, said)
    name = named if isinstance(named, str) else named.name
    recorded = name == "recorded"
    passes = passes or said.get("passes", "instant")
    check_choice("passes", passes, Passes)
    machine = procs
    if procs is None and isinstance(schedule, Schedule):
        machine = schedule.machine
    elif not recorded or procs is not None or trace.header.procs is not None:
        machine = machine_size(trace.header, procs)
    asked: dict[str, Any] = {
        "oversize": oversize or said.get("oversize", "error"),
        "estimates": estimates or said.get("estimates", "user"),
        "overrun": overrun or said.get("overrun", "raise"),
        "passes": passes,
    }
    if recorded:  # all jobs of the log, whatever the machine, and nothing is killed
        asked |= {"oversize": None, "overrun": "late"}
    if offered_load is None:
        offered_load = said.get("offered_load")
    if offered_load is not None:
        asked["offered_load"] = offered_load
    if "scale_arrivals" in said:
        asked["scale_arrivals"] = said["scale_arrivals"]
    scales = {"runs": said.get("scale_runs", 1.0), "sizes": said.get("scale_sizes", 1.0)}
    trace = scaled_log(trace, machine or MAX_PROCS, **scales)
    workload = make_workload(trace, machine or MAX_PROCS, **asked)
    if isinstance(outages, str | os.PathLike):
        outages = read_outages(outages)
    shutdowns = settle(outages, machine) if outages is not None and machine is not None else []
    changing = outages is not None or "outages" in said

    listed = _listed(schedule)
    at, others = _match(workload, listed)
    claims = [
        _once(workload, listed, at, others, int(trace.ran.sum())),
        _needs(trace, workload, listed, at, changing),
        _submit_times(workload, listed, at, offered_load),
        _all_start(listed),
        _none_early(listed),
        _enough_processors(listed, machine, shutdowns, recorded),
    ]
    same_jobs = all(claims[i].verdict == "proved" for i in (0, 1, 3))
    claims += claims_of(
        name,
        _depth(named),
        _case(workload, listed, at, machine or 0, passes) if same_jobs else None,
        workload,
        changing,
    )
    described = named if isinstance(named, str) else schedulers.describe(named)
    shown = {"policy": described or None, "procs": machine} | asked
    if isinstance(schedule, Trace):
        noted = {name: shown[name] for name in ("overrun", "estimates", "passes")}
        noted |= {"procs": machine, "offered_load": offered_load}
        if described:
            noted["scheduler"] = described
        if outages is None or outages.digest:
            noted["outages"] = outages and f"{outages.name} (sha256 {outages.digest})"
        _warn_of_note(trace, schedule, noted)
    return Report(
        _title(trace, schedule, machine, described),
        tuple(claims),
        provenance(trace, **{key: value for key, value in shown.items() if value is not None}),
    )


def _policy_named(policy: str | Policy | None, said: Mapping[str, Any]) -> Policy | str:
    """Return the policy; what a Schedule says of itself may be one's own, of which we know a name.

    It is an empty name where nobody says.
    """
    if policy is not None:
        return schedulers.parse(policy) if isinstance(policy, str) else policy
    name = str(said.get("scheduler", ""))
    try:
        return schedulers.parse(name)
    except ParameterError:
        return name.partition(":")[0]


def _depth(policy: Policy | str) -> int:
    """Return how many jobs have a reservation."""
    if isinstance(policy, Easy):
        return policy.reservations if policy.backfill != "none" else 1
    return policy.depth if isinstance(policy, Reservations) else 1


#: What a note about a simulation does not say where it is so.
_UNSAID = {"passes": "instant", "offered_load": "", "outages": ""}


def _warn_of_note(trace: Trace, schedule: Trace, asked: Mapping[str, Any]) -> None:
    """Say where a schedule's header tells of another simulation than the one that is checked."""
    its_own = [n for n in schedule.header.get_all("Note") if n not in trace.header.get_all("Note")]
    notes = [note for note in its_own if note.startswith("simulated: ")]
    if not notes:
        return
    said = dict(part.partition(" ")[::2] for part in notes[-1].split(", "))
    others = []
    log, _, digest = said.get("log", "").removesuffix(")").partition(" (sha256 ")
    if digest != trace.digest if digest and trace.digest else log != trace.name:
        others.append(f"log {log}")
    with suppress(ParameterError):  # one's own
        said["scheduler"] = schedulers.describe(schedulers.parse(said.get("scheduler", "")))
    for name, value in asked.items():
        given = said.get(name, _UNSAID.get(name))
        right = {"" if value is None else str(value)}
        if isinstance(value, int | float):
            right.add(str(float(value)))
        if given is not None and given not in right:
            others.append(f"{name} {given}" if given else f"no {name}")
    if others:
        warnings.warn(
            f"{schedule.name} says that it is a simulation of {', '.join(others)}, which is not "
            "what it is checked for",
            WorkloadWarning,
            stacklevel=3,
        )


class _Listed(NamedTuple):
    """The jobs of a schedule, as it lists them; NaN for an unknown start."""

    job: NDArray[np.int64]
    submit: NDArray
    start: NDArray
    run: NDArray
    procs: NDArray  # processors needed
    used: NDArray  # processors used; NaN for unknown
    stopped: NDArray[np.bool_]  # at the estimate
    lost: NDArray[np.bool_]  # failed, perhaps by an outage


def _listed(schedule: Schedule | Trace) -> _Listed:
    """Take the jobs from a schedule; those of a log that never ran are no part of one."""
    if isinstance(schedule, Schedule):
        w = schedule.workload
        used = w.procs.astype(np.float64)
        lost = np.asarray(schedule.columns.get("lost", np.zeros(used.size)), dtype=bool)
        return _Listed(w.job, w.submit, schedule.start, w.run, w.procs, used, w.killed, lost)
    rows = np.flatnonzero(schedule.ran)
    names = ("job", "submit", "wait", "run", "procs", "requested_procs", "status")
    job, submit, wait, run, used, requested, status = (
        schedule.column(name)[rows] for name in names
    )
    procs = np.where(requested > 0, requested, schedule.used_procs[rows])
    stopped, lost = status == CANCELLED, status == FAILED
    return _Listed(job, submit, submit + wait, run, procs, used, stopped, lost)


def _match(workload: Workload, listed: _Listed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find each job of the log in the schedule; its place or -1, and the places left over.

    Jobs are known by number and submit time; those that are left, by number and order. Where
    several are the same in this, processors and run time tell them apart, and then their order.
    """
    names = ("job", "submit", "procs", "run")
    ours, theirs = (
        pd.DataFrame({name: getattr(jobs, name) for name in names}).astype({"submit": np.float64})
        for jobs in (workload, listed)
    )
    if len(ours) == len(theirs):
        same = ours == theirs
        same["run"] |= listed.lost
        if same.to_numpy().all():
            return np.arange(len(ours)), np.empty(0, np.int64)
    at = np.full(len(ours), -1)
    free = np.ones(len(theirs), dtype=bool)
    for keys, order in ((["job", "submit"], ["procs", "run"]), (["job"], ["submit"])):
        a, b = (
            table.sort_values(order, kind="stable").assign(
                nth=lambda t, keys=keys: t.groupby(keys).cumcount()
            )
            for table in (ours[at < 0], theirs[free])
        )
        b["place"] = b.index
        found = a.reset_index().merge(b[[*keys, "nth", "place"]], on=[*keys, "nth"])
        at[found["index"]] = found["place"]
        free[found["place"]] = False
    return at, np.flatnonzero(free)


def _case(
    workload: Workload, listed: _Listed, at: NDArray[np.int64], machine: int, passes: Passes
) -> Case:
    """Put the jobs of the schedule into the order of arrival; times are exact or made so."""
    submit, start = listed.submit[at], listed.start[at]
    job, run, estimate = workload.job, workload.run, workload.estimate
    recorded_start = submit + workload.wait
    whole = all((times == np.rint(times)).all() for times in (submit, start, run, estimate))
    if whole:
        submit, start, run, estimate = (
            times.astype(np.int64) for times in (submit, start, run, estimate)
        )
    end, planned_end = start + run, start + estimate
    if not whole:
        submit, start, end, planned_end = as_instants(submit, start, end, planned_end)
    order = np.arange(job.size)
    if (np.diff(submit) < 0).any():  # at other times than the log's
        order = np.lexsort((job, submit))
    return Case(
        job=job[order],
        submit=submit[order],
        start=start[order],
        end=end[order],
        planned_end=planned_end[order],
        run=run[order],
        estimate=estimate[order],
        procs=workload.procs[order],
        recorded_start=recorded_start[order],
        machine=machine,
        whole=whole,
        by_event=passes == "event",
    )


def _once(
    workload: Workload,
    listed: _Listed,
    at: NDArray[np.int64],
    others: NDArray[np.int64],
    n_ran: int,
) -> Claim:
    text = "each job that ran is there once, no other is"
    dropped = n_ran - workload.job.size
    if dropped:
        text += f" (without {count_of(dropped, 'job')} larger than the machine)"
    lost = np.flatnonzero(at < 0)
    if lost.size:
        submit = seconds(workload.submit[lost[0]])
        why = f"job {workload.job[lost[0]]}, submitted at {submit}, is missing"
        return refuted(text, why, lost.size + others.size)
    if others.size:
        job = listed.job[others[0]]
        twice = job in workload.job
        why = f"job {job} is there twice" if twice else f"job {job} is none of the log's"
        return refuted(text, why, others.size)
    return Claim(text, "proved", count_of(workload.job.size, "job"))


def _needs(
    trace: Trace, workload: Workload, listed: _Listed, at: NDArray[np.int64], changing: bool
) -> Claim:
    text = "processors and run times are the log's"
    w, ours = workload, np.flatnonzero(at >= 0)
    theirs = at[ours]
    procs, run, used = listed.procs[theirs], listed.run[theirs], listed.used[theirs]
    needed, runs, killed = w.procs[ours], w.run[ours], w.killed[ours]
    in_log = trace.used_procs[w.row[ours]]
    more = (procs != needed) | ((used > 0) & (used != needed) & (used != in_log))
    if more.any():
        i = int(np.argmax(more))
        seen = procs[i] if procs[i] != needed[i] else used[i]
        why = f"job {w.job[ours[i]]} has {count_of(seen, 'processor')}, in the log {needed[i]:,}"
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
        why = f"job {job} is stopped at its estimate and not marked so (status {CANCELLED})"
        return refuted(text, why, unmarked.sum())
    stopped = f", {killed.sum():,} of them stopped at their estimates" if killed.any() else ""
    stopped += f", {lost.sum():,} lost" if lost.any() else ""
    return Claim(text, "proved", count_of(ours.size, "job") + stopped)


def _submit_times(
    workload: Workload, listed: _Listed, at: NDArray[np.int64], offered_load: float | None
) -> Claim:
    text = "submit times are the log's"
    if offered_load is not None:
        text += f" at an offered load of {offered_load:g}"
    ours = np.flatnonzero(at >= 0)
    due, submit = workload.submit[ours], listed.submit[at[ours]]
    moved = np.flatnonzero(due != submit)
    if moved.size:
        i = moved[0]
        job = workload.job[ours[i]]
        why = f"job {job}, known by number and order, is submitted at {seconds(submit[i])}"
        return refuted(text, f"{why}, not {seconds(due[i])}", moved.size)
    return Claim(text, "proved", count_of(ours.size, "job"))


def _all_start(listed: _Listed) -> Claim:
    text = "every job starts"
    never = np.flatnonzero(~np.isfinite(listed.start))
    if never.size:
        return refuted(text, f"the wait of job {listed.job[never[0]]} is unknown", never.size)
    return Claim(text, "proved", count_of(listed.job.size, "job"))


def _none_early(listed: _Listed) -> Claim:
    text = "none starts before its submission"
    early = np.flatnonzero(listed.start < listed.submit)
    if early.size:
        i = early[0]
        start, submit = seconds(listed.start[i]), seconds(listed.submit[i])
        why = f"job {listed.job[i]} starts at {start}, submitted at {submit}"
        return refuted(text, why, early.size)
    known = np.isfinite(listed.start)
    waiting = int((listed.start[known] > listed.submit[known]).sum())
    return Claim(text, "proved", f"{waiting:,} waited")


def _enough_processors(
    listed: _Listed, machine: int | None, shutdowns: Sequence[Shutdown], recorded: bool
) -> Claim:
    text = "no processor is used twice at a time"
    known = np.flatnonzero(np.isfinite(listed.start))
    if not known.size:
        return Claim(text, "not applicable", "no start is known")
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
        why = f"a log's own schedule may hold more; at most {peak:,}{of}"
        return Claim(text, "not applicable", why)

    time = np.unique(np.concatenate([use.time, *_changes(shutdowns)]))
    up = machine - _down(shutdowns, time)
    held = np.concatenate([[0], use.after])[np.searchsorted(use.time, time, side="right")]
    over = held > up
    # a job of run time 0 beside those that run right through; it may come before an outage
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
        return Claim(text, "refuted", why)
    peak = max(peak, int(most.max(initial=0)))
    outages = f", outages: {len(shutdowns):,}" if shutdowns else ""
    return Claim(text, "proved", f"at most {peak:,} of {machine:,}{outages}")


def _changes(shutdowns: Sequence[Shutdown]) -> list[NDArray]:
    """When processors go down and come up."""
    times = [time for shutdown in shutdowns for time in (shutdown.start, shutdown.end)]
    return [np.array([time for time in times if np.isfinite(time)])] if times else []


def _down(shutdowns: Sequence[Shutdown], time: NDArray) -> NDArray[np.int64]:
    """Processors that are down from each of these instants on."""
    down = np.zeros(time.size, dtype=np.int64)
    for change in map(float, np.unique(np.concatenate([[], *_changes(shutdowns)]))):
        hit = [s.processors for s in shutdowns if s.start <= change < s.end]
        down[time >= change] = np.unique(np.concatenate(hit)).size if hit else 0
    return down


def _title(trace: Trace, schedule: Schedule | Trace, machine: int | None, name: str) -> str:
    who = f"{schedule.name}, a" if isinstance(schedule, Trace) else "A"
    on = f" on {count_of(machine, 'processor')}" if machine is not None else ""
    under = f" under {name}" if name else ""
    return f"{who} schedule of {trace.name}{on}{under}"
