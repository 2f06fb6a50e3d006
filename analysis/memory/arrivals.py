"""Arrivals per unit of time, and fractional Gaussian noise for tests of estimators."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import DAY, WEEK, Clock
from workloadkit.errors import ParameterError, takes_rng
from workloadkit.trace import Trace, check_trace

#: Maximum length of a series. In hours this is 30 years.
MOST_UNITS = 2**18

#: Minimum number of times that an hour of the day or week must occur for its mean.
_FEWEST_OF_A_KIND = 4
_HOUR = 3600


def arrivals_per_unit(trace: Trace, unit: float = 3600) -> pd.Series:
    """Count the submissions per unit of time.

    The first unit starts with the first submission in the log's window. Only whole units count:
    submissions after the last whole unit are left out.

    Parameters
    ----------
    trace : Trace
        All jobs within the window count, whether they ran or not.
    unit : float, default 3600
        Length of a unit. [s]

    Returns
    -------
    Series of float
        Number of jobs by `begin` of the unit. [s]

    Raises
    ------
    ParameterError
        If the unit is not positive, or there are more than 262,144 units.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [50, 60, 3650, 7300, 10900]})
    >>> arrivals_per_unit(trace)
    begin
    50.0      2.0
    3650.0    1.0
    7250.0    1.0
    Name: jobs, dtype: float64
    """
    check_trace(trace)
    if not 0 < unit < np.inf:
        raise ParameterError("unit", f"must be positive, not {unit:g} s")
    submit = trace.within_window().column("submit")
    first = submit.min() if submit.size else 0.0
    n = int(np.floor((submit - first).max(initial=0) / unit))
    if n > MOST_UNITS:
        raise ParameterError(
            f"{trace.name} spans {n:,} units of {unit:g} s; at most {MOST_UNITS:,} are counted"
        )
    place = np.floor((submit - first) / unit).astype(np.int64)
    jobs = np.bincount(place[place < n], minlength=n).astype(np.float64)
    begin = pd.Index(first + unit * np.arange(n), name="begin", dtype=np.float64)
    return pd.Series(jobs, begin, name="jobs")


def without_cycle(counts: pd.Series, clock: Clock) -> pd.Series:
    """Subtract the mean of each hour of the week, which removes daily and weekly cycles.

    The hour is that of the unit's middle, in local time if known. In logs of less than four weeks,
    the mean of each hour of the day is subtracted instead.

    Parameters
    ----------
    counts : Series
        Result of `arrivals_per_unit`.
    clock : Clock
        Clock of the log.

    Raises
    ------
    ParameterError
        If the series is shorter than four days, or an hour of the day occurs fewer than four times.

    Examples
    --------
    A job in the first hour of each day is a pure cycle.

    >>> trace = Trace.from_columns({"submit": [day * 86400.0 for day in range(9)]})
    >>> bool((without_cycle(arrivals_per_unit(trace), Clock.of(trace)) == 0).all())
    True
    """
    begin = counts.index.to_numpy()
    unit = begin[1] - begin[0] if begin.size > 1 else 0.0
    local = clock.local(begin + unit / 2)
    for period in (WEEK, DAY):
        kind = np.floor(local % period / _HOUR).astype(np.int64)
        times = np.bincount(kind)
        often = begin.size >= _FEWEST_OF_A_KIND * np.count_nonzero(times)
        if often and begin.size * unit >= _FEWEST_OF_A_KIND * period:
            return counts - (np.bincount(kind, counts) / np.maximum(times, 1))[kind]
    raise ParameterError("the series is too short for a daily cycle: less than four days")


def without_trend(counts: pd.Series) -> pd.Series:
    """Subtract the least-squares line.

    Examples
    --------
    >>> without_trend(pd.Series([1.0, 2.0, 3.0])).tolist()
    [0.0, 0.0, 0.0]
    """
    values = counts.to_numpy()
    place = np.arange(values.size) - (values.size - 1) / 2
    square = (place**2).sum()
    slope = (place * values).sum() / square if square else 0.0
    return counts - values.mean() - slope * place


def treatments(
    counts: pd.Series, clock: Clock, rng: np.random.Generator
) -> dict[str, NDArray[np.float64] | ParameterError]:
    """Return the series raw, cycle_removed, detrended and shuffled.

    If the series is too short for a cycle, the error takes the place of `cycle_removed`.
    """
    values = counts.to_numpy()
    largest = np.abs(values).max(initial=0)

    def clean(series: pd.Series) -> NDArray[np.float64]:
        rest = series.to_numpy()
        # residuals of the size of rounding errors are 0
        return np.zeros(rest.size) if np.abs(rest).max(initial=0) <= 1e-9 * largest else rest

    cycle_removed: NDArray[np.float64] | ParameterError
    try:
        cycle_removed = clean(without_cycle(counts, clock))
    except ParameterError as error:
        cycle_removed = error
    return {
        "raw": values,
        "cycle_removed": cycle_removed,
        "detrended": clean(without_trend(counts)),
        "shuffled": rng.permutation(values),
    }


# Fractional Gaussian noise: exact long-range dependence, for tests of estimators.

_TERMS = 3  # explicit terms of the spectrum's sum; an integral approximates the rest


@takes_rng
def fractional_gaussian_noise(
    n: int, H: float, rng: np.random.Generator | int | None = None
) -> NDArray[np.float64]:
    """Draw fractional Gaussian noise, a series with a known Hurst parameter.

    The method is exact [1]_: circulant embedding of the covariances in 2 n values, which are drawn
    by Fourier transform; half of them is returned.

    Parameters
    ----------
    n : int
        Length, at least 1.
    H : float
        Hurst parameter, 0 < H < 1. At 0.5 values are independent; above 0.5 the series has long
        memory.
    rng : Generator or int, optional

    Returns
    -------
    ndarray of float, shape (n,)
        Mean 0, variance 1.

    Raises
    ------
    ParameterError
        If the length or the parameter is out of range.

    References
    ----------
    .. [1] R. B. Davies, D. S. Harte, "Tests for Hurst effect", Biometrika 74(1), 1987, appendix.

    Examples
    --------
    >>> noise = fractional_gaussian_noise(1000, 0.9, rng=1)
    >>> bool(np.corrcoef(noise[1:], noise[:-1])[0, 1] > 0.6)
    True
    """
    if not (1 <= n < np.inf and n == int(n)):
        raise ParameterError(f"n must be a whole number of at least 1, not {n}")
    n, rng = int(n), np.random.default_rng(rng)
    covariance = autocovariance(np.arange(n + 1), H)
    circle = np.concatenate([covariance, covariance[n - 1 : 0 : -1]])
    # The eigenvalues are non-negative except for rounding errors.
    eigenvalues = np.fft.rfft(circle).real.clip(0)
    parts = rng.standard_normal((2, n + 1))
    waves = np.sqrt(n * eigenvalues) * (parts[0] + 1j * parts[1])
    # The first and the last wave are real, with the variance of both parts of the others.
    waves[[0, n]] = np.sqrt(2 * n * eigenvalues[[0, n]]) * parts[0, [0, n]]
    return np.fft.irfft(waves, 2 * n)[:n]


def autocovariance(lag: ArrayLike, H: float) -> NDArray[np.float64]:
    """Return the autocovariance of fractional Gaussian noise with variance 1.

    Parameters
    ----------
    lag : array_like
    H : float
        Hurst parameter, 0 < H < 1.

    Raises
    ------
    ParameterError
        If the parameter is out of range.

    References
    ----------
    B. B. Mandelbrot, J. W. Van Ness, "Fractional Brownian motions, fractional noises and
    applications", SIAM Review 10(4), 1968.

    Examples
    --------
    >>> autocovariance([0, 1, 2], 0.5).tolist()
    [1.0, 0.0, 0.0]
    """
    if not 0 < H < 1:
        raise ParameterError(f"H must lie between 0 and 1, not at {H:g}")
    lag = np.abs(np.asarray(lag, dtype=np.float64))
    return ((lag + 1) ** (2 * H) - 2 * lag ** (2 * H) + np.abs(lag - 1) ** (2 * H)) / 2


class NoiseSpectrum:
    """Spectrum of fractional Gaussian noise at given frequencies, for any H.

    The spectral density is an infinite sum. The terms near its middle are added explicitly; the
    rest follows from the Euler-Maclaurin formula, to a relative error of 1e-6. Terms that do not
    depend on H are computed once.

    Parameters
    ----------
    frequency : ndarray of float, shape (n,)
        Above 0, at most pi. [radians per step]
    """

    def __init__(self, frequency: NDArray[np.float64]) -> None:
        turns = 2 * np.pi * np.arange(-_TERMS, _TERMS + 1)[:, None]
        beyond = 2 * np.pi * (_TERMS + 1)
        self._rise = np.log(2 * (1 - np.cos(frequency)))
        self._terms = np.log(np.abs(turns + frequency))
        self._next = np.stack([beyond + frequency, beyond - frequency])
        self._log_next = np.log(self._next)

    def log_density(self, H: float) -> NDArray[np.float64]:
        """Return the log spectral density for variance 1 (integral 1 over the circle).

        Examples
        --------
        Independent values have a constant density.

        >>> density = np.exp(NoiseSpectrum(np.array([0.1, 3.0])).log_density(0.5))
        >>> (2 * np.pi * density).round(6).tolist()
        [1.0, 1.0]
        """
        from math import gamma, pi, sin

        power = -2 * H - 1
        total = np.exp(power * self._terms).sum(axis=0)
        first = np.exp(power * self._log_next)  # the first omitted terms, on both sides
        step = 2 * pi / self._next
        rest = first * (
            self._next / (4 * pi * H)
            + 1 / 2
            - power * step / 12
            + power * (power - 1) * (power - 2) * step**3 / 720
        )
        scale = sin(pi * H) * gamma(2 * H + 1) / (2 * pi)
        return self._rise + np.log(scale * (total + rest.sum(axis=0)))
