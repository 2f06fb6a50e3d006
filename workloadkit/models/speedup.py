"""Downey's speedup model for parallel jobs."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError


def downey_speedup(
    procs: ArrayLike, parallelism: ArrayLike, sigma: ArrayLike
) -> NDArray[np.float64]:
    """Return the speedup of a job on a number of processors [1]_.

    The model assumes a hypothetical parallelism profile with average A. For σ = 0 the speedup is
    linear up to A; for larger σ it approaches A more slowly.

    Parameters
    ----------
    procs : array_like
        Processors, 1 or more.
    parallelism : array_like
        Average parallelism A, 1 or more.
    sigma : array_like
        Variation σ of the parallelism, 0 or more; low up to 1, high above.

    Returns
    -------
    ndarray of float
        From 1 to A, with the arguments broadcast.

    Raises
    ------
    ParameterError
        If a value is out of range.

    References
    ----------
    .. [1] A. B. Downey, "A model for speedup of parallel programs", University of California,
       Berkeley, report CSD-97-933, 1997.

    Examples
    --------
    >>> downey_speedup([1, 4, 8, 64], 8, 0).tolist()
    [1.0, 4.0, 8.0, 8.0]
    >>> downey_speedup([1, 8, 64], 8, 1).round(3).tolist()
    [1.0, 5.565, 8.0]
    """
    try:
        n, A, s = np.broadcast_arrays(
            *(np.asarray(values, dtype=np.float64) for values in (procs, parallelism, sigma))
        )
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"procs, parallelism and sigma must be numbers that broadcast together: {error}"
        ) from None
    for name, values, least in (("procs", n, 1), ("parallelism", A, 1), ("sigma", s, 0)):
        if not (values >= least).all():
            wrong = values[~(values >= least)][0]
            raise ParameterError(name, f"is {wrong:g}; it must be {least} or more")
    with np.errstate(divide="ignore", invalid="ignore"):  # in unused branches
        low = np.where(
            n <= A, A * n / (A + s / 2 * (n - 1)), A * n / (s * (A - 0.5) + n * (1 - s / 2))
        )
        low = np.where(n >= 2 * A - 1, A, low)
        high = n * A * (s + 1) / (s * (n + A - 1) + A)
    high = np.where(n >= A + A * s - s, A, high)
    return np.where(s <= 1, low, high)
