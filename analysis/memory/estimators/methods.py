"""Estimators of the Hurst parameter by name, with defaults and errors; those from the spectrum."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.memory.arrivals import NoiseSpectrum, fractional_gaussian_noise
from workloadkit.analysis.memory.estimators import time_domain
from workloadkit.analysis.memory.estimators.time_domain import HurstFit, fit_line
from workloadkit.analysis.searching import find_minimum
from workloadkit.errors import ParameterError, quoted

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
    if not power.max() > _NOTHING:
        raise ParameterError(f"the series has no power at the {power.size:,} fitted frequencies")

    def height(shape: NDArray[np.float64]) -> float:
        return float(np.log(np.mean(power * np.exp(-shape))))

    def deviance(H: float) -> float:
        shape = log_shape(H)
        return height(shape) + float(shape.mean())

    estimate, least = find_minimum(deviance, *BOUNDS, _TOLERANCE)
    for bound in BOUNDS:  # the search approaches its bounds, but stays inside
        if abs(estimate - bound) < _NEAR and deviance(bound) <= least:
            estimate = bound
    shape = log_shape(estimate)
    line = np.exp(height(shape) + shape)
    return HurstFit(estimate, pd.DataFrame({"scale": frequency, "value": power, "line": line}))


#: Minimum length of a series for all estimators.
SHORTEST = 256

_BLOCK, _BOX, _POWER = "block size", "box size", "periodogram"


@dataclass(frozen=True)
class Method:
    """An estimator of the Hurst parameter.

    Parameters
    ----------
    title : str
        Name in tables and figures.
    fit : callable
        ``fit(series)`` or ``fit(series, parameter)``; the series has mean 0 and variance 1.
    parameter : {"smallest", "bandwidth"}, optional
        Parameter of the method: the smallest scale, or the number of frequencies.
    default : callable
        The default of the parameter for a series of length n.
    scale, value : str
        Labels of the axes.
    """

    title: str
    fit: Callable[..., HurstFit]
    parameter: Literal["smallest", "bandwidth"] | None
    default: Callable[[int], int]
    scale: str
    value: str

    def __call__(self, series: NDArray[np.float64], chosen: int | None = None) -> HurstFit:
        """Estimate, with the given or default parameter."""
        if self.parameter is None:
            return self.fit(series)
        return self.fit(series, self.default(series.size) if chosen is None else chosen)


def power(exponent: float) -> Callable[[int], int]:
    """Return the function n -> int(n**exponent)."""
    return lambda n: int(n**exponent)


def always(value: int) -> Callable[[int], int]:
    """Return the constant function of n."""
    return lambda _: value


#: All estimators. Bandwidths: n^0.65 for GPH; n^(2/3) for local Whittle, which for hourly counts
#: of some years ends just below the frequency of a day; a tenth of the frequencies for the line
#: through the periodogram (Taqqu et al., 1995).
METHODS: dict[str, Method] = {
    "rs": Method(
        "R/S", time_domain.rescaled_range, "smallest", always(10), "window size", "R/S"
    ),
    "aggregated_variance": Method(
        "aggregated variance", time_domain.aggregated_variance, "smallest", always(2),
        _BLOCK, "variance of block means",
    ),
    "absolute_moments": Method(
        "absolute moments", time_domain.absolute_moments, "smallest", always(2),
        _BLOCK, "mean deviation of block means",
    ),
    "periodogram": Method(
        "periodogram", low_frequencies, "bandwidth", lambda n: n // 20,
        "frequency", _POWER,
    ),
    "gph": Method(
        "GPH", geweke_porter_hudak, "bandwidth", power(0.65), "frequency", _POWER
    ),
    "local_whittle": Method(
        "local Whittle", local_whittle, "bandwidth", power(2 / 3), "frequency", _POWER
    ),
    "whittle": Method(
        "Whittle", whittle, None, always(0), "frequency", _POWER
    ),
    "wavelet": Method(
        "wavelets", time_domain.abry_veitch, "smallest", always(8), "scale", "energy of an octave"
    ),
    "dfa": Method(
        "DFA", time_domain.detrended_fluctuation, "smallest", always(10), _BOX, "fluctuation"
    ),
}  # fmt: skip


def find_method(name: str) -> Method:
    """Return the estimator called `name`."""
    if name not in METHODS:
        raise ParameterError(
            f"unknown method {quoted(name)} of the Hurst parameter; known: {', '.join(METHODS)}"
        )
    return METHODS[name]


def check_series(series: Any) -> NDArray[np.float64]:
    """Check a series, and standardize it to mean 0 and variance 1."""
    try:
        values = np.asarray(series, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"a series must hold numbers, not {series!r:.40}") from None
    if values.ndim != 1:
        raise ParameterError(f"a series must have one dimension, not {values.ndim}")
    if odd := np.flatnonzero(~np.isfinite(values)).tolist():
        raise ParameterError(
            f"a series needs known, finite values: value {odd[0]} is {values[odd[0]]:g}"
        )
    if values.size < SHORTEST:
        raise ParameterError(f"a series needs {SHORTEST} values or more, not {values.size}")
    largest = np.abs(values).max()
    values = values / (largest or 1)  # avoids overflow in squares
    spread = values.std()
    if not spread > 1e-12:
        raise ParameterError(f"all {values.size:,} values of the series are equal")
    return (values - values.mean()) / spread


# Errors of the estimators on fractional Gaussian noise, and the resulting intervals.
#
# Points of one plot are correlated, so the usual interval of the fitted line is far too narrow.
# The intervals here use the distribution of the estimator: its mean error and standard deviation
# on exact noise of the same length, from simulations stored in a table. An interval contains every
# H with noise that gives such an estimate at the 95 % level; if an estimator is biased, its
# interval is not centred at the estimate, and may not even contain it.

#: Lengths of series and Hurst parameters of the table.
LENGTHS = (256, 1024, 4096, 16384, 65536)
PARAMETERS = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)

_TABLE = Path(__file__).with_name("sampling.csv")
_NORMAL_95 = 1.959964
_GRID = np.linspace(0, 1, 10001)
_SERIES = 100  # simulated for parameters outside the table
_SEED = 20131


def measure(
    method: str,
    n: int,
    H: float,
    *,
    n_series: int,
    rng: np.random.Generator,
    chosen: int | None = None,
) -> tuple[float, float]:
    """Return an estimator's mean error and standard deviation on fractional Gaussian noise."""
    series = (check_series(fractional_gaussian_noise(n, H, rng)) for _ in range(n_series))
    found = np.array([METHODS[method](x, chosen).estimate for x in series])
    return float(found.mean() - H), float(found.std(ddof=1))


def interval(
    method: str, estimate: float, n: int, chosen: int | None = None
) -> tuple[float, float]:
    """Return the smallest and largest H with noise that gives such an estimate at the 95 % level.

    Parameters
    ----------
    n : int
        Length of the series.
    chosen : int, optional
        Parameter of the method if not the default; noise is then simulated with a fixed seed.

    Returns
    -------
    tuple of float
        Limits in [0, 1]; NaN if no fractional Gaussian noise gives such an estimate.

    Examples
    --------
    R/S is biased upwards for independent values, and downwards for large H.

    >>> low, high = interval("rs", 0.53, 16384)
    >>> bool(low < 0.5 < high)
    True
    """
    H = _GRID
    if chosen is None:
        bias, sd = errors(method, n)
    else:
        rng = np.random.default_rng(_SEED)
        at = float(np.clip(estimate, PARAMETERS[0], PARAMETERS[-1]))
        bias, sd = (
            np.full(H.size, x)
            for x in measure(method, n, at, n_series=_SERIES, rng=rng, chosen=chosen)
        )
    # Below the interval, the estimate would be too high; above, too low.
    fits = H[np.abs(estimate - H - bias) <= _NORMAL_95 * sd]
    return (float(fits[0]), float(fits[-1])) if fits.size else (np.nan, np.nan)


def errors(method: str, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean error and standard deviation at H = 0, 0.0001, …, 1 by interpolation.

    Examples
    --------
    >>> bias, sd = errors("whittle", 16384)
    >>> bool(sd[5000] < 0.006)
    True
    """
    lengths, bias, sd = _tables()[method]
    at = np.log(n)
    logs = np.log(lengths)
    step = int(np.clip(np.searchsorted(logs, at) - 1, 0, logs.size - 2))
    part = (at - logs[step]) / (logs[step + 1] - logs[step])  # above 1 beyond the table
    bias_n = bias[step] + min(part, 1.0) * (bias[step + 1] - bias[step])
    sd_n = np.exp(np.log(sd[step]) + part * (np.log(sd[step + 1]) - np.log(sd[step])))
    return np.interp(_GRID, PARAMETERS, bias_n), np.interp(_GRID, PARAMETERS, sd_n)


@cache
def _tables() -> dict[str, tuple[NDArray, NDArray, NDArray]]:
    """Return lengths, mean errors and standard deviations (by length and H) of each method."""
    with _TABLE.open(newline="", encoding="utf-8") as stream:
        rows = {
            (row["method"], int(row["n"]), float(row["H"])): (float(row["bias"]), float(row["sd"]))
            for row in csv.DictReader(stream)
        }
    tables = {}
    for method in METHODS:
        cells = np.array([[rows[method, n, H] for H in PARAMETERS] for n in LENGTHS])
        tables[method] = (np.array(LENGTHS), cells[:, :, 0], cells[:, :, 1])
    return tables
