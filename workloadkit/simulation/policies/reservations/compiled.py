"""Several reservations, in the compiled engine."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workloadkit.simulation.compiled.orders import ranks
from workloadkit.simulation.compiled.profile import n_rows
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.orders import VaryingOrder
from workloadkit.simulation.policies.compiled import CompiledPolicy, promises
from workloadkit.simulation.policies.reservations import kernel
from workloadkit.simulation.policies.reservations.varying import ReservingAgain
from workloadkit.simulation.workload import Rules, Workload


class CompiledReservations(CompiledPolicy):
    """Several reservations, and backfilling.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    order, backfill_order : NamedTuple
        See `orders`. If that of the queue varies with time, that of backfilling may.
    reservations : int
    threshold : float, optional
        Least expansion factor of a job with a reservation. With one, none is promised.
    """

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        order: Any,
        backfill_order: Any,
        reservations: int,
        threshold: float | None = None,
    ) -> None:
        super().__init__(workload, rules)
        self.orders, self.reservations = (order, backfill_order), reservations
        self.threshold = threshold

    def n_planned(self, n_jobs: int) -> int:
        """Return how many rows of the machine the profile needs."""
        return n_rows(n_jobs)

    def columns(self, state: State) -> Mapping[str, Any]:
        """Return the promised start of each job."""
        promised = state.policy.promised
        return {"promised_start": promises(promised)} if promised.size else {}

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        order, backfill_order = self.orders
        varies = isinstance(order, VaryingOrder)
        known = self.jobs_are_known and not varies

        def places(which: Any) -> Any:
            return ranks(state, which) if known else np.empty(state.jobs.submit.size)

        orders: Any = (None, None) if known else self.orders
        if varies and backfill_order is order:
            orders = order, None
        rank = places(order)
        part = kernel.new_reserving(
            rank,
            rank if backfill_order is order else places(backfill_order),
            orders=orders,
            reservations=min(self.reservations, rank.size),
            threshold=self.threshold,
            by_size=self.hardware.by_size,
            dtype=state.jobs.submit.dtype,
        )
        return state._replace(policy=ReservingAgain._make(part) if varies else part)
