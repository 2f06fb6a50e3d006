"""Priorities by the queues of a log: the common part of such policies."""

import warnings
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadWarning, quoted
from workloadkit.simulation.workload import Workload

_LAST = np.iinfo(np.int64).max


class QueuePriority:
    """The common part of policies with a parameter `queues`, the most urgent queues first.

    Without it, lower numbers are more urgent, and jobs of unknown queue come last.
    """

    name: ClassVar[str]
    queues: str

    def check_queues(self) -> None:
        """Check the list of queues.

        Raises
        ------
        ParameterError
        """
        words = self.queues.split("/") if self.queues else []
        try:
            numbers = [*map(int, words)]
        except ValueError:
            numbers = []
        is_valid = len(set(numbers)) == len(words) and all(abs(x) <= _LAST for x in numbers)
        if not is_valid:
            raise ParameterError(
                f"scheduler {self.name}: queues is {quoted(self.queues)}; give different numbers "
                "of queues, as in 5/2/1"
            )

    @cached_property
    def named(self) -> dict[int, int]:
        """Priority of each specified queue, 0 for the most urgent."""
        numbers = self.queues.split("/") if self.queues else []
        return {int(number): place for place, number in enumerate(numbers)}

    @property
    def urgent_queues(self) -> tuple[int, ...]:
        """The specified queues, from the most urgent to the least."""
        return tuple(self.named)

    def priority(self, queue: int) -> int:
        """Return the priority of the jobs of a queue; the smallest is the most urgent."""
        if self.queues:
            return self.named.get(queue, len(self.named))
        return queue if queue >= 0 else _LAST

    def priorities(self, workload: Workload) -> NDArray[np.int64]:
        """Return the priorities of all jobs, shape (n_jobs,)."""
        queues, place = np.unique(workload.queue, return_inverse=True)
        return np.array([self.priority(queue) for queue in queues.tolist()])[place]

    def warn_of_equals(self, queues: set[int]) -> None:
        """Warn if all jobs have the same priority, as their queues are unknown or unspecified."""
        if all(queue < 0 for queue in queues):
            why = "the queue of no job is known"
        elif self.queues and queues.isdisjoint(self.named):
            why = f"no job is of queues {self.queues}"
        else:
            return
        warnings.warn(
            f"scheduler {self.name}: {why}; all have the same priority",
            WorkloadWarning,
            stacklevel=2,
        )
