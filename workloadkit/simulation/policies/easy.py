"""EASY backfilling: one reservation, for the job at the head of the queue."""

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from workloadkit.simulation.engine import Job
from workloadkit.simulation.policies.ordered import ORDERS, Ordered
from workloadkit.simulation.workload import Workload


@dataclass(frozen=True)
class Easy(Ordered):
    """EASY: jobs may overtake the head of the queue if by the estimates they do not delay it [1]_.

    With backfilling in the order of the estimates, the shortest first, it is EASY-SJBF [2]_.

    References
    ----------
    .. [1] D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
    .. [2] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    name: ClassVar[str] = "easy"

    def key(self, job: Job) -> Any:
        """Return what the queue is ordered by, smallest first."""
        return ORDERS["arrival"](job)

    def keys(self, workload: Workload) -> NDArray:
        """Return what the queue is ordered by for all jobs, shape (n_jobs,)."""
        return ORDERS["arrival"](workload)
