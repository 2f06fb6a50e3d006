"""EASY in orders that vary with time, in the compiled engine."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from workloadkit._kernels.compile import in_python
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled_orders import function_of_time, ranks
from workloadkit.simulation.orders import SCORE, VaryingOrder, settled
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.overtaking import AS_USUAL, Overtaking
from workloadkit.simulation.policies.varying import groups, kernel
from workloadkit.simulation.state import N_WAITING, State
from workloadkit.simulation.workload import Rules, Workload

# A queue longer than this is searched by groups, until it is half as long. Measured: for shorter
# ones, an examination of each waiting job is as fast.
LONG_QUEUE = 64
# Finding the groups takes about as long as this many examinations for each job of the log. As much
# time is first spent on lists of longer queues: few logs have such queues for long.
PATIENCE = 32
# A score takes several times as long to evaluate.
PATIENCE_WITH_SCORES = 8


class CompiledVarying(CompiledPolicy):
    """EASY in an order that varies with time.

    Parameters
    ----------
    workload : Workload
    rules : Rules
    order : NamedTuple
        See `orders`.
    backfill : str or VaryingOrder
        Order of backfilling, as in `Ordered`, or a score.
    overtaking : Overtaking
    favours_waiting : bool
        Whether of jobs of equal size, estimate and limit the first is never behind, if the order
        is a score; in the built-in orders it is not.
    long_queue, patience : int
        See the constants.
    """

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        order: Any,
        backfill: str | VaryingOrder,
        overtaking: Overtaking = AS_USUAL,
        *,
        favours_waiting: bool = False,
        long_queue: int = LONG_QUEUE,
        patience: int = PATIENCE,
    ) -> None:
        super().__init__(workload, rules)
        self.order, self.backfill, self.overtaking = order, backfill, overtaking
        self.favours_waiting = favours_waiting
        self.long_queue, self.patience = long_queue, patience
        self.group: Any = None

    def begin(self, state: State) -> State:
        """Return the state with an empty queue."""
        n_jobs = state.jobs.submit.size
        how: dict[str, Any] = {"backfills": self.backfill != "none"}
        if isinstance(self.backfill, VaryingOrder):
            how["backfill_score"] = self.backfill
        elif self.backfill not in ("same", "none"):
            order = settled(self.backfill)
            if self.jobs_are_known:
                how["rank"] = ranks(state, order)
            else:
                how |= {"rank": np.empty(n_jobs), "backfill_order": order}
        alike = isinstance(self.order, VaryingOrder) and self.jobs_are_known
        if alike and self.order.code == SCORE:
            alike = self.favours_waiting and "backfill_score" not in how
        if alike and getattr(self.hardware, "by_size", False):
            how |= {"long_queue": self.long_queue, "patience": self.patience * n_jobs}
        line = kernel.new_line(n_jobs, self.order, **how)
        return state._replace(policy=line, **self.overtaking._asdict())

    def go_on(self, state: State) -> State:
        """Switch to groups when the queue has become long, or back to the list."""
        if isinstance(state.policy, groups.Groups):
            return state._replace(policy=groups.as_line(state))
        if self.group is None:
            by_limit = self.order.code == SCORE  # which may contain it
            self.group = groups.find_groups(state.jobs, by_limit=by_limit)
        few = min(self.long_queue, state.at[N_WAITING]) // 2
        return state._replace(policy=groups.as_groups(state, self.group, few))


class CompiledCustomOrder(CompiledVarying):
    """EASY in a custom order, a function as in `CustomOrder`."""

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        order: Callable[..., Any],
        backfill: str,
        overtaking: Overtaking = AS_USUAL,
    ) -> None:
        if not isinstance(in_python(order), FunctionType):
            raise ParameterError(_CANNOT)
        order = function_of_time(order, workload.known_by)
        super().__init__(workload, rules, order, backfill, overtaking)

    def run(self, state: State, begin: Any = None, until: Any = None) -> tuple[State, int]:
        """Run as any policy does, if the function can be compiled."""
        from numba.core.errors import NumbaError, UnsupportedBytecodeError

        try:
            return super().run(state, begin, until)
        except (NumbaError, UnsupportedBytecodeError) as error:
            raise ParameterError(_CANNOT) from error


_CANNOT = "scheduler custom-order: the order cannot be compiled; take engine='python'"
