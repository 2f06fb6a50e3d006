"""A genetic algorithm that orders the queue by the utility of its jobs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.orders import ratio, settled
from workloadkit.simulation.policies.arrivals import new_arrivals
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.genetic.evaluation import SearchSettings, new_search
from workloadkit.simulation.policies.genetic.evolution import Order, earned_by_easy, evolve
from workloadkit.simulation.policies.genetic.search import Evolved, EvolvedAt
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.policies.priority_fifo import QueuePriority
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Rules, Workload
from workloadkit.utility import value_at

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
        10,000.
    individuals : int
        Orders in each generation, from 1 to 1,000.
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
    supports: ClassVar = supporting("no empty machine", "parts", "state", without=("nodes",))
    memory: ClassVar = Memory(
        "the state of its random numbers", "random numbers from the beginning"
    )
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
        return GeneticScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        return CompiledGenetic(self, workload, rules)

    def warn_of_queues(self, queues: set[int]) -> None:
        """Warn if `queues` names queues without jobs."""
        if self.queues:
            self.warn_of_equals(queues)


def _drawn(rng: np.random.Generator, n_searches: int) -> dict[str, Any]:
    """Return what a saved state has of the searches."""
    return {"random": dict(rng.bit_generator.state), "searches": n_searches}


# EASY in an order that a genetic search finds at each pass, in plain Python.


class GeneticScheduler(OrderedScheduler):
    """The genetic algorithm in plain Python."""

    def __init__(self, policy: Genetic) -> None:
        super().__init__()
        self.policy, self.n_searches = policy, 0

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs in the best order found for this pass."""
        queue, policy = self.queue.copy(), self.policy
        window, rest = queue[: policy.window], queue[policy.window :]
        free = self._at.machine - self.used  # searches ignore outages
        in_vain = not any(map(self.fits, queue)) or sum(job.procs for job in queue) <= free
        if in_vain or len(window) == 1 or not any(map(self.earns, window)):
            return queue
        self.n_searches += 1
        earned = partial(
            earned_by_easy,
            now=self.now,
            free=free,
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
            return ratio(worth(job), float(job.procs) * float(job.estimate) / 3600)

        yield window
        yield sorted(window, key=lambda job: self.policy.priority(job.queue))
        yield sorted(window, key=worth_per_hour, reverse=True)  # stable with reverse, too
        yield sorted(window, key=worth, reverse=True)

    def remember(self, jobs: Sequence[JobView]) -> dict[str, Any]:
        """Return the state of the random numbers."""
        return _drawn(self.rng, self.n_searches)

    def recall(self, memory: Mapping[str, Any], jobs: Sequence[JobView]) -> None:
        """Continue with the random numbers."""
        super().recall(memory, jobs)
        self.rng.bit_generator.state, self.n_searches = memory["random"], memory["searches"]

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Warn of missing utility functions or queues: now all jobs are known."""
        if not any(job.utility for job in jobs):
            raise WorkloadError(WITHOUT_UTILITIES)
        self.policy.warn_of_queues({job.queue for job in jobs})
        return super().columns(jobs)

    def history(self) -> dict[str, Any]:
        """Return the number of searches."""
        return {"searches": self.n_searches}


# EASY in an order that a genetic search finds at each pass, in the compiled engine.

# Searches after which the loop returns, so that the process can be interrupted.
RETURN_INTERVAL = 64


class CompiledGenetic(CompiledPolicy):
    """EASY in orders that a genetic search finds.

    Parameters
    ----------
    policy : Genetic
    workload : Workload
    rules : Rules
    return_interval : int
        See the constant.
    """

    def __init__(
        self,
        policy: Genetic,
        workload: Workload,
        rules: Rules,
        *,
        return_interval: int = RETURN_INTERVAL,
    ) -> None:
        super().__init__(workload, rules)
        if workload.utilities is None:
            raise WorkloadError(WITHOUT_UTILITIES)
        self.policy, self.utilities, self.return_interval = (
            policy,
            workload.utilities,
            return_interval,
        )

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        policy, n_jobs, users = self.policy, state.jobs.submit.size, self.workload.users
        at_start = self.workload.utility_at == "start"
        how = policy.individuals, policy.generations, float(policy.mutation), at_start
        search = new_search(
            SearchSettings(*how),
            self.utilities,
            self.rng,
            length=min(policy.window, n_jobs),
            capacity=state.ends.size,
            dtype=state.jobs.submit.dtype,
        )
        evolved = Evolved(
            queue=new_arrivals(n_jobs),
            line=np.empty(n_jobs, np.int64),
            priority=settled("urgency", policy.urgent_queues),
            valued=np.arange(n_jobs) if users is None else users.tables.row,
            machine=self.rules.machine,
            search=search,
            return_interval=self.return_interval,
            at=EvolvedAt(),
        )
        return state._replace(policy=evolved)

    def go_on(self, state: State) -> State:
        """Reset the count of searches."""
        state.policy.at.since = 0
        return state

    def remember(self, state: State) -> dict[str, Any]:
        """Return the state of the random numbers."""
        return _drawn(self.rng, int(state.policy.at.n_searches))

    def recall(self, state: State, memory: Mapping[str, Any]) -> State:
        """Return the state with the random numbers, which the kernel draws from `rng`."""
        self.rng.bit_generator.state = memory["random"]
        state.policy.at.n_searches = memory["searches"]
        return state

    def columns(self, state: State) -> Mapping[str, Any]:
        """Warn if `queues` names queues without jobs."""
        self.policy.warn_of_queues(set(self.workload.queue[: state.at.arrived].tolist()))
        return super().columns(state)

    def history(self, state: State) -> Mapping[str, Any]:
        """Return the number of searches."""
        return {"searches": int(state.policy.at.n_searches)}
