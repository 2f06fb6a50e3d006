"""Which policies are repeated, and the predictions of run times, from their definitions.

Nothing is shared with the forms of the engines, except the increments of corrections.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from math import ceil, inf
from typing import Any

import numpy as np

from workloadkit.simulation import predictors, schedulers
from workloadkit.simulation.check.replaying.keeping_plainly import Keeping, Slacking
from workloadkit.simulation.check.replaying.passing import InOrder, Looking, Passing, Selecting
from workloadkit.simulation.policies.policy import draws
from workloadkit.simulation.predictors.predictor import INCREMENTS
from workloadkit.simulation.supports import PROOFS, supports


class RepeatedPredictions:
    """What a built-in predictor plans with, given the jobs that have ended.

    Parameters
    ----------
    predictor : object
    seed : int or None
        Of the simulation, for a predictor that draws.
    shortest : int or float
        The shortest estimate. [s]
    """

    def __init__(self, predictor: Any, seed: int | None, shortest: Any) -> None:
        self.predictor, self.shortest = predictor, shortest
        of_run = isinstance(predictor, predictors.Exact | predictors.FModel)
        self.corrects = predictor.correct != "none" and not of_run
        self.renews = predictor.renewed and isinstance(predictor, tuple(_OF_PAST))
        self.ended: dict[Any, list] = defaultdict(list)  # run times of a group, the oldest first
        self.draws = None if seed is None else np.random.default_rng(seed).spawn(2)[1]

    def plan(self, job: Any) -> Any:
        """Return the planned run time of a job that arrives or waits."""
        return max(type(job.limit)(self._expected(job)), self.shortest)

    def learn(self, job: Any) -> None:
        """Add a job that has ended to its group."""
        self.ended[self._group(job)].append(job.run)

    def correct(self, job: Any, now: float) -> Any:
        """Return the planned run time of a running job that has reached its planned end.

        It is the first correction that is longer than the job has run, at most the limit.
        """
        if job.estimate >= job.limit:
            return job.estimate
        longer = (longer for longer in self._corrections(job) if job.start + longer > now)
        return min(next(longer, job.limit), job.limit)

    def _corrections(self, job: Any) -> Iterator[Any]:
        """Yield what replaces the estimate of a job, one after the other."""
        rule = self.predictor.correct
        if rule == "increments":
            yield from (e for i in INCREMENTS if (e := job.prediction + i) > job.estimate)
        elif rule == "double":
            estimate = job.estimate
            while 0 < estimate < job.limit:
                estimate *= 2
                yield estimate

    def _group(self, job: Any) -> Any:
        same_job = isinstance(self.predictor, predictors.SameJob)
        return (job.user, job.procs, job.limit) if same_job else job.user

    def _expected(self, job: Any) -> Any:
        predictor = self.predictor
        if isinstance(predictor, predictors.Exact | predictors.FModel):
            times = 1.0
            if isinstance(predictor, predictors.FModel):
                assert self.draws is not None
                times += predictor.f * self.draws.random()
            return job.run * times if job.leaves == inf else job.limit
        if isinstance(predictor, predictors.Factor):
            return job.limit * predictor.times
        of_past = next(of for kind, of in _OF_PAST.items() if isinstance(predictor, kind))
        least, window, value = of_past(predictor)
        runs = self.ended[self._group(job)]
        if len(runs) < least:
            return job.limit
        return min(value(runs[-window:] if window else runs), job.limit)


def _mean(decay: float) -> Callable[[list], float]:
    """Return the weighted mean of run times, each of `decay` times the weight of the next."""

    def mean(runs: list) -> float:
        total = weight = 0.0
        for run in runs:
            total, weight = total * decay + run, weight * decay + 1.0
        return total / weight

    return mean


#: Of each predictor of past jobs: fewest and most jobs (0: all), and the value of their run times.
_OF_PAST: dict[type, Callable[[Any], tuple[int, int, Callable[[list], Any]]]] = {
    predictors.LastTwo: lambda p: (2, 2, _mean(1.0)),
    predictors.SameJob: lambda p: (1, 1, _mean(1.0)),
    predictors.UserAverage: lambda p: (1, p.window or 0, _mean(p.decay)),
    predictors.Quantile: lambda p: (
        1,
        p.window,
        lambda runs: sorted(runs)[ceil(p.q * len(runs)) - 1],
    ),
}


def why_not_repeated(predictor: Any, seed: int | None) -> str:
    """Return why the predictions cannot be repeated; empty if they can."""
    is_ours = type(predictor).__module__.startswith("workloadkit.")
    if not (is_ours and supports(predictor, "repetition")):  # others may predict otherwise
        name = predictor if isinstance(predictor, str) else type(predictor).__name__
        return f"{name} is not built in"
    if draws(predictor) and seed is None:
        return f"{predictor.name} draws, and the seed is not given"
    return ""


# Which policies are repeated, and what is proved of schedules of all policies.

_PASSING = {each.__name__: each for each in (InOrder, Keeping, Slacking, Selecting, Looking)}


def passing_of(policy: Any) -> type[Passing] | None:
    """Return the passes of a policy; None if they cannot be repeated.

    A custom class may have another order, but not other forms, nor may the policy that it stands
    for.
    """
    order = getattr(policy, "as_order", policy)
    if not (_repeats(policy, "each pass") and _repeats(order, "each pass")):
        return None
    return _PASSING[getattr(order, "repeated_as", "InOrder")]


def _repeats(part: Any, what: str) -> bool:
    """Whether a part supports repetition, and there is a definition of it or of what it is like."""
    kinds = type(part).__mro__
    return supports(part, what) and any(k.__module__.startswith("workloadkit.") for k in kinds)


#: What is proved of schedules: of policies that support it, and of all.
EACH_PASS, AS_RECORDED, NOT_EMPTY = PROOFS.values()
ANY = "the rules for every schedule"


def proof_of(policy: Any) -> str:
    """Return what is proved of the schedules of a policy, or of the one with a name.

    Examples
    --------
    >>> proof_of("slack")
    'each pass starts the jobs that the policy starts'
    """
    kind = schedulers.known().get(policy) if isinstance(policy, str) else policy
    return next((text for what, text in PROOFS.items() if kind and supports(kind, what)), ANY)


def proofs() -> Iterator[tuple[str, list[str]]]:
    """Yield what is proved, and the names of the policies of which it is."""
    for proof in (*PROOFS.values(), ANY):
        yield proof, [name for name in schedulers.known() if proof_of(name) == proof]
