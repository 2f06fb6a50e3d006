"""Simulate a scheduler serving users."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadWarning, parameter
from workloadkit.io.wkt.opened import OpenLog
from workloadkit.provenance import moved_times
from workloadkit.record_fields import PROMISED_START
from workloadkit.settings import Simulate
from workloadkit.settings.setting import takes
from workloadkit.simulation.arriving import arriving, can_be_cut, remembered, served
from workloadkit.simulation.engine import Scheduler, User
from workloadkit.simulation.engines import (
    EngineResult,
    joined,
    play_log_compiled,
    play_plain,
    play_users_compiled,
    play_users_plain,
    submitted,
    with_changes,
    without_cancelled,
)
from workloadkit.simulation.machine.hardware import is_described, is_reservable
from workloadkit.simulation.patience import play_soonest
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedule.notes import name_of
from workloadkit.simulation.selection import (
    SimulationParts,
    check_synthetic,
    select_parts,
    uncounted_users,
)
from workloadkit.simulation.users import (
    Behaviour,
    Community,
    LogBehaviour,
    OpenUsers,
    SimulatedUsers,
)
from workloadkit.simulation.workload import Workload, shortest_estimate, that_wait
from workloadkit.simulation.workload.from_log import look_whole
from workloadkit.trace import Trace, check_trace
from workloadkit.units import counted_log

if TYPE_CHECKING:
    from workloadkit.simulation.schedule_in_chunks import ScheduleInChunks
    from workloadkit.simulation.users import BatchUser

# Run the selected parts of a simulation, and make a log of the submitted jobs.


def execute(parts: SimulationParts, settings: Simulate) -> tuple[Trace, Trace, EngineResult]:
    """Run a simulation.

    Returns
    -------
    trace, unscaled : Trace
        The log of the submitted jobs; the same before run times and sizes were scaled.
    play : EngineResult
    """
    if isinstance(parts.behaviour, OpenUsers):
        return _replay(parts, settings)
    if isinstance(parts.behaviour, Behaviour | LogBehaviour | Community):
        return _let_react(parts, settings)
    return _let_submit(parts, settings)


def _replay(parts: SimulationParts, settings: Simulate) -> tuple[Trace, Trace, EngineResult]:
    """Let the jobs of a log arrive at their submit times."""
    unscaled, trace, workload = arriving(parts)
    play = _serve_log(parts, settings, trace, that_wait(workload))
    return trace, unscaled, without_cancelled(play, workload)


def _serve_log(
    parts: SimulationParts, settings: Simulate, trace: Trace, workload: Workload
) -> EngineResult:
    """Run the jobs of a log on its machine, which may have partitions."""
    machine = parts.rules.hardware
    groups = served(parts, settings, trace, workload)
    play = joined(workload, [(group, _serve(its, settings, jobs)) for group, its, jobs in groups])
    return play._replace(history=machine.assumed(trace)) if is_described(machine) else play


def _serve(parts: SimulationParts, settings: Simulate, workload: Workload) -> EngineResult:
    """Run the jobs of a workload on one machine."""
    if is_reservable(parts.rules.hardware):
        parts = _answering(parts, workload)
    if parts.engine == "python":
        return _serve_plain(parts, settings, workload)
    policy: Any = parts.policy
    compiled = partial(play_log_compiled, policy, parts.name, workload, parts.rules)
    plain = partial(_serve_plain, parts, settings, workload)
    return play_soonest(compiled, plain, workload.submit.size, settings.engine)


def _serve_plain(parts: SimulationParts, settings: Simulate, workload: Workload) -> EngineResult:
    jobs, outcome, runs = _plain(parts, settings)(
        parts.behaviour.plain(workload, parts.rules.begin, parts.rules.memory)
    )
    if workload.leaves is not None:
        left = np.array([job.left for job in jobs])
        outcome = outcome._replace(columns={**outcome.columns, "left": left})
    if is_reservable(machine := parts.rules.hardware):
        return EngineResult(machine.served(workload, outcome), outcome, runs=runs)
    return EngineResult(with_changes(workload, jobs), outcome, runs=runs)


def _answering(parts: SimulationParts, workload: Workload) -> SimulationParts:
    """Let the machine answer requests for reservations for a workload."""
    hardware: Any = parts.rules.hardware
    answering = hardware.answering(workload, parts.rules.overrun)
    return replace(parts, rules=replace(parts.rules, hardware=answering))


def _let_react(parts: SimulationParts, settings: Simulate) -> tuple[Trace, Trace, EngineResult]:
    """Run users who react: of a log, or with jobs of their own."""
    behaviour = parts.behaviour
    if settings.offered_load is not None or "scale_arrivals" in settings.scales:
        raise ParameterError(
            "offered_load",
            f"and {parameter('scale_arrivals')} apply to users who submit by timestamps; the load "
            f"of users {name_of(behaviour)} depends on the service: add or remove users, or scale "
            "run times, sizes or the machine",
        )
    simulated_users = _simulated_users(parts, settings)
    assumed: dict[str, Any] = {}
    if is_described(parts.rules.hardware):
        assert simulated_users.of_log is not None  # as was checked
        machine = parts.rules.hardware.one(*simulated_users.of_log, who=name_of(behaviour))
        assumed = parts.rules.hardware.assumed(simulated_users.of_log[0])
        parts = replace(parts, rules=replace(parts.rules, hardware=machine))
    if is_reservable(parts.rules.hardware):
        assert simulated_users.of_log is not None  # as was checked
        parts = _answering(parts, simulated_users.of_log[1])
    policy: Any = parts.policy
    given = policy, parts.name, parts.rules, simulated_users
    plain = partial(play_users_plain, *given, utility_at=settings.utility_at)
    compiled = partial(play_users_compiled, *given)
    if parts.engine == "python":
        play = plain()
    else:
        play = play_soonest(compiled, plain, simulated_users.n_jobs, settings.engine)
    unscaled, workload, notes = simulated_users.result(
        play.workload, play.notes, parts.rules.machine
    )
    of_log = not isinstance(behaviour, Community)
    trace = parts.as_workload.scaled(unscaled) if of_log else unscaled
    history = {**play.history, **assumed}
    return trace, unscaled, play._replace(workload=workload, notes=notes, history=history)


def _simulated_users(parts: SimulationParts, settings: Simulate) -> SimulatedUsers:
    """Return the users who react."""
    behaviour, population, as_workload = parts.behaviour, parts.population, parts.as_workload
    log: Any = parts.trace
    if isinstance(behaviour, Community):
        who = f"users {name_of(behaviour)}"
        check_synthetic(who, settings)
        return behaviour.simulated_users(parts.rules.machine)
    if isinstance(behaviour, LogBehaviour):
        played = population.log(log, parts.rules.seed)
        return behaviour.users_of(played, as_workload(played))
    present = population.present(log, as_workload, parts.rules.seed)
    if hasattr(behaviour, "adapted"):
        present = behaviour.adapted(present)
    from workloadkit.simulation.users.batches.simulated_users import SimulatedBatchUsers

    return SimulatedBatchUsers(population, behaviour, log, present)


def _let_submit(parts: SimulationParts, settings: Simulate) -> tuple[Trace, Trace, EngineResult]:
    """Let custom users submit their own jobs."""
    check_synthetic("custom users", settings)
    jobs, outcome, runs = _plain(parts, settings)(parts.behaviour)
    play = EngineResult(submitted(jobs), outcome, runs=runs)
    points = {place: job.utility for place, job in enumerate(jobs) if job.utility}
    from workloadkit.simulation.workload.from_log import as_log

    trace, workload = as_log(play.workload, parts.rules.machine, utilities=points)
    return trace, trace, play._replace(workload=workload)


def _plain(parts: SimulationParts, settings: Simulate) -> Any:
    """Return a function that runs users in the plain-Python engine."""
    return partial(
        play_plain, parts.policy, parts.name, parts.rules, utility_at=settings.utility_at
    )


def calibrate(
    trace: Trace, scheduler: str | Policy | Scheduler, settings: Simulate
) -> dict[str, Any]:
    """Simulate a log as it is; return `Schedule.calibration`, empty if nothing can be compared."""
    is_record = not moved_times(trace.header) and (trace.column("wait")[trace.ran] >= 0).any()
    if not is_record or settings.scales:
        return {}
    return simulate(trace, scheduler, settings=settings).calibration


@overload
def simulate(
    trace: OpenLog,
    scheduler: str | Policy | Scheduler = "easy",
    users: str | OpenUsers = "open",
    settings: Simulate | None = None,
    **keywords: Any,
) -> "ScheduleInChunks": ...


@overload
def simulate(
    trace: Trace | None = None,
    scheduler: str | Policy | Scheduler = "easy",
    users: str
    | OpenUsers
    | type["BatchUser"]
    | Behaviour
    | LogBehaviour
    | Community
    | Sequence[User] = "open",
    settings: Simulate | None = None,
    **keywords: Any,
) -> Schedule: ...


@takes(Simulate)
def simulate(
    trace: Trace | OpenLog | None = None,
    scheduler: str | Policy | Scheduler = "easy",
    users: str
    | OpenUsers
    | type["BatchUser"]
    | Behaviour
    | LogBehaviour
    | Community
    | Sequence[User] = "open",
    settings: Simulate | None = None,
    **keywords: Any,
) -> "Schedule | ScheduleInChunks":
    """Simulate a scheduler serving the users of a log, or custom users.

    A job needs the processors it requested, else those it used. The scheduler plans with the
    requested time, where it is known, else with the run time; in whole seconds, with 1 s at the
    least. Jobs that never ran are left out and counted; those cancelled while they waited may be
    kept.

    Parameters
    ----------
    trace : Trace or OpenLog, optional
        The log to simulate; not needed with custom users. Of one that `workloadkit.open_log`
        returns, a part is in memory at a time; the result is a `ScheduleInChunks`.
    scheduler : str or object, default "easy"
        A name with parameters as on the command line, a policy of `workloadkit.schedulers`, or an
        instance of a subclass of `Scheduler`, which is copied for the simulation.
    users : str, object or sequence of User, default "open"
        The behaviour of the log's users, or users who need no log: a name with parameters, or an
        object of `workloadkit.users`; or custom users: a subclass of `BatchUser`, for users of a
        log, or a list of users who need none (also copied).
    settings : workloadkit.settings.Simulate, optional
        All parameters below as one object; keywords override it.
    {settings}

    Raises
    ------
    ParameterError
        For an unknown name or an invalid value.
    WorkloadError
        If the log cannot be simulated: no job ran, the machine is unknown, or jobs are larger than
        the machine.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> simulate(trace, "fcfs", procs=4).jobs["start"].tolist()
    [0, 10, 20]
    >>> simulate(trace, "easy", procs=4).jobs["start"].tolist()
    [0, 10, 2]
    """
    asked = Simulate.of(settings, keywords)
    if isinstance(trace, OpenLog):
        from workloadkit.simulation.in_chunks import simulate_in_chunks

        return simulate_in_chunks(trace, scheduler, users, asked)
    if asked.state is not None:
        from workloadkit.simulation.continuing import begun_with_state

        trace, asked = begun_with_state(trace, asked)
    if trace is not None:
        check_trace(trace)
        trace = counted_log(trace, asked)
        if trace.counting is not None:
            asked = replace(asked, unit=trace.unit)
    parts = select_parts(trace, scheduler, users, asked)
    return report(parts, asked, *execute(parts, asked))


def report(
    parts: SimulationParts, settings: Simulate, trace: Trace, unscaled: Trace, play: EngineResult
) -> Schedule:
    """Return the schedule of a finished simulation."""
    workload = replace(play.workload, utility_at=settings.utility_at)
    start = play.outcome.start  # recorded waits may be fractions while all other times are whole
    start = start.astype(np.result_type(start, workload.submit), copy=False)
    parameters, procs = parts.parameters, parts.rules.machine
    if workload.utilities is not None:
        parameters["utility_at"] = settings.utility_at
    if shortest_estimate(workload.submit) == 0 and look_whole(workload):
        parameters["shortest_estimate"] = 0  # which the log that is written does not show
    promises = {}
    if parts.follows_log:
        promises = _recorded_promises(trace, workload)
        largest = _warn_of_use(workload, start, procs)
        procs = procs if parts.knows_machine else largest
    return Schedule(
        trace,
        workload,
        start,
        procs,
        parameters,
        {**play.notes, **play.outcome.columns, **promises},
        {**play.history, **play.outcome.history},
        settings.warmup,
        settings.cooldown,
        play.runs,
        uncounted_users(settings.uncounted),
        unscaled,
        parts.rules.hardware if is_described(parts.rules.hardware) else None,
        play.cancelled,
        partial(remembered, parts, settings) if can_be_cut(parts) else None,
    )


def _recorded_promises(trace: Trace, workload: Workload) -> dict[str, NDArray]:
    """Return the promised starts in the side-car of a log, unless submissions have moved."""
    submit = trace.column("submit")[workload.row]
    known = trace.sidecar is not None and PROMISED_START in trace.sidecar
    if not (known and np.array_equal(submit, workload.submit)):
        return {}
    return {PROMISED_START: trace.column(PROMISED_START)[workload.row]}


def _warn_of_use(workload: Workload, start: NDArray, machine: int) -> int:
    """Warn if a log uses more than its machine; return the most processors in use at once."""
    from workloadkit.metrics import use_over_time

    time, in_use = use_over_time(start, start + workload.run, workload.procs)
    largest = max(int(in_use.max()), 1)
    if largest > machine:
        above = in_use > machine
        hours = np.diff(time)[above[:-1]].sum() / 3600
        when = np.argmax(above)
        begins = np.flatnonzero((start == time[when]) & (workload.run > 0))
        upon = in_use[when] - workload.procs[begins][::-1].cumsum()[::-1]  # use before each
        first = workload.job[begins[np.argmax(upon + workload.procs[begins] > machine)]]
        warnings.warn(
            f"the log uses up to {largest:,} processors of {machine:,}: more than the machine has "
            f"for {hours:,.1f} hours in all, first by job {first}",
            WorkloadWarning,
            stacklevel=4,
        )
    return largest
