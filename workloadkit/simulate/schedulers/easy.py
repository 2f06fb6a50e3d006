"""EASY backfilling: one reservation, for the job at the head of the queue."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulate.schedulers.ordered import ORDERS, Ordered
from workloadkit.simulate.schedulers.policy import Outcome
from workloadkit.simulate.workload import Rules, Workload


@dataclass(frozen=True)
class Easy(Ordered):
    """EASY: jobs may overtake the head of the queue if by the estimates they do not delay it [1]_.

    References
    ----------
    .. [1] D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
    """

    name: ClassVar[str] = "easy"

    def key(self, jobs: Any) -> Any:
        """Return what the queue is ordered by, smallest first, of a Job or a Workload."""
        return ORDERS["arrival"](jobs)

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        from workloadkit._kernels.easy import schedule_in_order
        from workloadkit._kernels.state import Jobs

        jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
        late = rules.overrun == "late"
        return Outcome(schedule_in_order(jobs, rules.machine, backfill=True, late=late))
