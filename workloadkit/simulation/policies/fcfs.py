"""First come, first served."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.orders import settled
from workloadkit.simulation.supports import supporting
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Fcfs:
    """Jobs start in the order of arrival; the first that does not fit blocks all others."""

    name: ClassVar[str] = "fcfs"
    supports: ClassVar = supporting(
        *("each pass", "reservations", "parts", "metasystem", "queue order", "benchmark")
    )
    backfill: ClassVar[str] = "none"

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.easy import OrderedScheduler

        return OrderedScheduler(backfill="none")

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy for one simulation in the compiled engine."""
        from workloadkit.simulation.policies.easy.trees import CompiledEasy

        return CompiledEasy(workload, rules, settled("arrival"), None)
