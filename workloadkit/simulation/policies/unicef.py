"""UNICEF: quick service for small jobs."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.easy.ordered import check_backfill
from workloadkit.simulation.policies.policy import Outcome
from workloadkit.simulation.policies.varying import VaryingScheduler, play_compiled
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Unicef:
    """EASY in the order of wait / (max(log2 processors, 1) · estimate), the largest first [1]_.

    The order is found anew at the beginning of each pass, ties by arrival.

    Parameters
    ----------
    backfill : str
        Order of backfilling: "same" for that of the queue, a fixed one, or "none".

    References
    ----------
    .. [1] W. Tang, Z. Lan, N. Desai, D. Buettner, "Fault-aware, utility-based job scheduling on
       Blue Gene/P systems", IEEE Cluster 2009.
    """

    name: ClassVar[str] = "unicef"

    backfill: str = "same"

    def __post_init__(self) -> None:
        check_backfill(self.name, self.backfill)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        from workloadkit._kernels.orders import in_python, unicef

        return VaryingScheduler(in_python(unicef), self.backfill)

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        from workloadkit._kernels.orders import UNICEF

        return play_compiled(UNICEF, self.backfill, workload, rules)
