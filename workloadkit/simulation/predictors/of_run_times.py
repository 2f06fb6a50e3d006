"""The run time, which schedulers do not know, or a random multiple of it."""

import sys
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.predictors.predictor import BuiltIn, PlainForm
from workloadkit.simulation.workload import Workload, shortest_estimate, that_ran


@dataclass(frozen=True)
class _OfRunTime(BuiltIn):
    learns: ClassVar[bool] = False
    falls_short: ClassVar[bool] = False
    memory: ClassVar[None] = None  # refused where it draws


@dataclass(frozen=True)
class Exact(_OfRunTime):
    """The run time; a job that is killed at its limit runs that long."""

    name: ClassVar[str] = "exact"

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        return _Plain(self, lambda: 1)

    def of_all(self, workload: Workload) -> NDArray[Any]:
        """Return the predictions for the jobs of a log."""
        return _of_all(workload, workload.run)

    def compiled(self, workload: Workload, *_: Any) -> Any:
        """Return the part of the compiled state."""
        return self.with_rules(workload, _Memory(0.0, np.empty(0)))


@dataclass(frozen=True)
class FModel(_OfRunTime):
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
        return _Plain(self, lambda: 1.0 + self.f * rng.random())

    def of_all(self, workload: Workload, rng: np.random.Generator) -> NDArray[Any]:
        """Return the predictions for the jobs of a log."""
        run = workload.run
        return _of_all(workload, run * (1.0 + self.f * rng.random(run.size)))

    def compiled(self, workload: Workload, rng: np.random.Generator, *_: Any) -> Any:
        """Return the part of the compiled state."""
        return self.with_rules(workload, _Memory(float(self.f), rng.random(workload.submit.size)))


def _of_all(workload: Workload, expected: NDArray) -> NDArray:
    """Return predictions; jobs that were cancelled while they waited keep their requests."""
    ran, estimate = that_ran(workload), workload.estimate.copy()
    estimate[ran] = np.maximum(expected, shortest_estimate(workload.run))[ran]
    return estimate


class _Plain(PlainForm):
    def __init__(self, its: BuiltIn, times: Any) -> None:
        super().__init__(its)
        self.times = times

    def expected(self, job: JobView) -> Any:
        expected = job._record.run * self.times()  # also for cancelled jobs: one draw a job
        return expected if job._record.leaves is None else job.limit


class _Memory(NamedTuple):
    """The predictor, with a random number for each job, or none."""

    f: float
    draws: NDArray[np.float64]


@bare
def expected(state, job, now):
    """Return the prediction."""
    memory, run = state.predictor, float(state.jobs.run[job])
    if memory.draws.size == 0:
        return run
    return run * (1.0 + memory.f * memory.draws[job])


register_functions(_Memory, sys.modules[__name__])
