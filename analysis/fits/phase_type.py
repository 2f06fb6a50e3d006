"""Hyper-exponential and hyper-Erlang distributions found from values by likelihood."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError
from workloadkit.models.hyper_erlang import (
    HyperErlang,
    as_floats,
    balanced_hyper_exponential,
    log_branches,
    match_moments,
    normalised,
)

__all__ = [
    "HyperErlang",
    "balanced_hyper_exponential",
    "fit_hyper_erlang",
    "fit_orders",
    "match_moments",
    "orders_of",
]

#: EM stops where a round adds less than this to the mean log-likelihood of a value.
TOLERANCE = 1e-8
MOST_ROUNDS = 2000

# Settings of orders are compared after so many rounds, and so many of them are fitted to the end.
_TRIAL_ROUNDS, _FINALISTS = 25, 4


def orders_of(states: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to divide a number of phases among branches, in ascending order.

    Examples
    --------
    >>> list(orders_of(4))
    [(1, 1, 1, 1), (1, 1, 2), (1, 3), (2, 2), (4,)]
    """

    def ways(left: int, least: int) -> Iterator[tuple[int, ...]]:
        for order in range(least, left // 2 + 1):
            for rest in ways(left - order, order):
                yield (order, *rest)
        yield (left,)

    return ways(states, 1)


def fit_orders(
    values: ArrayLike,
    orders: Sequence[int],
    *,
    counts: ArrayLike | None = None,
    rounds: int = MOST_ROUNDS,
    start: HyperErlang | None = None,
) -> tuple[HyperErlang, NDArray[np.float64]]:
    """Fit Erlang branches of given orders by expectation maximisation [1]_.

    Parameters
    ----------
    values : array_like, shape (n_values,)
        More than 0.
    orders : sequence of int
        Of the branches; all 1 for a hyper-exponential distribution.
    counts : array_like, shape (n_values,), optional
        How often each value occurs; by default once.
    rounds : int, default 2000
        How many at most; it ends where a round adds less than 1e-8 to the mean log-likelihood.
    start : HyperErlang, optional
        Where to begin; by default each branch begins with an equal share of the ordered values.

    Returns
    -------
    HyperErlang
    log_likelihood : ndarray of float, shape (n_rounds,)
        Mean log-likelihood of a value at the begin of each round; it never decreases.

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
        raise ParameterError("values must be more than 0, and each count 0 or more")
    share = share / share.sum()
    n = np.array(orders, dtype=np.int64)
    if start is None:
        start = _equal_parts(x, share, n)
    weights, rates = np.array(start.weights), np.array(start.rates)
    weighted = share * x
    history: list[float] = []
    while True:
        branches = log_branches(x, weights, n, rates)
        of_branch, total = normalised(branches)
        history.append(float(share @ total))
        small_step = len(history) > 1 and history[-1] - history[-2] < TOLERANCE
        if small_step or len(history) > rounds or (n.size == 1 and len(history) > 1):
            break
        weights = of_branch @ share  # the probability that a value came by each branch
        amount = of_branch @ weighted
        alive = (weights > 1e-12) & (amount > 0)
        weights, n, amount = weights[alive], n[alive], amount[alive]
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
    """Fit Erlang branches with that many phases in all, the orders chosen by likelihood [1]_.

    All ways to divide the phases among branches are tried for a few rounds; the best four of
    them are fitted to the end, and the likeliest is returned.

    Parameters
    ----------
    values : array_like, shape (n_values,)
        More than 0.
    states : int
        Number of phases of all branches together.
    counts : array_like, shape (n_values,), optional
        How often each value occurs.

    Returns
    -------
    HyperErlang
    log_likelihood : ndarray of float, shape (n_rounds,)
        As `fit_orders` returns it.

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
    """Give each branch the mean of its equal part of the ordered values.

    The branches of higher order, which are narrow, take the parts of the larger values.
    """
    by_size = np.argsort(x, kind="stable")
    x, share = x[by_size], share[by_size]
    middle = np.cumsum(share) - share / 2
    part = np.minimum((middle * orders.size).astype(np.int64), orders.size - 1)
    weight = np.bincount(part, share, minlength=orders.size)
    amount = np.bincount(part, share * x, minlength=orders.size)
    overall = float(share @ x)
    # An empty part (one value has more than its share) begins at the mean of all, set apart.
    apart = overall * 2.0 ** np.arange(orders.size)
    means = np.where(weight > 0, amount / np.where(weight > 0, weight, 1), apart)
    n = orders.size
    return HyperErlang(
        as_floats(np.full(n, 1 / n)), tuple(orders.tolist()), as_floats(orders / means)
    )
