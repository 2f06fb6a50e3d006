"""Longest job first, by the estimates, with EASY's backfilling."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.easy.ordered import Ordered


@dataclass(frozen=True)
class Ljf(Ordered):
    """EASY on a queue in the order of the estimates, the longest first."""

    name: ClassVar[str] = "ljf"
    order: ClassVar[str] = "ljf"
