"""Fractional Gaussian noise: exact long-range dependence, for tests of estimators."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError, takes_rng

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
