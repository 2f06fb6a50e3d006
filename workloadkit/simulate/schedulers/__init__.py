"""Schedulers: one file a policy, by the names of the command line.

A policy is a small frozen object: its parameters, a name, and two forms of the same decisions,
one for each engine. `known` lists those built in; `parse` reads ``name:param=value,...``, which
`describe` writes.
"""

from dataclasses import Field, fields, is_dataclass
from typing import Any

from workloadkit.errors import ParameterError
from workloadkit.simulate.engine import Scheduler
from workloadkit.simulate.schedulers.conservative import Conservative
from workloadkit.simulate.schedulers.creasy import Creasy
from workloadkit.simulate.schedulers.easy import Easy
from workloadkit.simulate.schedulers.f1 import F1
from workloadkit.simulate.schedulers.fcfs import Fcfs
from workloadkit.simulate.schedulers.genetic import Genetic
from workloadkit.simulate.schedulers.largest import Largest
from workloadkit.simulate.schedulers.ljf import Ljf
from workloadkit.simulate.schedulers.multi_queue import MultiQueue
from workloadkit.simulate.schedulers.ordered import OrderedScheduler
from workloadkit.simulate.schedulers.own_order import OwnOrder
from workloadkit.simulate.schedulers.policy import WRITTEN, Outcome, Policy
from workloadkit.simulate.schedulers.priority_fifo import PriorityFifo
from workloadkit.simulate.schedulers.recorded import Recorded
from workloadkit.simulate.schedulers.reservations import Reservations
from workloadkit.simulate.schedulers.self_adaptive import SelfAdaptive
from workloadkit.simulate.schedulers.sjf import Sjf
from workloadkit.simulate.schedulers.smallest import Smallest
from workloadkit.simulate.schedulers.unicef import Unicef
from workloadkit.simulate.schedulers.user_priority import UserPriority
from workloadkit.simulate.schedulers.wfp3 import Wfp3

__all__ = [
    "F1",
    "Conservative",
    "Creasy",
    "Easy",
    "Fcfs",
    "Genetic",
    "Largest",
    "Ljf",
    "MultiQueue",
    "OrderedScheduler",
    "Outcome",
    "OwnOrder",
    "Policy",
    "PriorityFifo",
    "Recorded",
    "Reservations",
    "Scheduler",
    "SelfAdaptive",
    "Sjf",
    "Smallest",
    "Unicef",
    "UserPriority",
    "Wfp3",
    "describe",
    "known",
    "parse",
]

_BUILT_IN: tuple[type[Policy], ...] = (
    Fcfs,
    Easy,
    Conservative,
    Reservations,
    Sjf,
    Ljf,
    Smallest,
    Largest,
    Wfp3,
    Unicef,
    F1,
    PriorityFifo,
    Creasy,
    UserPriority,
    MultiQueue,
    SelfAdaptive,
    Genetic,
    Recorded,
)


def __dir__() -> list[str]:
    return __all__


def known() -> dict[str, type[Policy]]:
    """Return the policies built in, by name."""
    return {policy.name: policy for policy in _BUILT_IN}


def parse(text: str) -> Policy:
    """Make a policy from its name and parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:param=value,...``; one value without ``param=`` is the first parameter.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value; it names the known ones.

    Examples
    --------
    >>> parse("easy")
    Easy(backfill='same', reservations=1)
    """
    name, _, settings = text.partition(":")
    if name not in known():
        raise ParameterError(f"unknown scheduler {name!r}; known: {', '.join(known())}")
    policy: Any = known()[name]
    # others cannot be written down: they are for Python
    types: dict[str, Any] = {f.name: f.type for f in fields(policy) if f.type in WRITTEN}
    values: dict[str, object] = {}
    for setting in filter(None, settings.split(",")):
        parameter, equals, value = setting.partition("=")
        if not equals and types:
            if values:
                raise ParameterError(
                    f"scheduler {name}: {setting!r} names no parameter, which only the first value "
                    "need not"
                )
            parameter, value = next(iter(types)), setting
        if parameter in values:
            raise ParameterError(f"scheduler {name}: {parameter} is given twice")
        if parameter not in types:
            raise ParameterError(
                f"scheduler {name} has no parameter {parameter!r}; "
                f"known: {', '.join(types) or 'none'}"
            )
        convert = types[parameter]
        try:
            values[parameter] = convert(value)
        except ValueError:
            raise ParameterError(
                f"scheduler {name}: {parameter} is {value!r}; it is {WRITTEN[convert]}"
            ) from None
    return policy(**values)


def describe(policy: Policy) -> str:
    """Name a policy and those of its parameters that differ from the defaults.

    Examples
    --------
    >>> describe(Easy(backfill="sjf"))
    'easy:backfill=sjf'
    """
    parameters: tuple[Field, ...] = fields(policy) if is_dataclass(policy) else ()
    settings = [
        f"{parameter.name}={getattr(value, '__name__', value)}"
        for parameter in parameters
        if (value := getattr(policy, parameter.name)) != parameter.default
    ]
    return f"{policy.name}:{','.join(settings)}" if settings else policy.name
