"""Predictions without memory: the request or a multiple, the run time or a random multiple."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError
from workloadkit.simulation.predictors.predictor import BuiltIn, of_run_time


@dataclass(frozen=True)
class Requested(BuiltIn):
    """The estimate as without a predictor: the requested time, raised by ``overrun="raise"``."""

    name: ClassVar[str] = "requested"


@dataclass(frozen=True)
class Exact(BuiltIn):
    """The run time; a job that is killed at its limit runs that long."""

    name: ClassVar[str] = "exact"

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.of_past_jobs import OfRunTime

        return OfRunTime(lambda run: run)

    def of_all(self, workload: Any) -> NDArray:
        """Return the predictions for the jobs of a log."""
        return of_run_time(workload, workload.run)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import OF_RUN_TIME, new_memory

        return new_memory(workload, OF_RUN_TIME, "none")


@dataclass(frozen=True)
class Factor(BuiltIn):
    """The user's limit times a factor: 2 for doubled requests; source as for `FModel`.

    It may exceed the limit, at which jobs are still killed.

    Parameters
    ----------
    times : float
        The factor.
    """

    name: ClassVar[str] = "factor"

    times: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.times < inf:
            raise ParameterError(f"predictor factor: times is {self.times:g}; it must be positive")

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.of_past_jobs import OfLimit

        return OfLimit(self.times, self.correct)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import OF_LIMIT, new_memory

        return new_memory(workload, OF_LIMIT, self.correct, number=self.times)


@dataclass(frozen=True)
class FModel(BuiltIn):
    """The f-model: r · (1 + f · u), with the run time r and u drawn uniformly from [0, 1) [1]_.

    It may exceed the user's limit, at which jobs are still killed.

    Parameters
    ----------
    f : float
        0 for exact run times; the larger, the worse.

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 12(6), 2001.
    """

    name: ClassVar[str] = "f-model"
    draws: ClassVar[bool] = True

    f: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.f < inf:
            raise ParameterError(f"predictor f-model: f is {self.f:g}; it must be 0 or more")

    def plain(self, rng: np.random.Generator, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        from workloadkit.simulation.predictors.of_past_jobs import OfRunTime

        return OfRunTime(lambda run: run * (1.0 + self.f * rng.random()))

    def of_all(self, workload: Any, rng: np.random.Generator) -> NDArray:
        """Return the predictions for the jobs of a log."""
        run = workload.run
        return of_run_time(workload, run * (1.0 + self.f * rng.random(run.size)))

    def compiled(self, workload: Any, rng: np.random.Generator, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import OF_RUN_TIME, new_memory

        draws = rng.random(workload.submit.size)
        return new_memory(workload, OF_RUN_TIME, "none", number=self.f, draws=draws)
