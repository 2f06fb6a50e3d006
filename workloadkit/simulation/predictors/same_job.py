"""The last run time of a job like this one."""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from workloadkit._kernels.compile import bare
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
class SameJob(OfGroups):
    """The run time of the last ended job of the same user, size and request, at most the limit.

    The limit where none has ended.
    """

    name: ClassVar[str] = "same-job"
    window: ClassVar[int] = 1
    by_job: ClassVar[bool] = True

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        return _Plain(self, window=1)

    def compiled(self, workload: Workload, *_: Any) -> Any:
        """Return the part of the compiled state."""
        return self.with_rules(workload, _Memory(new_past_jobs(workload, 1, by_job=True)))


class _Plain(OfPastJobs):
    def key(self, job: JobView) -> Any:
        return job.user, job.procs, job.limit

    def expected(self, job: JobView) -> Any:
        return min([*self.runs(job), job.limit])


class _Memory(NamedTuple):
    past: PastJobs


@bare
def expected(state, job, now):
    """Return the prediction."""
    past, limit = state.predictor.past, float(state.jobs.limit[job])
    if recall(past, state.jobs, job) == 0:
        return limit
    return min(float(past.recent[0]), limit)


register_functions(_Memory, sys.modules[__name__])
