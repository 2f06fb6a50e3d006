"""The User Priority Scheduler: EASY that favours users who are likely to submit more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Literal

from workloadkit.errors import ParameterError, check_choice
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.policy import (
    AS_USUAL,
    Backfilling,
    Overtaking,
    check_types,
    overtaking_of,
)
from workloadkit.simulation.policies.user_priority.kernel import priority, work
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Rules, Workload

By = Literal["load", "recency"]


@dataclass(frozen=True)
class UserPriority(Backfilling):
    """EASY that favours the jobs of users who are likely to submit more [1]_.

    The users with waiting jobs are ordered; the i-th has the priority 1 / i. A job's priority is
    alpha_user / i + (1 - alpha_user) · wait / 4 h, ties by arrival. Jobs start in this order until
    the first that does not fit, which gets the reservation. The others are backfilled in the order
    of their users, then by arrival. All is computed again at the beginning of each pass. If
    alpha_user is below 1, no job starves.

    Parameters
    ----------
    alpha_user : float
        Weight of the users' priorities, from 0 to 1. With 0, jobs start in the order of arrival as
        under EASY, but are backfilled by user. The default is the first example of the source: four
        hours of wait outweigh all priority of users.
    by : {"load", "recency"}
        First comes the user with the least work in the waiting jobs (estimate times processors,
        summed in the order of arrival), or the one with the latest submission, whether that job
        waits or not; ties by user number. The source found higher throughput by load.
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018.
    """

    name: ClassVar[str] = "user-priority"
    supports: ClassVar = supporting("each pass", "parts", "benchmark", "state")
    memory: ClassVar = Memory(
        "the latest submissions of users", "those of the waiting jobs", only="by=recency"
    )

    alpha_user: float = 0.5
    by: str = "load"

    def __post_init__(self) -> None:
        check_types(self)
        overtaking_of(self)
        if not 0 <= self.alpha_user <= 1:
            raise ParameterError(
                f"scheduler {self.name}: alpha_user is {self.alpha_user}; it must be from 0 to 1"
            )
        check_choice(f"scheduler {self.name}: by", self.by, By)

    @property
    def remembers(self) -> bool:
        """Whether it remembers more than the running and waiting jobs."""
        return self.by == "recency"

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return UserPriorityScheduler(self.alpha_user, self.by, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.user_priority.trees import CompiledUserPriority

        how = self.alpha_user, self.by == "load"
        return CompiledUserPriority(workload, rules, *how, overtaking=overtaking_of(self))


# The User Priority Scheduler in plain Python.


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

    def remember(self, jobs: Sequence[JobView]) -> dict[str, Any]:
        """Return the latest submission of the user of each job."""
        return {"jobs": {"user_submitted": [self.last_submit.get(job.user) for job in jobs]}}

    def recall(self, memory: Mapping[str, Any], jobs: Sequence[JobView]) -> None:
        """Continue with the latest submissions."""
        super().recall(memory, jobs)
        if self.by == "recency":
            latest = zip(jobs, memory["jobs"]["user_submitted"], strict=True)
            self.last_submit |= {job.user: submit for job, submit in latest if submit is not None}

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
