"""EASY in orders that vary with time, computed again at the beginning of each pass."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.orders import VARYING, check_order, varying
from workloadkit.simulation.policies.overtaking import Backfilling, overtaking_of
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class InVaryingOrder(Backfilling):
    """EASY in one of the orders of `workloadkit.simulation.orders.VARYING`.

    Parameters
    ----------
    backfill : str
        Order of backfilling: "same" for that of the queue, a settled one, or "none".
    spare, strict
        As in `workloadkit.simulation.policies.overtaking.Backfilling`.
    """

    name: ClassVar[str]

    #: Name of the order of the queue.
    order: ClassVar[str]

    backfill: str = "same"

    def __post_init__(self) -> None:
        check_types(self)
        check_order(self.name, self.order, VARYING)
        overtaking_of(self)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.varying.plain import VaryingScheduler

        return VaryingScheduler(VARYING[self.order], self.backfill, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.varying.compiled import CompiledVarying

        order = varying(self.order)
        return CompiledVarying(workload, rules, order, self.backfill, overtaking_of(self))
