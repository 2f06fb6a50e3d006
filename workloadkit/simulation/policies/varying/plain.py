"""EASY in orders that vary with time, in plain Python."""

from collections.abc import Callable
from typing import Any

from workloadkit.simulation.engine import JobView
from workloadkit.simulation.orders import as_number
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.overtaking import AS_USUAL, Overtaking


class VaryingScheduler(OrderedScheduler):
    """EASY in an order that varies with time, in plain Python.

    Parameters
    ----------
    order : callable
        Of (now, submit, estimate, procs, user); the smallest value comes first, ties by arrival.
    backfill : str
        Order of backfilling, as in `Ordered`.
    overtaking : Overtaking
    """

    def __init__(
        self, order: Callable[..., Any], backfill: str, overtaking: Overtaking = AS_USUAL
    ) -> None:
        super().__init__(backfill=backfill, overtaking=overtaking)
        self.order = order

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs in the order of the queue at the start of a pass."""
        return sorted(self.queue, key=self._value)

    def _value(self, job: JobView) -> float:
        value = self.order(self.now, job.submit, job.estimate, job.procs, job.user)
        return as_number(value, f"job {job.number}")
