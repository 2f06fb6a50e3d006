"""Hyper-exponential and hyper-Erlang distributions, and fits of given moments."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError


@dataclass(frozen=True)
class HyperErlang:
    """A mixture of Erlang distributions (of exponential ones if all orders are 1).

    Branch i has the probability `weights[i]`, and is a sum of `orders[i]` exponential phases with
    rate `rates[i]`.

    Parameters
    ----------
    weights : tuple of float
        Sum to 1.
    orders : tuple of int
    rates : tuple of float
        [1/s] for times.

    Examples
    --------
    >>> fast_or_slow = HyperErlang((0.5, 0.5), (1, 2), (1.0, 0.1))
    >>> fast_or_slow.mean(), round(fast_or_slow.moment(2), 9)
    (10.5, 301.0)
    """

    weights: tuple[float, ...]
    orders: tuple[int, ...]
    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.weights) == len(self.orders) == len(self.rates) > 0:
            raise ParameterError(
                f"{len(self.weights)} weights, {len(self.orders)} orders and "
                f"{len(self.rates)} rates; each branch requires one of each"
            )
        if min(self.weights) < 0 or abs(sum(self.weights) - 1) > 1e-9:
            raise ParameterError("weights", f"must be 0 or more with sum 1, not {self.weights}")
        if min(self.rates) <= 0 or min(self.orders) < 1:
            raise ParameterError(
                f"orders must be 1 or more and rates more than 0, not {self.orders}, {self.rates}"
            )

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, without the orders."""
        return 2 * len(self.rates) - 1

    def moment(self, k: int) -> float:
        """Return the k-th moment about 0."""
        # E[X^k] of an Erlang branch is r (r + 1) … (r + k − 1) / λ^k.
        return float(
            sum(
                p * np.prod(np.arange(r, r + k, dtype=np.float64)) / rate**k
                for p, r, rate in zip(self.weights, self.orders, self.rates, strict=True)
            )
        )

    def mean(self) -> float:
        """Return the mean."""
        return self.moment(1)

    def var(self) -> float:
        """Return the variance."""
        return self.moment(2) - self.moment(1) ** 2

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of a value of at most x."""
        from scipy.special import gammainc

        return self._mixed(gammainc, lambda y: -np.expm1(-y), x)

    def sf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of a value above x."""
        from scipy.special import gammaincc

        return self._mixed(gammaincc, lambda y: np.exp(-y), x)

    def _mixed(
        self, of_branch: Callable[..., Any], of_one: Callable[..., Any], x: ArrayLike
    ) -> NDArray[np.float64]:
        """Mix an incomplete gamma function over the branches; `of_one` is its faster form at 1."""
        at = np.maximum(np.asarray(x, dtype=np.float64), 0)
        total = np.zeros_like(at)
        for p, r, rate in zip(self.weights, self.orders, self.rates, strict=True):
            total += p * (of_one(rate * at) if r == 1 else of_branch(r, rate * at))
        return total

    def logpdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the density at x; -inf if x is not positive."""
        at = np.atleast_1d(np.asarray(x, dtype=np.float64))
        result = np.full(at.shape, -np.inf)
        inside = at > 0
        with np.errstate(divide="ignore"):  # a weight of 0
            branches = log_branches(
                at[inside], np.array(self.weights), np.array(self.orders), np.array(self.rates)
            )
        result[inside] = normalized(branches)[1]
        return result.reshape(np.shape(x))

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the density at x."""
        return np.exp(self.logpdf(x))

    def ppf(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return quantiles, to 12 digits."""
        share = np.atleast_1d(np.asarray(q, dtype=np.float64))
        value = np.where(share >= 1, np.inf, 0.0)
        value[~((share >= 0) & (share <= 1))] = np.nan
        inside = (share > 0) & (share < 1)
        if inside.any():
            value[inside] = self._quantiles(1 - share[inside])
        return value.reshape(np.shape(q))

    def _quantiles(self, survival: NDArray[np.float64]) -> NDArray[np.float64]:
        """Invert the survival function by bisection of the logarithm."""
        from scipy.special import gammainccinv

        # The quantile of the mixture lies between those of its branches.
        taken = [
            gammainccinv(r, survival) / rate
            for p, r, rate in zip(self.weights, self.orders, self.rates, strict=True)
            if p > 0
        ]
        low = np.log(np.maximum(np.min(taken, axis=0), np.finfo(float).tiny))
        high = np.log(np.maximum(np.max(taken, axis=0), np.finfo(float).tiny))
        for _ in range(60):
            middle = (low + high) / 2
            above = self.sf(np.exp(middle)) > survival
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.exp((low + high) / 2)

    def rvs(
        self, size: int = 1, rng: np.random.Generator | int | None = None
    ) -> NDArray[np.float64]:
        """Draw values, shape (size,)."""
        rng = np.random.default_rng(rng)
        ends = np.cumsum(self.weights)
        branch = np.searchsorted(ends, rng.random(size) * ends[-1], side="right")
        branch = np.minimum(branch, ends.size - 1)
        orders, rates = np.array(self.orders), np.array(self.rates)
        return rng.standard_gamma(orders[branch]) / rates[branch]


def balanced_hyper_exponential(mean: float, squared_cv: float) -> HyperErlang:
    """Return two exponential branches with balanced means (equal shares of the mean) [1]_.

    Parameters
    ----------
    mean : float
        Positive.
    squared_cv : float
        Squared coefficient of variation, at least 1.

    Raises
    ------
    ParameterError
        If no such distribution has these moments.

    References
    ----------
    .. [1] W. Whitt, "Approximating a point process by a renewal process, I: two basic methods",
       Operations Research 30, 1982, section 3.

    Examples
    --------
    >>> round(balanced_hyper_exponential(10, 4).var(), 9)
    400.0
    """
    if not (mean > 0 and squared_cv >= 1):
        raise ParameterError(
            f"a hyper-exponential distribution requires a mean above 0 and a squared coefficient "
            f"of variation of at least 1, not {mean:g} and {squared_cv:g}"
        )
    p = (1 + np.sqrt((squared_cv - 1) / (squared_cv + 1))) / 2
    weights, rates = as_floats([p, 1 - p]), as_floats([2 * p / mean, 2 * (1 - p) / mean])
    return HyperErlang(weights, (1, 1), rates)


def match_moments(moments: Sequence[float], orders: Iterable[int] = range(1, 201)) -> HyperErlang:
    """Return Erlang branches of a common order with the given moments [1]_.

    2n − 1 moments determine n branches: three moments two, five moments three. Not all moments are
    possible: two exponential branches require m₂ > 2 m₁² and m₁ m₃ > 3/2 m₂².

    Parameters
    ----------
    moments : sequence of float
        The first 3, 5, … moments about 0.
    orders : iterable of int, default range(1, 201)
        The first of these orders for which the moments are possible is used; with 1 the branches
        are exponential.

    Raises
    ------
    ParameterError
        If the number of moments is even, or they are impossible with these orders.

    References
    ----------
    .. [1] M. A. Johnson, M. R. Taaffe, "Matching moments to phase distributions: mixtures of
       Erlang distributions of common order", Stochastic Models 5, 1989.

    Examples
    --------
    >>> found = match_moments([10.5, 301, 24004.5])
    >>> found.orders, round(found.moment(3), 6)
    ((1, 1), 24004.5)
    """
    if len(moments) < 3 or len(moments) % 2 == 0:
        raise ParameterError(f"the number of moments must be 3, 5, …, not {len(moments)}")
    for order in orders:
        found = _match(moments, order)
        if found is not None:
            return found
    raise ParameterError(
        f"no {len(moments) // 2 + 1} branches of the given orders have the moments "
        f"{', '.join(f'{m:.4g}' for m in moments)}"
    )


def _match(moments: Sequence[float], order: int) -> HyperErlang | None:
    """Return branches of an order with these moments; None if they are impossible."""
    scale = moments[0]
    # The moments of 1 / rate are m_k / (r (r + 1) … (r + k − 1)).
    reduced, rising = [1.0], 1.0
    for k, moment in enumerate(moments, start=1):
        rising *= order + k - 1
        reduced.append(moment / scale**k / rising)
    n = len(reduced) // 2
    first = np.array([[reduced[i + j] for j in range(n)] for i in range(n)])
    second = np.array([[reduced[i + j + 1] for j in range(n)] for i in range(n)])
    # A distribution on n positive points has these moments if and only if both are positive
    # definite; the points are the generalized eigenvalues.
    try:
        half = np.linalg.cholesky(first)
        np.linalg.cholesky(second)
    except np.linalg.LinAlgError:
        return None
    inner = np.linalg.solve(half, np.linalg.solve(half, second).T)
    means, vectors = np.linalg.eigh((inner + inner.T) / 2)
    weights = vectors[0] ** 2  # as in Gaussian quadrature (Golub and Welsch, 1969)
    if not (means > 0).all():
        return None
    found = HyperErlang(as_floats(weights), (order,) * n, as_floats(1 / (means * scale)))
    matched = [found.moment(k + 1) for k in range(len(moments))]
    return found if np.allclose(matched, moments, rtol=1e-6) else None


def log_branches(
    x: NDArray[np.float64],
    weights: NDArray[np.float64],
    orders: NDArray[np.int64],
    rates: NDArray[np.float64],
    fixed: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> NDArray[np.float64]:
    """Return the logarithm of each branch's weighted density, shape (n_branches, n_values).

    `fixed`, as `fixed_part` returns it, is computed if it is not given.
    """
    factorials, powers = fixed_part(x, orders) if fixed is None else fixed
    constant = np.log(weights) + orders * np.log(rates) - factorials
    branches: NDArray[np.float64] = constant[:, None] + powers
    branches -= rates[:, None] * x
    return branches


def fixed_part(
    x: NDArray[np.float64], orders: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what does not change with weights and rates: logarithms of factorial and powers."""
    from scipy.special import gammaln

    return gammaln(orders), np.outer(orders - 1.0, np.log(x))


def normalized(
    branches: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of each branch in the density, and the logarithm of the density.

    The shares take the place of the branches.
    """
    largest = np.maximum.reduce(branches)
    branches -= largest
    np.exp(branches, out=branches)
    total = np.add.reduce(branches)
    branches /= total
    return branches, largest + np.log(total)


def as_floats(values: Any) -> tuple[float, ...]:
    """Return values as plain floats."""
    return tuple(np.asarray(values, dtype=np.float64).tolist())
