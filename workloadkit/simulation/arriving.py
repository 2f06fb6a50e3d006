"""The jobs of a log that arrive, and what is remembered where their simulation is cut."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from workloadkit.distinct import distinct
from workloadkit.settings import Simulate
from workloadkit.simulation.engines import Cut, cut_compiled, cut_plain
from workloadkit.simulation.machine.hardware import GroupMachine, is_described, is_reservable
from workloadkit.simulation.patience import play_soonest
from workloadkit.simulation.selection import SimulationParts
from workloadkit.simulation.supports import memory_of
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import Workload, that_wait
from workloadkit.trace import Trace


def arriving(parts: SimulationParts) -> tuple[Trace, Trace, Workload]:
    """Return the log, also scaled, and its jobs, of which some are there at the beginning."""
    log: Any = parts.trace  # None for a population with its own log
    unscaled = parts.population.log(log, parts.rules.seed)
    trace = parts.as_workload.scaled(unscaled)
    workload = parts.as_workload.of(trace)
    if parts.rules.begin is not None:
        from workloadkit.simulation.continuing import with_begun  # loads readers

        workload = with_begun(workload, trace)
    return unscaled, trace, workload


def served(
    parts: SimulationParts, settings: Simulate, trace: Trace, workload: Workload
) -> Iterator[tuple[GroupMachine, SimulationParts, Workload]]:
    """Yield the machines that serve the jobs of a log, each with its parts and its jobs."""
    machine: Any = parts.rules.hardware
    groups = [GroupMachine("", machine, np.arange(workload.submit.size))]
    if is_described(machine):
        groups = machine.parts(trace, workload)
    for group in groups:
        policy, jobs = parts.policy, workload
        if is_described(machine):
            jobs = workload.take(group.jobs)
            if distinct(jobs.tiers).size > 1 and machine.reservations is None:
                from workloadkit.simulation.policies.order.tiers import in_tiers

                policy = in_tiers(policy)
        rules = replace(parts.rules, machine=group.hardware.procs, hardware=group.hardware)
        if rules.begin is not None:
            from workloadkit.simulation.continuing import recalled

            jobs, memory = recalled(parts, settings.state, group, jobs)
            rules = replace(rules, memory=memory, begin=second_of(jobs, rules.begin))
        yield group, replace(parts, policy=policy, rules=rules), jobs


def second_of(workload: Workload, time: float) -> float:
    """Return a time as jobs have them: whole where theirs are, or starts would be of two types."""
    return time if workload.submit.dtype.kind == "f" else math.ceil(time)


def remembered(parts: SimulationParts, settings: Simulate, time: float) -> dict[str, Any]:
    """Return what the parts of a simulation remember before all events of a time.

    The jobs of a log are simulated again, until then. See `QueueState.memory`.
    """
    _, trace, workload = arriving(parts)
    until = second_of(workload, time)
    return cut_at(parts, settings, trace, that_wait(workload), until)[1]


def cut_at(
    parts: SimulationParts, settings: Simulate, trace: Trace, workload: Workload, until: Any
) -> tuple[list[tuple[GroupMachine, Cut]], dict[str, Any]]:
    """Run the jobs of a log on all machines up to a time; return what is remembered then, too."""
    found = [
        (group, _cut(its, settings, jobs, until))
        for group, its, jobs in served(parts, settings, trace, workload)
    ]
    every = np.sort(np.concatenate([group.jobs[cut.there] for group, cut in found]))
    machines = {}
    for group, cut in found:
        place, memory = np.searchsorted(every, group.jobs[cut.there]).tolist(), cut.memories
        if memory_of(parts.policy) is None:
            memory = memory._replace(scheduler={})
        names = parts.names_on(group.hardware)
        machines[group.name] = {
            part: _saved(held, place, every.size, name=names[part], procs=group.hardware.procs)
            for part in names
            if (held := getattr(memory, part)) is not None
        }
    past = max(its["scheduler"]["values"].get("past", 0) for its in machines.values())
    return found, {"past": past, "settings": parts.settings_in_states, "machines": machines}


def _saved(memory: Mapping[str, Any], place: Any, size: int, **of: Any) -> dict[str, Any]:
    """Return what a part remembers of the jobs at some places among all that are there."""

    def spread(column: Sequence[Any]) -> list[Any]:
        every = [None] * size
        for i, value in zip(place, column, strict=True):
            every[i] = value
        return every

    jobs = {name: spread(column) for name, column in memory.get("jobs", {}).items()}
    values = {name: value for name, value in memory.items() if name != "jobs"}
    return of | {"jobs": jobs, "values": values}


def can_be_cut(parts: SimulationParts) -> bool:
    """Whether parts of a simulation remember more than the running and waiting jobs."""
    rules, machine = parts.rules, parts.rules.hardware
    assert machine is not None  # selected
    if not isinstance(parts.behaviour, OpenUsers) or is_reservable(machine):
        return False
    if getattr(machine, "reservations", None) is not None:
        return False
    memories = memory_of(parts.policy), machine.memory_of_places, memory_of(rules.predictor)
    found = [memory for memory in memories if memory is not None]
    return all(each.kept for each in found) and (bool(found) or rules.passes == "event")


def _cut(parts: SimulationParts, settings: Simulate, workload: Workload, until: Any) -> Cut:
    """Run the jobs of a workload on one machine up to a time."""
    policy: Any = parts.policy
    plain = partial(_cut_plain, parts, workload, until)
    if parts.engine == "python" or parts.follows_log:  # which has no state in the other engine
        return plain()
    compiled = partial(cut_compiled, policy, parts.name, workload, parts.rules, until)
    return play_soonest(compiled, plain, workload.submit.size, settings.engine)


def _cut_plain(parts: SimulationParts, workload: Workload, until: Any) -> Cut:
    rules = parts.rules
    users = parts.behaviour.plain(workload, rules.begin, rules.memory)
    return cut_plain(parts.policy, parts.name, rules, users, workload, until)
