"""Check a schedule against its log and policy.

The check derives the jobs from the log and the passes from the schedule. It shares no code with
the simulator except the conversion of a log into jobs.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.fields import MAX_PROCS
from workloadkit.io.allocations import read_allocations
from workloadkit.io.outages import Outages, read_outages
from workloadkit.io.reservations import ReservationRequests, read_reservations
from workloadkit.provenance import provenance
from workloadkit.settings import Check
from workloadkit.settings.setting import takes
from workloadkit.settings.simulation import Arriving, Overrun, Passes
from workloadkit.simulation import predictors, schedulers
from workloadkit.simulation.case import ScheduleCase, interruptions_of, make_case
from workloadkit.simulation.claims import CheckReport, ScheduleClaim
from workloadkit.simulation.feasible import (
    Listed,
    each_is_there_once,
    every_job_starts,
    held_jobs_do_not_run,
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
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.machine.plain import Run
from workloadkit.simulation.machine.shutdowns import holds_of, settle
from workloadkit.simulation.noted import (
    FILES,
    OF_LOAD,
    contradictions,
    identity_of,
    planned_from_0_s,
    recorded_in,
    settings_in,
    users_react,
    warn_of_note,
)
from workloadkit.simulation.on_nodes import (
    cancelled_jobs_are_the_logs,
    jobs_have_nodes,
    listed_cancelled,
    no_node_is_used_twice,
    partitions_suffice,
    places_of,
    pools_suffice,
    requests_are_met,
)
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.promises import claims_of, reservations_are_kept, slacks_are_kept
from workloadkit.simulation.replaying import rule_of
from workloadkit.simulation.replaying.predictions import (
    AS_RECORDED,
    Predictions,
    proof_of,
    why_not_repeated,
)
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.selected_machine import described_machine
from workloadkit.simulation.workload import (
    Workload,
    machine_size,
    overrun_of,
    overrun_with,
    shortest_estimate,
)
from workloadkit.simulation.workload.cancelled import that_ran, that_wait
from workloadkit.simulation.workload.scaling import AsWorkload, scaled_machine
from workloadkit.trace import Trace, check_trace


@takes(Check)
def check_schedule(
    trace: Trace,
    schedule: Schedule | Trace,
    settings: Check | None = None,
    **keywords: Any,
) -> CheckReport:
    """Check a schedule against its log, the machine and the policy.

    These rules apply to every schedule:

    - Every job of the log that ran occurs once, and no other job, with the log's submit time,
      processors and run time. Jobs are matched by number and submit time; jobs with other submit
      times than the log's are matched by number and order, and violate the rule.
    - All other fields equal those of the log, where the schedule contains them, except the status
      of jobs stopped at their estimate or by an outage.
    - Every job starts, and none before its submission.
    - No more processors are in use than the machine has. If this holds, no processor is used twice:
      with enough free processors at every instant, each job can receive its own when it starts. At
      one instant, ends come before starts; a job of run time 0 needs its processors in addition to
      those of the jobs that run through its instant. Runs stopped by outages or by a custom
      scheduler count if a Schedule contains them; they must lie between the job's submission and
      its start.

    With ``cancelled="keep"``, all jobs of the log that were cancelled while they waited occur once
    and leave the queue their recorded wait after their submission, unless they start before. A
    Schedule contains when they start; this is compared in the passes as for other jobs. A log that
    lists none of them, of another simulator, is not checked for them.

    These apply to a machine with a description:

    - On nodes, the runs that a Schedule or `allocations` contain give each job its processors from
      its start to its end. At no time are more processors, memory or GPUs of a node in use than it
      has. Nodes are those that the job requests: features, partition, number of nodes, processors
      on each.
    - No more of a pool is in use than there is, and no partition uses more processors than it has.
      Jobs are within the limits of their partitions.

    These apply to requests for reservations, with a Schedule that contains the answers:

    - Each accepted reservation begins when it suits, and its job with it. At no time are more
      processors in use or reserved than the machine has.
    - Each answer is found again: the first start, from the earliest to the latest, with room among
      the jobs that run when the request is made and the requests accepted before; else none.

    These apply to a policy:

    - All but multi-queue, self-adaptive and genetic: each pass is repeated from the jobs started
      before it, and must start the same jobs. Reservations, predictions and scores follow their
      definitions alone, while jobs start and end as in the schedule. There is a pass when jobs are
      submitted or end, or when a reservation begins, and at no other time. This leaves no other
      schedule: the schedule is proved, not only consistent with the policy. After a difference,
      reservations are made again from the running jobs. Custom predictions are not repeated.
    - multi-queue, genetic: no job waits while the machine is empty. The order of jobs is not
      checked, nor that of self-adaptive or of custom schedulers.
    - slack: no job starts later than its promised start plus its slack, if the schedule contains
      these and estimates hold; a job planned with 0 s may, as a reservation of 0 s holds nothing.
    - recorded: each job starts its recorded wait after its submission; jobs may use more processors
      than the machine has.

    Where a schedule does not contain what decides a pass, a different pass is no violation, and
    the verdict is "consistent" at best. This concerns users who react and submit in the second in
    which jobs of run time 0 start, or (with passes by event) jobs end, as the order of these events
    is unknown. Times with decimals are repeated as they are (a log contains no starts, so they are
    the sums of submit times and waits): the schedule is proved if that gives it. If it does not,
    and sums of the times or predictions round, times that may differ only by rounding decide
    nothing, and kept reservations are not checked. With outages, no more processors may be in use
    than work, and jobs may end early, failed (status 0). Passes are repeated if a Schedule contains
    the runs that outages stopped, in whole seconds. Not checked are the choice of these runs,
    passes while an outage is announced, as these plan with individual processors, and any where
    there are outages of users; but no job of theirs may run during one.

    Parameters
    ----------
    trace : Trace
        The log.
    schedule : Schedule or Trace
        A simulation's result, or a log that a simulator wrote, with the jobs of `trace` and the
        waits of the simulation.
    settings : workloadkit.settings.Check, optional
        The settings of the simulation as one object. Those that are not given have the values that
        a Schedule records. Those that a log records, as workloadkit wrote it, are used if none is
        given. The report says which; files, such as those of outages, are not recorded.
    {settings}

    Raises
    ------
    ParameterError
        For an unknown name or an invalid value.
    WorkloadError
        Where the log cannot be simulated: no job ran, the machine is unknown, jobs are larger
        than it.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> schedule = trace.with_columns(wait=[0, 9, 0])
    >>> check_schedule(trace, schedule, procs=4, policy="easy").verdict
    'proved'
    >>> print(check_schedule(trace, schedule, procs=4, policy="fcfs").refuted[0].why)
    at 2 s job 3 starts, which waits under the policy
    """
    check_trace(trace)
    if not isinstance(schedule, Schedule):
        check_trace(schedule, "schedule")
    said = recorded_in(trace, schedule)
    asked, taken = _asked(schedule, said, settings, keywords)
    is_recorded = bool(taken) or isinstance(schedule, Schedule)
    named = _policy_named(asked.policy, said.get("scheduler", "") if is_recorded else "")
    recorded = proof_of(named) == AS_RECORDED
    predictor = _predictor_named(asked.predictor, is_recorded="predictor" in taken)
    hardware = _described(trace, schedule, asked)
    machine = hardware.procs if hardware else _machine(trace, schedule, asked, recorded=recorded)
    # all jobs of the log are in the recorded schedule, whatever the machine, and none is killed
    overrun: Overrun = "late" if recorded else overrun_of(trace, asked.overrun)
    is_request = type(predictor) is predictors.Requested
    planned_for = overrun_with(None if is_request else predictor, overrun)
    simulated = asked.into(Arriving, overrun=planned_for)
    decimals = planned_from_0_s(schedule)
    as_workload = AsWorkload(
        machine or MAX_PROCS,
        simulated,
        of_any_size=recorded,
        described=hardware,
        decimals=decimals,
    )
    trace = as_workload.scaled(trace)
    whole, outages = as_workload.of(trace), asked.outages
    every = that_wait(whole)
    ran = that_ran(every)
    workload = replace(every.take(ran), leaves=None)
    predictions, unknown = _predictions(predictor, asked.rng, every)
    if hardware is None and "machine" in said:
        unknown = f"the schedule is of the machine {said['machine']}, which was not given"
    if isinstance(outages, str | os.PathLike):
        outages = read_outages(outages)
    shutdowns = settle(outages, machine) if outages is not None and machine is not None else []
    changing = outages is not None or "outages" in said
    requests = asked.reservations
    if isinstance(requests, str | os.PathLike):
        requests = read_reservations(requests)

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
    began = None  # cancelled jobs
    if asked.cancelled == "keep":
        claim, began = cancelled_jobs_are_the_logs(
            whole,
            schedule,
            listed_cancelled(schedule, machine),
            asked.passes,
            records="cancelled" in said,
        )
        claims.append(claim)
        if began is not None and whole.leaves is not None:
            began = began[whole.leaves != whole.submit]
    places = np.zeros(every.row.size, np.int64)  # in the schedule, of those that ran
    places[ran] = at
    same_jobs = all(claims[i].verdict == "proved" for i in (0, 1, 4))
    if outages is not None and outages.users and same_jobs:
        claims.append(held_jobs_do_not_run(workload, runs, at, stopped, holds_of(outages)))
    case = rule = None
    if same_jobs:
        reacting = users_react(schedule)
        case = make_case(
            every, listed, places, machine or 0, asked.passes, reacting=reacting, began=began
        )
        rule = rule_of(named, every, case.row, predictions)
        if (
            (changing and case.whole and isinstance(schedule, Schedule))
            and outages is not None
            and not outages.users
        ):
            case = case._replace(outages=interruptions_of(case, places, runs, stopped, shutdowns))
    if hardware is not None and same_jobs:
        placed = _placed(schedule, asked.allocations, listed)
        claims += _claims_on(hardware, trace, workload, placed, listed, at)
    if requests is not None or "reservations" in said:
        known_at = at if same_jobs else None
        claims += _around_reservations(
            workload, schedule, requests, overrun, known_at, on_nodes=hardware is not None
        )
    elif hardware is None:
        claims += claims_of(named, case, rule, changing=changing, unknown=unknown)
    else:
        if predictions is not None:
            unknown = "on partitions, predictions are not repeated"
        claims += _by_partition(
            hardware, trace, named, case, every, (listed, places, began), unknown
        )
    if isinstance(schedule, Schedule) and {"promised_start", "slack"} <= set(schedule.columns):
        claims.append(slacks_are_kept(schedule))
    described = named if isinstance(named, str) else identity_of(named)
    used = simulated.recorded | {"procs": machine, "overrun": overrun}
    if predictor is not None:
        used["predictor"] = predictor if isinstance(predictor, str) else identity_of(predictor)
    noted = {name: used[name] for name in ("overrun", "estimates", "procs")}
    noted |= {"passes": asked.passes, "predictor": used.get("predictor")}
    noted |= {name: asked.changed.get(name) for name in OF_LOAD}
    noted |= _noted(described, outages)
    contradicted = contradictions(
        trace, schedule, {n: x for n, x in noted.items() if n not in taken}
    )
    if isinstance(schedule, Trace):
        warn_of_note(schedule, contradicted)
    return CheckReport(
        _title(trace, schedule, machine, described),
        tuple(claims),
        provenance(trace, policy=described, **used),
        tuple(
            _notes(
                Check.of(None, taken).changed | ({"shortest_estimate": 0} if decimals else {}),
                {} if isinstance(schedule, Trace) else contradicted,
            )
        ),
    )


def _asked(
    schedule: Schedule | Trace,
    said: Mapping[str, Any],
    settings: Check | None,
    keywords: Mapping[str, Any],
) -> tuple[Check, dict[str, Any]]:
    """Return the settings, and those among them that are taken from the schedule.

    A log's note is used if no setting is given, except files; the settings of a Schedule are used
    where others are not given.
    """
    given = {} if settings is None else Check.of(settings, {}).changed
    given |= {name: value for name, value in keywords.items() if value is not None}
    others = set(given) - {*FILES, "allocations", "memory"}
    taken = {} if isinstance(schedule, Trace) and others else settings_in(said)
    taken = {name: value for name, value in taken.items() if name not in given}
    for name, excluded in (("predictor", "estimates"), ("estimates", "predictor")):
        if name in given:
            taken.pop(excluded, None)
    return Check.of(None, taken | given), taken


def _machine(
    trace: Trace, schedule: Schedule | Trace, asked: Check, *, recorded: bool
) -> int | None:
    """Return the processors of the machine; None for a log's own schedule."""
    if isinstance(schedule, Schedule) and asked.procs in (None, schedule.machine):
        return schedule.machine
    if not recorded or asked.procs is not None or trace.header.procs is not None:
        return scaled_machine(machine_size(trace.header, asked.procs), asked.scale_machine)
    return None


def _described(trace: Trace, schedule: Schedule | Trace, asked: Check) -> Described | None:
    """Return the described machine of a schedule, if there is one."""
    if asked.machine is None:
        return schedule.described if isinstance(schedule, Schedule) else None
    return described_machine(asked.machine, trace, memory=asked.memory)


def _claims_on(
    described: Described,
    trace: Trace,
    workload: Workload,
    placed: Sequence[Run] | None,
    listed: Listed,
    at: NDArray[np.int64],
) -> Iterator[ScheduleClaim]:
    """Check the rules of a described machine, with the runs that are known to be on nodes."""
    machine, requests = described.description, described.requests(trace)
    if any(partition.procs for partition in machine.partitions):
        yield partitions_suffice(workload, listed, at, requests, machine)
    if machine.pools:
        yield pools_suffice(workload, listed, at, requests, machine)
    if not machine.nodes:
        return
    if placed is None:
        why = "a log does not contain the nodes of jobs; check a Schedule, or give the allocations"
        yield ScheduleClaim("no node is used twice at one time", "not applicable", why)
        return
    places = places_of(placed, at)
    yield jobs_have_nodes(workload, listed, at, places)
    yield requests_are_met(workload, requests, machine, places)
    yield no_node_is_used_twice(workload, requests, machine, places)


def _around_reservations(
    workload: Workload,
    schedule: Schedule | Trace,
    requests: ReservationRequests | None,
    overrun: Overrun,
    at: NDArray[np.int64] | None,
    *,
    on_nodes: bool,
) -> Iterator[ScheduleClaim]:
    """Check reservations; the passes around them are not repeated."""
    known = isinstance(schedule, Schedule) and "reservations" in schedule.history
    if requests is not None and known and at is not None:
        assert isinstance(schedule, Schedule)
        yield from reservations_are_kept(
            workload, schedule, requests, overrun, at, on_nodes=on_nodes
        )
    else:
        why = "the check requires the requests, and a Schedule of all jobs with the answers"
        yield ScheduleClaim("reservations are kept", "not applicable", why)
    why = "with reservations, passes are not repeated"
    yield ScheduleClaim("jobs start as the policy specifies", "not applicable", why)


def _placed(schedule: Schedule | Trace, allocations: Any, listed: Listed) -> Sequence[Run] | None:
    """Return the runs on nodes, with the place of each job in the schedule; None if unknown."""
    if allocations is None:
        if not isinstance(schedule, Schedule):
            return None
        return [run for run in schedule.runs if run.nodes and not run.interrupted]
    if isinstance(allocations, str | os.PathLike):
        allocations = read_allocations(allocations)
    row = {job: i for i, job in enumerate(listed.job.tolist())}
    for allocation in allocations:
        if allocation.job not in row:
            raise WorkloadError(f"allocations: job {allocation.job} is not in the schedule")
    return [Run(a.job, a.start, a.end, (), False, row[a.job], tuple(a.nodes)) for a in allocations]


def _by_partition(
    described: Described,
    trace: Trace,
    policy: Policy | str,
    case: ScheduleCase | None,
    workload: Workload,
    places: tuple[Listed, NDArray[np.int64], NDArray[np.float64] | None],
    unknown: str,
) -> Iterator[ScheduleClaim]:
    """Check the rules of a policy in each partition; on nodes its passes are not repeated."""
    if case is None or unknown:
        yield from claims_of(policy, case, None, changing=False, unknown=unknown)
        return
    if described.has_nodes:
        why = "on nodes, passes are not repeated; only the rules for every schedule were checked"
        yield ScheduleClaim("jobs start as the policy specifies", "not applicable", why)
        return
    found = []
    listed, at, began = places
    passes: Passes = "event" if case.by_event else "instant"
    for part in described.parts(trace, workload):
        its = workload.take(part.jobs)
        one = make_case(
            its,
            listed,
            at[part.jobs],
            part.hardware.procs,
            passes,
            reacting=case.reacting,
            began=None if began is None else began[part.jobs],
        )
        claims = claims_of(policy, one, rule_of(policy, its, one.row), changing=False, unknown="")
        found.append([replace(claim, why=f"{part.name}: {claim.why}") for claim in claims])
    for of_rule in zip(*found, strict=True):
        worst = min(of_rule, key=lambda claim: _FROM_WORST.index(claim.verdict))
        sure = all(claim.determines for claim in of_rule)
        why = worst.why if worst.verdict == "refuted" else "; ".join(claim.why for claim in of_rule)
        yield replace(worst, why=why, determines=sure)


_FROM_WORST = ("refuted", "not applicable", "proved")


def _policy_named(policy: str | Policy | None, recorded: str) -> Policy | str:
    """Return the policy, or the name of a custom one as a schedule records it.

    Without a policy the name is empty.
    """
    if policy is not None:
        return schedulers.parse(policy) if isinstance(policy, str) else policy
    return recorded.partition(" (")[0].partition(":")[0]  # without parameters and source


def _predictor_named(predictor: Any, *, is_recorded: bool) -> Any:
    """Return the predictor, or the name of a custom one as a schedule records it."""
    try:
        return predictors.parse(predictor) if isinstance(predictor, str) else predictor
    except ParameterError:
        if not is_recorded:
            raise
        return predictor.partition(" (")[0]


def _predictions(
    predictor: Any, seed: int | None, workload: Workload
) -> tuple[Predictions | None, str]:
    """Return the predictions to repeat, None for none; and why they cannot be repeated."""
    if predictor is None or type(predictor) is predictors.Requested:
        return None, ""
    why = why_not_repeated(predictor, seed)
    if why:
        return None, f"the predictions are not repeated: {why}"
    return Predictions(predictor, seed, shortest_estimate(workload.submit)), ""


def _noted(described: str, outages: Outages | None) -> dict[str, Any]:
    """Return the scheduler and the outages that a note describes, where they are known."""
    found: dict[str, Any] = {"scheduler": described} if described else {}
    if outages is None or outages.digest:
        found["outages"] = outages and f"{outages.name} (sha256 {outages.digest})"
    return found


def _notes(used: Mapping[str, Any], others: Mapping[str, str]) -> Iterator[str]:
    """Report the settings that a schedule records: those used, and those that differ."""
    if used:
        words = ", ".join(f"{name} {value}" for name, value in used.items())
        yield f"settings that the schedule records: {words}"
    if others:
        words = ", ".join(f"{name} {value or 'none'}" for name, value in others.items())
        yield f"the schedule records other settings than those given: {words}"


def _title(trace: Trace, schedule: Schedule | Trace, machine: int | None, name: str) -> str:
    who = f"{schedule.name}, a" if isinstance(schedule, Trace) else "A"
    on = f" on {plural(machine, 'processor')}" if machine is not None else ""
    under = f" under {name}" if name else ""
    return f"{who} schedule of {trace.name}{on}{under}"
