"""Schedulers: one file per policy, by the names of the command line.

A policy is a small frozen object: its parameters, a name, and two forms of the same decisions, one
for each engine. `known` lists the built-in policies; `parse` reads ``name:param=value,...``, which
`describe` writes.
"""

from typing import TYPE_CHECKING

from workloadkit import parameters
from workloadkit.built_in import SCHEDULERS, BuiltInParts
from workloadkit.parameters import read_choice
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import Outcome, Policy

if TYPE_CHECKING:
    from workloadkit.simulation.policies.conservative import Conservative
    from workloadkit.simulation.policies.creasy import Creasy
    from workloadkit.simulation.policies.easy import (
        Easy,
        Largest,
        Ljf,
        OrderedScheduler,
        Sjf,
        Smallest,
    )
    from workloadkit.simulation.policies.f1 import F1
    from workloadkit.simulation.policies.fcfs import Fcfs
    from workloadkit.simulation.policies.genetic import Genetic
    from workloadkit.simulation.policies.lookahead import Lookahead
    from workloadkit.simulation.policies.multi_queue import MultiQueue
    from workloadkit.simulation.policies.order import (
        F2,
        F3,
        F4,
        Exp,
        Laf,
        Lcfs,
        Lqf,
        Lrf,
        Lxf,
        Order,
        Saf,
        Sexp,
        Sqf,
        Srf,
    )
    from workloadkit.simulation.policies.priority_fifo import PriorityFifo
    from workloadkit.simulation.policies.recorded import RecordedSchedule
    from workloadkit.simulation.policies.reservations import Reservations
    from workloadkit.simulation.policies.selective import Selective
    from workloadkit.simulation.policies.self_adaptive import SelfAdaptive
    from workloadkit.simulation.policies.slack import Slack
    from workloadkit.simulation.policies.user_priority import UserPriority
    from workloadkit.simulation.policies.varying import CustomOrder, Unicef, Wfp3

__all__ = [
    "F1",
    "F2",
    "F3",
    "F4",
    "Conservative",
    "Creasy",
    "CustomOrder",
    "Easy",
    "Exp",
    "Fcfs",
    "Genetic",
    "Laf",
    "Largest",
    "Lcfs",
    "Ljf",
    "Lookahead",
    "Lqf",
    "Lrf",
    "Lxf",
    "MultiQueue",
    "Order",
    "OrderedScheduler",
    "Outcome",
    "Policy",
    "PriorityFifo",
    "RecordedSchedule",
    "Reservations",
    "Saf",
    "Scheduler",
    "Selective",
    "SelfAdaptive",
    "Sexp",
    "Sjf",
    "Slack",
    "Smallest",
    "Sqf",
    "Srf",
    "Unicef",
    "UserPriority",
    "Wfp3",
    "describe",
    "known",
    "parse",
]

__getattr__ = SCHEDULERS.class_named


def __dir__() -> list[str]:
    return __all__


def known() -> BuiltInParts:
    """Return the built-in policies, by name.

    Examples
    --------
    >>> "easy" in known()
    True
    """
    return SCHEDULERS


def parse(text: str) -> Policy:
    """Make a policy from its name and parameters.

    Parameters
    ----------
    text : str
        ``name`` or ``name:param=value,...``; one value without ``param=`` is the first parameter.

    Raises
    ------
    ParameterError
        For an unknown name, parameter or value; the message lists the known ones.

    Examples
    --------
    >>> parse("easy")
    Easy(spare='extra', strict=False, backfill='same', reservations=1)
    """
    policy, values = read_choice("scheduler", known(), text)
    return policy(**values)


def describe(policy: Policy) -> str:
    """Return the name of a policy with those parameters that differ from the defaults.

    Examples
    --------
    >>> describe(parse("easy:backfill=sjf,spare=extra"))
    'easy:backfill=sjf'
    """
    return parameters.describe(policy)
