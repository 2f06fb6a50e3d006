"""Prove or refute a schedule: what it claims to be, found again from the log and the schedule.

Of the simulator nothing is used here but what it is asked to run, the jobs of a log: who made a
schedule, and how, makes no difference.
"""

import os
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadWarning
from workloadkit.fields import MAX_PROCS
from workloadkit.io.outages import Outages, read_outages
from workloadkit.provenance import provenance
from workloadkit.settings import Check
from workloadkit.settings.setting import settings_of, takes
from workloadkit.settings.simulation import Arriving, Overrun, Passes
from workloadkit.simulation import schedulers
from workloadkit.simulation.arranging import identity_of
from workloadkit.simulation.claims import (
    Report,
    as_instants,
    count_of,
)
from workloadkit.simulation.feasible import (
    Listed,
    each_is_there_once,
    every_job_starts,
    listed_jobs,
    match_jobs,
    needs_are_the_logs,
    no_processor_is_used_twice,
    none_starts_early,
    other_fields_are_the_logs,
    stopped_runs_come_first,
    submit_times_are_the_logs,
    with_stopped_runs,
)
from workloadkit.simulation.machine.shutdowns import settle
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.promises import Case, claims_of
from workloadkit.simulation.replaying import rule_of
from workloadkit.simulation.scaling import AsWorkload, scaled_machine
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedulers import Conservative, Easy, Reservations
from workloadkit.simulation.workload import Workload, machine_size, overrun_of
from workloadkit.trace import Trace, check_trace


@takes(Check)
def check_schedule(
    trace: Trace,
    schedule: Schedule | Trace,
    settings: Check | None = None,
    **keywords: Any,
) -> Report:
    """Prove or refute that a schedule is one of a log's jobs, on a machine, under a policy.

    Whoever made the schedule, these are checked of any:

    - Every job of the log that ran is there once, and no other, with the log's submit time,
      processors and run time. A job is known by its number and submit time; jobs at other times
      than the log's are told by number and order, and refuted.
    - All other fields are the log's, where the schedule knows them; but the status of what was
      stopped at its estimate or by an outage.
    - Every job starts, and none before its submission.
    - Never more processors are in use than the machine has. Their number proves that none is used
      twice: where at every instant enough are free, each job can be given processors of its own
      when it starts. At an instant what ends gives way to what starts; a job of run time 0 needs
      its processors in addition to those that run right through its instant. Runs that outages or
      a custom scheduler stopped are counted, if a Schedule tells of them, and must lie between the
      job's submission and its start.

    Under a policy these, too, of the times in the schedule; "the queue" is in the order of
    (submit, job number), of (submit, place in the log) for passes by event:

    - All but recorded: no job waits while the machine stands empty.
    - fcfs: jobs start in the order of the queue. fcfs, easy, reservations: the head of the queue
      starts as soon as it fits. The two together leave fcfs no other schedule.
    - easy, reservations: a job that becomes the head of the queue starts by the shadow time found
      then: when the jobs that run at that point of the pass leave it enough processors, by their
      estimates; with exact estimates, when nothing that started later could have delayed it.
    - easy, reservations with several of these: the same jobs start, and none else, in each pass
      that can be told apart from others, as if the reservations were made again from what runs
      then: a job with a reservation starts as soon as its hole begins, and no other starts where
      something is reserved. That a reservation of a pass is kept in the next one is promised to
      the first of them alone, as estimates that were too long let them move. Whole seconds only.
    - conservative: each job starts by its first promise: the earliest hole for its estimate that
      the jobs running at its submission, by their estimates, and the reservations of those that
      wait then leave it. The reservations are kept by the definition alone (after terminations
      each waiting job, in the order of arrival, moves to the earliest hole), while the jobs start
      and end when the schedule says. With exact estimates nothing moves, and all who backfill
      conservatively promise the same. Where a schedule does not follow the reservations, promises
      go on from what runs: a job whose time has passed is planned again, and all that wait are if
      one that starts early takes what was reserved. Whole seconds only: with decimals rounding
      would decide what fits into a hole.
    - fcfs, easy and the policies in other orders (sjf to creasy) with one reservation: each pass,
      made again from what has started before it, starts the same jobs. That leaves no other
      schedule: it is proved, not only consistent with the policy. Whole seconds only; not with
      outages; nor where users react within the second in which a job ends.
    - recorded: each job starts its recorded wait after its submission; it may use more than the
      machine.

    Where jobs outlive their estimates (``overrun="late"``) promises cannot be kept and are not
    checked; passes are. With outages nothing is checked of a policy, but that no more processors
    are in use than are up; jobs may end early, failed (status 0). At instants with several passes
    (by event, where a job of run time 0 starts, with decimals) the schedule does not tell which
    pass made a job the head; its shadow time is then the one after the last of them, which is
    never later.

    Parameters
    ----------
    trace : Trace
        The log.
    schedule : Schedule or Trace
        A simulation's result, or a log that a simulator wrote, with the jobs of `trace` and the
        waits of the simulation.
    settings : workloadkit.settings.Check, optional
        What was asked of the simulation, in one object; else all that follows is by default what
        the Schedule says, if it is one. A Schedule does not hold its outages.
    {settings}

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
    >>> check_schedule(trace, schedule, procs=4, policy="easy").verdict
    'proved'
    >>> print(check_schedule(trace, schedule, procs=4, policy="fcfs").refuted[0])
    jobs start in the order of arrival: job 3 starts at 2 s, before job 2 at 10 s
    """
    check_trace(trace)
    if not isinstance(schedule, Schedule):
        check_trace(schedule, "schedule")
    said = schedule.parameters if isinstance(schedule, Schedule) else {}
    known = {name: said[name] for name in settings_of(Check) if name in said and name != "outages"}
    asked = Check.of(settings, keywords if settings else known | keywords)
    named = _policy_named(asked.policy, said)
    name = named if isinstance(named, str) else named.name
    recorded = name == "recorded"
    machine = _machine(trace, schedule, asked, recorded=recorded)
    # all jobs of the log are in the recorded schedule, whatever the machine, and none is killed
    overrun: Overrun = "late" if recorded else overrun_of(trace, asked.overrun)
    simulated = asked.into(Arriving, overrun=overrun)
    as_workload = AsWorkload(machine or MAX_PROCS, simulated, of_any_size=recorded)
    trace = as_workload.scaled(trace)
    workload, outages = as_workload.of(trace), asked.outages
    if isinstance(outages, str | os.PathLike):
        outages = read_outages(outages)
    shutdowns = settle(outages, machine) if outages is not None and machine is not None else []
    changing = outages is not None or "outages" in said

    listed = listed_jobs(schedule)
    runs, stopped = with_stopped_runs(listed, schedule)
    at, others = match_jobs(workload, listed)
    claims = [
        each_is_there_once(workload, listed, at, others, int(trace.ran.sum())),
        needs_are_the_logs(trace, workload, listed, at, changing),
        submit_times_are_the_logs(workload, listed, at, asked.offered_load),
        other_fields_are_the_logs(trace, workload, schedule, at, changing),
        every_job_starts(listed),
        none_starts_early(listed),
        no_processor_is_used_twice(runs, machine, shutdowns, recorded),
    ]
    if stopped.size:
        claims.append(stopped_runs_come_first(listed, runs, stopped))
    same_jobs = all(claims[i].verdict == "proved" for i in (0, 1, 4))
    case = _case(workload, listed, at, machine or 0, asked.passes) if same_jobs else None
    rule = None
    if case is not None and not isinstance(named, str):
        rule = rule_of(named, workload, case.row)
        possible = all(claim.verdict == "proved" for claim in claims)
        case = case._replace(hindrance=_hindrance(schedule, case, possible=possible))
    claims += claims_of(name, _depth(named), case, workload, changing, rule)
    described = named if isinstance(named, str) else identity_of(named)
    told = simulated.told | {"procs": machine}
    if isinstance(schedule, Trace):
        noted = {name: told[name] for name in ("overrun", "estimates", "procs")}
        noted |= {"passes": asked.passes, "offered_load": asked.offered_load}
        _warn_of_note(trace, schedule, noted | _noted(described, outages))
    return Report(
        _title(trace, schedule, machine, described),
        tuple(claims),
        provenance(trace, policy=described, **told),
    )


def _machine(
    trace: Trace, schedule: Schedule | Trace, asked: Check, *, recorded: bool
) -> int | None:
    """Return the processors of the machine; a log's own schedule needs none."""
    if isinstance(schedule, Schedule) and asked.procs in (None, schedule.machine):
        return schedule.machine
    if not recorded or asked.procs is not None or trace.header.procs is not None:
        return scaled_machine(machine_size(trace.header, asked.procs), asked.scale_machine)
    return None


def _policy_named(policy: str | Policy | None, said: Mapping[str, Any]) -> Policy | str:
    """Return the policy; what a Schedule says of itself may be one's own, of which we know a name.

    Its name is empty where none is given.
    """
    if policy is not None:
        return schedulers.parse(policy) if isinstance(policy, str) else policy
    name = str(said.get("scheduler", ""))
    try:
        return schedulers.parse(name)
    except ParameterError:
        return name.partition(" (")[0].partition(":")[0]  # without parameters and source


def _depth(policy: Policy | str) -> int:
    """Return how many jobs have a reservation that can be checked; 0 where none can."""
    if isinstance(policy, Conservative):
        return int(policy.compression == "full")
    if isinstance(policy, Easy):
        return policy.reservations if policy.backfill != "none" else 1
    return policy.depth if isinstance(policy, Reservations) else 1


def _noted(described: str, outages: Outages | None) -> dict[str, Any]:
    """Return what a note says of the scheduler and of outages, where they are known."""
    found: dict[str, Any] = {"scheduler": described} if described else {}
    if outages is None or outages.digest:
        found["outages"] = outages and f"{outages.name} (sha256 {outages.digest})"
    return found


#: What a note about a simulation does not say where it is so.
_UNSAID = {"passes": "instant", "offered_load": "", "outages": ""}


def _warn_of_note(trace: Trace, schedule: Trace, asked: Mapping[str, Any]) -> None:
    """Say where a schedule's header tells of another simulation than the one that is checked."""
    its_own = [n for n in schedule.header.get_all("Note") if n not in trace.header.get_all("Note")]
    said = _last_simulation(its_own)
    if not said:
        return
    others = []
    log, _, identity = said.get("log", "").removesuffix(")").partition(" (")
    kind, _, digest = identity.partition(";")[0].rpartition(" ")
    its = trace.content_digest if kind == "content sha256" else trace.digest
    if digest != its if digest and its else log != trace.name:
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


def _last_simulation(notes: Iterable[str]) -> dict[str, str]:
    """Return what the last of the notes about simulations says, by name; empty if there is none."""
    notes = [note for note in notes if note.startswith("simulated: ")]
    return dict(part.partition(" ")[::2] for part in notes[-1].split(", ")) if notes else {}


def _case(
    workload: Workload, listed: Listed, at: NDArray[np.int64], machine: int, passes: Passes
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
        row=order,
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


def _hindrance(schedule: Schedule | Trace, case: Case, *, possible: bool) -> str:
    """Say why the passes of a schedule cannot be made again; nothing if they can."""
    if not possible:
        return "only the passes of a schedule that can be are made again"
    if isinstance(schedule, Schedule):
        reacting = schedule.reacting
    else:
        users = _last_simulation(schedule.header.get_all("Note")).get("users", "open")
        reacting = users != "open"
    if reacting and (case.by_event or (case.run == 0).any()):
        return "what users submit as soon as a job ends is not told from what came before"
    return ""


def _title(trace: Trace, schedule: Schedule | Trace, machine: int | None, name: str) -> str:
    who = f"{schedule.name}, a" if isinstance(schedule, Trace) else "A"
    on = f" on {count_of(machine, 'processor')}" if machine is not None else ""
    under = f" under {name}" if name else ""
    return f"{who} schedule of {trace.name}{on}{under}"
