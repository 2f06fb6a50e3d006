"""EASY in orders that vary with time, computed again at the beginning of each pass."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from workloadkit._kernels.compile import compiler_errors, in_python, interpreted
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.orders import function_of_time, ranks
from workloadkit.simulation.compiled.state import State
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.orders import (
    SCORE,
    VARYING,
    VaryingOrder,
    as_number,
    check_order,
    settled,
    varying,
)
from workloadkit.simulation.policies.compiled import CompiledPolicy
from workloadkit.simulation.policies.easy import OrderedScheduler
from workloadkit.simulation.policies.policy import (
    AS_USUAL,
    Backfilling,
    Overtaking,
    check_types,
    overtaking_of,
)
from workloadkit.simulation.policies.varying import groups, kernel
from workloadkit.simulation.supports import supporting
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class InVaryingOrder(Backfilling):
    """EASY in one of the orders of `workloadkit.simulation.orders.VARYING`.

    Parameters
    ----------
    backfill : str
        Order of backfilling: "arrival", "sjf", "ljf", "smallest" or "largest"; "same" for that of
        the queue; "none": no job overtakes another.
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.
    """

    name: ClassVar[str]
    supports: ClassVar = supporting("each pass", "reservations", "parts", "benchmark", "state")

    #: Name of the order of the queue.
    order: ClassVar[str]

    backfill: str = "same"

    def __post_init__(self) -> None:
        check_types(self)
        check_order(self.name, self.order, VARYING)
        overtaking_of(self)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return VaryingScheduler(VARYING[self.order], self.backfill, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        order = varying(self.order)
        return CompiledVarying(workload, rules, order, self.backfill, overtaking_of(self))


@dataclass(frozen=True)
class Wfp3(InVaryingOrder):
    """EASY in the order of (wait / estimate)³ · processors, the largest first [1]_.

    The order is computed again at the beginning of each pass, ties by arrival.

    Parameters
    ----------
    backfill : str
        Order of backfilling: "arrival", "sjf", "ljf", "smallest" or "largest"; "same" for that of
        the queue; "none": no job overtakes another.
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.

    References
    ----------
    .. [1] W. Tang, Z. Lan, N. Desai, D. Buettner, "Fault-aware, utility-based job scheduling on
       Blue Gene/P systems", IEEE Cluster 2009.
    """

    name: ClassVar[str] = "wfp3"
    order: ClassVar[str] = "wfp3"


@dataclass(frozen=True)
class Unicef(InVaryingOrder):
    """EASY in the order of wait / (max(log2 processors, 1) · estimate), the largest first [1]_.

    The order is computed again at the beginning of each pass, ties by arrival.

    Parameters
    ----------
    backfill : str
        Order of backfilling: "arrival", "sjf", "ljf", "smallest" or "largest"; "same" for that of
        the queue; "none": no job overtakes another.
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.

    References
    ----------
    .. [1] W. Tang, Z. Lan, N. Desai, D. Buettner, "Fault-aware, utility-based job scheduling on
       Blue Gene/P systems", IEEE Cluster 2009.
    """

    name: ClassVar[str] = "unicef"
    order: ClassVar[str] = "unicef"


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


# EASY in a custom order.

#: The arguments of an order.
_GIVEN = ("now", "submit", "estimate", "procs", "user")


@dataclass(frozen=True)
class CustomOrder(Backfilling):
    """EASY in a custom order, in both engines; available in Python only.

    Parameters
    ----------
    order : callable
        A function of (now, submit, estimate, procs, user), either plain Python that numba can
        compile or compiled by it already. Its values are taken as floats: the smallest comes
        first, ties by arrival, NaN last. They are computed again at the beginning of each pass.
    backfill : str
        Order of backfilling: "arrival", "sjf", "ljf", "smallest" or "largest"; "same" for that of
        the queue; "none": no job overtakes another.
    spare, strict
        As in `workloadkit.simulation.policies.policy.Backfilling`.

    Notes
    -----
    The compiled engine compiles the function, with the event loop, again in each process: this
    takes some seconds in the first simulation.

    Examples
    --------
    >>> def least_work_first(now, submit, estimate, procs, user):
    ...     return estimate * procs
    >>> CustomOrder(least_work_first, backfill="none").backfill
    'none'
    """

    name: ClassVar[str] = "custom-order"
    supports: ClassVar = supporting("each pass", "parts")

    order: Callable[..., Any]
    backfill: str = "same"

    def __post_init__(self) -> None:
        if not callable(self.order):
            self._refuse(repr(self.order))
        try:
            taken = signature(getattr(self.order, "py_func", self.order))
        except ValueError:  # the signature is unknown
            taken = None
        try:
            if taken:
                taken.bind(*_GIVEN)
        except TypeError:
            name = getattr(self.order, "__name__", repr(self.order))
            self._refuse(f"{name}{taken}")
        check_types(self)
        overtaking_of(self)

    def _refuse(self, order: str) -> None:
        given = ", ".join(_GIVEN)
        raise ParameterError(
            f"scheduler {self.name}: order is {order}; give a function of ({given})"
        )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        order = getattr(self.order, "py_func", self.order)
        return VaryingScheduler(order, self.backfill, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        return CompiledCustomOrder(workload, rules, self.order, self.backfill, overtaking_of(self))


# EASY in orders that vary with time, in the compiled engine.

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
        few = min(self.long_queue, state.at.n_waiting) // 2
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

    def run(
        self, state: State, begin: float | None = None, until: float | None = None
    ) -> tuple[State, int]:
        """Run as any policy does, if the function can be compiled."""
        if interpreted():
            return super().run(state, begin, until)
        errors = compiler_errors()
        try:
            return super().run(state, begin, until)
        except errors as error:
            raise ParameterError(_CANNOT) from error


_CANNOT = "scheduler custom-order: the order cannot be compiled; take engine='python'"
