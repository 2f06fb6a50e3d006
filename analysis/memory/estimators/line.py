"""Linear fits on logarithmic axes."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError

#: Ratio of successive sizes, as in the pox plot of Zakay and Feitelson (2013).
FACTOR = 1.2

_FEWEST = 3  # scales of a fit
_NOTHING = 1e-12  # values this far below the median are rounding errors


class HurstFit(NamedTuple):
    """An estimate of the Hurst parameter, and the points of the fit.

    `points` has one row per point: `scale` (steps of the series, or radians per step), `value`, and
    `line`, the fitted value. The series is standardized to mean 0 and variance 1.
    """

    estimate: float
    points: pd.DataFrame


def sizes(smallest: int, largest: float) -> NDArray[np.int64]:
    """Return integers with successive ratios of about 1.2.

    Examples
    --------
    >>> sizes(10, 30).tolist()
    [10, 12, 14, 17, 21, 25, 30]
    """
    steps = np.log(largest / smallest) / np.log(FACTOR) if largest >= smallest else -1
    exact = smallest * FACTOR ** np.arange(int(steps + 1e-9) + 1)
    found = np.unique(np.round(exact).astype(np.int64))
    return found[found <= largest]


def fit_line(
    scale: ArrayLike,
    value: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    abscissa: ArrayLike | None = None,
) -> tuple[float, pd.DataFrame]:
    """Fit a line to points on logarithmic axes by least squares.

    Parameters
    ----------
    scale, value : array_like, shape (n_points,)
        Points with a value that is unknown, not positive or negligible are left out.
    weight : array_like, shape (n_points,), optional
        By default, all points have the same weight.
    abscissa : array_like, shape (n_points,), optional
        Abscissa of the fit; by default the logarithm of the scale.

    Returns
    -------
    slope : float
    points : DataFrame
        `scale`, `value` and `line`.

    Raises
    ------
    ParameterError
        If there are fewer than three distinct scales.

    Examples
    --------
    >>> slope, points = fit_line([1, 10, 100], [2, 200, 20000])
    >>> round(slope, 6)
    2.0
    """
    scale, value = (np.asarray(x, dtype=np.float64) for x in (scale, value))
    x = np.log(scale) if abscissa is None else np.asarray(abscissa, dtype=np.float64)
    known = value[value > 0]
    seen = value > (_NOTHING * np.median(known) if known.size else 0)
    scale, value, x = scale[seen], value[seen], x[seen]
    weight = np.ones(x.size) if weight is None else np.asarray(weight, dtype=np.float64)[seen]
    if np.unique(scale).size < _FEWEST:
        raise ParameterError(
            f"a line needs points at {_FEWEST} scales or more, not at {np.unique(scale).size}"
        )
    y = np.log(value)
    middle, height = np.average(x, weights=weight), np.average(y, weights=weight)
    slope = float((weight * (x - middle) * y).sum() / (weight * (x - middle) ** 2).sum())
    line = np.exp(height + slope * (x - middle))
    return slope, pd.DataFrame({"scale": scale, "value": value, "line": line})
