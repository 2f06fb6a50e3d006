"""Slack-based backfilling, in plain Python."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from workloadkit.simulation.engine import JobView
from workloadkit.simulation.orders import ratio
from workloadkit.simulation.policies.conservative.plain import ConservativeScheduler
from workloadkit.simulation.policies.profile import Profile

if TYPE_CHECKING:
    from workloadkit.simulation.policies.slack import Slack


class SlackScheduler(ConservativeScheduler):
    """Slack-based backfilling, in plain Python.

    Parameters
    ----------
    policy : Slack
    """

    bears_holds = False

    def __init__(self, policy: "Slack") -> None:
        super().__init__()
        self.policy = policy
        self.waited: Any = 0  # by the jobs that have started
        self.n_started = 0
        self.slack: dict[JobView, float] = {}
        self._void = True  # jobs of another scheduler arrive at once; their promises are new

    def continue_from(self, other: Any, copies: Mapping[JobView, JobView]) -> None:
        """Take over the reservations and promises of another one, as `ConservativeScheduler`."""
        super().continue_from(other, copies)
        if type(self._at.hardware) is type(other._at.hardware):
            self.waited, self.n_started = other.waited, other.n_started
            self.slack |= {copies[job]: other.slack[job] for job in copies}

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Return the promised start and the slack of each job."""
        self.policy.warn_of_queues({job.queue for job in jobs})
        return {**super().columns(jobs), "slack": [self.slack[job] for job in jobs]}

    def job_arrives(self, job: JobView) -> None:
        """Determine the slack of a new job, by the waits until now."""
        mean = self.waited / self.n_started if self.n_started else 0.0
        queues = self.policy.urgent_queues
        share = self.policy.priority(job.queue) / len(queues) if queues else 1.0
        self.slack[job] = self.policy.factor * mean * share * (1 - job.procs / self._at.machine)
        super().job_arrives(job)

    def start(self, job: JobView) -> None:
        """Start a waiting job."""
        self.waited += self.now - job.submit
        self.n_started += 1
        super().start(job)

    def place(self, profile: Profile, job: JobView) -> None:
        """Reserve for a job without a reservation."""
        super().place(profile, job)
        if not (self._void or self._outlived) and self.now < self.reserved[job] < inf:
            self._improve(profile, job)
        self._promised.setdefault(job, self.reserved[job])

    def _improve(self, profile: Profile, new: JobView) -> None:
        """Move the jobs with the latest reservations, as long as that is cheaper."""
        goal = self.reserved[new]
        begins = ((begin, job.arrival, job) for job, begin in self.reserved.items())
        later = sorted(which for which in begins if self.now < which[0] < inf and which[2] != new)
        taken_out = [new]
        profile.release(goal, new)
        lowest, best = 0.0, self.reserved
        for begin, _, job in reversed(later[-self.policy.depth :]):
            if goal <= self.now:
                break
            profile.release(begin, job)
            taken_out.insert(1, job)
            earliest = profile.earliest(new)
            if earliest < goal:
                goal = earliest
                cost, begins_then = self._replace(profile, taken_out)
                if cost < lowest:
                    lowest, best = cost, begins_then
        for job in taken_out:
            self.reserved[job] = best.get(job, self.reserved[job])
            profile.take(self.reserved[job], job)

    def _replace(self, profile: Profile, jobs: list[JobView]) -> tuple[float, dict[JobView, Any]]:
        """Return what it costs to give jobs, of which the first is new, the earliest slots."""
        cost, begins = 0.0, {}
        for job in jobs:
            begin = profile.earliest(job)
            if begin > self._latest(job):
                cost = inf
                break
            profile.take(begin, job)
            begins[job] = begin
            weight = job.estimate if self.policy.cost == "slowdown" else 1
            cost += ratio(begin - self.reserved[job], weight)
        for job, begin in begins.items():
            profile.release(begin, job)
        return cost, begins

    def _latest(self, job: JobView) -> Any:
        """Return the latest start of a job; promises that cannot be kept are not broken further."""
        if job not in self._promised:
            return self.reserved[job]
        return max(self._promised[job] + self.slack[job], self.reserved[job])
