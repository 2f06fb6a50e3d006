"""Families of distributions of positive values, and their fitting to a sample."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from workloadkit.analysis.fits.laws import (
    EXPONENTIAL,
    GAMMA,
    LOG_LOGISTIC,
    LOG_UNIFORM,
    LOGNORMAL,
    LOMAX,
    PARETO,
    WEIBULL,
    Scaled,
)
from workloadkit.analysis.fits.phase_type import (
    HyperErlang,
    balanced_hyper_exponential,
    fit_hyper_erlang,
    fit_orders,
    match_moments,
)
from workloadkit.analysis.searching import find_minimum, find_root
from workloadkit.errors import ParameterError

#: Phases of a hyper-Erlang distribution; their split into branches maximizes the likelihood.
STATES = 6

#: Number of bins for EM, evenly spaced on a logarithmic axis, each at the mean of its values.
BINS = 500

_ALL_ONE, _ERLANG = range(1, 2), range(2, 201)  # orders of branches that match moments
_STEEPEST = 1e4  # shape beyond which values are practically equal


@dataclass(frozen=True)
class Sample:
    """Positive distinct values with their counts.

    Parameters
    ----------
    values : ndarray of float, shape (n_distinct,)
        Ascending, more than 0.
    counts : ndarray of float, shape (n_distinct,)
        Number of occurrences of each value.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, values: ArrayLike) -> "Sample":
        """Return the sample of these positive values."""
        distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
        return cls(distinct, counts.astype(np.float64))

    @cached_property  # every mean divides by it
    def n(self) -> float:
        """Number of values."""
        return float(self.counts.sum())

    def mean(self, of: NDArray[np.float64] | None = None) -> float:
        """Return the mean of the values, or of the given quantity at each distinct value."""
        # np.dot would start threads for this small sum
        return float((self.counts * (self.values if of is None else of)).sum() / self.n)

    def moments(self, n: int) -> list[float]:
        """Return the first n moments about 0."""
        scale = self.mean()  # keeps powers of large values finite
        return [self.mean((self.values / scale) ** k) * scale**k for k in range(1, n + 1)]

    @property
    def squared_cv(self) -> float:
        """Squared coefficient of variation."""
        return self.mean((self.values / self.mean() - 1) ** 2)

    def binned(self, n_bins: int = BINS) -> "Sample":
        """Return the sample in logarithmic bins, each at the mean of its values.

        The mean of the sample does not change, nor does a sample of at most `n_bins` distinct
        values.
        """
        if self.values.size <= n_bins:
            return self
        edges = np.geomspace(self.values[0], self.values[-1], n_bins + 1)
        place = np.clip(np.searchsorted(edges, self.values, side="right") - 1, 0, n_bins - 1)
        counts = np.bincount(place, self.counts, minlength=n_bins)
        totals = np.bincount(place, self.counts * self.values, minlength=n_bins)
        some = counts > 0
        return Sample(totals[some] / counts[some], counts[some].astype(np.float64))


@dataclass(frozen=True)
class Family:
    """A family of distributions and its fitting method.

    Parameters
    ----------
    title : str
        Name of the family.
    method : str
        Fitting method: "ML" (maximum likelihood), "moments", "balanced means" or "EM".
    fit : callable
        ``fit(sample)`` returns the distribution, its parameters by name, and the number of free
        parameters. It raises a ParameterError if there is no fit.
    """

    title: str
    method: str
    fit: Callable[[Sample], tuple[Any, dict[str, Any], int]]


def _exponential(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    scale = sample.mean()
    return Scaled(EXPONENTIAL, (), scale), {"scale": scale}, 1


def _gamma(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    excess = float(np.log(sample.mean())) - sample.mean(np.log(sample.values))
    shape = _root(lambda a: np.log(a) - special.digamma(a) - excess)
    scale = sample.mean() / shape
    return Scaled(GAMMA, (shape,), scale), {"shape": shape, "scale": scale}, 2


def _lognormal(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    log = np.log(sample.values)
    mu = sample.mean(log)
    sigma = float(np.sqrt(sample.mean((log - mu) ** 2)))
    if sigma < 1 / _STEEPEST:
        raise ParameterError("the values are almost equal")
    return Scaled(LOGNORMAL, (sigma,), float(np.exp(mu))), {"mu": mu, "sigma": sigma}, 2


def _weibull(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    log = np.log(sample.values)
    log_mean = sample.mean(log)
    log = log - log[-1]  # so that the largest value is scaled to 1

    def slope(shape: float) -> float:
        power = np.exp(shape * log)
        return 1 / shape - sample.mean(power * log) / sample.mean(power)

    largest = float(np.log(sample.values[-1]))
    shape = _root(lambda k: slope(k) + log_mean - largest)
    scale = float(sample.values[-1] * sample.mean(np.exp(shape * log)) ** (1 / shape))
    return Scaled(WEIBULL, (shape,), scale), {"shape": shape, "scale": scale}, 2


def _log_logistic(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    log = np.log(sample.values)
    centre = sample.mean(log)
    spread = float(np.sqrt(sample.mean((log - centre) ** 2)))
    if spread < 1 / _STEEPEST:
        raise ParameterError("the values are almost equal")
    z = (log - centre) / spread
    # The log-likelihood of the logistic distribution of z is concave in slope and intercept;
    # Newton's method, with halved steps if the slope would shrink too fast, starts near its
    # maximum.
    at = np.array([1.8, 0.0])
    for _ in range(50):
        p = special.expit(at[0] * z + at[1])
        slant = 2 * p * (1 - p)
        by_slope, by_intercept = 1 / at[0] - sample.mean((2 * p - 1) * z), 1 - 2 * sample.mean(p)
        mixed = sample.mean(slant * z)
        curve = np.array(
            [[1 / at[0] ** 2 + sample.mean(slant * z**2), mixed], [mixed, sample.mean(slant)]]
        )
        step = np.linalg.solve(curve, [by_slope, by_intercept])
        while at[0] + step[0] <= at[0] / 10:
            step /= 2
        at = at + step
        if np.abs(step).max() < 1e-12:
            break
    slope, intercept = at
    shape = float(slope / spread)
    scale = float(np.exp(centre - spread * intercept / slope))
    return Scaled(LOG_LOGISTIC, (shape,), scale), {"shape": shape, "scale": scale}, 2


def _lomax(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    mean = sample.mean()

    def loss(log_scale: float) -> float:  # negative log-likelihood, profiled over the shape
        spread = sample.mean(np.log1p(sample.values / np.exp(log_scale)))
        return log_scale + np.log(spread) + spread

    low, high = np.log(mean) - 20, np.log(mean) + 20
    grid = np.linspace(low, high, 21)
    best = int(np.argmin([loss(at) for at in grid]))
    if best in (0, grid.size - 1):
        raise ParameterError(
            "the likelihood has no maximum: the tail is no heavier than that of "
            "an exponential distribution"
        )
    bracket = (grid[best - 1], grid[best + 1])
    scale = float(np.exp(find_minimum(loss, *bracket, 1e-8)[0]))
    shape = 1 / sample.mean(np.log1p(sample.values / scale))
    return Scaled(LOMAX, (shape,), scale), {"shape": shape, "scale": scale}, 2


def _pareto(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    scale = float(sample.values[0])
    spread = sample.mean(np.log(sample.values / scale))
    if spread < 1 / _STEEPEST:
        raise ParameterError("the values are almost equal")
    shape = 1 / spread
    return Scaled(PARETO, (shape,), scale), {"shape": shape, "scale": scale}, 2


def _log_uniform(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    low, high = float(sample.values[0]), float(sample.values[-1])
    if low == high:
        raise ParameterError("all values are equal")
    return Scaled(LOG_UNIFORM, (low, high)), {"low": low, "high": high}, 2


def _balanced(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    found = balanced_hyper_exponential(sample.mean(), sample.squared_cv)
    return found, _parameters(found), 2


def _moments(n_moments: int, orders: range) -> Callable[[Sample], tuple[Any, dict, int]]:
    def fit(sample: Sample) -> tuple[Any, dict[str, Any], int]:
        found = match_moments(sample.moments(n_moments), orders)
        return found, _parameters(found), found.n_parameters

    return fit


def _hyper_exponential(phases: int) -> Callable[[Sample], tuple[Any, dict, int]]:
    def fit(sample: Sample) -> tuple[Any, dict[str, Any], int]:
        bins = sample.binned()
        found, _ = fit_orders(bins.values, (1,) * phases, counts=bins.counts)
        return found, _parameters(found), found.n_parameters

    return fit


def _hyper_erlang(sample: Sample) -> tuple[Any, dict[str, Any], int]:
    bins = sample.binned()
    found, _ = fit_hyper_erlang(bins.values, STATES, counts=bins.counts)
    return found, _parameters(found), found.n_parameters


def _parameters(found: HyperErlang) -> dict[str, Any]:
    return {
        "weights": list(found.weights),
        "orders": list(found.orders),
        "rates": list(found.rates),
    }


def _root(function: Callable[[float], float]) -> float:
    """Find the root of a decreasing function of the shape."""
    low, high = 1 / _STEEPEST, _STEEPEST
    if not function(low) > 0 > function(high):
        raise ParameterError("the values are almost equal, or too widely spread")
    log = find_root(lambda log: function(np.exp(log)), np.log(low), np.log(high), 1e-12)
    return float(np.exp(log))


#: Families in the order of tables. All have location 0.
FAMILIES: dict[str, Family] = {
    "exponential": Family("exponential", "ML", _exponential),
    "gamma": Family("gamma", "ML", _gamma),
    "lognormal": Family("lognormal", "ML", _lognormal),
    "weibull": Family("Weibull", "ML", _weibull),
    "log_logistic": Family("log-logistic", "ML", _log_logistic),
    "lomax": Family("Lomax", "ML", _lomax),
    "pareto": Family("Pareto", "ML", _pareto),
    "log_uniform": Family("log-uniform", "ML", _log_uniform),
    "hyper_exponential_2_balanced": Family("hyper-exponential, 2", "balanced means", _balanced),
    "hyper_exponential_2_moments": Family("hyper-exponential, 2", "moments", _moments(3, _ALL_ONE)),
    "hyper_exponential_3_moments": Family("hyper-exponential, 3", "moments", _moments(5, _ALL_ONE)),
    "hyper_exponential_2_em": Family("hyper-exponential, 2", "EM", _hyper_exponential(2)),
    "hyper_exponential_3_em": Family("hyper-exponential, 3", "EM", _hyper_exponential(3)),
    "hyper_erlang_moments": Family("hyper-Erlang, 2", "moments", _moments(3, _ERLANG)),
    "hyper_erlang_em": Family("hyper-Erlang", "EM", _hyper_erlang),
}
