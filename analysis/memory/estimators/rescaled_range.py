"""Hurst parameter from rescaled ranges: the pox plot."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.memory.estimators.line import HurstFit, fit_line, sizes

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
    from workloadkit._kernels.long_memory import rescaled_ranges

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
