"""CREASY: EASY in an order by the criticality of jobs for their users' sessions."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.creasy.kernel import bonus, priority
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.policy import (
    AS_USUAL,
    Backfilling,
    Overtaking,
    check_types,
    overtaking_of,
)
from workloadkit.simulation.supports import supporting
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Creasy(Backfilling):
    """EASY in an order that favours jobs that keep their users' sessions alive [1]_.

    A job's priority is alpha · 0.04 / (0.05 r + 1)² + wait (eq. 5.3 and 5.4). Here r, the expected
    response time, is the wait so far plus the estimate, all in minutes. The order is computed again
    in each pass, ties by arrival; backfilling uses the same order. As the first term is bounded and
    the wait is not, every job becomes the first in time: no job starves.

    Parameters
    ----------
    alpha : float
        Weight of criticality, not negative; with 0 this is EASY. The default is the largest value
        of the source, beyond which results changed little.
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel systems
       schedulers", PhD thesis, The Hebrew University of Jerusalem, 2008, section 5.4.
    """

    name: ClassVar[str] = "creasy"
    supports: ClassVar = supporting("each pass", "parts", "benchmark", "state")

    alpha: float = 6000.0

    def __post_init__(self) -> None:
        check_types(self)
        overtaking_of(self)
        if not 0 <= self.alpha < inf:
            raise ParameterError(
                f"scheduler {self.name}: alpha is {self.alpha}; it must be finite and not negative"
            )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return CreasyScheduler(self.alpha, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.creasy.trees import CompiledCreasy

        return CompiledCreasy(workload, rules, self.alpha, overtaking=overtaking_of(self))


# CREASY in plain Python.


class CreasyScheduler(OrderedScheduler):
    """EASY in the order of the priorities at the beginning of a pass."""

    def __init__(self, alpha: float, overtaking: Overtaking = AS_USUAL) -> None:
        super().__init__(overtaking=overtaking)
        self.bonus = bonus(alpha)

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs by priority, ties by arrival."""
        return sorted(self.queue, key=self._priority, reverse=True)  # stable with reverse, too

    def _priority(self, job: JobView) -> float:
        return priority(self.bonus, self.now - job.submit, job.estimate)
