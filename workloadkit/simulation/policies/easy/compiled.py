"""EASY in a settled order, in the compiled engine."""

from typing import Any

import numpy as np

from workloadkit.simulation.compiled_orders import by_arrival, ranks
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.easy import kernel, trees
from workloadkit.simulation.policies.overtaking import AS_USUAL, Overtaking
from workloadkit.simulation.state import N_WAITING, State
from workloadkit.simulation.workload import Rules, Workload

# A queue longer than this is searched by trees, until it is half as long. Measured: for shorter
# ones, an examination of each waiting job is faster; for much longer ones, much slower.
LONG_QUEUE = 512
# Building the trees takes about as long as this many examinations for each job of the log. As much
# time is first spent on lists of longer queues: few logs have such queues for long.
PATIENCE = 16


class CompiledEasy(CompiledPolicy):
    """One reservation, and backfilling.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    order, backfill_order : NamedTuple or None
        See `orders`; None for no backfilling.
    overtaking : Overtaking
        Which jobs may overtake.
    long_queue, patience : int
        See the constants.
    """

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        order: Any,
        backfill_order: Any,
        overtaking: Overtaking = AS_USUAL,
        *,
        long_queue: int = LONG_QUEUE,
        patience: int = PATIENCE,
    ) -> None:
        super().__init__(workload, rules)
        self.orders = order, order if backfill_order is None else backfill_order
        self.backfills, self.overtaking = backfill_order is not None, overtaking
        self.long_queue, self.patience = long_queue, patience
        self.forest: Any = None

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        self.forest = None  # a forest that still contains jobs cannot be reused
        order, backfill_order = self.orders
        n_jobs = state.jobs.submit.size
        how: dict[str, Any] = {"backfills": self.backfills, "long_queue": n_jobs, "patience": 1}
        if self.jobs_are_known or by_arrival(order, backfill_order):
            rank = ranks(state, order)
            backfill_rank = rank if backfill_order is order else ranks(state, backfill_order)
            in_turn = not self.backfills and bool((rank[1:] > rank[:-1]).all())
            if not in_turn and self.jobs_are_known and self.hardware.kinds(state.jobs) is not None:
                # a list in the order of arrival, changed only at its ends, needs no trees
                patience = self.patience * n_jobs if self.backfills else 0
                how |= {"long_queue": self.long_queue, "patience": patience}
        else:
            how["orders"] = self.orders
            rank = np.empty(n_jobs)
            backfill_rank = rank if backfill_order is order else np.empty(n_jobs)
        line = kernel.new_line(rank, backfill_rank, **how)
        return state._replace(policy=line, **self.overtaking._asdict())

    def go_on(self, state: State) -> State:
        """Switch to trees when the queue has become long, or back to the list."""
        if isinstance(state.policy, trees.EasyTrees):
            self.forest = state.policy.forest
            return state._replace(policy=trees.as_line(state))
        if self.forest is None:
            self.forest = trees.grow(state, self.hardware.kinds(state.jobs))
        few = min(self.long_queue, state.at[N_WAITING]) // 2
        return state._replace(policy=trees.as_trees(state, self.forest, few))
