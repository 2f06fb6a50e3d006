"""The mean run time of the user."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from workloadkit.simulation.predictors.predictor import BuiltIn


@dataclass(frozen=True)
class UserAverage(BuiltIn):
    """The mean run time of the user's jobs that have ended, at most the limit.

    The limit where none has ended.

    Parameters
    ----------
    window : int, optional
        Only so many of the last jobs count; by default all.
    decay : float
        Weight of a job relative to that of the user's next one: 1 for equal weights, less for more
        weight on recent jobs.
    """

    name: ClassVar[str] = "user-average"

    window: int | None = None
    decay: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_window(self.window)
        self.check_share(decay=self.decay)

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.plain import OfAllJobs, OfPastJobs, mean

        if self.window is None:
            return OfAllJobs(self.decay, **self.rules)
        return OfPastJobs(partial(mean, decay=self.decay), window=self.window, **self.rules)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import MEAN, MEAN_OF_ALL, new_memory

        what = MEAN_OF_ALL if self.window is None else MEAN
        window = 0 if self.window is None else self.window
        return new_memory(workload, what, window=window, number=self.decay, **self.rules)
