"""Bootstrap intervals with users as the sampling units, since jobs of one user are alike."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError, plural, takes_rng

#: Number of resamples. The limits of two runs then differ by some hundredths of the interval's
#: width.
N_RESAMPLES = 500

#: Coverage probability of the intervals.
LEVEL = 0.95

_PARTS = 32  # of the sorted values


@takes_rng
def resample_users(
    n_users: int,
    n_resamples: int = N_RESAMPLES,
    *,
    rng: int | np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Draw users with replacement, as many as there are.

    Each draw takes users with all their jobs: the cluster bootstrap [1]_.

    Parameters
    ----------
    n_resamples : int, default 500
    rng : int or Generator, optional

    Returns
    -------
    weights : ndarray of float, shape (n_resamples, n_users)
        Number of times that each user was drawn. All NaN for a single user, from whom no variation
        between users can be estimated.

    Raises
    ------
    ParameterError
        If `n_users` or `n_resamples` is below 1.

    References
    ----------
    .. [1] A. C. Davison, D. V. Hinkley, "Bootstrap methods and their application", 1997,
       section 3.8.

    Examples
    --------
    >>> weights = resample_users(3, 4, rng=1)
    >>> weights.shape, weights.sum(axis=1).tolist()
    ((4, 3), [3.0, 3.0, 3.0, 3.0])
    """
    if n_users < 1 or n_resamples < 1:
        raise ParameterError(
            f"cannot draw {plural(n_resamples, 'time')} from {plural(n_users, 'user')}"
        )
    if n_users == 1:
        return np.full((n_resamples, 1), np.nan)
    rng = np.random.default_rng(rng)
    equal = np.full(n_users, 1 / n_users)
    return rng.multinomial(n_users, equal, n_resamples).astype(np.float64)


def interval(values: ArrayLike, *, level: float = LEVEL) -> NDArray[np.float64]:
    """Return the percentile interval of bootstrap draws.

    Parameters
    ----------
    values : array_like, shape (n_resamples, ...)
        Statistic of each draw, NaN if undefined in the draw.
    level : float, default 0.95

    Returns
    -------
    ndarray of float, shape (2, ...)
        Lower and upper limit; NaN if the statistic is undefined in more than 10 % of the draws, as
        with fewer than three users, and if all draws are equal, since they then carry no
        information on the error.

    Examples
    --------
    >>> interval(np.arange(1001)).round(9).tolist()
    [25.0, 975.0]
    """
    values = np.asarray(values, dtype=np.float64)
    ordered = np.sort(np.where(np.isfinite(values), values, np.nan), axis=0)  # NaN are last
    n_known = np.isfinite(ordered).sum(axis=0)
    limits = []
    for q in ((1 - level) / 2, (1 + level) / 2):
        place = q * np.maximum(n_known - 1, 0)
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(n_known - 1, 0))
        low, high = (np.take_along_axis(ordered, i[None], axis=0)[0] for i in (below, above))
        limits.append(low + (place - below) * (high - low))
    defined = (n_known >= 0.9 * len(values)) & (
        np.nanmax(ordered, axis=0, initial=-np.inf) > ordered[0]
    )
    return np.where(defined, limits, np.nan)


def totals_by_user(
    values: ArrayLike, user: NDArray[np.integer], n_users: int
) -> NDArray[np.float64]:
    """Sum values of jobs by user.

    Parameters
    ----------
    values : array_like, shape (n_jobs,)
    user : ndarray of int, shape (n_jobs,)
        0 to n_users - 1.

    Returns
    -------
    ndarray of float, shape (n_users,)

    Examples
    --------
    >>> totals_by_user([True, True, False], np.array([0, 2, 0]), 3).tolist()
    [1.0, 0.0, 1.0]
    """
    totals = np.bincount(user, np.asarray(values, dtype=np.float64), minlength=n_users)
    return np.asarray(totals, dtype=np.float64)


def resampled_ratios(
    above: NDArray[np.float64], below: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the ratio of two totals (a share or a mean) in each draw.

    Parameters
    ----------
    above, below : ndarray, shape (n_users, ...)
        Contribution of each user to the two totals.
    weights : ndarray, shape (n_resamples, n_users)
        Result of `resample_users`.

    Returns
    -------
    ndarray of float, shape (n_resamples, ...)
        NaN if the total of `below` is 0.

    Examples
    --------
    The first user continued 1 of 2 times, the second 3 of 3 times.

    >>> weights = np.array([[1.0, 1.0], [2.0, 0.0]])
    >>> resampled_ratios(np.array([1.0, 3.0]), np.array([2.0, 3.0]), weights).tolist()
    [0.8, 0.5]
    """
    total = np.tensordot(weights, below, 1)
    ratios = np.full(total.shape, np.nan)
    np.divide(np.tensordot(weights, above, 1), total, out=ratios, where=total > 0)
    return ratios


def resampled_medians(
    values: ArrayLike, user: NDArray[np.integer], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the median over the jobs of each draw.

    Parameters
    ----------
    values : array_like, shape (n_jobs,)
    user : ndarray of int, shape (n_jobs,)
        Column of each job's user in `weights`.
    weights : ndarray, shape (n_resamples, n_users)
        Result of `resample_users`.

    Returns
    -------
    ndarray of float, shape (n_resamples,)
        NaN if no user with jobs was drawn.

    Examples
    --------
    >>> weights = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
    >>> resampled_medians([3, 1, 8], np.array([0, 0, 1]), weights).tolist()
    [3.0, 2.0, 8.0]
    """
    from workloadkit._kernels.statistics import weighted_medians

    values = np.asarray(values, dtype=np.float64)
    order = np.argsort(values)
    user, (n_draws, n_users) = np.asarray(user, dtype=np.int64)[order], weights.shape
    # The search starts in the part of the values in which the median of a draw lies.
    part = np.arange(user.size) * _PARTS // max(user.size, 1)
    counts = np.bincount(user * _PARTS + part, minlength=n_users * _PARTS)
    up_to = np.cumsum(weights @ counts.reshape(n_users, _PARTS), axis=1)
    total = up_to[:, -1]
    first = (2 * up_to < total[:, None]).sum(axis=1)
    below = np.where(first > 0, up_to[np.arange(n_draws), first - 1], 0.0)
    start = np.searchsorted(part, first)
    return weighted_medians(values[order], user, weights, total, start, below)


def resampled_rank_correlation(
    x: ArrayLike, y: ArrayLike, user: NDArray[np.integer], weights: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return Spearman's rank correlation of jobs, and an approximation of it in each draw.

    Ranking all jobs again in each draw is slow. Instead, the influence of each job on the
    correlation, ranks included, is summed by user [1]_, on Fisher's scale, where the variance of a
    correlation hardly depends on its value.

    Parameters
    ----------
    x, y : array_like, shape (n_jobs,)
    user : ndarray of int, shape (n_jobs,)
        Column of each job's user in `weights`.
    weights : ndarray, shape (n_resamples, n_users)
        Result of `resample_users`.

    Returns
    -------
    correlation : float
        NaN if `x` or `y` is constant.
    draws : ndarray of float, shape (n_resamples,)

    References
    ----------
    .. [1] C. Croux, C. Dehon, "Influence functions of the Spearman and Kendall correlation
       measures", Statistical Methods & Applications 19, 2010.

    Examples
    --------
    >>> x, y, user = [1, 2, 3, 4], [2, 1, 4, 3], np.array([0, 0, 1, 1])
    >>> correlation, draws = resampled_rank_correlation(x, y, user, np.ones((1, 2)))
    >>> round(correlation, 9), draws.round(9).tolist()
    (0.6, [0.6])
    """
    n_users = weights.shape[1]
    x_rank, x_above = _mid_ranks(np.asarray(x, dtype=np.float64))
    y_rank, y_above = _mid_ranks(np.asarray(y, dtype=np.float64))
    xx, yy, xy = (np.mean(a * b) for a, b in ((x_rank, x_rank), (y_rank, y_rank), (x_rank, y_rank)))
    if not (xx > 0 and yy > 0):
        return np.nan, np.full(weights.shape[0], np.nan)
    correlation = xy / np.sqrt(xx * yy)
    of_xy = x_rank * y_rank + x_above(y_rank) + y_above(x_rank) - 3 * xy
    of_xx = x_rank**2 + 2 * x_above(x_rank) - 3 * xx
    of_yy = y_rank**2 + 2 * y_above(y_rank) - 3 * yy
    influence = of_xy / np.sqrt(xx * yy) - correlation / 2 * (of_xx / xx + of_yy / yy)
    totals = totals_by_user(influence, user, n_users)
    change = resampled_ratios(totals, totals_by_user(np.ones(user.size), user, n_users), weights)
    inside = np.clip(correlation, -1 + 1e-9, 1 - 1e-9)
    return float(correlation), np.tanh(np.arctanh(inside) + change / (1 - inside**2))


def _mid_ranks(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
    """Return mid-ranks from -1/2 to 1/2, and a function that sums others over larger values."""
    n = values.size
    order = np.argsort(values)
    begin = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)  # of each different value
    end = np.append(begin[1:], n)
    level = np.empty(n, np.int64)
    level[order] = np.repeat(np.arange(begin.size), end - begin)

    def above(others: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of `others` where the value is larger; ties count half."""
        sums = np.append(np.cumsum(others[order][::-1])[::-1], 0.0) / n
        return ((sums[begin] + sums[end]) / 2)[level]

    return ((begin + end) / (2 * n) - 0.5)[level], above
