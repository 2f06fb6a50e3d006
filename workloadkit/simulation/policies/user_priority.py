"""The User Priority Scheduler: EASY with the jobs of users first who may submit more."""

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal, get_args

import numpy as np

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.policy import Outcome, check_types
from workloadkit.simulation.workload import Rules, Workload

By = Literal["load", "recency"]


@dataclass(frozen=True)
class UserPriority:
    """EASY with the jobs of the users first who are thought to submit more [1]_.

    The users with waiting jobs are put in order; the i-th has the priority 1 / i. A job's
    priority is alpha_user / i + (1 - alpha_user) · wait / 4 h, ties by arrival. In this order jobs
    start until the first that does not fit, which gets the reservation. The others are backfilled
    by the order of their users, then by arrival. All is found anew at each pass, at its beginning.
    As long as alpha_user is below 1 no job starves.

    Parameters
    ----------
    alpha_user : float
        Weight of the users' priorities, from 0 to 1. With 0 jobs start in the order of arrival
        like EASY's, but are backfilled by user. The default is the first example of the source:
        four hours of wait outweigh all priority of users.
    by : {"load", "recency"}
        First comes the user with the least work in his waiting jobs (estimate times processors,
        summed in the order of arrival), or the one who submitted last, be that job waiting or
        not; ties by user number. By load the source found higher throughput.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018.
    """

    name: ClassVar[str] = "user-priority"

    alpha_user: float = 0.5
    by: str = "load"

    def __post_init__(self) -> None:
        check_types(self)
        if not 0 <= self.alpha_user <= 1:
            raise ParameterError(
                f"scheduler {self.name}: alpha_user is {self.alpha_user}; it is from 0 to 1"
            )
        if self.by not in get_args(By):
            raise ParameterError(
                f"scheduler {self.name}: by is {self.by!r}; known: {', '.join(get_args(By))}"
            )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return _UserPriorityScheduler(self.alpha_user, self.by)

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        from workloadkit._kernels.state import Jobs
        from workloadkit._kernels.user_priority import schedule_by_user

        user = workload.user  # of users who react: as they are counted already
        if workload.users is None:
            user = np.unique(user, return_inverse=True)[1]
        start = schedule_by_user(
            Jobs(workload.submit, workload.run, workload.estimate, workload.procs),
            user,
            rules.machine,
            alpha_user=self.alpha_user,
            by_load=self.by == "load",
            late=rules.overrun == "late",
            by_event=rules.passes == "event",
            users=workload.users,
        )
        return Outcome(start)


class _UserPriorityScheduler(OrderedScheduler):
    """The User Priority Scheduler in plain Python."""

    def __init__(self, alpha_user: float, by: str) -> None:
        super().__init__()
        self.alpha_user, self.by = alpha_user, by
        self.last_submit: dict[int, float] = {}
        self.place: dict[int, int] = {}  # of each user with waiting jobs: 1, 2, …

    def job_arrives(self, job: JobView) -> None:
        super().job_arrives(job)
        self.last_submit[job.user] = max(job.submit, self.last_submit.get(job.user, -inf))

    def in_order(self) -> list[JobView]:
        users = {job.user for job in self.queue}
        if self.by == "load":
            key = dict.fromkeys(users, 0.0)
            for job in self.queue:
                key[job.user] += float(job.estimate) * job.procs
        else:
            key = {user: -self.last_submit[user] for user in users}
        ranked = sorted(users, key=lambda user: (key[user], user))
        self.place = {user: i for i, user in enumerate(ranked, 1)}
        return sorted(self.queue, key=self.priority, reverse=True)  # stable, reversed or not

    def priority(self, job: JobView) -> float:
        wait = (1 - self.alpha_user) * (self.now - job.submit) / 14400
        return self.alpha_user * (1 / self.place[job.user]) + wait

    def to_backfill(self, jobs: list[JobView]) -> list[JobView]:
        among = set(map(id, jobs))
        waiting = [job for job in self.queue if id(job) in among]
        return sorted(waiting, key=lambda job: self.place[job.user])
