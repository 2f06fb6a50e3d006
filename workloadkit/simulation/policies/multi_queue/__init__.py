"""Multiple-queue backfilling."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload

#: After so long the criteria of the partitions are computed again. [s]
WEEK = 604_800

#: More partitions than are useful.
MOST_PARTITIONS = 64


@dataclass(frozen=True)
class MultiQueue:
    """Partitions of the machine with a queue each, between which idle processors are lent [1]_.

    A job goes to a partition by its estimate, short ones to the first. The criteria are computed
    again each week, so that they would have balanced the jobs that ended in the week before; until
    enough have ended all jobs go to the first partition.

    Each partition promises a start to the job at the head of its queue, its pivot. Any job may
    start, in the order of arrival, as soon as its partition has the processors idle or can take
    them over from others, if no pivot is delayed. What is taken over stays, until it is taken over
    again. With one partition this is EASY.

    Partitions are shares of all processors, also of those that are down: a job needs its processors
    of its partition, lent ones included, and of those that work. A pivot that needs more than work
    gets no reservation in this pass. Where outages are announced, each pivot reserves certain
    processors for the earliest second from which on they are left to it, and whatever fits next to
    that starts, in the order of arrival; partitions lend all that is idle then. A job that was
    interrupted waits in the queue of its partition again, by its arrival.

    Parameters
    ----------
    partitions : int
        Up to 64. At first they have equal shares of the machine, the remainder is given to the
        first ones.

    References
    ----------
    .. [1] B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", TR-05-01, University
       of Richmond, 2005, section 2.1.
    """

    name: ClassVar[str] = "multi-queue"

    partitions: int = 4

    def __post_init__(self) -> None:
        check_types(self)
        if not 1 <= self.partitions <= MOST_PARTITIONS:
            raise ParameterError(
                f"scheduler multi-queue: partitions is {self.partitions}; from 1 to "
                f"{MOST_PARTITIONS}"
            )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        from workloadkit.simulation.policies.multi_queue.plain import MultiQueueScheduler

        return MultiQueueScheduler(self.partitions)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy for one simulation in the compiled engine."""
        from workloadkit.simulation.policies.multi_queue.compiled import CompiledMultiQueue

        return CompiledMultiQueue(workload, rules, self.partitions)
