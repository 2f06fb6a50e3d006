"""Schedulers: one file per policy, by the names of the command line.

A policy is a small frozen object: its parameters, a name, and two forms of the same decisions, one
for each engine. `known` lists the built-in policies; `parse` reads ``name:param=value,...``, which
`describe` writes.
"""

from workloadkit import parameters
from workloadkit.parameters import read_choice
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.conservative import Conservative
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.f1 import F1
from workloadkit.simulation.policies.fcfs import Fcfs
from workloadkit.simulation.policies.genetic import Genetic
from workloadkit.simulation.policies.largest import Largest
from workloadkit.simulation.policies.ljf import Ljf
from workloadkit.simulation.policies.multi_queue import MultiQueue
from workloadkit.simulation.policies.policy import Outcome, Policy
from workloadkit.simulation.policies.priority_fifo import PriorityFifo
from workloadkit.simulation.policies.recorded import RecordedSchedule
from workloadkit.simulation.policies.reservations import Reservations
from workloadkit.simulation.policies.self_adaptive import SelfAdaptive
from workloadkit.simulation.policies.sjf import Sjf
from workloadkit.simulation.policies.smallest import Smallest
from workloadkit.simulation.policies.user_priority import UserPriority
from workloadkit.simulation.policies.varying.custom_order import CustomOrder
from workloadkit.simulation.policies.varying.unicef import Unicef
from workloadkit.simulation.policies.varying.wfp3 import Wfp3

__all__ = [
    "F1",
    "Conservative",
    "Creasy",
    "CustomOrder",
    "Easy",
    "Fcfs",
    "Genetic",
    "Largest",
    "Ljf",
    "MultiQueue",
    "OrderedScheduler",
    "Outcome",
    "Policy",
    "PriorityFifo",
    "RecordedSchedule",
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
    RecordedSchedule,
)


def __dir__() -> list[str]:
    return __all__


def known() -> dict[str, type[Policy]]:
    """Return the built-in policies, by name."""
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
    >>> describe(Easy(backfill="sjf"))
    'easy:backfill=sjf'
    """
    return parameters.describe(policy)
