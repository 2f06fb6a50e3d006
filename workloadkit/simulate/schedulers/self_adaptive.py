"""Self-adaptive."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulate.engine import Scheduler
from workloadkit.simulate.schedulers.policy import Outcome
from workloadkit.simulate.workload import Rules, Workload


@dataclass(frozen=True)
class SelfAdaptive:
    """Self-adaptive."""

    name: ClassVar[str] = "self-adaptive"

    threshold: float = 10.0
    weeks: int = 1
    most: int = 4
    forecast: str = "waiting"
    measure: str = "bounded_slowdown"
    family: str = "multi-queue"

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        raise NotImplementedError

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        raise NotImplementedError
