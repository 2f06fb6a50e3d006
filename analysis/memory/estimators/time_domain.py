"""Hurst parameter from lines on logarithmic axes: blocks, trends, rescaled ranges, wavelets."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.distinct import distinct
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
    found = distinct(np.round(exact).astype(np.int64))
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
    if distinct(scale).size < _FEWEST:
        raise ParameterError(
            f"a line needs points at {_FEWEST} scales or more, not at {distinct(scale).size}"
        )
    y = np.log(value)
    middle, height = np.average(x, weights=weight), np.average(y, weights=weight)
    slope = float((weight * (x - middle) * y).sum() / (weight * (x - middle) ** 2).sum())
    line = np.exp(height + slope * (x - middle))
    return slope, pd.DataFrame({"scale": scale, "value": value, "line": line})


# Hurst parameter from the variation of block means.

#: Minimum number of blocks of a size.
FEWEST_BLOCKS = 20


def aggregated_variance(series: NDArray[np.float64], smallest: int) -> HurstFit:
    """Fit the variance of block means against block size, which falls as m^(2 H - 2).

    The estimate is too low for large H: block means vary around the mean of the series, not around
    the true mean [1]_. Sizes range from `smallest` to n / 20.

    References
    ----------
    .. [1] M. S. Taqqu, V. Teverovsky, W. Willinger, "Estimators for long-range dependence: an
       empirical study", Fractals 3(4), 1995, section 2.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.4 < aggregated_variance(series, 2).estimate < 0.6)
    True
    """
    size = sizes(smallest, series.size / FEWEST_BLOCKS)
    slope, points = fit_line(size, [block_means(series, m).var() for m in size])
    return HurstFit(1 + slope / 2, points)


def absolute_moments(series: NDArray[np.float64], smallest: int) -> HurstFit:
    """Fit the mean absolute deviation of block means, which falls as m^(H - 1) [1]_.

    Block sizes range from `smallest` to n / 20.

    References
    ----------
    .. [1] M. S. Taqqu, V. Teverovsky, W. Willinger, "Estimators for long-range dependence: an
       empirical study", Fractals 3(4), 1995, section 2.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.4 < absolute_moments(series, 2).estimate < 0.6)
    True
    """
    size = sizes(smallest, series.size / FEWEST_BLOCKS)
    mean = series.mean()
    value = [np.abs(block_means(series, m) - mean).mean() for m in size]
    slope, points = fit_line(size, value)
    return HurstFit(1 + slope, points)


def block_means(series: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the means of the complete blocks of a series.

    Examples
    --------
    >>> block_means(np.array([1.0, 3.0, 5.0, 7.0, 9.0]), 2).tolist()
    [2.0, 6.0]
    """
    n_blocks = series.size // size
    return series[: n_blocks * size].reshape(n_blocks, size).mean(axis=1)


# Hurst parameter from fluctuations around local trends.

#: Minimum number of boxes of a size.
FEWEST_BOXES = 10


def detrended_fluctuation(series: NDArray[np.float64], smallest: int) -> HurstFit:
    """Fit the fluctuations of the cumulative series around a line in each box, as s^H [1]_.

    Box sizes range from `smallest` to n / 10.

    References
    ----------
    .. [1] C.-K. Peng et al., "Mosaic organization of DNA nucleotides", Physical Review E 49(2),
       1994.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.4 < detrended_fluctuation(series, 10).estimate < 0.6)
    True
    """
    from workloadkit._kernels.statistics import fluctuations

    size = sizes(smallest, series.size / FEWEST_BOXES)
    profile = np.cumsum(series - series.mean())
    slope, points = fit_line(size, fluctuations(profile, size))
    return HurstFit(slope, points)


# Hurst parameter from rescaled ranges: the pox plot.

#: Number of windows of each size, evenly spaced over the series.
STARTS = 10


def rescaled_range(series: NDArray[np.float64], smallest: int) -> HurstFit:
    """Fit the pox plot of a series [1]_.

    Windows have sizes with ratios of 1.2 from `smallest`, ten of each size, evenly spaced, so that
    large ones overlap. R/S is the range of the cumulative deviations from the window's mean,
    divided by the window's standard deviation. The slope over all points is the estimate.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "Workload resampling for performance evaluation of parallel
       job schedulers", Concurrency and Computation 26(12), 2014, section 5.3; the statistic is
       H. E. Hurst's (1951).

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.45 < rescaled_range(series, 10).estimate < 0.65)
    True
    """
    from workloadkit._kernels.statistics import rescaled_ranges

    begin, size = windows(series.size, smallest)
    slope, points = fit_line(size, rescaled_ranges(series, begin, size))
    return HurstFit(slope, points)


def windows(n: int, smallest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return begin and size of the windows of a pox plot for a series of length `n`.

    Examples
    --------
    >>> begin, size = windows(100, 90)
    >>> list(zip(begin.tolist(), size.tolist()))[:4]
    [(0, 90), (1, 90), (2, 90), (3, 90)]
    """
    size = np.repeat(sizes(smallest, n), STARTS)
    step = np.tile(np.arange(STARTS), size.size // STARTS)
    begin = step * (n - size) // (STARTS - 1)
    pairs = np.unique(np.column_stack([size, begin]), axis=0)  # the largest windows may coincide
    return pairs[:, 1].copy(), pairs[:, 0].copy()


# Hurst parameter from wavelets: the logscale diagram.

_ROOT = np.sqrt(3)
#: Daubechies filter with two vanishing moments: its details are free of mean and linear trend.
SMOOTH = np.array([1 + _ROOT, 3 + _ROOT, 3 - _ROOT, 1 - _ROOT]) / (4 * np.sqrt(2))
DETAIL = SMOOTH[::-1] * np.array([1, -1, 1, -1])


def abry_veitch(series: NDArray[np.float64], smallest: int) -> HurstFit:
    """Fit the energy of the wavelet coefficients by octave, which grows as 2^(j (2 H - 1)) [1]_.

    The mean logarithm of an energy is below the logarithm of its mean, by more for fewer
    coefficients; this is corrected, and octaves are weighted by precision. `smallest` is the
    smallest scale: the lowest octaves of counts do not follow the power law.

    References
    ----------
    .. [1] D. Veitch, P. Abry, "A wavelet-based joint estimator of the parameters of long-range
       dependence", IEEE Transactions on Information Theory 45(3), 1999.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.4 < abry_veitch(series, 8).estimate < 0.6)
    True
    """
    from scipy.special import digamma, zeta

    details = octaves(series)
    scale = 2.0 ** np.arange(1, len(details) + 1)
    chosen = scale >= smallest
    half = np.array([detail.size for detail in details])[chosen] / 2
    energy = np.array([np.mean(detail**2) for detail in details])[chosen]
    # The logarithm of a mean of n squares has mean digamma(n / 2) - log(n / 2), variance
    # zeta(2, n / 2).
    energy = energy / np.exp(digamma(half) - np.log(half))
    slope, points = fit_line(scale[chosen], energy, 1 / zeta(2, half))
    return HurstFit((slope + 1) / 2, points)


def octaves(series: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the wavelet coefficients of a series, from the finest to the coarsest octave.

    Coefficients that extend beyond the series are omitted; an octave has at least three.

    Examples
    --------
    >>> [detail.size for detail in octaves(np.arange(64.0) ** 2)]
    [31, 14, 6]
    >>> bool(np.abs(octaves(np.arange(64.0))[0]).max() < 1e-12)
    True
    """
    found = []
    while series.size >= 2 * SMOOTH.size:
        found.append(np.convolve(series, DETAIL, "valid")[::2])
        series = np.convolve(series, SMOOTH, "valid")[::2]
    return found
