"""The User Priority Scheduler in plain Python."""

from collections.abc import Mapping
from math import inf
from typing import Any

from workloadkit.simulation.engine import JobView
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.overtaking import AS_USUAL, Overtaking
from workloadkit.simulation.policies.user_priority.priority import priority, work


class UserPriorityScheduler(OrderedScheduler):
    """EASY in the order of users and waits at the beginning of a pass."""

    def __init__(self, alpha_user: float, by: str, overtaking: Overtaking = AS_USUAL) -> None:
        super().__init__(overtaking=overtaking)
        self.alpha_user, self.by = alpha_user, by
        self.last_submit: dict[int, float] = {}
        self.place: dict[int, int] = {}  # of each user with waiting jobs: 1, 2, …

    def continue_from(self, other: Any, copies: Mapping[JobView, JobView]) -> None:
        """Take over the latest submissions of users."""
        self.last_submit = dict(other.last_submit)

    def job_arrives(self, job: JobView) -> None:
        """Record the latest submission of each user."""
        super().job_arrives(job)
        self.last_submit[job.user] = max(job.submit, self.last_submit.get(job.user, -inf))

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs by priority, ties by arrival."""
        users = {job.user for job in self.queue}
        if self.by == "load":
            key = dict.fromkeys(users, 0.0)
            for job in self.queue:
                key[job.user] += work(job.estimate, job.procs)
        else:
            key = {user: -self.last_submit[user] for user in users}
        ranked = sorted(users, key=lambda user: (key[user], user))
        self.place = {user: i for i, user in enumerate(ranked, 1)}
        return sorted(self.queue, key=self._priority, reverse=True)  # stable with reverse, too

    def to_backfill(self, jobs: list[JobView]) -> list[JobView]:
        """Return waiting jobs in the order of their users, then of arrival."""
        among = set(map(id, jobs))
        waiting = [job for job in self.queue if id(job) in among]
        return sorted(waiting, key=lambda job: self.place[job.user])

    def _priority(self, job: JobView) -> float:
        return priority(self.alpha_user, self.place[job.user], self.now - job.submit)
