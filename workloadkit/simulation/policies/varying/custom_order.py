"""EASY in a custom order."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.overtaking import Backfilling, overtaking_of
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload

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
        Order of backfilling: "same" for that of the queue, a settled one, or "none".
    spare, strict
        As in `workloadkit.simulation.policies.overtaking.Backfilling`.

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
        from workloadkit.simulation.policies.varying.plain import VaryingScheduler

        order = getattr(self.order, "py_func", self.order)
        return VaryingScheduler(order, self.backfill, overtaking_of(self))

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.varying.compiled import CompiledCustomOrder

        return CompiledCustomOrder(workload, rules, self.order, self.backfill, overtaking_of(self))
