"""Estimates from several runs, with standard errors."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.queue_models.cross_check.measuring import Group, MeasuredRun

#: Allowed difference in standard deviations of a normal distribution (two-sided p = 6.3e-5).
STANDARD_ERRORS = 4.0

#: X throughput, R mean response time, Q mean number in the system, U mean number of busy servers,
#: and jobs per first job of a user.
Kind = Literal["X", "R", "Q", "U", "per_first"]


class Estimate(NamedTuple):
    """An estimate from all runs.

    Parameters
    ----------
    value : float
        Estimate; NaN without data.
    error : float
        Standard error.
    """

    value: float
    error: float


def estimate(runs: Sequence[MeasuredRun], kind: Kind, group: Group) -> Estimate:
    """Return a measure over all runs, with its jackknife standard error."""
    above, below = (
        np.array(x) for x in zip(*(_parts(run, kind, group) for run in runs), strict=True)
    )

    def without(run: int | None) -> float:
        kept = np.arange(above.size) != run
        total = below[kept].sum()
        return float(above[kept].sum() / total) if total > 0 else math.nan

    return _jackknifed(without, len(runs))


def quantile(runs: Sequence[MeasuredRun], share: float, group: Group) -> Estimate:
    """Return a quantile of the response times of all runs, with its jackknife standard error."""
    samples = [run.of[group].responses for run in runs]

    def without(run: int | None) -> float:
        return _quantile([x for place, x in enumerate(samples) if place != run], share)

    return _jackknifed(without, len(runs))


def independent(runs: Sequence[MeasuredRun], group: Group) -> float:
    """Return the number of independent response times with the variance of a run's mean.

    This is the variance of the responses over the variance of the runs' means; infinite if the
    means are equal, NaN without responses.
    """
    samples = [run.of[group].responses for run in runs if run.of[group].responses.size]
    if len(samples) < len(runs):
        return math.nan
    each = float(np.concatenate(samples).var())
    means = float(np.var([sample.mean() for sample in samples], ddof=1))
    return each / means if means > 0 else math.inf


def allowance(runs: int) -> float:
    """Return the allowed difference in standard errors that are estimated from a number of runs.

    The standard error is itself estimated, so this is the quantile of Student's t with one degree
    of freedom fewer than runs, at the probability of `STANDARD_ERRORS` of a normal distribution.

    Examples
    --------
    >>> [round(allowance(n), 2) for n in (10, 20, 100, 10**6)]
    [7.0, 5.1, 4.18, 4.0]
    """
    from scipy.special import ndtr, stdtrit

    return float(-stdtrit(runs - 1, ndtr(-STANDARD_ERRORS)))


def deviate(t: float, runs: int) -> float:
    """Return the standard normal deviate with the tail probability of Student's t.

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


def _parts(run: MeasuredRun, kind: Kind, group: Group) -> tuple[float, float]:
    """Return the numerator and denominator of a measure."""
    seen = run.of[group]
    if kind == "R":
        return float(seen.responses.sum()), float(seen.responses.size)
    if kind == "per_first":
        return seen.departures, run.of["first"].departures
    return {"X": seen.departures, "Q": seen.area, "U": seen.busy}[kind], run.span


def _jackknifed(without: Callable[[int | None], float], runs: int) -> Estimate:
    """Return the estimate from all runs, and its jackknife standard error [1]_.

    References
    ----------
    .. [1] J. W. Tukey, "Bias and confidence in not-quite large samples", The Annals of
       Mathematical Statistics 29, 1958.
    """
    rest = np.array([without(run) for run in range(runs)])
    error = math.sqrt((runs - 1) / runs * ((rest - rest.mean()) ** 2).sum())
    return Estimate(without(None), error)


def _quantile(samples: Sequence[NDArray[np.float64]], share: float) -> float:
    """Return the nearest-rank quantile of several sorted samples together."""
    size = sum(sample.size for sample in samples)
    if not size:
        return math.nan
    rank = max(math.ceil(share * size), 1)
    # the value of this rank is in one of the samples: bisect the candidates of each
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
