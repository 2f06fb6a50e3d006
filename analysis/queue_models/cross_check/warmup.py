"""Warm-up of a simulation that starts empty."""

import numpy as np
from numpy.typing import ArrayLike

#: Values per batch; the rule uses batch means.
BATCH = 5


def mser(series: ArrayLike) -> tuple[int, bool]:
    """Return the number of values to drop at the start of a series, by MSER-5 [1]_ [2]_.

    The rule drops the values that minimize the standard error of the mean of the rest, computed as
    for independent values. It uses means of batches of five values, and drops at most the first
    half of the series, since few batches remain near its end.

    Parameters
    ----------
    series : array_like, shape (n,)
        In the order of time; at least 20 values.

    Returns
    -------
    left_out : int
    settled : bool
        Whether the minimum is inside the first half; at its end, the series is too short.

    References
    ----------
    .. [1] K. P. White, "An effective truncation heuristic for bias reduction in simulation
       output", Simulation 69(6), 1997.
    .. [2] K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation
       heuristics for simulation", Proceedings of the Winter Simulation Conference, 2000.

    Examples
    --------
    >>> mser([0] * 10 + [4] * 90)
    (10, True)
    """
    values = np.asarray(series, dtype=np.float64)
    n = values.size // BATCH
    means = values[: n * BATCH].reshape(n, BATCH).mean(axis=1)
    means -= means[n // 2 :].mean()  # avoids cancellation in the squares below
    remaining = n - np.arange(n // 2 + 1)  # remaining batches
    total, squares = (np.cumsum(x[::-1])[::-1][: remaining.size] for x in (means, means**2))
    error = (squares - total**2 / remaining) / remaining**2
    first = int(np.argmin(error))
    return first * BATCH, first < n // 2
