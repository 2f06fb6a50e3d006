"""The request, or a multiple of it."""

import sys
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NamedTuple

from workloadkit._kernels.compile import bare
from workloadkit.errors import ParameterError
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.predictors.predictor import BuiltIn, PlainForm
from workloadkit.simulation.workload import Workload


@dataclass(frozen=True)
class Requested(BuiltIn):
    """The estimate as without a predictor: the requested time, raised by ``overrun="raise"``."""

    name: ClassVar[str] = "requested"


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
    learns: ClassVar[bool] = False

    times: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.times < inf:
            raise ParameterError(f"predictor factor: times is {self.times:g}; it must be positive")

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        return _Plain(self)

    def compiled(self, workload: Workload, *_: Any) -> Any:
        """Return the part of the compiled state."""
        return self.with_rules(workload, _Memory(float(self.times)))


class _Plain(PlainForm):
    def expected(self, job: JobView) -> Any:
        return job.limit * self.its.times


class _Memory(NamedTuple):
    times: float


@bare
def expected(state, job, now):
    """Return the prediction."""
    return float(state.jobs.limit[job]) * state.predictor.times


register_functions(_Memory, sys.modules[__name__])
