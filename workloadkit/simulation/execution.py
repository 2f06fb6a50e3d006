"""Run the selected parts of a simulation, and make a log of the submitted jobs."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from workloadkit.errors import ParameterError, parameter
from workloadkit.settings import Simulate
from workloadkit.simulation.cancelled import that_wait
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
from workloadkit.simulation.identities import name_of
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.machine.reservable import Reservable
from workloadkit.simulation.selection import SimulationParts, check_synthetic
from workloadkit.simulation.synthetic import as_log
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.users.batches.simulated_users import SimulatedBatchUsers
from workloadkit.simulation.users.behaviour import Behaviour, Community, LogBehaviour
from workloadkit.simulation.users.simulated_users import SimulatedUsers
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


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
    log: Any = parts.trace  # None for a population with its own log
    unscaled = parts.population.log(log, parts.rules.seed)
    trace = parts.as_workload.scaled(unscaled)
    workload = parts.as_workload.of(trace)
    play = _serve_log(parts, settings, trace, that_wait(workload))
    return trace, unscaled, without_cancelled(play, workload)


def _serve_log(
    parts: SimulationParts, settings: Simulate, trace: Trace, workload: Workload
) -> EngineResult:
    """Run the jobs of a log on its machine, which may have partitions."""
    machine = parts.rules.hardware
    if not isinstance(machine, Described):
        return _serve(parts, settings, workload)
    played = []
    for part in machine.parts(trace, workload):
        jobs, policy = workload.take(part.jobs), parts.policy
        if np.unique(jobs.tiers).size > 1 and machine.reservations is None:
            from workloadkit.simulation.policies.order.tiers import in_tiers

            policy = in_tiers(policy)
        rules = replace(parts.rules, machine=part.hardware.procs, hardware=part.hardware)
        its = replace(parts, policy=policy, rules=rules)
        played.append((part, _serve(its, settings, jobs)))
    play = joined(workload, played)
    return play._replace(history=machine.assumed(trace))


def _serve(parts: SimulationParts, settings: Simulate, workload: Workload) -> EngineResult:
    """Run the jobs of a workload on one machine."""
    if isinstance(parts.rules.hardware, Reservable):
        parts = _answering(parts, workload)
    if parts.engine == "compiled":
        policy: Any = parts.policy
        return play_log_compiled(policy, parts.name, workload, parts.rules)
    jobs, outcome, runs = _plain(parts, settings)(parts.behaviour.plain(workload))
    if workload.leaves is not None:
        left = np.array([job.left for job in jobs])
        outcome = outcome._replace(columns={**outcome.columns, "left": left})
    if isinstance(machine := parts.rules.hardware, Reservable):
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
    if isinstance(parts.rules.hardware, Described):
        assert simulated_users.of_log is not None  # as was checked
        machine = parts.rules.hardware.one(*simulated_users.of_log, who=name_of(behaviour))
        assumed = parts.rules.hardware.assumed(simulated_users.of_log[0])
        parts = replace(parts, rules=replace(parts.rules, hardware=machine))
    if isinstance(parts.rules.hardware, Reservable):
        assert simulated_users.of_log is not None  # as was checked
        parts = _answering(parts, simulated_users.of_log[1])
    if parts.engine == "compiled":
        policy: Any = parts.policy
        play = play_users_compiled(policy, parts.name, parts.rules, simulated_users)
    else:
        how = {"utility_at": settings.utility_at}
        play = play_users_plain(parts.policy, parts.name, parts.rules, simulated_users, **how)
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
    return SimulatedBatchUsers(population, behaviour, log, present)


def _let_submit(parts: SimulationParts, settings: Simulate) -> tuple[Trace, Trace, EngineResult]:
    """Let custom users submit their own jobs."""
    check_synthetic("custom users", settings)
    jobs, outcome, runs = _plain(parts, settings)(parts.behaviour)
    play = EngineResult(submitted(jobs), outcome, runs=runs)
    points = {place: job.utility for place, job in enumerate(jobs) if job.utility}
    trace, workload = as_log(play.workload, parts.rules.machine, utilities=points)
    return trace, trace, play._replace(workload=workload)


def _plain(parts: SimulationParts, settings: Simulate) -> Any:
    """Return a function that runs users in the plain-Python engine."""
    return partial(
        play_plain, parts.policy, parts.name, parts.rules, utility_at=settings.utility_at
    )
