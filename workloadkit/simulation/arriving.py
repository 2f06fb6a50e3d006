"""The jobs of a log that arrive, and what its scheduler remembers where the simulation is cut."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workloadkit.settings import Simulate
from workloadkit.settings.simulation import UtilityAt
from workloadkit.simulation.engine import Scheduler, User
from workloadkit.simulation.engines import plain_simulation, predicted
from workloadkit.simulation.machine.hardware import is_described, is_reservable
from workloadkit.simulation.patience import play_soonest
from workloadkit.simulation.policies.policy import Policy, compiled_form
from workloadkit.simulation.selection import SimulationParts
from workloadkit.simulation.supports import memory_of
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import Rules, Workload, that_wait
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from workloadkit.simulation.policies.compiled import CompiledPolicy


def arriving(
    parts: SimulationParts, settings: Simulate
) -> tuple[SimulationParts, Trace, Trace, Workload]:
    """Return the log, also scaled, and its jobs, of which some are there at the beginning."""
    log: Any = parts.trace  # None for a population with its own log
    unscaled = parts.population.log(log, parts.rules.seed)
    trace = parts.as_workload.scaled(unscaled)
    workload = parts.as_workload.of(trace)
    if parts.rules.begin is not None:
        from workloadkit.simulation.continuing import recalled, with_begun  # loads readers

        workload = with_begun(workload, trace)
        workload, rules = recalled(workload, parts.rules, settings.state)
        parts = replace(parts, rules=rules)
    return parts, unscaled, trace, workload


def remembered(parts: SimulationParts, settings: Simulate, time: float) -> dict[str, Any]:
    """Return what the policy of a simulation remembers before all events of a time.

    The jobs of a log are simulated again, until then.
    """
    parts, _, _, workload = arriving(parts, settings)
    policy: Any = parts.policy
    workload, rules = that_wait(workload), parts.rules
    until = time if workload.submit.dtype.kind == "f" else math.ceil(time)
    plain = partial(
        _in_python,
        *(policy, parts.name, rules),
        parts.behaviour.plain(workload, rules.begin, rules.memory),
        until,
        utility_at=settings.utility_at,
    )
    if parts.engine == "python" or parts.follows_log:  # which has no state in the other engine
        memory = plain()
    else:
        compiled = partial(_compiled, policy, workload, rules, until)
        memory = play_soonest(compiled, plain, workload.submit.size, settings.engine)
    return {"scheduler": parts.name, "machine": rules.machine, "past": 0, "jobs": {}, **memory}


def can_be_cut(parts: SimulationParts) -> bool:
    """Whether a simulation can be continued with what its policy remembers."""
    hardware, memory = parts.rules.hardware, memory_of(parts.policy)
    is_pool = not is_described(hardware) and not is_reservable(hardware)
    follows = isinstance(parts.behaviour, OpenUsers)
    return memory is not None and memory.kept and is_pool and follows


def _in_python(
    policy: Policy | Scheduler,
    name: str,
    rules: Rules,
    users: Sequence[User],
    until: Any,
    *,
    utility_at: UtilityAt = "turnaround",
) -> dict[str, Any]:
    """Return what a policy remembers before a time, see `Scheduler.remember`."""
    simulation = plain_simulation(policy, name, rules, users, utility_at)
    simulation.go(until)
    return simulation.scheduler.remember(simulation.there)


def _compiled(policy: Policy, workload: Workload, rules: Rules, until: Any) -> dict[str, Any]:
    """Do the same in the compiled engine, for the jobs of a log."""
    how: CompiledPolicy = compiled_form(policy, *predicted(workload, rules))
    return how.remembered(until)
