"""Start what fits, the shortest estimate first: a custom scheduler in both engines."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar, NamedTuple

from workloadkit.simulation import bases as loop
from workloadkit.simulation.schedulers import Scheduler


class ShortestFirst(Scheduler):
    """The plain form."""

    def allocate(self):
        for job in sorted(self.queue, key=lambda job: (job.estimate, job.arrival)):
            if self.fits(job):
                self.start(job)


class Waiting(NamedTuple):
    """The part of the state: here only a queue."""

    queue: loop.WaitingList


@loop.bare
def allocate(state, new, now):
    """Start the shortest job that fits, until none does; jobs from `new` on have just arrived."""
    if not loop.some_fit(state, new, now):
        return
    queue, estimate = state.policy.queue, state.jobs.estimate
    waiting, first = queue.waiting, 0
    while first >= 0:
        first = -1
        for place in range(queue.at.count):
            job = waiting[place]
            if job < 0 or not loop.fits(state, job, now):
                continue
            if first < 0 or estimate[job] < estimate[waiting[first]]:
                first = place
        if first >= 0:
            loop.start_job(state, waiting[first], now)
            waiting[first] = -1
    loop.forget_started(queue)


FUNCTIONS = SimpleNamespace(
    allocate=allocate,
    job_ended=loop.job_ended,
    job_returned=loop.job_returned,
    plans_void=loop.plans_void,
)
loop.register_functions(Waiting, FUNCTIONS)


class CompiledShortest(loop.CompiledPolicy):
    """The compiled form."""

    def begin(self, state):
        return state._replace(policy=Waiting(loop.new_arrivals(state.start.size)))


@dataclass(frozen=True)
class Shortest:
    """The policy."""

    name: ClassVar[str] = "shortest"

    def plain(self):
        return ShortestFirst()

    def compiled(self, workload, rules):
        return CompiledShortest(workload, rules)
