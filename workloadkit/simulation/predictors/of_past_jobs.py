"""Predictions from past jobs, in plain Python: the last two, a job like this, quantiles, means."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, ClassVar

from workloadkit.simulation.engine import JobView
from workloadkit.simulation.predictors.predictor import INCREMENTS, BuiltIn


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


@dataclass(frozen=True)
class LastTwo(BuiltIn):
    """The mean run time of the user's last two jobs that have ended, at most the limit [1]_.

    The limit where fewer have ended. With `easy:backfill=sjf`, correction by increments and jobs
    killed at their limits, it makes EASY++; the simulator pyss also renews predictions.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    name: ClassVar[str] = "last-two"

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        return OfPastJobs(mean, window=2, least=2, **self.rules)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import MEAN, new_memory

        return new_memory(workload, MEAN, window=2, least=2, **self.rules)


@dataclass(frozen=True)
class SameJob(BuiltIn):
    """The run time of the last ended job of the same user, size and request, at most the limit.

    The limit where none has ended.
    """

    name: ClassVar[str] = "same-job"

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        key = lambda job: (job.user, job.procs, job.limit)  # noqa: E731
        return OfPastJobs(mean, window=1, key=key, **self.rules)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import MEAN, new_memory

        return new_memory(workload, MEAN, window=1, by_job=True, **self.rules)


@dataclass(frozen=True)
class Quantile(BuiltIn):
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
        return OfPastJobs(partial(quantile, q=self.q), window=self.window, **self.rules)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import QUANTILE, new_memory

        return new_memory(workload, QUANTILE, window=self.window, number=self.q, **self.rules)


@dataclass(frozen=True)
class UserAverage(BuiltIn):
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
        if self.window is None:
            return OfAllJobs(self.decay, **self.rules)
        return OfPastJobs(partial(mean, decay=self.decay), window=self.window, **self.rules)

    def compiled(self, workload: Any, *_: Any) -> Any:
        """Return the part of the compiled state."""
        from workloadkit.simulation.predictors.kernel import MEAN, MEAN_OF_ALL, new_memory

        what = MEAN_OF_ALL if self.window is None else MEAN
        window = 0 if self.window is None else self.window
        return new_memory(workload, what, window=window, number=self.decay, **self.rules)
