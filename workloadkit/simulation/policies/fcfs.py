"""First come, first served."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.ordered import (
    ORDERS,
    OrderedScheduler,
    ranked_as_they_arrive,
)
from workloadkit.simulation.policies.policy import Outcome
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Fcfs:
    """Jobs start in the order of arrival; the first that does not fit holds up all others."""

    name: ClassVar[str] = "fcfs"

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return OrderedScheduler(ORDERS["arrival"], backfill="none")

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        from workloadkit._kernels.easy import schedule_in_order
        from workloadkit._kernels.state import Jobs

        how: dict[str, Any] = {"rank": np.arange(workload.submit.size), "backfill_rank": None}
        if workload.users is not None:
            how = ranked_as_they_arrive("arrival", "none", workload)
        start = schedule_in_order(
            Jobs(workload.submit, workload.run, workload.estimate, workload.procs),
            rules.machine,
            late=rules.overrun == "late",
            by_event=rules.passes == "event",
            **how,
        )
        return Outcome(start)
