"""Priorities by the queues of a log; priority-FIFO: jobs of more urgent queues come first."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadWarning, quoted
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.easy import OrderedScheduler, SettledOrder
from workloadkit.simulation.policies.policy import overtaking_of
from workloadkit.simulation.supports import supporting
from workloadkit.simulation.workload import Rules, Workload

# Priorities by the queues of a log: the common part of such policies.

_LAST = np.iinfo(np.int64).max


class QueuePriority:
    """The common part of policies with a parameter `queues`, the most urgent queues first.

    Without it, lower numbers are more urgent, and jobs of unknown queue come last.
    """

    name: ClassVar[str]
    queues: str

    def check_queues(self) -> None:
        """Check the list of queues."""
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


@dataclass(frozen=True)
class PriorityFifo(QueuePriority, SettledOrder):
    """EASY on one queue in the order of (priority, arrival) [1]_.

    A job's priority is that of its queue in the log. There is one reservation, for the first job of
    the most urgent non-empty queue; backfilling uses the same order.

    Without `queues`, lower numbers are more urgent, and jobs of unknown queue come last. This holds
    for logs whose queues are priorities: in the Standard Workload Format, 0 is by convention for
    interactive jobs, and the logs of SDSC-BLUE, which [1]_ used, and SDSC-SP2 continue with 1
    express, 2 high, 3 normal, 4 low, 5 standby. In other logs the numbers are only names, or queues
    are for sizes and lengths of jobs: read the header and specify the order.

    Parameters
    ----------
    queues : str
        Numbers of queues from the most urgent to the least, as in ``"5/2/1"``; jobs of all other
        queues come after these, together.
    backfill, reservations
        As in `Ordered`.
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.

    References
    ----------
    .. [1] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
       performance analysis of schedulers", HPDC 2007.
    """

    name: ClassVar[str] = "priority-fifo"
    supports: ClassVar = supporting("each pass", "parts", "queue order", "benchmark", "state")
    order: ClassVar[str] = "urgency"

    queues: str = ""
    backfill: str = "same"
    reservations: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_queues()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The specified queues, from the most urgent to the least."""
        return self.urgent_queues

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return _PriorityScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        how = super().compiled(workload, rules)
        columns = how.columns

        def columns_and_warning(state: Any) -> Any:
            self.warn_of_equals(set(workload.queue[: state.at.arrived].tolist()))
            return columns(state)

        how.columns = columns_and_warning
        return how


class _PriorityScheduler(OrderedScheduler):
    """Priority-FIFO in plain Python."""

    def __init__(self, policy: PriorityFifo) -> None:
        super().__init__(policy.place, policy.backfill, policy.reservations, overtaking_of(policy))
        self.policy = policy

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Warn if priorities have no effect: now all jobs are known."""
        self.policy.warn_of_equals({job.queue for job in jobs})
        return super().columns(jobs)
