"""Means of independent runs, and their intervals."""

import math

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.errors import ParameterError


def mean_interval(values: ArrayLike, *, confidence: float = 0.95) -> tuple[float, float, float]:
    """Mean of independent values and its interval by Student's t; no interval of less than two.

    Parameters
    ----------
    values : array_like, shape (n,)
    confidence : float, default 0.95

    Returns
    -------
    mean, low, high : float

    Examples
    --------
    >>> [round(x, 3) for x in mean_interval([1, 2, 3, 4])]
    [2.5, 0.446, 4.554]
    """
    values = np.asarray(values, dtype=np.float64)
    mean = float(values.mean()) if values.size else np.nan
    if values.size < 2:
        return mean, np.nan, np.nan
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    half = student_t(confidence, values.size - 1) * error
    return mean, mean - half, mean + half


def student_t(confidence: float, freedom: int) -> float:
    """Return what |T| exceeds with probability 1 − confidence, for Student's T.

    Parameters
    ----------
    confidence : float
        Between 0 and 1.
    freedom : int
        Degrees of freedom, 1 or more.

    Examples
    --------
    >>> [round(student_t(0.95, n), 3) for n in (1, 2, 9, 10, 1000)]
    [12.706, 4.303, 2.262, 2.228, 1.962]
    """
    from scipy.special import stdtrit

    if not (0 < confidence < 1 and freedom >= 1):
        raise ParameterError(f"confidence is {confidence}, of {freedom} degrees of freedom")
    return float(stdtrit(freedom, (1 + confidence) / 2))
