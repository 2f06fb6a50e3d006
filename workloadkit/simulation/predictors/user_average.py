"""The mean of the user's run times."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.engine import JobView
from workloadkit.simulation.predictors import past_jobs
from workloadkit.simulation.predictors.past_jobs import (
    OfGroups,
    OfPastJobs,
    PastJobs,
    group_of,
    new_past_jobs,
    recall,
)
from workloadkit.simulation.predictors.predictor import PlainForm
from workloadkit.simulation.workload import Workload


@dataclass(frozen=True)
class UserAverage(OfGroups):
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
        return _OfAll(self) if self.window is None else _OfLast(self, self.window)

    def compiled(self, workload: Workload, *_: Any) -> Any:
        """Return the part of the compiled state."""
        past, of_all = new_past_jobs(workload, self.window or 0), self.window is None
        total, weight = np.zeros((2, workload.submit.size if of_all else 0))
        memory = _Memory(float(self.decay), of_all, past, total, weight)
        return self.with_rules(workload, memory)

    def sums(self, memory: Any, group: int) -> list[float]:
        """Return the weighted sum of all run times of a group, and of the weights."""
        if self.window is not None or memory.weight[group] == 0:
            return []
        return [memory.total[group].item(), memory.weight[group].item()]

    def set_sums(self, memory: Any, group: int, sums: Sequence[float]) -> bool:
        """Set the sums of a group, if all of its ended jobs count."""
        if self.window is None:
            memory.total[group], memory.weight[group] = sums
        return self.window is None


class _OfAll(PlainForm):
    def __init__(self, its: Any) -> None:
        super().__init__(its)
        self.sums: dict[int, Sequence[float]] = {}

    def expected(self, job: JobView) -> Any:
        total, weight = self.sums.get(job.user, (job.limit, 1.0))
        return min(total / weight, job.limit)

    def learn(self, job: JobView) -> None:
        total, weight = self.sums.get(job.user, (0.0, 0.0))
        decay = self.its.decay
        self.sums[job.user] = total * decay + job.run, weight * decay + 1.0

    def remember(self) -> dict[str, Any]:
        return {"groups": [[(user,), sums] for user, sums in self.sums.items()]}

    def recall(self, memory: Mapping[str, Any]) -> None:
        self.sums = {user: sums for (user,), sums in memory["groups"]}


class _OfLast(OfPastJobs):
    def expected(self, job: JobView) -> Any:
        total = weight = 0.0
        for run in self.runs(job):
            total, weight = total * self.its.decay + run, weight * self.its.decay + 1.0
        return min(total / weight, job.limit) if weight else job.limit


class _Memory(NamedTuple):
    """The means.

    Parameters
    ----------
    decay : float
    of_all : bool
        Whether all ended jobs count.
    past : PastJobs
    total, weight : ndarray of float64, shape (n_jobs,)
        By first job of a group: weighted sum of all run times, and of the weights; if all count.
    """

    decay: float
    of_all: bool
    past: PastJobs
    total: NDArray[np.float64]
    weight: NDArray[np.float64]


@bare
def expected(state, job, now):
    """Return the prediction."""
    memory, limit = state.predictor, float(state.jobs.limit[job])
    total = weight = 0.0
    if memory.of_all:
        group = group_of(memory.past.groups, state.jobs, job)
        total, weight = memory.total[group], memory.weight[group]
    else:
        for place in range(recall(memory.past, state.jobs, job) - 1, -1, -1):
            total = total * memory.decay + memory.past.recent[place]
            weight = weight * memory.decay + 1.0
    return min(total / weight, limit) if weight > 0 else limit


@bare
def learn(state, job, now):
    """Add a job that has ended."""
    memory = state.predictor
    if memory.of_all:
        group = memory.past.groups.first[job]
        memory.total[group] = memory.total[group] * memory.decay + state.jobs.run[job]
        memory.weight[group] = memory.weight[group] * memory.decay + 1.0
    else:
        past_jobs.learn(state, job, now)


register_functions(_Memory, sys.modules[__name__])
