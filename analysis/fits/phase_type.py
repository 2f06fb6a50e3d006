"""Maximum-likelihood fitting of hyper-exponential and hyper-Erlang distributions (EM)."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError
from workloadkit.models.hyper_erlang import (
    HyperErlang,
    as_floats,
    balanced_hyper_exponential,
    fixed_part,
    log_branches,
    match_moments,
    normalized,
)

__all__ = [
    "HyperErlang",
    "balanced_hyper_exponential",
    "fit_hyper_erlang",
    "fit_orders",
    "match_moments",
    "orders_of",
]

#: EM stops if an iteration adds less than this to the mean log-likelihood per value.
TOLERANCE = 1e-8
MOST_ROUNDS = 2000

# Iterations before candidate orders are compared, and the number of candidates fitted to the end.
_TRIAL_ROUNDS, _FINALISTS = 25, 4


def orders_of(states: int) -> Iterator[tuple[int, ...]]:
    """Yield all partitions of a number of phases into branches, in ascending order.

    Examples
    --------
    >>> list(orders_of(4))
    [(1, 1, 1, 1), (1, 1, 2), (1, 3), (2, 2), (4,)]
    """

    def partitions(left: int, least: int) -> Iterator[tuple[int, ...]]:
        for order in range(least, left // 2 + 1):
            for rest in partitions(left - order, order):
                yield (order, *rest)
        yield (left,)

    return partitions(states, 1)


def fit_orders(
    values: ArrayLike,
    orders: Sequence[int],
    *,
    counts: ArrayLike | None = None,
    rounds: int = MOST_ROUNDS,
    start: HyperErlang | None = None,
) -> tuple[HyperErlang, NDArray[np.float64]]:
    """Fit Erlang branches of given orders by expectation maximization [1]_.

    Parameters
    ----------
    values : array_like, shape (n_values,)
        Positive values.
    orders : sequence of int
        Orders of the branches; all 1 for a hyper-exponential distribution.
    counts : array_like, shape (n_values,), optional
        Number of occurrences of each value; by default 1.
    rounds : int, default 2000
        Maximum number of iterations; EM stops earlier if an iteration adds less than 1e-8 to the
        mean log-likelihood.
    start : HyperErlang, optional
        Initial distribution; by default each branch gets an equal share of the sorted values.

    Returns
    -------
    HyperErlang
    log_likelihood : ndarray of float, shape (n_rounds,)
        Mean log-likelihood per value at the start of each iteration; it never decreases.

    References
    ----------
    .. [1] A. Thümmler, P. Buchholz, M. Telek, "A novel approach for phase-type fitting with the
       EM algorithm", IEEE Transactions on Dependable and Secure Computing 3, 2006, section 3.

    Examples
    --------
    >>> found, _ = fit_orders([1, 2, 3], [1])
    >>> found.rates
    (0.5,)
    """
    x = np.asarray(values, dtype=np.float64)
    share = np.ones(x.size) if counts is None else np.asarray(counts, dtype=np.float64)
    if not (x.size and (x > 0).all() and share.shape == x.shape and (share >= 0).all()):
        raise ParameterError("values must be positive, and counts 0 or more")
    share = share / share.sum()
    n = np.array(orders, dtype=np.int64)
    if start is None:
        start = _equal_parts(x, share, n)
    weights, rates = np.array(start.weights), np.array(start.rates)
    weighted, fixed = share * x, fixed_part(x, n)
    history: list[float] = []
    while True:
        of_branch, total = normalized(log_branches(x, weights, n, rates, fixed))
        history.append(float(share @ total))
        small_step = len(history) > 1 and history[-1] - history[-2] < TOLERANCE
        if small_step or len(history) > rounds or (n.size == 1 and len(history) > 1):
            break
        weights = of_branch @ share  # posterior probability of each branch
        amount = of_branch @ weighted
        if not (min(weights.tolist()) > 1e-12 and min(amount.tolist()) > 0):
            alive = (weights > 1e-12) & (amount > 0)
            weights, n, amount = weights[alive], n[alive], amount[alive]
            fixed = fixed_part(x, n)
        rates = n * weights / amount
        weights = weights / weights.sum()
    order = np.argsort(-rates / n, kind="stable")
    found = HyperErlang(
        as_floats(weights[order] / weights.sum()), tuple(n[order].tolist()), as_floats(rates[order])
    )
    return found, np.array(history)


def fit_hyper_erlang(
    values: ArrayLike, states: int, *, counts: ArrayLike | None = None
) -> tuple[HyperErlang, NDArray[np.float64]]:
    """Fit Erlang branches with a given total number of phases; likelihood selects orders [1]_.

    All partitions of the phases into branches are fitted for a few iterations; the best four are
    fitted to the end, and the fit with the largest likelihood is returned.

    Parameters
    ----------
    values : array_like, shape (n_values,)
        Positive values.
    states : int
        Total number of phases.
    counts : array_like, shape (n_values,), optional
        Number of occurrences of each value.

    Returns
    -------
    HyperErlang
    log_likelihood : ndarray of float, shape (n_rounds,)
        See `fit_orders`.

    References
    ----------
    .. [1] A. Thümmler, P. Buchholz, M. Telek, "A novel approach for phase-type fitting with the
       EM algorithm", IEEE Transactions on Dependable and Secure Computing 3, 2006, section 3.4.
    """
    tried = [
        (history[-1], found)
        for orders in orders_of(states)
        for found, history in [fit_orders(values, orders, counts=counts, rounds=_TRIAL_ROUNDS)]
    ]
    tried.sort(key=lambda pair: -pair[0])
    best = [found for _, found in tried[:_FINALISTS]]
    fits = [fit_orders(values, found.orders, counts=counts, start=found) for found in best]
    return max(fits, key=lambda fit: float(fit[1][-1]))


def _equal_parts(
    x: NDArray[np.float64], share: NDArray[np.float64], orders: NDArray[np.int64]
) -> HyperErlang:
    """Start each branch at the mean of an equal part of the sorted values, by ascending order."""
    by_size = np.argsort(x, kind="stable")
    x, share = x[by_size], share[by_size]
    middle = np.cumsum(share) - share / 2
    part = np.minimum((middle * orders.size).astype(np.int64), orders.size - 1)
    weight = np.bincount(part, share, minlength=orders.size)
    amount = np.bincount(part, share * x, minlength=orders.size)
    overall = float(share @ x)
    # An empty part (ties exceed its share) starts at a multiple of the overall mean.
    fallback = overall * 2.0 ** np.arange(orders.size)
    means = np.where(weight > 0, amount / np.where(weight > 0, weight, 1), fallback)
    n = orders.size
    return HyperErlang(
        as_floats(np.full(n, 1 / n)), tuple(orders.tolist()), as_floats(orders / means)
    )
