"""Distributions of positive values in closed form; importing scipy.stats would take a second."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import (
    expit,
    gammainc,
    gammaincc,
    gammaincinv,
    gammaln,
    logit,
    ndtr,
    ndtri,
    xlogy,
)
from scipy.special import gamma as gamma_function

_NEAR_ONE = 0.99  # up to here, the complement of a probability has 14 digits


class Law(NamedTuple):
    """A family of distributions with scale 1, as functions of a value and the shapes.

    `name` is that of the family in scipy.stats, and `support` the least and largest value.
    """

    name: str
    cdf: Callable[..., Any]
    sf: Callable[..., Any]
    logpdf: Callable[..., Any]
    ppf: Callable[..., Any]
    mean: Callable[..., Any]
    support: Callable[..., tuple[float, float]] = lambda *shapes: (0.0, np.inf)


def _gamma_tail(z: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """Return the survival function; gammaincc takes microseconds where its complement is fast."""
    cdf = gammainc(a, z)
    return gammaincc(a, z, out=np.asarray(1 - cdf), where=cdf > _NEAR_ONE)


def _log_logistic(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the logistic density at u, 0 or more."""
    return -u - 2 * np.log1p(np.exp(-u))


EXPONENTIAL = Law(
    "expon",
    cdf=lambda z: -np.expm1(-z),
    sf=lambda z: np.exp(-z),
    logpdf=lambda z: -z,
    ppf=lambda q: -np.log1p(-q),
    mean=lambda: 1.0,
)
GAMMA = Law(
    "gamma",
    cdf=lambda z, a: gammainc(a, z),
    sf=lambda z, a: _gamma_tail(z, a),
    logpdf=lambda z, a: xlogy(a - 1, z) - z - gammaln(a),
    ppf=lambda q, a: gammaincinv(a, q),
    mean=lambda a: a,
)
LOGNORMAL = Law(
    "lognorm",
    cdf=lambda z, s: ndtr(np.log(z) / s),
    sf=lambda z, s: ndtr(-np.log(z) / s),
    # the square is completed, so that the density at 0 is 0
    logpdf=lambda z, s: (s**2 - (np.log(z) / s + s) ** 2) / 2 - np.log(s * np.sqrt(2 * np.pi)),
    ppf=lambda q, s: np.exp(s * ndtri(q)),
    mean=lambda s: np.exp(s**2 / 2),
)
WEIBULL = Law(
    "weibull_min",
    cdf=lambda z, c: -np.expm1(-(z**c)),
    sf=lambda z, c: np.exp(-(z**c)),
    logpdf=lambda z, c: np.log(c) + xlogy(c - 1, z) - z**c,
    ppf=lambda q, c: (-np.log1p(-q)) ** (1 / c),
    mean=lambda c: gamma_function(1 + 1 / c),
)
LOG_LOGISTIC = Law(
    "fisk",
    cdf=lambda z, c: expit(c * np.log(z)),
    sf=lambda z, c: expit(-c * np.log(z)),
    logpdf=lambda z, c: np.log(c) - np.log(z) + _log_logistic(np.abs(c * np.log(z))),
    ppf=lambda q, c: np.exp(logit(q) / c),
    mean=lambda c: np.pi / c / np.sin(np.pi / c) if c > 1 else np.inf,
)
LOMAX = Law(
    "lomax",
    cdf=lambda z, c: -np.expm1(-c * np.log1p(z)),
    sf=lambda z, c: np.exp(-c * np.log1p(z)),
    logpdf=lambda z, c: np.log(c) - (c + 1) * np.log1p(z),
    ppf=lambda q, c: np.expm1(-np.log1p(-q) / c),
    mean=lambda c: 1 / (c - 1) if c > 1 else np.inf,
)
PARETO = Law(
    "pareto",
    cdf=lambda z, b: -np.expm1(-b * np.log(z)),
    sf=lambda z, b: z**-b,
    logpdf=lambda z, b: np.log(b) - (b + 1) * np.log(z),
    ppf=lambda q, b: (1 - q) ** (-1 / b),
    mean=lambda b: b / (b - 1) if b > 1 else np.inf,
    support=lambda b: (1.0, np.inf),
)
LOG_UNIFORM = Law(
    "loguniform",
    cdf=lambda z, low, high: np.log(z / low) / np.log(high / low),
    sf=lambda z, low, high: np.log(high / z) / np.log(high / low),
    logpdf=lambda z, low, high: -np.log(z) - np.log(np.log(high / low)),
    ppf=lambda q, low, high: low * (high / low) ** q,
    mean=lambda low, high: (high - low) / np.log(high / low),
    support=lambda low, high: (low, high),
)


@dataclass(frozen=True)
class Scaled:
    """A distribution of a family, with location 0.

    Parameters
    ----------
    law : Law
    shapes : tuple of float
    scale : float, default 1

    Examples
    --------
    >>> law = Scaled(GAMMA, (2.0,), 3.0)
    >>> law.mean(), round(float(law.sf(law.ppf(0.25))), 9)
    (6.0, 0.75)
    """

    law: Law
    shapes: tuple[float, ...]
    scale: float = 1.0

    @property
    def frozen(self) -> Any:
        """The frozen distribution of scipy.stats."""
        from scipy import stats

        return getattr(stats, self.law.name)(*self.shapes, scale=self.scale)

    def mean(self) -> float:
        """Return the mean; infinite for some heavy tails."""
        return float(self.scale * self.law.mean(*self.shapes))

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of a value of at most x."""
        return self._at(self.law.cdf, x)

    def sf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of a value above x."""
        return self._at(self.law.sf, x)

    def logpdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the density at x."""
        low, high = self.law.support(*self.shapes)
        z = np.asarray(x, dtype=np.float64) / self.scale
        density = self._at(self.law.logpdf, x) - np.log(self.scale)
        return np.where((z < low) | (z > high), -np.inf, density)

    def ppf(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the quantile at probability q."""
        q = np.asarray(q, dtype=np.float64)
        share = np.where((q >= 0) & (q <= 1), q, np.nan)
        with np.errstate(all="ignore"):
            return self.scale * self.law.ppf(share, *self.shapes)

    def rvs(
        self, size: int = 1, rng: np.random.Generator | int | None = None
    ) -> NDArray[np.float64]:
        """Draw values, shape (size,)."""
        return self.frozen.rvs(size=size, random_state=np.random.default_rng(rng))

    def _at(self, function: Callable[..., Any], x: ArrayLike) -> NDArray[np.float64]:
        """Return a function of the values; outside of the support, its value at the nearest end."""
        z = np.clip(np.asarray(x, dtype=np.float64) / self.scale, *self.law.support(*self.shapes))
        with np.errstate(all="ignore"):  # log(0), and what is beyond the largest float
            return function(z, *self.shapes)
