"""A genetic algorithm that orders the queue by what its jobs are worth to their users."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.policies.queue_priority import QueuePriority
from workloadkit.simulation.workload import Rules, Workload

#: The most jobs and orders that a search is given.
LONGEST_WINDOW, MOST_INDIVIDUALS = 10_000, 1_000

WITHOUT_UTILITIES = (
    "scheduler genetic: no job has a utility function; give the jobs of a log some with "
    "add_utility (on the command line workloadkit augment)"
)


@dataclass(frozen=True)
class Genetic(QueuePriority):
    """EASY in an order of the queue that is evolved for aggregate utility [1]_.

    At each pass in which a waiting job fits, but not all of them do, orders of the first jobs of
    the queue are bred. The fitness of an order is the aggregate utility that these jobs would earn
    if EASY scheduled them in that order on all processors of the machine that no job holds, every
    job ended when its estimate says and none arrived: it knows nothing of outages.
    The best order found is that of the queue in this pass: its jobs start while they fit, the first
    that does not gets the reservation, and the others are backfilled. Jobs behind the window follow
    in the order of arrival.

    The first generation holds the orders by arrival; by priority; by current utility for each
    processor hour of the estimate; by current utility (ties by arrival in all of them), and random
    ones. Of fewer than five individuals there are only the first so many of these four. Each
    further generation keeps the best order of the one before; its other orders are children of two
    parents each, drawn in proportion to their fitness, or all alike where nothing can be earned. A
    child takes the jobs of its parents in turn, like a zipper, passing over those that it has. Then
    two of its jobs may change places. Of orders that earn the same the earlier counts as better.

    Where no job of the window would earn anything even if it started now, the order of arrival is
    taken. Nothing keeps jobs that have lost their value from starving.

    What is bred is best for the estimates and for the jobs that wait now. Where estimates are poor,
    or deadlines shorter than they are, it can earn less than `PriorityFifo`, and than EASY.

    To judge an order of 50 jobs takes some microseconds, so a search by the defaults some
    milliseconds; there may be one for each job of a log. Fewer generations are as much faster.

    Parameters
    ----------
    window : int
        How many of the waiting jobs take part, the first to arrive. From 1, which is EASY, to
        `LONGEST_WINDOW`.
    individuals : int
        Orders in each generation, from 1 to `MOST_INDIVIDUALS`.
    generations : int
        Generations after the first; with 0 the best of the first is taken.
    mutation : float
        Probability that two jobs of a child, drawn at random, change places. The source does not
        tell; nor does it the window.
    queues : str
        Numbers of queues from the most urgent to the least, as of `PriorityFifo`.

    References
    ----------
    .. [1] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
       performance analysis of schedulers", HPDC 2007, section 6.
    """

    name: ClassVar[str] = "genetic"
    draws: ClassVar[bool] = True

    window: int = 50
    individuals: int = 20
    generations: int = 100
    mutation: float = 0.1
    queues: str = ""

    def __post_init__(self) -> None:
        check_types(self)
        for parameter, least, most in (
            ("window", 1, LONGEST_WINDOW),
            ("individuals", 1, MOST_INDIVIDUALS),
            ("generations", 0, np.inf),
            ("mutation", 0, 1),
        ):
            value = getattr(self, parameter)
            if not least <= value <= most:
                limits = f"at least {least}" if most == np.inf else f"from {least} to {most:,}"
                raise ParameterError(f"scheduler {self.name}: {parameter} is {value}; {limits}")
        self.check_queues()

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        from workloadkit.simulation.policies.genetic.plain import GeneticScheduler

        return GeneticScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy for one simulation in the compiled engine."""
        from workloadkit.simulation.policies.genetic.compiled import CompiledGenetic

        return CompiledGenetic(self, workload, rules)

    def warn_of_queues(self, queues: set[int]) -> None:
        """Say that naming queues was in vain, where no job is of these."""
        if self.queues:
            self.warn_of_equals(queues)
