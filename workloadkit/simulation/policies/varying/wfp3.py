"""WFP3: jobs that have waited long relative to their requests come first, large ones above all."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.simulation.policies.varying import InVaryingOrder


@dataclass(frozen=True)
class Wfp3(InVaryingOrder):
    """EASY in the order of (wait / estimate)³ · processors, the largest first [1]_.

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

    name: ClassVar[str] = "wfp3"
    order: ClassVar[str] = "wfp3"
