"""Built-in predictors in plain Python."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from workloadkit.simulation.engine import JobView
from workloadkit.simulation.predictors.predictor import INCREMENTS


def increased(job: JobView) -> Any:
    """Return the prediction plus the first increment that makes it longer than it is now."""
    tried = (job.prediction + increment for increment in INCREMENTS)
    return min(next((time for time in tried if time > job.estimate), job.limit), job.limit)


#: What replaces the prediction of a job that has outlived it, if it is below the limit.
CORRECTIONS: dict[str, Callable[[JobView], Any]] = {
    "increments": increased,
    "requested": lambda job: job.limit,
    "double": lambda job: min(2 * job.estimate or job.limit, job.limit),
}


class PlainForm:
    """A predictor in plain Python: a base class.

    Parameters
    ----------
    rule : str
        How predictions are corrected, see `BuiltIn`.
    renewed : bool
        Whether waiting jobs are planned again.
    """

    def __init__(self, rule: str, renewed: bool = False) -> None:
        self.renewed = renewed
        if rule in CORRECTIONS:
            self.correct = lambda job: (
                CORRECTIONS[rule](job) if job.estimate < job.limit else job.estimate
            )

    def learn(self, job: JobView) -> None:
        """Learn from a job that has ended."""


class OfRunTime(PlainForm):
    """A function of the run time, which schedulers do not know; the limit of cancelled jobs."""

    def __init__(self, expect: Callable[[Any], Any]) -> None:
        super().__init__("none")
        self.expect = expect

    def plan(self, job: JobView) -> Any:
        """Return the planned run time of a job that arrives."""
        expected = self.expect(job._record.run)  # also for cancelled jobs: one draw a job
        return type(job.limit)(expected if job._record.leaves is None else job.limit)


class OfLimit(PlainForm):
    """A multiple of the limit."""

    def __init__(self, times: float, rule: str) -> None:
        super().__init__(rule)
        self.times = times

    def plan(self, job: JobView) -> Any:
        """Return the planned run time of a job that arrives."""
        return type(job.limit)(job.limit * self.times)


class OfPastJobs(PlainForm):
    """A function of the run times of the last ended jobs with the same key.

    Parameters
    ----------
    expect : callable
        A function of their run times, the oldest first.
    rule : str
    renewed : bool
    window : int
        Most jobs that count.
    least : int
        Fewest jobs that are necessary for a prediction.
    key : callable
    """

    def __init__(
        self,
        expect: Callable[[Sequence[Any]], Any],
        rule: str,
        *,
        renewed: bool = False,
        window: int,
        least: int = 1,
        key: Callable[[JobView], Any] = lambda job: job.user,
    ) -> None:
        super().__init__(rule, renewed)
        self.expect, self.least, self.key = expect, least, key
        self.runs: dict[Any, deque] = defaultdict(lambda: deque(maxlen=window))

    def plan(self, job: JobView) -> Any:
        """Return the planned run time of a job that arrives or waits."""
        runs = self.runs[self.key(job)]
        if len(runs) < self.least:
            return job.limit
        return min(type(job.limit)(self.expect(runs)), job.limit)

    def learn(self, job: JobView) -> None:
        """Record the run time of a job that has ended."""
        self.runs[self.key(job)].append(job.run)


class OfAllJobs(PlainForm):
    """The weighted mean of all ended jobs of the user."""

    def __init__(self, decay: float, rule: str, renewed: bool = False) -> None:
        super().__init__(rule, renewed)
        self.decay = decay
        self.sums: dict[int, tuple[float, float]] = {}

    def plan(self, job: JobView) -> Any:
        """Return the planned run time of a job that arrives or waits."""
        if job.user not in self.sums:
            return job.limit
        total, weight = self.sums[job.user]
        return min(type(job.limit)(total / weight), job.limit)

    def learn(self, job: JobView) -> None:
        """Add the run time of a job that has ended."""
        total, weight = self.sums.get(job.user, (0.0, 0.0))
        self.sums[job.user] = total * self.decay + job.run, weight * self.decay + 1.0


def mean(runs: Sequence[Any], decay: float = 1.0) -> float:
    """Return the weighted mean of run times."""
    total = weight = 0.0
    for run in runs:
        total, weight = total * decay + run, weight * decay + 1.0
    return total / weight


def quantile(runs: Sequence[Any], q: float) -> Any:
    """Return the smallest run time that a share `q` of them does not exceed."""
    return sorted(runs)[ceil(q * len(runs)) - 1]
