"""EASY in an order that a genetic search finds at each pass, in plain Python."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from workloadkit.errors import WorkloadError
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.orders import ratio
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.genetic import WITHOUT_UTILITIES, Genetic
from workloadkit.simulation.policies.genetic.evolution import Order, earned_by_easy, evolve
from workloadkit.utility import value_at


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

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Warn of missing utility functions or queues: now all jobs are known."""
        if not any(job.utility for job in jobs):
            raise WorkloadError(WITHOUT_UTILITIES)
        self.policy.warn_of_queues({job.queue for job in jobs})
        return super().columns(jobs)

    def history(self) -> dict[str, Any]:
        """Return the number of searches."""
        return {"searches": self.n_searches}
