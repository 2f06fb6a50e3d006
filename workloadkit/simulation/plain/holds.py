"""Outages of users in plain Python: their jobs are held while the others run."""

from bisect import insort
from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from workloadkit.simulation.machine.shutdowns import UserOutage

if TYPE_CHECKING:
    from workloadkit.simulation.plain.job import JobView
    from workloadkit.simulation.plain.simulation import Simulation

_BEGIN, _END = range(2)  # the order of holds at one instant


class Holds:
    """The jobs of users who cannot run.

    When a hold begins, the running jobs of its users are stopped. All of their jobs leave the queue
    until it ends, and then return to their places in the order of arrival. Schedulers learn of
    holds as they happen.

    Parameters
    ----------
    holds : sequence of UserOutage
    requeues : bool
        Whether stopped jobs return to the queue; otherwise they are lost.
    simulation : Simulation
    """

    def __init__(
        self, holds: Sequence[UserOutage], *, requeues: bool, simulation: "Simulation"
    ) -> None:
        self._holds, self._requeues, self._simulation = holds, requeues, simulation
        self._barred: Counter[int] = Counter()  # holds of each user
        self._jobs: list[JobView] = []
        for hold in holds:
            simulation.change_at(hold.start, _BEGIN, self._begin, hold)
            if hold.end < inf:
                simulation.change_at(hold.end, _END, self._end, hold)

    def _begin(self, hold: UserOutage) -> None:
        simulation = self._simulation
        self._barred.update(hold.users)
        hit = [job for job in simulation.running if job.user in hold.users]
        for job in hit:
            simulation.interrupt(job, requeues=self._requeues)
        tell = simulation.scheduler.job_interrupted
        for job in hit:
            (tell if self._requeues else simulation.scheduler.job_ends)(job)
        self.take_in()
        if hit:
            simulation.scheduler.plans_void()

    def take_in(self) -> None:
        """Take waiting jobs of users who cannot run out of the queue."""
        scheduler = self._simulation.scheduler
        theirs = [job for job in scheduler.queue if self._barred[job.user]]
        if theirs:
            scheduler.queue = [job for job in scheduler.queue if not self._barred[job.user]]
            self._jobs += theirs
            scheduler.plans_void()

    def _end(self, hold: UserOutage) -> None:
        scheduler = self._simulation.scheduler
        self._barred.subtract(hold.users)
        back = [job for job in self._jobs if not self._barred[job.user]]
        if back:
            self._jobs = [job for job in self._jobs if self._barred[job.user]]
            queue = scheduler.queue.copy()
            for job in back:
                insort(queue, job, key=lambda other: other.arrival)
            scheduler.queue = queue
            scheduler.plans_void()

    def forget(self, job: "JobView") -> bool:
        """Remove a job that is held, as it is cancelled; return whether it was held."""
        held = job in self._jobs
        if held:
            self._jobs.remove(job)
        return held

    def lasting(self) -> str:
        """Describe the holds that never end, for messages."""
        numbers = [str(hold.number) for hold in self._holds if hold.end == inf]
        return f"; outages of users never end: {', '.join(numbers[:5])}" if numbers else ""
