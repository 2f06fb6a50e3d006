"""EASY backfilling: one reservation, for the job at the head of the queue."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.easy.ordered import Ordered


@dataclass(frozen=True)
class Easy(Ordered):
    """EASY: jobs may overtake the head of the queue if by the estimates they do not delay it [1]_.

    With backfilling in the order of the estimates, shortest first, it is EASY-SJBF [2]_.

    References
    ----------
    .. [1] D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
    .. [2] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    name: ClassVar[str] = "easy"
    order: ClassVar[str] = "arrival"
