"""Slack-based backfilling: a new job may move others, within the slack of each."""

from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Literal

from workloadkit.errors import ParameterError, check_choice
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.policies.queue_priority import QueuePriority
from workloadkit.simulation.workload import Rules, Workload

Cost = Literal["wait", "slowdown"]


@dataclass(frozen=True)
class Slack(QueuePriority):
    """Conservative backfilling in which a new job may delay others, within their slack [1]_.

    Each job has a reservation from its submission on, first for its promised start. Its slack is
    how much later than that it may start at most; important jobs, and jobs that need much of the
    machine, have little. So the wait of each job is bounded, yet better schedules remain possible.

    A new job takes the earliest slot that delays no reservation. If that is not now, alternatives
    are examined: the jobs with the latest reservations are taken out of the plan, one after the
    other. Whenever the new job can start earlier than in all alternatives before, it does so, and
    the jobs that were taken out take the earliest slots again, in the order of their reservations.
    An alternative is possible if each job starts by its promised start plus its slack. Of all plans
    the cheapest is chosen; of equal ones, the one that takes out the fewest jobs. When a job ends,
    all reservations move forward, as in `Conservative`.

    A job's slack is factor · w · p · (1 - n / N): w is the mean wait of the jobs that have started
    before its submission, 0 before the first start; n are its processors, N those of the machine; p
    is 1, or the place of its queue among `queues`, from 0, divided by their number.

    Only the abstract of the source was available: each waiting job has a slack, which bounds its
    wait and is small for important and heavy jobs; priorities are those of users and of
    administrators. The formula of the slack, the measure of the cost and the plans that are
    examined are choices of this implementation. Priorities are those of queues, as users choose
    them and administrators define them.

    Promises hold if estimates do. If a job outlives its estimate, or an outage was not announced,
    all reservations are made again, in the order of arrival; while an outage is announced or under
    way, and in such a pass, new jobs delay no others. `Schedule.jobs` contains ``promised_start``
    and ``slack``.

    Parameters
    ----------
    factor : float
        The slack of jobs in mean waits. With 0, each job still starts by its promised start, but a
        new job may move it back to there after it has moved forward.
    cost : {"wait", "slowdown"}
        What makes a plan cheap: a small sum of the waits of all jobs, or of their waits divided by
        their estimates.
    queues : str
        Numbers of the important queues, the most important first, as in ``"5/2/1"``; jobs of the
        first one have no slack. By default all are equal.
    depth : int
        Number of jobs that are taken out of the plan at most.

    References
    ----------
    .. [1] D. Talby, D. G. Feitelson, "Supporting priorities and improving utilization of the IBM SP
       scheduler using slack-based backfilling", IPPS/SPDP 1999.
    """

    name: ClassVar[str] = "slack"
    serves_nodes: ClassVar[bool] = False

    factor: float = 1.0
    cost: str = "wait"
    queues: str = ""
    depth: int = 50

    def __post_init__(self) -> None:
        check_types(self)
        self.check_queues()
        check_choice(f"scheduler {self.name}: cost", self.cost, Cost)
        if not (isfinite(self.factor) and self.factor >= 0):
            raise ParameterError(
                f"scheduler {self.name}: factor is {self.factor:g}; a finite number, at least 0"
            )
        if not self.depth >= 1:
            raise ParameterError(f"scheduler {self.name}: depth is {self.depth}; at least 1")

    def warn_of_queues(self, queues: set[int]) -> None:
        """Warn if `queues` names queues without jobs."""
        if self.queues:
            self.warn_of_equals(queues)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.slack.plain import SlackScheduler

        return SlackScheduler(self)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.slack.compiled import CompiledSlack

        return CompiledSlack(self, workload, rules)
