"""CREASY."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulate.engine import Scheduler
from workloadkit.simulate.schedulers.policy import Outcome
from workloadkit.simulate.workload import Rules, Workload


@dataclass(frozen=True)
class Creasy:
    """CREASY."""

    name: ClassVar[str] = "creasy"

    alpha: float = 6000.0

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        raise NotImplementedError

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        raise NotImplementedError
