"""Priority-FIFO: jobs of more urgent queues come first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.easy.ordered import SettledOrder
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.overtaking import overtaking_of
from workloadkit.simulation.policies.queue_priority import QueuePriority
from workloadkit.simulation.workload import Rules, Workload


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
        As in `workloadkit.simulation.policies.overtaking.Backfilling`.

    References
    ----------
    .. [1] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
       performance analysis of schedulers", HPDC 2007.
    """

    name: ClassVar[str] = "priority-fifo"
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
        from workloadkit.simulation.state import ARRIVED

        how = super().compiled(workload, rules)
        columns = how.columns

        def columns_and_warning(state: Any) -> Any:
            self.warn_of_equals(set(workload.queue[: state.at[ARRIVED]].tolist()))
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
