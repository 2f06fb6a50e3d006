"""EASY in orders that vary with time, evaluated once at the beginning of each pass."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.ordered import places_to_backfill, ranked_as_they_arrive
from workloadkit.simulation.policies.policy import Outcome
from workloadkit.simulation.workload import Rules, Workload


class VaryingScheduler(OrderedScheduler):
    """EASY in an order that varies with time, in plain Python.

    Parameters
    ----------
    order : callable
        Of (now, submit, estimate, procs, user); the smallest value comes first, ties by arrival.
    backfill : str
        Order of backfilling, as in `Ordered`.
    """

    def __init__(self, order: Callable[..., Any], backfill: str) -> None:
        super().__init__(backfill=backfill)
        self.order = order

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs in the order of the queue, as it is at the start of a pass."""
        return sorted(self.queue, key=self._value)

    def _value(self, job: JobView) -> float:
        value = self.order(self.now, job.submit, job.estimate, job.procs, job.user)
        if not isinstance(value, Real | np.bool_):
            raise ParameterError(
                f"the order gives {value!r} for job {job.number}; what jobs are ordered by is a "
                "number"
            )
        return float(value) if value == value else np.inf  # NaN comes last


def play_compiled(
    order: int | Callable[..., Any], backfill: str, workload: Workload, rules: Rules
) -> Outcome:
    """Simulate `workload` in the compiled engine, in an order built in or in a compiled one."""
    from workloadkit._kernels.state import Jobs
    from workloadkit._kernels.varying import schedule_in_varying_order

    how: dict[str, Any] = {}
    if workload.users is None:
        how["backfill_rank"] = places_to_backfill(backfill, workload, None)
    else:
        how = ranked_as_they_arrive(backfill, "same", workload)
        if backfill in ("same", "none"):
            how["backfill_rank"] = None
        del how["rank"]
        how["numbers"] = workload.numbers_of_users
    start = schedule_in_varying_order(
        Jobs(workload.submit, workload.run, workload.estimate, workload.procs),
        rules.machine,
        order=order,
        user=workload.user,
        backfill=backfill != "none",
        by_event=rules.passes == "event",
        **how,
    )
    return Outcome(start)
