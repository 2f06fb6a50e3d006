"""The User Priority Scheduler: EASY that favours users who are likely to submit more."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from workloadkit.errors import ParameterError, check_choice
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.overtaking import Backfilling, overtaking_of
from workloadkit.simulation.policies.policy import check_types
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
        As in `workloadkit.simulation.policies.overtaking.Backfilling`.

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
                f"scheduler {self.name}: alpha_user is {self.alpha_user}; it must be from 0 to 1"
            )
        check_choice(f"scheduler {self.name}: by", self.by, By)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.user_priority.plain import UserPriorityScheduler

        return UserPriorityScheduler(self.alpha_user, self.by, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.user_priority.compiled import CompiledUserPriority

        how = self.alpha_user, self.by == "load"
        return CompiledUserPriority(workload, rules, *how, overtaking=overtaking_of(self))
