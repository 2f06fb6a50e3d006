"""A genetic algorithm that orders the queue by the utility of its jobs."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.policies.queue_priority import QueuePriority
from workloadkit.simulation.workload import Rules, Workload

#: Upper limits of a search.
LONGEST_WINDOW, MOST_INDIVIDUALS = 10_000, 1_000

WITHOUT_UTILITIES = (
    "scheduler genetic: no job has a utility function; give the jobs of a log some with "
    "add_utility (on the command line workloadkit augment)"
)


@dataclass(frozen=True)
class Genetic(QueuePriority):
    """EASY in an order of the queue that evolves for aggregate utility [1]_.

    In each pass in which a waiting job fits, but not all of them do, orders of the first jobs of
    the queue are bred. The fitness of an order is the aggregate utility of these jobs if EASY
    schedules them in that order on all processors that no job holds, every job ends at its estimate
    and no other job arrives; outages are ignored. The best order found becomes that of the queue in
    this pass: its jobs start while they fit, the first that does not gets the reservation, and the
    others are backfilled. Jobs after the window follow in the order of arrival.

    The first generation contains the orders by arrival; by priority; by current utility for each
    processor hour of the estimate; by current utility (ties by arrival in all of them), and random
    ones. With fewer than five individuals, it contains only the first of these. Each further
    generation keeps the best order of the previous one; its other orders are children of two
    parents each, drawn in proportion to fitness, or uniformly if nothing can be earned. A child
    takes the jobs of its parents in turn, and skips those it has already. Then two of its jobs may
    change places. Among orders of equal fitness the earlier one is better.

    If no job of the window would earn anything even if it started now, the order of arrival is
    used. Jobs that have lost their value may starve.

    The order is optimised for the estimates and for the jobs that wait now. With poor estimates, or
    deadlines shorter than these, it can earn less than `PriorityFifo`, and than EASY.

    Evaluating an order of 50 jobs takes some microseconds, so a search with the defaults takes some
    milliseconds; there may be one for each job of a log. The time is proportional to the number of
    generations.

    Parameters
    ----------
    window : int
        Number of waiting jobs in the search, the first to arrive. From 1, which is EASY, to
        `LONGEST_WINDOW`.
    individuals : int
        Orders in each generation, from 1 to `MOST_INDIVIDUALS`.
    generations : int
        Generations after the first; with 0 the best order of the first is used.
    mutation : float
        Probability that two random jobs of a child change places. The source specifies neither this
        nor the window.
    queues : str
        Numbers of queues from the most urgent to the least, as in `PriorityFifo`.

    References
    ----------
    .. [1] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
       performance analysis of schedulers", HPDC 2007, section 6.
    """

    name: ClassVar[str] = "genetic"
    serves_nodes: ClassVar[bool] = False
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
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.genetic.plain import GeneticScheduler

        return GeneticScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.genetic.compiled import CompiledGenetic

        return CompiledGenetic(self, workload, rules)

    def warn_of_queues(self, queues: set[int]) -> None:
        """Warn if `queues` names queues without jobs."""
        if self.queues:
            self.warn_of_equals(queues)
