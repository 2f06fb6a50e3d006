"""F1: an order found by regression over many simulations."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from workloadkit.errors import check_choice
from workloadkit.simulation.policies.easy import Ordered

Since = Literal["log", "first"]


@dataclass(frozen=True)
class F1(Ordered):
    """EASY in the order of log10(e) · n + 870 · log10(max(s, 1)), the smallest first [1]_.

    Here e is the estimate, n the processors and s the submit time. A job's place is settled when it
    is submitted.

    Parameters
    ----------
    since : {"log", "first"}
        From when submit times count: "log" for those of the log, or "first" from the first
        submission of the simulation. The abstract of the source leaves this open; with those of the
        log, more of its claims hold (``study carastan``).

    References
    ----------
    .. [1] D. Carastan-Santos, R. Y. de Camargo, "Obtaining dynamic scheduling policies with
       simulation and machine learning", SC 2017.
    """

    name: ClassVar[str] = "f1"
    order: ClassVar[str] = "f1"

    since: Since = "log"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("scheduler f1: since", self.since, Since)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Parameters of the order."""
        return (1,) if self.since == "first" else ()
