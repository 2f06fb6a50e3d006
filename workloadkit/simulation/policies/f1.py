"""F1: an order found by regression over many simulations."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.easy.ordered import Ordered


@dataclass(frozen=True)
class F1(Ordered):
    """EASY in the order of log10(e) · n + 870 · log10(max(s, 1)), the smallest first [1]_.

    Here e is the estimate, n the processors and s the time from the first submission of the
    simulation to that of the job. A job's place is settled when it is submitted.

    References
    ----------
    .. [1] D. Carastan-Santos, R. Y. de Camargo, "Obtaining dynamic scheduling policies with
       simulation and machine learning", SC 2017.
    """

    name: ClassVar[str] = "f1"
    order: ClassVar[str] = "f1"
