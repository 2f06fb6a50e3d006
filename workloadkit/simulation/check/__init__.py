"""Check a schedule against its log and policy.

The check derives the jobs from the log and the passes from the schedule. It shares no code with
the simulator except the conversion of a log into jobs.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.settings import Check
from workloadkit.settings.setting import takes
from workloadkit.simulation.check.feasible import (
    Listed,
    each_is_there_once,
    every_job_starts,
    held_jobs_do_not_run,
    match_jobs,
    needs_are_the_logs,
    no_processor_is_used_twice,
    none_starts_early,
    other_fields_are_the_logs,
    state_goes_on,
    stopped_runs_come_first,
    submit_times_are_the_logs,
    with_stopped_runs,
)
from workloadkit.simulation.check.nodes import claims_by_partition, claims_on
from workloadkit.simulation.check.policy_rules import (
    around_reservations,
    claims_of,
    slacks_are_kept,
)
from workloadkit.simulation.check.replaying import rule_of
from workloadkit.simulation.check.scheduled_jobs import (
    cancelled_jobs_are_the_logs,
    interruptions_of,
    listed_cancelled,
    make_case,
)
from workloadkit.simulation.check.subject import Subject, report_of, subject_of
from workloadkit.simulation.check.verdicts import CheckReport, ScheduleClaim
from workloadkit.simulation.machine.shutdowns import holds_of
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedule.notes import users_react
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
    subject = subject_of(trace, schedule, settings, keywords)
    return report_of(subject, tuple(_claims(subject)))


def _claims(subject: Subject) -> Iterator[ScheduleClaim]:
    """Check the rules for every schedule, then those of its machine and policy."""
    schedule, asked, workload = subject.schedule, subject.asked, subject.workload
    listed, outages, changing = subject.listed, subject.outages, subject.changing
    runs, stopped = with_stopped_runs(listed, schedule)
    at, others = match_jobs(workload, listed)
    all_there = each_is_there_once(workload, listed, at, others, int(subject.trace.ran.sum()))
    needs = needs_are_the_logs(subject.trace, workload, listed, at, changing)
    starts = every_job_starts(listed)
    yield from (all_there, needs)
    yield submit_times_are_the_logs(workload, listed, at, asked.offered_load)
    yield other_fields_are_the_logs(subject.trace, workload, schedule, at, changing)
    yield starts
    yield none_starts_early(listed)
    if workload.begun is not None and all_there.verdict == starts.verdict == "proved":
        yield state_goes_on(workload, listed, at, asked.state.time)
    machine, shutdowns = subject.machine, subject.shutdowns
    yield no_processor_is_used_twice(runs, machine, shutdowns, subject.is_recorded)
    if stopped.size:
        yield stopped_runs_come_first(listed, runs, stopped)
    began = None  # cancelled jobs
    if asked.cancelled == "keep":
        claim, began = cancelled_jobs_are_the_logs(
            subject.whole,
            schedule,
            listed_cancelled(schedule, machine),
            asked.passes,
            records="cancelled" in subject.said,
        )
        yield claim
        if began is not None and subject.whole.leaves is not None:
            began = began[subject.whole.leaves != subject.whole.submit]
    if not all(claim.verdict == "proved" for claim in (all_there, needs, starts)):
        yield from _of_policy(subject, None, began)
        return
    if outages is not None and outages.users:
        yield held_jobs_do_not_run(workload, runs, at, stopped, holds_of(outages))
    yield from _of_policy(subject, (at, runs, stopped), began)


def _of_policy(
    subject: Subject,
    found: tuple[NDArray[np.int64], Listed, NDArray[np.int64]] | None,
    began: NDArray[np.float64] | None,
) -> Iterator[ScheduleClaim]:
    """Check the rules of machine and policy.

    Parameters
    ----------
    subject : Subject
    found : tuple, optional
        Place of each job in the schedule, runs, and stopped runs; None if it has other jobs.
    began : ndarray, optional
        When cancelled jobs started.
    """
    schedule, hardware, every = subject.schedule, subject.hardware, subject.every
    case = rule = at = None
    places = np.zeros(every.row.size, np.int64)  # in the schedule, of those that ran
    if found is not None:
        at, runs, stopped = found
        places[subject.ran] = at
        case = make_case(
            every,
            subject.listed,
            places,
            subject.machine or 0,
            subject.asked.passes,
            reacting=users_react(schedule),
            began=began,
        )
        rule = rule_of(subject.policy, every, case.row, subject.predictions)
        outages, known = subject.outages, isinstance(schedule, Schedule) and case.whole
        if outages is not None and known and not outages.users:
            stops = interruptions_of(case, places, runs, stopped, subject.shutdowns)
            case = case._replace(outages=stops)
    if hardware is not None and at is not None:
        yield from claims_on(subject, hardware, at)
    if subject.requests is not None or "reservations" in subject.said:
        yield from around_reservations(
            subject.workload,
            schedule,
            subject.requests,
            subject.overrun,
            at,
            on_nodes=hardware is not None,
        )
    elif hardware is None:
        yield from claims_of(
            subject.policy, case, rule, changing=subject.changing, unknown=subject.unknown
        )
    else:
        yield from claims_by_partition(subject, hardware, case, (places, began))
    if isinstance(schedule, Schedule) and {"promised_start", "slack"} <= set(schedule.columns):
        yield slacks_are_kept(schedule)
