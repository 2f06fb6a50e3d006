"""A quantile of the user's run times."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from workloadkit.simulation.predictors.predictor import BuiltIn


@dataclass(frozen=True)
class Quantile(BuiltIn):
    """A quantile of the run times of the user's last jobs that have ended, at most the limit.

    It is the smallest of these run times that at least a share `q` of them does not exceed. The
    limit where none has ended.

    Parameters
    ----------
    q : float
        Above 0, and at most 1.
    window : int
        Number of the last jobs that count.
    """

    name: ClassVar[str] = "quantile"

    q: float = 0.9
    window: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_window(self.window)
        self.check_share(q=self.q)

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.plain import OfPastJobs, quantile

        return OfPastJobs(partial(quantile, q=self.q), window=self.window, **self.rules)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import QUANTILE, new_memory

        return new_memory(workload, QUANTILE, window=self.window, number=self.q, **self.rules)
