"""A score by which the jobs of a queue are sorted."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workloadkit.clock import WEEK
from workloadkit.simulation.policies.order.expression import (
    AT_ARRIVAL,
    OF_LOG,
    OF_USER,
    Program,
    falls_with_wait,
)


@dataclass(frozen=True)
class Score:
    """A score: a number by which jobs are sorted, smallest first, ties by arrival, NaN last.

    Parameters
    ----------
    program : Program
        Of an expression; for a function, the steps that put its arguments on the stack.
    function : callable or None
        If it is a function.
    oldest_first : float
        Jobs that have waited longer come before all others, the oldest first. [s]
    half_life : float
        Of the usage. [s]
    """

    program: Program
    function: Callable[..., Any] | None = None
    oldest_first: float = math.inf
    half_life: float = float(WEEK)

    @property
    def features(self) -> frozenset[str]:
        """The features on which it depends."""
        return self.program.features

    @property
    def is_settled(self) -> bool:
        """Whether it is the same from the arrival of a job on."""
        return self.features <= set(AT_ARRIVAL) and self.oldest_first == math.inf

    def favours_waiting(self, shortest: float) -> bool:
        """Whether of jobs of equal size, estimate and limit the first to arrive is never behind.

        No estimate and no limit is below `shortest` [s].
        """
        return self.function is None and falls_with_wait(self.program, shortest)

    @property
    def follows_users(self) -> bool:
        """Whether it depends on what the job's user has in the system."""
        return bool(self.features & set(OF_USER))

    @property
    def is_of_log(self) -> bool:
        """Whether it depends on what only jobs of a log have."""
        return bool(self.features & set(OF_LOG))
