"""Hurst parameter from fluctuations around local trends."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.memory.estimators.line import HurstFit, fit_line, sizes

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
    from workloadkit._kernels.long_memory import fluctuations

    size = sizes(smallest, series.size / FEWEST_BOXES)
    profile = np.cumsum(series - series.mean())
    slope, points = fit_line(size, fluctuations(profile, size))
    return HurstFit(slope, points)
