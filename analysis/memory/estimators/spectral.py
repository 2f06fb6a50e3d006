"""Hurst parameter from the spectrum: its low frequencies, or the whole periodogram."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.memory.arrivals import NoiseSpectrum
from workloadkit.analysis.memory.estimators.time_domain import HurstFit, fit_line
from workloadkit.errors import ParameterError

#: Search interval of the likelihood estimators; an estimate at a bound lies outside.
BOUNDS = (0.01, 0.99)

_TOLERANCE, _NEAR = 1e-6, 1e-4  # tolerances of H
_NOTHING = 1e-20  # smaller powers of a standardized series are rounding errors


def periodogram(series: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the Fourier frequencies in the open interval (0, pi), and the periodogram.

    Parameters
    ----------
    series : ndarray of float, shape (n,)

    Returns
    -------
    frequency : ndarray of float, shape ((n - 1) // 2,)
        [radians per step]
    power : ndarray of float, shape ((n - 1) // 2,)
        About 1 / (2 pi) for independent values of variance 1.

    Examples
    --------
    >>> frequency, power = periodogram(np.array([1.0, 0.0, -1.0, 0.0]))
    >>> frequency.round(3).tolist(), (2 * np.pi * power).round(3).tolist()
    ([1.571], [1.0])
    """
    n = series.size
    waves = np.fft.rfft(series - series.mean())[1 : (n + 1) // 2]
    frequency = 2 * np.pi * np.arange(1, waves.size + 1) / n
    return frequency, (waves.real**2 + waves.imag**2) / (2 * np.pi * n)


def low_frequencies(series: NDArray[np.float64], bandwidth: int) -> HurstFit:
    """Fit a line to the periodogram at low frequencies, where it falls as a power 1 - 2 H [1]_.

    `bandwidth` is the number of lowest frequencies.

    References
    ----------
    .. [1] M. S. Taqqu, V. Teverovsky, W. Willinger, "Estimators for long-range dependence: an
       empirical study", Fractals 3(4), 1995, section 2: the lowest tenth of the frequencies.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.4 < low_frequencies(series, 200).estimate < 0.6)
    True
    """
    frequency, power = (x[:bandwidth] for x in periodogram(series))
    slope, points = fit_line(frequency, power)
    return HurstFit((1 - slope) / 2, points)


def geweke_porter_hudak(series: NDArray[np.float64], bandwidth: int) -> HurstFit:
    """Fit the logarithm of the periodogram against that of 4 sin²(frequency / 2) [1]_.

    `bandwidth` is the number of lowest frequencies.

    References
    ----------
    .. [1] J. Geweke, S. Porter-Hudak, "The estimation and application of long memory time series
       models", Journal of Time Series Analysis 4(4), 1983.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.4 < geweke_porter_hudak(series, 200).estimate < 0.6)
    True
    """
    frequency, power = (x[:bandwidth] for x in periodogram(series))
    rise = np.log(4 * np.sin(frequency / 2) ** 2)
    slope, points = fit_line(frequency, power, abscissa=rise)
    return HurstFit(0.5 - slope, points)


def local_whittle(series: NDArray[np.float64], bandwidth: int) -> HurstFit:
    """Maximize the likelihood of the periodogram at low frequencies under a power law [1]_.

    `bandwidth` is the number of lowest frequencies.

    References
    ----------
    .. [1] P. M. Robinson, "Gaussian semiparametric estimation of long range dependence", Annals
       of Statistics 23(5), 1995.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.4 < local_whittle(series, 200).estimate < 0.6)
    True
    """
    frequency, power = (x[:bandwidth] for x in periodogram(series))
    log_frequency = np.log(frequency)
    return _likeliest(frequency, power, lambda H: (1 - 2 * H) * log_frequency)


def whittle(series: NDArray[np.float64]) -> HurstFit:
    """Maximize the likelihood of the whole periodogram under fractional Gaussian noise [1]_.

    The most precise estimator for such noise; other high-frequency structure biases it.

    References
    ----------
    .. [1] R. Fox, M. S. Taqqu, "Large-sample properties of parameter estimates for strongly
       dependent stationary Gaussian time series", Annals of Statistics 14(2), 1986.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal(4096)
    >>> bool(0.47 < whittle(series).estimate < 0.53)
    True
    """
    frequency, power = periodogram(series)
    return _likeliest(frequency, power, NoiseSpectrum(frequency).log_density)


def _likeliest(
    frequency: NDArray[np.float64],
    power: NDArray[np.float64],
    log_shape: Callable[[float], NDArray[np.float64]],
) -> HurstFit:
    """Estimate H by Whittle's likelihood: exponential ordinates with a free level."""
    from scipy.optimize import minimize_scalar

    if not power.max() > _NOTHING:
        raise ParameterError(f"the series has no power at the {power.size:,} fitted frequencies")

    def height(shape: NDArray[np.float64]) -> float:
        return float(np.log(np.mean(power * np.exp(-shape))))

    def deviance(H: float) -> float:
        shape = log_shape(H)
        return height(shape) + float(shape.mean())

    found = minimize_scalar(
        deviance, bounds=BOUNDS, method="bounded", options={"xatol": _TOLERANCE}
    )
    estimate = float(found.x)
    for bound in BOUNDS:  # the search approaches its bounds, but stays inside
        if abs(estimate - bound) < _NEAR and deviance(bound) <= float(found.fun):
            estimate = bound
    shape = log_shape(estimate)
    line = np.exp(height(shape) + shape)
    return HurstFit(estimate, pd.DataFrame({"scale": frequency, "value": power, "line": line}))
