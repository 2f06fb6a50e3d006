"""Backfilling in any settled order: the common part of EASY and its relatives."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.orders import SETTLED, Order, as_number, check_order, settled
from workloadkit.simulation.policies.overtaking import Backfilling, overtaking_of
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload


class SettledOrder(Backfilling):
    """The common part of policies in a settled order; parameters are those of `Ordered`."""

    name: ClassVar[str]

    #: Name of the order of the queue, in `workloadkit.simulation.orders.SETTLED`.
    order: ClassVar[str]

    backfill: str
    reservations: int

    def __post_init__(self) -> None:
        check_types(self)
        check_order(self.name, self.order, SETTLED)
        overtaking_of(self)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Parameters of the order."""
        return ()

    def key(self, job: Any) -> Any:
        """Return the key by which the queue is ordered, smallest first."""
        return SETTLED[self.order](job, self.numbers)

    def place(self, job: Any) -> float:
        """Return the key of a job as a number; NaN comes last."""
        return as_number(self.key(job))

    @property
    def custom_key(self) -> bool:
        """Whether a subclass defines a custom key."""
        return type(self).key is not SettledOrder.key

    @property
    def is_by_arrival(self) -> bool:
        """Whether the order is that of arrival."""
        return self.order == "arrival" and not self.custom_key

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.easy.plain import OrderedScheduler

        return OrderedScheduler(
            None if self.is_by_arrival else self.place,
            self.backfill,
            self.reservations,
            overtaking_of(self),
        )

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        queue, backfill = self.orders(workload, rules)
        if backfill is None or self.reservations == 1:
            from workloadkit.simulation.policies.easy.compiled import CompiledEasy

            return CompiledEasy(workload, rules, queue, backfill, overtaking_of(self))
        from workloadkit.simulation.policies.reservations.compiled import CompiledReservations

        return CompiledReservations(workload, rules, queue, backfill, self.reservations)

    def orders(self, workload: Workload, rules: Rules) -> tuple[Any, Order | None]:
        """Return the orders of the queue and of backfilling; None for no backfilling."""
        queue: Any = settled(self.order, self.numbers)
        if self.custom_key:
            from workloadkit.simulation.custom_keys import custom_key

            known = workload.users is None and rules.predictor is None
            queue = custom_key(self, workload, known=known)
        if self.backfill == "none":
            return queue, None
        return queue, queue if self.backfill == "same" else settled(self.backfill)


@dataclass(frozen=True)
class Ordered(SettledOrder):
    """A policy that serves jobs in a settled order and backfills.

    Jobs start in the order of the queue while they fit. The first that does not fit gets a
    reservation: its shadow time is when it will fit, by the estimated ends of the running jobs; the
    spare processors are those that it leaves free then. After that, in the order of backfilling,
    each job that fits now starts if it ends by the shadow time or needs no more than the spare
    processors, which then shrink; `spare` and `strict` change that rule.

    With more reservations, the jobs in the order of the queue each take the earliest slot that the
    running jobs and the previous reservations leave. A job with a slot now starts; others are
    reserved, until there are `reservations` of them. The remaining jobs start if they can do so now
    without delaying a reservation.

    A subclass may define a custom order: a method ``key(self, job)`` that returns a number. It is
    computed from a `workloadkit.simulation.orders.VisibleJob` and the policy's parameters.

    Parameters
    ----------
    backfill : str
        Order of backfilling: one of `BACKFILLS`, "same" for the order of the queue, or "none": no
        job overtakes another.
    reservations : int
        Number of waiting jobs with a reservation.
    spare, strict
        As in `Backfilling`.
    """

    backfill: str = "same"
    reservations: int = 1
