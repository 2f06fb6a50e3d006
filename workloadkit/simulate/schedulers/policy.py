"""What a policy that is built in looks like."""

from typing import ClassVar, Protocol, runtime_checkable

from numpy.typing import NDArray

from workloadkit.simulate.engine import Scheduler
from workloadkit.simulate.workload import Overrun, Workload


@runtime_checkable
class Policy(Protocol):
    """A scheduling policy with its parameters, in the forms that the two engines run."""

    name: ClassVar[str]

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        ...

    def compiled(self, workload: Workload, machine: int, overrun: Overrun) -> NDArray:
        """Return the start of each job of `workload` by the compiled engine. [s]."""
        ...
