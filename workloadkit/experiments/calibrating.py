"""Whether the simulations of an experiment reproduce what its logs record."""

from collections.abc import Mapping, Sequence
from typing import Any

from workloadkit.provenance import moved_times
from workloadkit.settings import Simulate
from workloadkit.simulation.as_recorded import distance
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import Policy, draws
from workloadkit.simulation.schedulers import parse
from workloadkit.simulation.simulate import simulate
from workloadkit.trace import Trace


def calibrate(
    trace: Trace, schedulers: Mapping[str, str | Policy | Scheduler], settings: Simulate
) -> dict[str, Any]:
    """Simulate a log at its recorded times, once; return its calibration.

    The scheduler is EASY if it is one of them, as it is close to what most sites do; else the
    first. Those that draw random numbers and custom ones are left out.

    Returns
    -------
    dict of str to object
        `scheduler`, its name, and `Schedule.calibration`. Empty if nothing can be compared.
    """
    named = {name: parse(x) if isinstance(x, str) else x for name, x in schedulers.items()}
    known = {
        name: policy
        for name, policy in named.items()
        if isinstance(policy, Policy) and policy.name != "recorded" and not draws(policy)
    }
    is_record = not moved_times(trace.header) and (trace.column("wait")[trace.ran] >= 0).any()
    if not known or not is_record or settings.scales:
        return {}
    name, policy = min(known.items(), key=lambda item: item[1].name != "easy")
    found = simulate(trace, policy, settings=settings).calibration
    return {"scheduler": name, **found} if found else {}


def failures(calibrations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the closest calibration of each log and reading for which none holds."""
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for one in calibrations:
        groups.setdefault((one["log"], one["reading"]), []).append(one)
    return [
        min(group, key=distance)
        for group in groups.values()
        if not any(one["holds"] for one in group)
    ]
