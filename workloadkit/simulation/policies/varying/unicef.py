"""UNICEF: fast service for small jobs."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.varying import InVaryingOrder


@dataclass(frozen=True)
class Unicef(InVaryingOrder):
    """EASY in the order of wait / (max(log2 processors, 1) · estimate), the largest first [1]_.

    The order is computed again at the beginning of each pass, ties by arrival.

    Parameters
    ----------
    backfill : str
        Order of backfilling: "same" for that of the queue, a settled one, or "none".
    spare, strict
        As in `workloadkit.simulation.policies.overtaking.Backfilling`.

    References
    ----------
    .. [1] W. Tang, Z. Lan, N. Desai, D. Buettner, "Fault-aware, utility-based job scheduling on
       Blue Gene/P systems", IEEE Cluster 2009.
    """

    name: ClassVar[str] = "unicef"
    order: ClassVar[str] = "unicef"
