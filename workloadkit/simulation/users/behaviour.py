"""The interfaces of users' behaviours."""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.simulated_users import SimulatedUsers
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


@runtime_checkable
class Behaviour(Protocol):
    """The behaviour of a log's users, in the forms of both engines.

    A behaviour that draws random numbers has an attribute `draws`. One that changes the batches of
    the users has a method `adapted`, from one `Present` to another.
    """

    name: ClassVar[str]

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python, in the order of their numbers; they share `rng`."""
        ...


@runtime_checkable
class LogBehaviour(Protocol):
    """The behaviour of users who follow fields of a log's jobs."""

    name: ClassVar[str]

    def users_of(self, trace: Trace, workload: Workload) -> SimulatedUsers:
        """Return the users of one simulation, who submit the jobs `workload` of a log."""
        ...


@runtime_checkable
class Community(Protocol):
    """Users who need no log, with their behaviour.

    `processors` is the default size of the machine.
    """

    name: ClassVar[str]
    processors: ClassVar[int]

    def simulated_users(self, machine: int) -> SimulatedUsers:
        """Return the users of one simulation."""
        ...


def draws(choice: Any) -> bool:
    """Whether a behaviour or a population draws random numbers."""
    return getattr(choice, "draws", False)


def is_plain_only(choice: Any) -> bool:
    """Whether a built-in behaviour contains a function that only the plain engine can run."""
    return getattr(choice, "plain_only", False)
