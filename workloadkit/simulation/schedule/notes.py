"""The settings of a simulation as its schedule records them, and the names of its parts."""

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from workloadkit.custom import is_custom, source_digest
from workloadkit.errors import ParameterError, WorkloadWarning
from workloadkit.parameters import describe
from workloadkit.settings import Check
from workloadkit.settings.setting import settings_of
from workloadkit.simulation import predictors, schedulers
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.users import Behaviour, Community, LogBehaviour
from workloadkit.trace import Trace

#: Parts that a schedule identifies but does not contain.
FILES = ("outages", "machine", "reservations", "state")

#: Settings that a schedule records under another name.
_NAMES = {"scheduler": "policy", "seed": "rng"}

#: Settings of the load, which notes contain only if they were used.
OF_LOAD = ("offered_load", "scale_arrivals", "scale_runs", "scale_sizes", "scale_machine")

#: Settings that a note contains only if they differ from these values.
_UNSAID = {"passes": "instant", "outages": "", "predictor": ""} | dict.fromkeys(OF_LOAD, "")


def recorded_in(trace: Trace, schedule: Schedule | Trace) -> dict[str, Any]:
    """Return what a schedule of a log records of its simulation, by name.

    Notes of the log itself describe how it was made, and not its schedule.
    """
    if isinstance(schedule, Schedule):
        return dict(schedule.parameters)
    known = trace.header.get_all("Note")
    return _last_simulation(n for n in schedule.header.get_all("Note") if n not in known)


def settings_in(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a check among those that a schedule records.

    A policy that is not built in is left out. The recorded processors are those of a machine that
    is scaled already.
    """
    declared, found = settings_of(Check), {}
    for name, value in recorded.items():
        setting = _NAMES.get(name, name)
        if setting not in declared or setting in (*FILES, "memory"):
            continue
        kind = declared[setting].type
        found[setting] = kind(value) if isinstance(value, str) and kind in (int, float) else value
    if isinstance(found.get("rng"), str):
        found["rng"] = int(found["rng"])
    if "procs" in found:
        found.pop("scale_machine", None)
    try:
        schedulers.parse(str(found.get("policy", "")))
    except ParameterError:
        found.pop("policy", None)
    return found


def _last_simulation(notes: Iterable[str]) -> dict[str, str]:
    """Return the contents of the last note about a simulation, by name; empty without one."""
    notes = [note for note in notes if note.startswith("simulated: ")]
    return dict(part.partition(" ")[::2] for part in _parts(notes[-1])) if notes else {}


def _parts(text: str) -> list[str]:
    """Split a text at commas that stand outside of all brackets.

    Examples
    --------
    >>> _parts("scheduler order:score=max(wait, 1), procs 4")
    ['scheduler order:score=max(wait, 1)', 'procs 4']
    """
    found, depth = [""], 0
    for part in text.split(", "):
        found[-1] += part
        depth = max(depth + sum(map(part.count, "([{")) - sum(map(part.count, ")]}")), 0)
        if depth:
            found[-1] += ", "
        else:
            found.append("")
    return found if found[-1] else found[:-1]


def users_react(schedule: Schedule | Trace) -> bool:
    """Whether users reacted in the simulation that made a schedule, as far as is recorded."""
    if isinstance(schedule, Schedule):
        return schedule.reacting
    return _last_simulation(schedule.header.get_all("Note")).get("users", "open") != "open"


def scheduler_of(trace: Trace) -> str:
    """Return the scheduler that a simulated log records; empty if none."""
    return str(_last_simulation(trace.header.get_all("Note")).get("scheduler", ""))


def planned_from_0_s(schedule: Schedule | Trace) -> bool:
    """Whether a schedule of whole numbers records that estimates were not raised to 1 s."""
    if isinstance(schedule, Schedule):
        said: Mapping[str, Any] = schedule.parameters
    else:
        said = _last_simulation(schedule.header.get_all("Note"))
    return str(said.get("shortest_estimate")) == "0"


def contradictions(
    trace: Trace, schedule: Schedule | Trace, used: Mapping[str, Any]
) -> dict[str, str]:
    """Return what a schedule records that differs from the settings of its check, by name."""
    said = {name: str(value) for name, value in recorded_in(trace, schedule).items()}
    if not said:
        return {}
    others = {}
    if isinstance(schedule, Trace):
        log, _, identity = said.get("log", "").removesuffix(")").partition(" (")
        kind, _, digest = identity.partition(";")[0].rpartition(" ")
        its = trace.content_digest if kind == "content sha256" else trace.digest
        if digest != its if digest and its else log != trace.name:
            others["log"] = log
    with suppress(ParameterError):  # a custom policy
        said["scheduler"] = schedulers.describe(schedulers.parse(said.get("scheduler", "")))
    for name, value in used.items():
        given = said.get(name, _UNSAID.get(name))
        right = {"" if value is None else str(value)}
        if isinstance(value, int | float):
            right.add(str(float(value)))
        if given is not None and given not in right:
            others[name] = given
    return others


def warn_of_note(schedule: Trace, others: Mapping[str, str]) -> None:
    """Warn if a schedule's header describes another simulation than the one that is checked."""
    if others:
        words = (f"{name} {given}" if given else f"no {name}" for name, given in others.items())
        warnings.warn(
            f"{schedule.name} describes itself as a simulation of {', '.join(words)}, which "
            "differs from what it is checked for",
            WorkloadWarning,
            stacklevel=4,
        )


# The names of the parts of a simulation, for messages and provenance.


def users_noted(behaviour: object) -> str:
    """Return how messages name users who need no log."""
    return f"users {name_of(behaviour)}" if isinstance(behaviour, Community) else "custom users"


def name_of(thing: object) -> str:
    """Return the name of a policy, a behaviour or a custom class."""
    if isinstance(thing, (list, tuple)):
        return " ".join(dict.fromkeys(type(user).__name__ for user in thing)) or "nobody"
    built_in = isinstance(thing, Policy | Behaviour | LogBehaviour | Community)
    if built_in or isinstance(thing, predictors.BuiltIn):
        return describe(thing)
    return getattr(thing, "name", "") or type(thing).__name__


def identity_of(thing: object) -> str:
    """Return the name of a part as in a provenance: a custom one with its source's digest."""
    return (
        f"{name_of(thing)} (source {source_digest(thing)})" if is_custom(thing) else name_of(thing)
    )
