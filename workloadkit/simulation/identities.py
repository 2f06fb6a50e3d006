"""The names of the parts of a simulation, for messages and provenance."""

from workloadkit.custom import is_custom, source_digest
from workloadkit.parameters import describe
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.predictors import BuiltIn
from workloadkit.simulation.users.behaviour import (
    Behaviour,
    Community,
    LogBehaviour,
)


def name_of(thing: object) -> str:
    """Return the name of a policy, a behaviour or a custom class."""
    if isinstance(thing, (list, tuple)):
        return " ".join(dict.fromkeys(type(user).__name__ for user in thing)) or "nobody"
    if isinstance(thing, Policy | Behaviour | LogBehaviour | Community | BuiltIn):
        return describe(thing)
    return getattr(thing, "name", "") or type(thing).__name__


def identity_of(thing: object) -> str:
    """Return the name of a part as in a provenance: a custom one with its source's digest."""
    return (
        f"{name_of(thing)} (source {source_digest(thing)})" if is_custom(thing) else name_of(thing)
    )
