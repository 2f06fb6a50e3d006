"""The run time of the last job like this one."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.predictors.predictor import BuiltIn


@dataclass(frozen=True)
class SameJob(BuiltIn):
    """The run time of the last ended job of the same user, size and request, at most the limit.

    The limit where none has ended.
    """

    name: ClassVar[str] = "same-job"

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.plain import OfPastJobs, mean

        key = lambda job: (job.user, job.procs, job.limit)  # noqa: E731
        return OfPastJobs(mean, window=1, key=key, **self.rules)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import MEAN, new_memory

        return new_memory(workload, MEAN, window=1, by_job=True, **self.rules)
