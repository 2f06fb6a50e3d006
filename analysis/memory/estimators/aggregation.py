"""Hurst parameter from the variation of block means."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.memory.estimators.line import HurstFit, fit_line, sizes

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
