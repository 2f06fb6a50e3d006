"""Run a policy and its users in one of the two engines."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from workloadkit.custom import check_form
from workloadkit.errors import ParameterError, WorkloadError, quoted
from workloadkit.settings.simulation import UtilityAt
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.engine import Job, Scheduler, User
from workloadkit.simulation.machine.hardware import is_reservable
from workloadkit.simulation.machine.plain import Run
from workloadkit.simulation.machine.pools import OnePool
from workloadkit.simulation.policies.policy import Outcome, Policy, compiled_form, plain_form
from workloadkit.simulation.supports import Memories
from workloadkit.simulation.users import SimulatedUsers
from workloadkit.simulation.workload import (
    CancelledJobs,
    Rules,
    Workload,
    never_starts,
    predictor_rng,
)

if TYPE_CHECKING:
    from workloadkit.simulation.compiled.state import State
    from workloadkit.simulation.machine.hardware import GroupMachine
    from workloadkit.simulation.machine.outages import Runs
    from workloadkit.simulation.plain.simulation import Simulation
    from workloadkit.simulation.policies.compiled import CompiledPolicy


class EngineResult(NamedTuple):
    """The result of a simulation in an engine.

    Parameters
    ----------
    workload : Workload
        The submitted jobs, in the order of (submit, job number).
    outcome : Outcome
    notes : mapping of str to ndarray
        Further columns of the jobs, from the users.
    history : mapping of str to object
        Counts of the users.
    runs : sequence of Run
        With outages.
    cancelled : CancelledJobs, optional
        Jobs that were cancelled while they waited; the others are without them.
    """

    workload: Workload
    outcome: Outcome
    notes: Mapping[str, NDArray] = {}
    history: Mapping[str, Any] = {}
    runs: Sequence[Run] = ()
    cancelled: CancelledJobs | None = None


class Cut(NamedTuple):
    """A simulation up to a time, without the events of that time.

    Parameters
    ----------
    result : callable
        Returns the `EngineResult`; starts are `never` for jobs that wait.
    there : ndarray of int64
        Places of the jobs that run or wait, in the order of arrival.
    memories : Memories
        What is remembered of them.
    """

    result: Callable[[], EngineResult]
    there: NDArray[np.int64]
    memories: Memories


def play_plain(
    policy: Policy | Scheduler,
    name: str,
    rules: Rules,
    users: Sequence[User],
    *,
    utility_at: UtilityAt = "turnaround",
) -> tuple[list[Job], Outcome, Sequence[Run]]:
    """Run the plain engine; the jobs come in the order of (submit, job number)."""
    simulation = plain_simulation(policy, name, rules, users, utility_at)
    return _outcome_of(simulation, rules, simulation.go())


def cut_plain(
    policy: Policy | Scheduler,
    name: str,
    rules: Rules,
    users: Sequence[User],
    workload: Workload,
    until: Any,
) -> Cut:
    """Run the jobs of a log in the plain engine up to a time; None for the end."""
    from workloadkit.simulation.plain.begun import remember

    simulation = plain_simulation(policy, name, rules, users, workload.utility_at)
    records = simulation.go() if until is None else simulation.go(until)

    def result() -> EngineResult:
        jobs, outcome, _ = _outcome_of(simulation, rules, records)
        return EngineResult(with_changes(workload, jobs), outcome)

    return Cut(result, *remember(simulation))


def _outcome_of(
    simulation: "Simulation", rules: Rules, jobs: list[Job]
) -> tuple[list[Job], Outcome, Sequence[Run]]:
    """Return the jobs of a simulation in their order, and the outcome."""
    hardware: Any = rules.hardware or OnePool(rules.machine)
    machine: Any = simulation.hardware
    scheduler = simulation.scheduler
    if rules.passes == "instant":
        jobs.sort(key=attrgetter("submit", "number"))
    columns: dict[str, Any] = dict(scheduler.columns([job.view for job in jobs]))
    if hardware.has_outages or rules.holds or any(job.interruptions for job in jobs):
        for column in ("interruptions", "lost", "lost_work"):
            columns[column] = np.array([getattr(job, column) for job in jobs])
    none = never(np.array([job.submit for job in jobs[:1]]).dtype)
    start = np.array([_start_of(job, none) for job in jobs])
    stored = simulation.hardware.runs
    outcome = Outcome(start, columns, scheduler.history())
    every = jobs
    if is_reservable(hardware):
        every = sorted([*jobs, *simulation.inside], key=attrgetter("submit", "number"))
        place = {id(job): i for i, job in enumerate(every)}
        places = np.array([place[id(job)] for job in jobs], np.int64)
        answer = np.array(machine.answer, hardware.dtype)
        submit = np.array([job.submit for job in every], hardware.dtype)
        outcome = hardware.whole(outcome, places, submit, answer)
    rows = {job.view: row for row, job in enumerate(every)} if stored else {}
    runs = [run._replace(row=rows[view]) for view, run in stored]
    if hasattr(hardware, "runs_inside"):
        runs += hardware.runs_inside(machine.held, every)
    return every, outcome, runs


def _start_of(job: Job, none: Any) -> Any:
    """Return when a job starts or leaves the queue; `none` if it waits."""
    start = job.leaves if job.left else job.start
    return none if start is None else start


def plain_simulation(
    policy: Policy | Scheduler,
    name: str,
    rules: Rules,
    users: Sequence[User],
    utility_at: UtilityAt,
) -> "Simulation":
    """Return a simulation in plain Python, before its first event."""
    from workloadkit.simulation.plain.simulation import Simulation

    scheduler = copy.deepcopy(policy) if isinstance(policy, Scheduler) else plain_form(policy)
    scheduler.name = name
    hardware: Any = rules.hardware or OnePool(rules.machine)
    return Simulation(
        hardware.plain(),
        scheduler,
        users,
        rules,
        rng=np.random.default_rng(rules.seed),
        utility_at=utility_at,
        predictor=_plain_predictor(rules),
    )


def play_compiled(policy: Policy, workload: Workload, rules: Rules) -> EngineResult:
    """Run the compiled engine; afterwards the starts of all jobs that arrived are known."""
    if rules.predictor is not None:
        check_form("the predictor", rules.predictor, "compiled", "plain")
    how: Any = compiled_form(policy, workload, rules)
    if isinstance(how, Outcome):
        return EngineResult(workload, how)
    return _result_of(how, how.play(how.new_state()))


def cut_compiled(policy: Policy, name: str, workload: Workload, rules: Rules, until: Any) -> Cut:
    """Run the jobs of a log in the compiled engine up to a time; None for the end."""
    how: CompiledPolicy = compiled_form(policy, *predicted(workload, rules))
    state = how.cut(until)

    def result() -> EngineResult:
        found = _result_of(how, state)
        return _finished(found, name, rules) if until is None else found

    return Cut(result, *how.remembered(state))


def _result_of(how: Any, state: "State") -> EngineResult:
    """Return the result of a simulation in the compiled engine from its last state."""
    workload = how.workload
    columns = {**how.columns(state), **how.hardware.columns(state)}
    if state.cancellations is not None:
        columns["left"] = state.cancellations.left
    outcome = Outcome(state.start, columns, how.history(state))
    jobs, hardware = state.jobs, how.hardware
    if hardware.is_reservable:
        places, answer = hardware.arrived(state), state.users.answer
        outcome = outcome._replace(start=state.start[: places.size])
        outcome = hardware.whole(outcome, places, workload.submit, answer)
        return EngineResult(hardware.served(workload, outcome), outcome)
    played = replace(workload, run=jobs.run, estimate=jobs.prediction, limit=jobs.limit)
    return EngineResult(played, outcome, {}, {}, how.hardware.runs(state))


def play_log_compiled(policy: Policy, name: str, workload: Workload, rules: Rules) -> EngineResult:
    """Run the jobs of a log, at their submit times, in the compiled engine.

    If no prediction depends on jobs that have ended, all are made in advance.
    """
    planned, its_rules = predicted(workload, rules)
    return _finished(play_compiled(policy, planned, its_rules), name, rules)


def predicted(workload: Workload, rules: Rules) -> tuple[Workload, Rules]:
    """Make all predictions that depend on no job that has ended."""
    predict = in_advance(rules.predictor)
    if predict is None:
        return workload, rules
    estimate = predict(workload, *predictor_rng(rules))
    planned = replace(workload, estimate=estimate, limit=workload.estimate)
    return planned, replace(rules, predictor=None)


def _plain_predictor(rules: Rules) -> Any:
    """Return the predictor in plain Python, for one simulation; None for none."""
    if rules.predictor is None:
        return None
    check_form("the predictor", rules.predictor, "plain", "compiled")
    return rules.predictor.plain(*predictor_rng(rules))


def in_advance(predictor: Any) -> Any:
    """Return a function that predicts for all jobs, unless a subclass overrides another form."""
    forms = {"plain", "compiled", "of_all"}
    newest = next((kind for kind in type(predictor).__mro__ if forms & vars(kind).keys()), object)
    return predictor.of_all if "of_all" in vars(newest) else None


def joined(
    workload: Workload, played: "Sequence[tuple[GroupMachine, EngineResult]]"
) -> EngineResult:
    """Return the results of the machines that served the jobs of a workload."""
    if len(played) == 1:
        return played[0][1]
    from workloadkit.simulation.machine.outages import JoinedRuns

    def merged(values: Sequence[Any]) -> Any:
        """Return the values of all jobs, None where some are unknown."""
        if any(some is None for some in values):
            return None
        values = [*map(np.asarray, values)]
        every = np.empty(workload.submit.size, np.result_type(*values))
        for (part, _), some in zip(played, values, strict=True):
            every[part.jobs] = some
        return every

    results = [result for _, result in played]
    outcomes = [result.outcome for result in results]
    names = ("run", "estimate", "killed", "limit")
    changed = {x: merged([getattr(result.workload, x) for result in results]) for x in names}
    columns = {x: merged([outcome.columns[x] for outcome in outcomes]) for x in outcomes[0].columns}
    columns["partition"] = merged([np.full(part.jobs.size, part.name) for part, _ in played])
    history = {part.name: result.outcome.history for part, result in played}
    return EngineResult(
        replace(workload, **changed),
        Outcome(
            merged([outcome.start for outcome in outcomes]),
            columns,
            {name: decided for name, decided in history.items() if decided},
        ),
        runs=JoinedRuns.of([(result.runs, part.jobs) for part, result in played]),
    )


def play_users_plain(
    policy: Policy | Scheduler, name: str, rules: Rules, simulated_users: SimulatedUsers, **how: Any
) -> EngineResult:
    """Run users in the plain engine."""
    users = simulated_users.plain(_draws(rules))
    jobs, outcome, runs = play_plain(policy, name, rules, users, **how)
    workload = submitted(jobs)
    notes = {name: np.array([job.notes[name] for job in jobs]) for name in jobs[0].notes}
    return EngineResult(workload, outcome, notes, simulated_users.report_plain(users), runs)


def play_users_compiled(
    policy: Policy, name: str, rules: Rules, simulated_users: SimulatedUsers
) -> EngineResult:
    """Run users in the compiled engine.

    If the tables prove too small, the run is repeated with larger ones.
    """
    room = max(simulated_users.n_jobs, 1)
    while True:
        tables = simulated_users.compiled(_draws(rules), room, by_event=rules.passes == "event")
        agenda = tables.users.agenda
        play = _nothing(tables) if _is_idle(agenda) else play_compiled(policy, tables, rules)
        if not agenda.at.overflows:
            break
        room *= 2
    n_jobs = int(agenda.at.arrived)
    if not n_jobs:
        raise WorkloadError("the users submitted no job")
    planned = play.workload
    tables.estimate[:] = planned.estimate
    workload, notes, history = simulated_users.report(tables, n_jobs)
    if planned.limit is not None:
        workload = replace(workload, limit=planned.limit[:n_jobs])
    start, columns, decided = play.outcome
    columns = {name: np.asarray(values)[:n_jobs] for name, values in columns.items()}
    outcome = Outcome(start[:n_jobs], columns, decided)
    play = _finished(EngineResult(workload, outcome, notes, history, play.runs), name, rules)
    if rules.passes == "instant":
        order = np.lexsort((workload.job, workload.submit))
        if (order[1:] < order[:-1]).any():
            play = play._replace(
                workload=play.workload.take(order),
                outcome=Outcome(start[order], _taken(columns, order), decided),
                notes=_taken(notes, order),
            )
            if _are_columns(play.runs):
                play = play._replace(runs=replace(play.runs, rows=np.argsort(order)))
    return play


def without_cancelled(play: EngineResult, workload: Workload) -> EngineResult:
    """Separate the jobs of a workload that were cancelled while they waited from the others."""
    if workload.leaves is None:
        return play
    none = never(workload.leaves.dtype)
    cancelled, start = play.workload.leaves != none, play.outcome.start
    began = np.flatnonzero(cancelled & ~np.asarray(play.outcome.columns["left"]))
    starts = dict(zip(play.workload.row[began].tolist(), start[began].tolist(), strict=True))
    jobs = workload.take(np.flatnonzero(workload.leaves != none))
    kept = np.flatnonzero(~cancelled)
    place = {row: i for i, row in enumerate(kept.tolist())}
    columns = {name: x for name, x in play.outcome.columns.items() if name != "left"}
    return play._replace(
        workload=replace(play.workload.take(kept), leaves=None),
        outcome=play.outcome._replace(start=start[kept], columns=_taken(columns, kept)),
        notes=_taken(play.notes, kept),
        runs=[run._replace(row=place[run.row]) for run in play.runs if run.row in place],
        cancelled=CancelledJobs(jobs, np.array([starts.get(row, np.nan) for row in jobs.row])),
    )


def _are_columns(runs: Any) -> "TypeGuard[Runs]":
    """Whether runs are columns, as the compiled engine returns them."""
    return hasattr(runs, "numbers")


def _taken(columns: Mapping[str, NDArray], order: NDArray[np.int64]) -> dict[str, NDArray]:
    return {name: np.asarray(values)[order] for name, values in columns.items()}


def _finished(play: EngineResult, name: str, rules: Rules) -> EngineResult:
    """Return the result with job numbers in the runs, and lost jobs not marked as killed.

    Raises
    ------
    WorkloadError
        Where jobs never start.
    """
    workload, start = play.workload, play.outcome.start
    stuck = np.flatnonzero(start == never(start.dtype))
    if stuck.size:
        stays_down = rules.hardware.what_stays_down() if rules.hardware is not None else ""
        raise WorkloadError(
            never_starts(name, workload.job[stuck].tolist(), start.size) + stays_down
        )
    if "lost" in play.outcome.columns:
        killed = workload.killed & ~play.outcome.columns["lost"]
        workload = replace(workload, killed=killed)
    if _are_columns(play.runs):
        play = play._replace(runs=replace(play.runs, numbers=workload.job))
    return play._replace(workload=workload)


def copies(users: Sequence[User]) -> list[User]:
    """Copy custom users, who change as they act.

    Raises
    ------
    ParameterError
        If they are not users, or one object occurs several times.
    """
    if not isinstance(users, list | tuple) or not all(isinstance(user, User) for user in users):
        raise ParameterError(
            "users",
            f"is {quoted(users)}; give a name or a list of instances of a subclass of "
            "workloadkit.users.User",
        )
    if len({id(user) for user in users}) < len(users):
        raise ParameterError("users", ": one object occurs several times; create one for each user")
    return copy.deepcopy(list(users))


def submitted(jobs: Sequence[Job]) -> Workload:
    """Return the workload of jobs that users submitted, in their order.

    Raises
    ------
    WorkloadError
        If there is none.
    """
    if not jobs:
        raise WorkloadError("the users submitted no job")
    times = ("submit", "run", "estimate", "start")
    names = (*times, "row", "number", "procs", "killed", "queue", "recorded_wait")
    table = {name: np.array([getattr(job, name) for job in jobs]) for name in names}
    limit, table["estimate"] = table["estimate"], np.array([job.prediction for job in jobs])
    dtype = np.result_type(*(table[name] for name in times))
    return Workload(
        row=table["row"],
        job=table["number"],
        user=np.array([job.submitter.number - 1 for job in jobs]),
        submit=table["submit"].astype(dtype),
        run=table["run"].astype(dtype),
        estimate=table["estimate"].astype(dtype),
        procs=table["procs"],
        killed=table["killed"],
        queue=table["queue"],
        wait=table["recorded_wait"].astype(dtype),
        left_out=0,
        limit=limit.astype(dtype),
    )


def with_changes(workload: Workload, jobs: Sequence[Job]) -> Workload:
    """Return a workload with the predictions, and with runs as outages have cut them."""
    estimate = np.array([job.prediction for job in jobs], workload.submit.dtype)
    workload = replace(workload, estimate=estimate, limit=workload.estimate)
    if not any(job.lost for job in jobs):
        return workload
    run = np.array([job.run for job in jobs])
    return replace(workload, run=run, killed=np.array([job.killed for job in jobs]))


def _draws(rules: Rules) -> np.random.Generator:
    """Return the generator of the users, independent of the scheduler's."""
    return np.random.default_rng(rules.seed).spawn(1)[0]


def _is_idle(agenda: Any) -> bool:

    return not agenda.at.size


def _nothing(tables: Workload) -> EngineResult:
    return EngineResult(tables, Outcome(tables.submit[:0]))
