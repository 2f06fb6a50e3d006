"""Backfilling with a number of reservations."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.policy import AnotherOrder, check_types


@dataclass(frozen=True)
class Reservations(AnotherOrder):
    """EASY with several reservations: the first waiting jobs get reservations.

    In each pass the waiting jobs, in the order of arrival, take the earliest slots for their whole
    estimates; jobs that cannot start now are reserved, until there are `depth` of them. The others
    start if they can do so now without delaying a reservation [1]_.

    Parameters
    ----------
    depth : int
        Number of reservations; 1 is EASY.

    References
    ----------
    .. [1] D. Jackson, Q. Snell, M. Clement, "Core algorithms of the Maui scheduler", JSSPP 2001.
    """

    name: ClassVar[str] = "reservations"
    supports: ClassVar = Easy.supports
    entry: ClassVar[str] = "reservations:4"

    depth: int = 1

    def __post_init__(self) -> None:
        check_types(self)
        if not self.depth >= 1:
            raise ParameterError(f"scheduler {self.name}: depth is {self.depth}; at least 1")

    @property
    def reservations(self) -> int:
        """Number of waiting jobs with a reservation."""
        return self.depth

    @property
    def as_order(self) -> Easy:
        """EASY with so many reservations."""
        return Easy(reservations=self.depth)
