"""The User Priority Scheduler: EASY with the jobs of users first who may submit more."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.overtaking import Backfilling, overtaking_of
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload

By = Literal["load", "recency"]


@dataclass(frozen=True)
class UserPriority(Backfilling):
    """EASY with the jobs of the users first who are thought to submit more [1]_.

    The users with waiting jobs are put in order; the i-th has the priority 1 / i. A job's priority
    is alpha_user / i + (1 - alpha_user) · wait / 4 h, ties by arrival. In this order jobs start
    until the first that does not fit, which gets the reservation. The others are backfilled by the
    order of their users, then by arrival. All is computed again in each pass, at its beginning. As
    long as alpha_user is below 1 no job starves.

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
    spare, strict
        As of `workloadkit.simulation.policies.overtaking.Backfilling`.

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
        overtaking_of(self)
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
        from workloadkit.simulation.policies.user_priority.plain import UserPriorityScheduler

        return UserPriorityScheduler(self.alpha_user, self.by, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy for one simulation in the compiled engine."""
        from workloadkit.simulation.policies.user_priority.compiled import CompiledUserPriority

        how = self.alpha_user, self.by == "load"
        return CompiledUserPriority(workload, rules, *how, overtaking=overtaking_of(self))
