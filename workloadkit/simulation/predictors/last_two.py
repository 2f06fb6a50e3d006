"""The mean of the user's last two run times."""

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
class LastTwo(OfGroups):
    """The mean run time of the user's last two jobs that have ended, at most the limit [1]_.

    The limit where fewer have ended. With `easy:backfill=sjf`, correction by increments and jobs
    killed at their limits, it makes EASY++; the simulator pyss also renews predictions.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    name: ClassVar[str] = "last-two"
    window: ClassVar[int] = 2

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        return _Plain(self, window=2)

    def compiled(self, workload: Workload, *_: Any) -> Any:
        """Return the part of the compiled state."""
        return self.with_rules(workload, _Memory(new_past_jobs(workload, 2)))


class _Plain(OfPastJobs):
    def expected(self, job: JobView) -> Any:
        runs = self.runs(job)
        return job.limit if len(runs) < 2 else min(sum(runs) / 2, job.limit)


class _Memory(NamedTuple):
    past: PastJobs


@bare
def expected(state, job, now):
    """Return the prediction."""
    past, limit = state.predictor.past, float(state.jobs.limit[job])
    if recall(past, state.jobs, job) < 2:
        return limit
    return min((float(past.recent[0]) + past.recent[1]) / 2.0, limit)


register_functions(_Memory, sys.modules[__name__])
