"""First come, first served."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.policy import AnotherOrder


@dataclass(frozen=True)
class Fcfs(AnotherOrder):
    """Jobs start in the order of arrival; the first that does not fit blocks all others."""

    name: ClassVar[str] = "fcfs"
    supports: ClassVar = Easy.supports
    backfill: ClassVar[str] = "none"

    @property
    def as_order(self) -> Easy:
        """EASY without backfilling."""
        return Easy(backfill="none")
