"""How long a simulation that starts empty is still warming up."""

import numpy as np
from numpy.typing import ArrayLike

#: Values in a batch: the rule looks at their means.
BATCH = 5


def mser(series: ArrayLike) -> tuple[int, bool]:
    """Return how many values of a series to leave out, by MSER-5 [1]_ [2]_.

    What is left out is what makes the standard error of the mean of all others least, as that is
    reckoned for independent values. The means of batches of five values are looked at, and the
    first half of the series: nearer to its end the rule knows too few values.

    Parameters
    ----------
    series : array_like, shape (n,)
        In the order of time; 20 values at least.

    Returns
    -------
    left_out : int
    settled : bool
        Whether the least is within the first half; if it is at its end, the series is too short.

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
    means -= means[n // 2 :].mean()  # so that the squares below do not cancel
    left = n - np.arange(n // 2 + 1)  # batches that stay
    total, squares = (np.cumsum(x[::-1])[::-1][: left.size] for x in (means, means**2))
    error = (squares - total**2 / left) / left**2
    first = int(np.argmin(error))
    return first * BATCH, first < n // 2
