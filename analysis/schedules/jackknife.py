"""Jackknife intervals: leave out one block of jobs after another (Quenouille, 1949)."""

import numpy as np
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.errors import ParameterError
from workloadkit.experiments.intervals import student_t


def means_without_each(values: NDArray, block: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the mean of the values without each block; NaN values do not count."""
    known = ~np.isnan(np.asarray(values, dtype=np.float64))
    total, number = np.bincount(block, np.where(known, values, 0)), np.bincount(block, known)
    rest = number.sum() - number
    return np.divide(total.sum() - total, rest, out=np.full(rest.size, np.nan), where=rest > 0)


def percentiles_without_each(
    values: NDArray, block: NDArray[np.integer], percent: int
) -> NDArray[np.float64]:
    """Return the percentile of the values without each block."""
    ascending = np.argsort(values, kind="stable")
    result = []
    for places in _members(block[ascending]):
        place = metrics.rank(values.size - places.size, percent) - 1
        # number of the block's values below, by which the others move down
        below = np.searchsorted(places - np.arange(places.size), place, side="right")
        result.append(float(values[ascending[place + below]]))
    return np.array(result)


def _members(block: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """Return the ascending positions of each block's members."""
    order = np.argsort(block, kind="stable")
    return np.split(order, np.cumsum(np.bincount(block))[:-1])


def check_confidence(confidence: float) -> None:
    """Check that a confidence level lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence is {confidence:g}; it must lie between 0 and 1")


def jackknifed(values: NDArray[np.float64], confidence: float) -> float:
    """Return the half-width of the jackknife interval from leave-one-block-out values."""
    n = values.size
    if n < 2:
        return np.nan
    error = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
    return student_t(confidence, n - 1) * float(error)
