"""A quantile of the user's last run times."""

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.predictors.past_jobs import (
    OfGroups,
    OfPastJobs,
    PastJobs,
    learn,  # noqa: F401 of the predictor
    new_past_jobs,
    recall,
)
from workloadkit.simulation.workload import Workload


@dataclass(frozen=True)
class Quantile(OfGroups):
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
        return _Plain(self, self.window)

    def compiled(self, workload: Workload, *_: Any) -> Any:
        """Return the part of the compiled state."""
        memory = _Memory(float(self.q), new_past_jobs(workload, self.window))
        return self.with_rules(workload, memory)


class _Plain(OfPastJobs):
    def expected(self, job: JobView) -> Any:
        runs = sorted(self.runs(job))
        return min(runs[math.ceil(self.its.q * len(runs)) - 1], job.limit) if runs else job.limit


class _Memory(NamedTuple):
    q: float
    past: PastJobs


@bare
def expected(state, job, now):
    """Return the prediction."""
    memory, limit = state.predictor, float(state.jobs.limit[job])
    runs, count = memory.past.recent, recall(memory.past, state.jobs, job)
    if count == 0:
        return limit
    _sort(runs, count)
    return min(float(runs[math.ceil(memory.q * count) - 1]), limit)


@inline
def _sort(values, count):
    """Sort the first values."""
    for end in range(1, count):
        value, place = values[end], end
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


register_functions(_Memory, sys.modules[__name__])
