"""Smallest job first, with EASY's backfilling."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.easy.ordered import Ordered


@dataclass(frozen=True)
class Smallest(Ordered):
    """EASY on a queue in the order of the processors needed, the fewest first."""

    name: ClassVar[str] = "smallest"
    order: ClassVar[str] = "smallest"
