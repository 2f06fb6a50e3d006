"""The last two run times of the user."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.predictors.predictor import BuiltIn


@dataclass(frozen=True)
class LastTwo(BuiltIn):
    """The mean run time of the user's last two jobs that have ended, at most the limit [1]_.

    The limit where fewer have ended. With `easy:backfill=sjf`, correction by increments and jobs
    killed at their limits, it makes EASY++; the simulator pyss also renews predictions.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    name: ClassVar[str] = "last-two"

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.plain import OfPastJobs, mean

        return OfPastJobs(mean, window=2, least=2, **self.rules)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import MEAN, new_memory

        return new_memory(workload, MEAN, window=2, least=2, **self.rules)
