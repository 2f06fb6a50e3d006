"""Logistic models, with errors clustered by user."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MOST_STEPS = 35  # of Newton's method, which needs about six
_SMALL = 1e-8  # change of all coefficients at the end


class LogisticModel(NamedTuple):
    """A fitted model: coefficients, their standard errors, and the probability of each row."""

    coefficients: NDArray[np.float64]
    errors: NDArray[np.float64]
    probability: NDArray[np.float64]


@np.errstate(over="ignore", under="ignore")
def fit_logistic(
    x: NDArray[np.float64], y: NDArray[np.float64], groups: NDArray[np.int64]
) -> LogisticModel | None:
    """Fit by maximum likelihood; the errors allow for dependence within groups.

    The errors are those of the sandwich estimator with the usual correction for few groups [1]_,
    NaN for a single group. Groups are numbers from 0. None if there is no finite maximum, as for
    outcomes that a value separates.

    References
    ----------
    .. [1] K.-Y. Liang, S. L. Zeger, "Longitudinal data analysis using generalized linear models",
       Biometrika 73, 1986.

    Examples
    --------
    >>> x = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    >>> model = fit_logistic(x, np.array([0.0, 1.0, 1.0, 1.0]), np.arange(4))
    >>> model is None  # all with the value 1 have the outcome 1
    True
    """
    n, n_columns = x.shape
    if np.linalg.matrix_rank(x) < n_columns:
        return None
    coefficients = np.zeros(n_columns)
    try:
        for _ in range(_MOST_STEPS):
            probability = 1 / (1 + np.exp(-(x @ coefficients)))
            curvature = x.T @ (x * (probability * (1 - probability))[:, None])
            step = np.linalg.solve(curvature, x.T @ (y - probability))
            coefficients = coefficients + step
            if np.abs(step).max() < _SMALL:
                break
        else:
            return None
        inverse = np.linalg.inv(curvature)
    except np.linalg.LinAlgError:
        return None
    scores = x * (y - probability)[:, None]
    sums = np.column_stack([np.bincount(groups, column) for column in scores.T])
    sums = sums[np.bincount(groups) > 0]
    n_groups = len(sums)
    if n_groups == 1:
        return LogisticModel(coefficients, np.full(n_columns, np.nan), probability)
    correction = n_groups / (n_groups - 1) * (n - 1) / (n - n_columns)
    spread = inverse @ (sums.T @ sums) @ inverse * correction
    return LogisticModel(coefficients, np.sqrt(np.diag(spread)), probability)
