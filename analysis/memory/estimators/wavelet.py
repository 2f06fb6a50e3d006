"""Hurst parameter from wavelets: the logscale diagram."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.analysis.memory.estimators.line import HurstFit, fit_line

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
