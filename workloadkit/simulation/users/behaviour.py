"""What a behaviour that is built in looks like."""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.present import Present
from workloadkit.simulation.users.simulated_users import SimulatedUsers
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace


@runtime_checkable
class Behaviour(Protocol):
    """How users of a log behave, in the forms that the two engines run.

    One that draws random numbers says so by an attribute `draws`. One whose users do not go
    through their batches as they are has a method `adapted`, from one `Present` to another.
    """

    name: ClassVar[str]

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return the users in plain Python, in the order of their numbers; they share `rng`."""
        ...


@runtime_checkable
class LogBehaviour(Protocol):
    """How users behave who go by what a log says of each job."""

    name: ClassVar[str]

    def users_of(self, trace: Trace, workload: Workload) -> SimulatedUsers:
        """Return the users of one simulation, who submit the jobs `workload` of a log."""
        ...


@runtime_checkable
class Community(Protocol):
    """Users who need no log: who they are, and how they behave.

    `processors` is the size of the machine by default.
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
    """Whether a behaviour that is built in holds something that only the plain engine can run."""
    return getattr(choice, "plain_only", False)
