"""EASY in an order of the queue by estimate or by size."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.easy import Ordered


@dataclass(frozen=True)
class Sjf(Ordered):
    """EASY on a queue in the order of the estimates, the shortest first."""

    name: ClassVar[str] = "sjf"
    order: ClassVar[str] = "sjf"


@dataclass(frozen=True)
class Ljf(Ordered):
    """EASY on a queue in the order of the estimates, the longest first."""

    name: ClassVar[str] = "ljf"
    order: ClassVar[str] = "ljf"


@dataclass(frozen=True)
class Smallest(Ordered):
    """EASY on a queue in the order of the processors needed, the fewest first."""

    name: ClassVar[str] = "smallest"
    order: ClassVar[str] = "smallest"


@dataclass(frozen=True)
class Largest(Ordered):
    """EASY on a queue in the order of the processors needed, the most first."""

    name: ClassVar[str] = "largest"
    order: ClassVar[str] = "largest"
