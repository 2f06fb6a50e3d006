"""Fit of the curve p = a / (b r + 1) of continuing a session after a response time."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: The published curve p = a / (b r + 1), r in minutes (Shmueli 2008, equation 5.1).
PUBLISHED_A, PUBLISHED_B = 0.8, 0.05

#: Upper edges of the bins of response times, inclusive (Shmueli 2008, Table 4.2). [s]
RESPONSE_EDGES = (300.0, 900.0, 2700.0, 8100.0, np.inf)

#: Range of b. [1/min]
_LOWEST_B, _HIGHEST_B = 1e-6, 1e3


def fit_curve(
    response: NDArray[np.float64], probability: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit p = a / (b r + 1) by least squares to several sets of points.

    The best a for each b has a closed form, so only b is searched.

    Parameters
    ----------
    response, probability : ndarray, shape (n_sets, n_points)
        NaN for missing points. Response times in minutes.

    Returns
    -------
    a, b : ndarray, shape (n_sets,)
        NaN for fewer than two points.
    """
    known = np.isfinite(response) & np.isfinite(probability)
    r = np.maximum(np.where(known, response, 0.0), 0.0)[:, None, :]
    p = np.where(known, probability, 0.0)[:, None, :]

    def best_a(log_b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = known[:, None, :] / (10 ** log_b[:, :, None] * r + 1)
        squares = np.maximum((shape**2).sum(axis=2), 1e-300)
        a = np.clip((p * shape).sum(axis=2) / squares, 1e-12, 1.0)
        return a, ((a[:, :, None] * shape - p) ** 2).sum(axis=2)

    log_b = least_on_grid(lambda at: best_a(at)[1], _LOWEST_B, _HIGHEST_B, r.shape[0])
    a = best_a(log_b[:, None])[0][:, 0]
    enough = known.sum(axis=1) >= 2
    return np.where(enough, a, np.nan), np.where(enough, 10**log_b, np.nan)


def least_on_grid(
    misfit: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    lowest: float,
    highest: float,
    n_sets: int,
) -> NDArray[np.float64]:
    """Return the logarithm to base 10 that minimizes a misfit, for several sets.

    A grid search that is refined around the best point ten times.

    Parameters
    ----------
    misfit : callable
        Maps logarithms, shape (n_sets, n_places), to misfits of the same shape.
    lowest, highest : float
        Ends of the grid, not as logarithms.
    n_sets : int

    Returns
    -------
    ndarray, shape (n_sets,)

    Examples
    --------
    >>> least_on_grid(lambda at: (at - 2.5) ** 2, 1, 1e6, 1).round(6).tolist()
    [2.5]
    """
    row = np.arange(n_sets)
    first, last = np.log10(lowest), np.log10(highest)
    places, step = np.linspace(first, last, 181, retstep=True)
    places = np.tile(places, (n_sets, 1))
    for _ in range(10):
        centre = places[row, misfit(places).argmin(axis=1)]
        places = np.clip(centre[:, None] + np.linspace(-step, step, 11), first, last)
        step /= 5
    return centre
