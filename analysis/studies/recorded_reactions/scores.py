"""How well counts were predicted: log scores of negative binomials, and gains over open users."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis.studies.recorded_reactions.forecasting import (
    QUANTITIES,
    SCORED,
    Case,
    react,
)

#: Range of the fitted size: the relative standard error of a predicted mean is at least about 1/5.
SIZES = (0.05, 20.0)


class Played(NamedTuple):
    """An outage and its control (None if there is none)."""

    kind: str
    outage: Case
    placebo: Case | None


def log_score(count: ArrayLike, mean: ArrayLike, size: ArrayLike) -> NDArray[np.float64]:
    """Return the log probability of a count under the negative binomial distribution.

    Its variance is mean + mean² / size. With a given size, the true mean has the best expected
    score, whatever the distribution of the counts: predictions below the mean score less, even if
    most counts are low.

    Examples
    --------
    A size of 1 is the geometric distribution, here with probabilities 1/3, 2/9, ...:

    >>> np.exp(log_score([0, 1], 2.0, 1.0)).round(4).tolist()
    [0.3333, 0.2222]
    """
    from scipy.special import gammaln

    count, mean, size = (np.asarray(values, np.float64) for values in (count, mean, size))
    ways = gammaln(count + size) - gammaln(size) - gammaln(count + 1)
    none, more = np.log(size / (size + mean)), np.log(mean / (size + mean))
    score: NDArray[np.float64] = ways + size * none + count * more
    return score


def fit_size(count: NDArray[np.float64], mean: NDArray[np.float64]) -> float:
    """Return the maximum-likelihood size of negative binomial counts with given means."""
    from scipy.optimize import minimize_scalar

    def misfit(log_size: float) -> float:
        return -float(log_score(count, mean, np.exp(log_size)).sum())

    return float(np.exp(minimize_scalar(misfit, bounds=np.log(SIZES), method="bounded").x))


def sizes_of(found: Sequence[Played]) -> NDArray[np.float64]:
    """Return the size for each quantity, fitted on the recorded controls and their templates."""
    cases = [each.placebo for each in found if each.placebo is not None]
    if not cases:
        return np.ones(len(QUANTITIES))
    observed = np.array([case.observed[:, SCORED] for case in cases])
    base = np.array([case.base[:, SCORED] for case in cases])
    return np.array([fit_size(observed[:, q], base[:, q]) for q in range(len(QUANTITIES))])


def change_of(found: Sequence[Played], users: str) -> NDArray[np.float64]:
    """Return the mean activity over all windows, without an outage and with it."""
    cases = [case for each in found for case in (each.outage, each.placebo) if case is not None]
    mean: NDArray[np.float64] = np.mean([case.played[users] for case in cases], axis=0)
    return mean


def forecast(case: Case, users: str, change: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the forecast of users in a window, by the given change or that of the window."""
    return react(case.base, *(case.played[users] if change is None else change))


def gains(found: Sequence[Played], users: str, *, pooled: bool = True) -> NDArray[np.float64]:
    """Return the gain of users over open ones in the prediction of the day after.

    Parameters
    ----------
    found : sequence of Played
        Outages of one log, at least one.
    users : str
    pooled : bool, default True
        Whether the change by an outage is the mean over all windows of the log; otherwise it is
        that of the window's templates.

    Returns
    -------
    ndarray, shape (n_outages, 2, n_quantities)
        Gains for outages and controls; NaN where there is no control. [nats per day]
    """
    size = sizes_of(found)[:, None]
    gain = np.full((len(found), 2, len(QUANTITIES)), np.nan)
    both = [(name, change_of(found, name) if pooled else None) for name in (users, "open")]
    for place, each in enumerate(found):
        for which, case in enumerate((each.outage, each.placebo)):
            if case is not None:
                ours, theirs = (
                    log_score(case.observed, forecast(case, name, change), size)[:, SCORED]
                    for name, change in both
                )
                gain[place, which] = (ours - theirs).sum(axis=1)
    return gain
