"""The run time itself."""

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from workloadkit.simulation.predictors.predictor import BuiltIn, of_run_time


@dataclass(frozen=True)
class Exact(BuiltIn):
    """The run time; a job that is killed at its limit runs that long."""

    name: ClassVar[str] = "exact"

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.plain import OfRunTime

        return OfRunTime(lambda run: run)

    def of_all(self, workload: Any) -> NDArray:
        """Return the predictions for the jobs of a log."""
        return of_run_time(workload, workload.run)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import OF_RUN_TIME, new_memory

        return new_memory(workload, OF_RUN_TIME, "none")
