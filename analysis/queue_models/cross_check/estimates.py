"""Measures of several runs, and how far they may be from the truth by chance."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.queue_models.cross_check.measuring import Run, Who

#: Standard errors of a normal law, two-sided probability 6.3e-5, that a difference may have.
STANDARD_ERRORS = 4.0

#: X throughput, R mean response time, Q mean number in the system, U mean number of busy servers,
#: and jobs for each first one.
Kind = Literal["X", "R", "Q", "U", "per_first"]


class Estimate(NamedTuple):
    """A measure of all runs together.

    Parameters
    ----------
    value : float
        NaN where there is nothing to measure.
    error : float
        Standard error.
    """

    value: float
    error: float


def estimate(runs: Sequence[Run], kind: Kind, who: Who) -> Estimate:
    """Return a measure of all runs, with its standard error by leaving out each run in turn."""
    above, below = (
        np.array(x) for x in zip(*(_parts(run, kind, who) for run in runs), strict=True)
    )

    def without(run: int | None) -> float:
        stay = np.arange(above.size) != run
        total = below[stay].sum()
        return float(above[stay].sum() / total) if total > 0 else math.nan

    return _jackknifed(without, len(runs))


def quantile(runs: Sequence[Run], share: float, who: Who) -> Estimate:
    """Return the response time that a share of the jobs of all runs does not exceed.

    Its standard error is by leaving out each run in turn.
    """
    samples = [run.of[who].responses for run in runs]

    def without(run: int | None) -> float:
        return _quantile([x for place, x in enumerate(samples) if place != run], share)

    return _jackknifed(without, len(runs))


def independent(runs: Sequence[Run], who: Who) -> float:
    """Return how many independent response times the mean of a run is worth.

    It is the variance of the responses by that of the means of the runs; infinite where these do
    not differ, NaN where there are none.
    """
    samples = [run.of[who].responses for run in runs if run.of[who].responses.size]
    if len(samples) < len(runs):
        return math.nan
    each = float(np.concatenate(samples).var())
    means = float(np.var([sample.mean() for sample in samples], ddof=1))
    return each / means if means > 0 else math.inf


def allowance(runs: int) -> float:
    """Return how many standard errors of so many runs a difference may have.

    A standard error that is itself estimated is too small now and then. So it is the multiple that
    Student's t, of one degree of freedom less than runs, exceeds as rarely as a normal law exceeds
    `STANDARD_ERRORS` of its own.

    Examples
    --------
    >>> [round(allowance(n), 2) for n in (10, 20, 100, 10**6)]
    [7.0, 5.1, 4.18, 4.0]
    """
    from scipy.special import ndtr, stdtrit

    return float(-stdtrit(runs - 1, ndtr(-STANDARD_ERRORS)))


def deviate(t: float, runs: int) -> float:
    """Return the standard normal deviate that is as rare as Student's t of so many runs.

    Examples
    --------
    >>> round(deviate(-allowance(10), 10), 6)
    -4.0
    """
    from scipy.special import ndtri_exp, stdtr

    if math.isnan(t):
        return t
    rare = stdtr(runs - 1, -abs(t))
    return math.copysign(-ndtri_exp(np.log(rare)) if rare > 0 else math.inf, t)


def _parts(run: Run, kind: Kind, who: Who) -> tuple[float, float]:
    """Return what a measure divides, and by what."""
    seen = run.of[who]
    if kind == "R":
        return float(seen.responses.sum()), float(seen.responses.size)
    if kind == "per_first":
        return seen.departures, run.of["first"].departures
    return {"X": seen.departures, "Q": seen.area, "U": seen.busy}[kind], run.span


def _jackknifed(without: Callable[[int | None], float], runs: int) -> Estimate:
    """Return what all runs give, and the standard error of it [1]_.

    References
    ----------
    .. [1] J. W. Tukey, "Bias and confidence in not-quite large samples", The Annals of
       Mathematical Statistics 29, 1958.
    """
    rest = np.array([without(run) for run in range(runs)])
    error = math.sqrt((runs - 1) / runs * ((rest - rest.mean()) ** 2).sum())
    return Estimate(without(None), error)


def _quantile(samples: Sequence[NDArray[np.float64]], share: float) -> float:
    """Return the least value that a share of ascending samples together does not exceed."""
    size = sum(sample.size for sample in samples)
    if not size:
        return math.nan
    rank = max(math.ceil(share * size), 1)
    # the value of this rank is in one of the samples: halve the places where it may be, in each
    low, high = np.zeros(len(samples), np.int64), np.array([sample.size for sample in samples])
    while True:
        widest = int(np.argmax(high - low))
        value = samples[widest][(low[widest] + high[widest]) // 2]
        below, upto = (
            np.array([np.searchsorted(sample, value, side) for sample in samples])
            for side in ("left", "right")
        )
        if rank <= below.sum():
            high = np.minimum(high, below)
        elif rank > upto.sum():
            low = np.maximum(low, upto)
        else:
            return float(value)
