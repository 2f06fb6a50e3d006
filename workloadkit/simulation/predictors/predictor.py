"""The base of built-in predictors, and the rules of correction, in the forms of both engines.

A predictor is one module: a class with its parameters, derived from `BuiltIn`; its plain form, a
`PlainForm`; and its compiled form, a NamedTuple of what it has learned, with functions of
(state, job, now) in that module: ``expected``, which returns a prediction, and where it learns from
ended jobs ``learn``. Their state is `predicting.Seen`. The rules stand here.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.errors import ParameterError, check_choice
from workloadkit.parameters import check_types
from workloadkit.simulation.compiled.parts import by_part, register_functions
from workloadkit.simulation.compiled.predicting import Seen
from workloadkit.simulation.plain.job import JobView
from workloadkit.simulation.supports import Memory, supporting
from workloadkit.simulation.workload import Workload, shortest_estimate

#: What happens to a prediction that a job has outlived.
Correction = Literal["requested", "increments", "double", "none"]
RULES: tuple[str, ...] = get_args(Correction)
TO_LIMIT, BY_INCREMENTS, DOUBLED, UNCORRECTED = range(len(RULES))

#: Increments of a prediction: what is added to it at its first correction, at its second, … [s].
INCREMENTS = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)


@dataclass(frozen=True, kw_only=True)
class BuiltIn:
    """A predictor with its parameters, in the forms of both engines.

    Where times are whole seconds, predictions are, too: rounded down, and at least 1 s. The user's
    limit is the requested time, also where ``overrun="raise"`` would raise the estimate.

    Parameters
    ----------
    correct : str
        What replaces a prediction that a job has outlived, before the next pass, up to the user's
        limit: "requested": the limit; "increments": the prediction plus 1, 5, 15 or 30 min, 1, 2,
        5, 10, 20, 50 or 100 h, the first of these that is long enough [1]_; "double": twice, four
        times, … the prediction, the limit if that is 0; "none": nothing, the job counts as ending
        now.
    renewed : bool
        Whether the predictions of waiting jobs are made again before each pass, from all jobs that
        have ended by then. Otherwise a job keeps the prediction that is made as it arrives.

    References
    ----------
    .. [1] D. Tsafrir, Y. Etsion, D. G. Feitelson, "Backfilling using system-generated predictions
       rather than user runtime estimates", IEEE TPDS 18(6), 2007.
    """

    name: ClassVar[str]
    learns: ClassVar[bool] = True  #: Whether predictions depend on jobs that have ended.
    falls_short: ClassVar[bool] = True  #: Whether jobs can outlive predictions.
    memory: ClassVar[Memory | None] = Memory(
        "the predictions, and what it has learned from jobs that have ended",
        "predictions as if none had ended",
    )
    supports: ClassVar = supporting("repetition", base=())

    correct: Correction = "requested"
    renewed: bool = False

    def __post_init__(self) -> None:
        check_types("predictor", self)
        check_choice(f"predictor {self.name}: correct", self.correct, Correction)

    def plain(self, *_: Any) -> Any:
        """Return the predictor in plain Python, for one simulation."""
        raise NotImplementedError

    def compiled(self, workload: Workload, *_: Any) -> Any:
        """Return the part of the compiled state."""
        raise NotImplementedError

    def remember(self, part: Any, workload: Workload) -> dict[str, Any]:
        """Return what the part of the compiled state has learned, for a saved state."""
        return {}

    def recall(self, part: Any, workload: Workload, memory: Mapping[str, Any]) -> Any:
        """Return the part of the compiled state with what `remember` returned."""
        return part

    @property
    def rule(self) -> Correction:
        """Its rule of correction, if it needs one."""
        return self.correct if self.falls_short else "none"

    def with_rules(self, workload: Workload, memory: Any) -> "Ruled":
        """Return the part of the compiled state, from what the predictor has learned."""
        return Ruled(
            corrects=self.rule != "none",
            renewed=self.renewed and self.learns,
            rule=RULES.index(self.rule),
            shortest=shortest_estimate(workload.submit),
            increments=np.array(INCREMENTS, workload.submit.dtype),
            memory=memory,
        )

    def check_window(self, window: int | None) -> None:
        """Check a number of ended jobs."""
        if window is not None and not window >= 1:
            raise ParameterError(f"predictor {self.name}: window is {window}; at least 1")

    def check_share(self, **share: float) -> None:
        """Check a number above 0 and at most 1."""
        for name, value in share.items():
            if not 0 < value <= 1:
                raise ParameterError(
                    f"predictor {self.name}: {name} is {value:g}; it is above 0 and at most 1"
                )


class PlainForm:
    """A predictor in plain Python: a base class; `its` are the parameters."""

    def __init__(self, its: Any) -> None:
        self.its, self.renewed = its, its.renewed and its.learns
        if its.rule in CORRECTIONS:
            self.correct = lambda job: (
                CORRECTIONS[its.rule](job) if job.estimate < job.limit else job.estimate
            )

    def plan(self, job: JobView) -> Any:
        """Return the planned run time of a job that arrives or waits."""
        return type(job.limit)(self.expected(job))

    def expected(self, job: JobView) -> Any:
        """Return the prediction, which may have decimals."""
        raise NotImplementedError

    def learn(self, job: JobView) -> None:
        """Learn from a job that has ended."""

    def remember(self) -> dict[str, Any]:
        """Return what it has learned, for a saved state."""
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue with what `remember` returned."""


def increased(job: JobView) -> Any:
    """Return the prediction plus the first increment that makes it longer than it is now."""
    tried = (job.prediction + increment for increment in INCREMENTS)
    return min(next((time for time in tried if time > job.estimate), job.limit), job.limit)


def requested(job: JobView) -> Any:
    """Return the user's limit."""
    return job.limit


def doubled(job: JobView) -> Any:
    """Return twice the prediction, at most the limit."""
    return min(2 * job.estimate or job.limit, job.limit)


#: What replaces the prediction of a job that has outlived it, if it is below the limit.
CORRECTIONS: dict[str, Callable[[JobView], Any]] = {
    "increments": increased,
    "requested": requested,
    "double": doubled,
}


class Ruled(NamedTuple):
    """A built-in predictor with its rules, compiled.

    Parameters
    ----------
    corrects : bool
        Whether the rule corrects predictions.
    renewed : bool
        Whether waiting jobs are planned again.
    rule : int
        See the constants.
    shortest : int
        The shortest prediction. [s]
    increments : ndarray
        Of predictions, for the rule `BY_INCREMENTS`. [s]
    memory : NamedTuple
        The predictor itself: parameters, and what it has learned.
    """

    corrects: bool
    renewed: bool
    rule: int
    shortest: int
    increments: NDArray
    memory: Any


@bare
def _nothing(state, job, now):
    pass


_expected = by_part("predictor", "expected")
_learned = by_part("predictor", "learn", _nothing)


@bare
def plan(state, job, now):
    """Plan a job that arrives or waits."""
    ruled, jobs = state.predictor, state.jobs
    expected = _expected(Seen(jobs, ruled.memory), job, now)
    jobs.estimate[job] = max(expected, ruled.shortest)


@bare
def learn(state, job, now):
    """Learn from a job that has ended."""
    _learned(Seen(state.jobs, state.predictor.memory), job, now)


@bare
def correct(state, job, now):
    """Correct the estimate of a job that has outlived it, if it is below the limit.

    Steps that end by now are taken at once.
    """
    ruled, jobs = state.predictor, state.jobs
    start, estimate, limit = jobs.start[job], jobs.estimate[job], jobs.limit[job]
    if estimate >= limit:
        return
    longer = limit
    if ruled.rule == DOUBLED and estimate > 0:
        longer = 2 * estimate
        while longer < limit and start + longer <= now:
            longer *= 2
    elif ruled.rule == BY_INCREMENTS:
        prediction, increments = jobs.prediction[job], ruled.increments
        for place in range(increments.size):
            step = prediction + increments[place]
            if step > estimate and start + step > now:
                longer = step
                break
    jobs.estimate[job] = min(longer, limit)


register_functions(Ruled, sys.modules[__name__])
