"""Multiple-queue backfilling."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Rules, Workload

#: Upper limit of the number of partitions.
MOST_PARTITIONS = 64


@dataclass(frozen=True)
class MultiQueue:
    """Partitions of the machine with one queue each, which lend each other idle processors [1]_.

    A job is assigned to a partition by its estimate, short ones to the first. The criteria are
    computed again each week, so that they would have balanced the jobs that ended in the previous
    week; until enough jobs have ended, all are assigned to the first partition.

    Each partition reserves for the job at the head of its queue, its pivot. Any job may start, in
    the order of arrival, as soon as its partition has enough idle processors or can borrow them
    from others, if no pivot is delayed. Borrowed processors stay until another partition borrows
    them. With one partition this is EASY.

    Partitions are shares of all processors, including those that are down: a job needs processors
    of its partition, borrowed ones included, among those that work. A pivot that needs more than
    these gets no reservation in this pass. If outages are announced, each pivot reserves certain
    processors for the earliest second from which on they are available, and jobs that fit next to
    that start in the order of arrival; partitions then lend all idle processors. An interrupted job
    returns to the queue of its partition, at its place by arrival.

    Parameters
    ----------
    partitions : int
        Up to 64. At first they have equal shares of the machine; the first ones receive the
        remainder.

    References
    ----------
    .. [1] B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", TR-05-01, University
       of Richmond, 2005, section 2.1.
    """

    name: ClassVar[str] = "multi-queue"
    supports: ClassVar = supporting(
        "no empty machine", "benchmark", "state", without=("nodes", "outages of users")
    )
    memory: ClassVar = Memory(
        "the partitions, and the estimates of this week's jobs",
        "equal partitions, all waiting jobs in the first",
        of_machine=True,
    )

    partitions: int = 4

    def __post_init__(self) -> None:
        check_types(self)
        if not 1 <= self.partitions <= MOST_PARTITIONS:
            raise ParameterError(
                f"scheduler multi-queue: partitions is {self.partitions}; from 1 to "
                f"{MOST_PARTITIONS}"
            )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.multi_queue.plain import MultiQueueScheduler

        return MultiQueueScheduler(self.partitions)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.multi_queue.compiled import CompiledMultiQueue

        return CompiledMultiQueue(workload, rules, self.partitions)
