"""A genetic algorithm that orders the queue by what its jobs are worth to their users."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.evolution import Order, earned_by_easy, evolve
from workloadkit.simulation.policies.ordered import ranked_as_they_arrive
from workloadkit.simulation.policies.policy import Outcome, arrived, check_types
from workloadkit.simulation.policies.queue_priority import QueuePriority
from workloadkit.simulation.workload import Rules, Workload
from workloadkit.utility import value_at

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
    if EASY scheduled them in that order, every job ended when its estimate says and none arrived.
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
        return _GeneticScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        from workloadkit._kernels.genetic import schedule_by_evolution
        from workloadkit._kernels.state import Jobs

        if workload.utilities is None:
            raise WorkloadError(WITHOUT_UTILITIES)
        how: dict[str, Any] = {}
        if workload.users is None:
            how["priority"] = np.unique(self.priorities(workload), return_inverse=True)[1]
        else:
            how = ranked_as_they_arrive("priority-fifo", "same", workload, self.urgent_queues)
            how["priority"] = how.pop("rank")
            del how["backfill_rank"]
        start, n_searches = schedule_by_evolution(
            Jobs(workload.submit, workload.run, workload.estimate, workload.procs),
            rules.machine,
            utilities=workload.utilities,
            at_start=workload.utility_at == "start",
            window=self.window,
            individuals=self.individuals,
            generations=self.generations,
            mutation=float(self.mutation),
            by_event=rules.passes == "event",
            rng=np.random.default_rng(rules.seed),
            **how,
        )
        self.warn_of_queues(set(workload.queue[: arrived(workload)].tolist()))
        return Outcome(start, history={"searches": n_searches})

    def warn_of_queues(self, queues: set[int]) -> None:
        """Say that naming queues was in vain, where no job is of these."""
        if self.queues:
            self.warn_of_equals(queues)


class _GeneticScheduler(OrderedScheduler):
    """The genetic algorithm in plain Python."""

    bears_outages = False  # the schedules that it imagines have none

    def __init__(self, policy: Genetic) -> None:
        super().__init__()
        self.policy, self.n_searches = policy, 0

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs in the best order that was found for this pass."""
        queue, policy = self.queue.copy(), self.policy
        window, rest = queue[: policy.window], queue[policy.window :]
        sizes = [job.procs for job in queue]
        in_vain = not queue or min(sizes) > self.free or sum(sizes) <= self.free
        if in_vain or len(window) == 1 or not any(map(self.earns, window)):
            return queue
        self.n_searches += 1
        earned = partial(
            earned_by_easy,
            now=self.now,
            free=self.free,
            running=[(job.start + job.estimate, job.procs) for job in self.running],
            utility_at=self.utility_at,
        )
        best = evolve(
            self.seeds(window),
            earned,
            individuals=policy.individuals,
            generations=policy.generations,
            mutation=policy.mutation,
            rng=self.rng,
        )
        return best + rest

    def earns(self, job: JobView) -> bool:
        """Whether a job would earn anything if it started now; if not, it never will."""
        read = self.now + job.estimate if self.utility_at == "turnaround" else self.now
        return value_at(job.utility, read - job.submit) > 0

    def seeds(self, window: Order) -> Iterator[Order]:
        """Yield the four orders that are not random."""

        def worth(job: JobView) -> float:
            return value_at(job.utility, self.now - job.submit)

        def worth_per_hour(job: JobView) -> float:
            return worth(job) / (float(job.procs) * float(job.estimate) / 3600)

        yield window
        yield sorted(window, key=lambda job: self.policy.priority(job.queue))
        yield sorted(window, key=worth_per_hour, reverse=True)  # stable, reversed or not
        yield sorted(window, key=worth, reverse=True)

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Say what is missing: by now all jobs are known."""
        if not any(job.utility for job in jobs):
            raise WorkloadError(WITHOUT_UTILITIES)
        self.policy.warn_of_queues({job.queue for job in jobs})
        return super().columns(jobs)

    def history(self) -> dict[str, Any]:
        """Return how often an order was searched for."""
        return {"searches": self.n_searches}
