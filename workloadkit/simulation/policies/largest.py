"""Largest job first, with EASY's backfilling."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.easy.ordered import Ordered


@dataclass(frozen=True)
class Largest(Ordered):
    """EASY on a queue in the order of the processors needed, the most first."""

    name: ClassVar[str] = "largest"
    order: ClassVar[str] = "largest"
