"""Correlations of two properties of jobs, in the log and in many draws of users at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.analysis.bootstrap import interval
from workloadkit.distinct import coded

#: Number of classes of about equal size; equal values share a class.
CLASSES = 32

_AT_ONCE = 2048  # users, each with a table of 16 kB

#: Minimum number of jobs for a correlation.
LEAST_JOBS = 10


def class_tables(
    rank_x: NDArray[np.float64],
    rank_y: NDArray[np.float64],
    user: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Count jobs by the classes of two properties in each draw of users.

    Parameters
    ----------
    rank_x, rank_y : ndarray of float, shape (n_jobs,)
        Ranks from 1; ties have their mean rank.
    user : ndarray of int, shape (n_jobs,)
        Column of each job's user in `weights`.
    weights : ndarray, shape (n_draws, n_users)
        Number of times that each user was drawn.

    Returns
    -------
    ndarray of float, shape (n_draws, n_rows, n_columns)
        Of the classes that have jobs.

    Examples
    --------
    >>> ranks, users = np.array([1.0, 2.0]), np.array([0, 0])
    >>> tables = class_tables(ranks, ranks[::-1], users, np.array([[1.0], [3.0]]))
    >>> tables.sum(axis=(1, 2)).tolist(), table_spearman(tables).tolist()
    ([2.0, 6.0], [-1.0, -1.0])
    """
    (x, n_rows), (y, n_columns) = _classes(rank_x), _classes(rank_y)
    cell, n_cells = x * n_columns + y, n_rows * n_columns
    # All numbers are integers, which short floats have exactly up to 2**24, in half of the time.
    short = weights.max() * user.size < 2**24
    weights = weights.astype(np.float32 if short else np.float64)
    tables = np.zeros((len(weights), n_cells))
    for first in range(0, weights.shape[1], _AT_ONCE):
        block = weights[:, first : first + _AT_ONCE]
        here = (user >= first) & (user < first + _AT_ONCE)
        place = (user[here] - first) * n_cells + cell[here]
        counts = np.bincount(place, minlength=block.shape[1] * n_cells)
        tables += block @ counts.reshape(-1, n_cells).astype(weights.dtype)
    return tables.reshape(len(weights), n_rows, n_columns)


def _classes(rank: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Return the class of each rank, of those that occur, and their number."""
    place = np.minimum((rank - 0.5) / rank.max() * CLASSES, CLASSES - 1).astype(np.int64)
    occurs = np.bincount(place) > 0
    return (np.cumsum(occurs) - 1)[place], int(occurs.sum())


def table_spearman(tables: ArrayLike) -> NDArray[np.float64]:
    """Return Spearman's correlation of each contingency table of ordered classes.

    Parameters
    ----------
    tables : array_like, shape (n_tables, n_rows, n_columns)
        Counts, or weights.

    Returns
    -------
    ndarray of float, shape (n_tables,)
        NaN if all counts are in one row or one column.

    Examples
    --------
    >>> table_spearman([[[5, 0], [0, 5]], [[1, 1], [1, 1]]]).tolist()
    [1.0, 0.0]
    """
    tables = np.asarray(tables, dtype=np.float64)
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    total = tables.sum(axis=(1, 2))
    half = total[:, None] / 2
    x = np.cumsum(rows, axis=1) - rows / 2 - half  # ranks, the middle of each class, less the mean
    y = np.cumsum(columns, axis=1) - columns / 2 - half
    both = np.einsum("kij,ki,kj->k", tables, x, y)
    spread = np.sqrt((rows * x**2).sum(axis=1) * (columns * y**2).sum(axis=1))
    return np.divide(both, spread, out=np.full(total.size, np.nan), where=spread > 0)


def table_kendall(tables: ArrayLike) -> NDArray[np.float64]:
    """Return Kendall's tau-b of each contingency table of ordered classes.

    Parameters
    ----------
    tables : array_like, shape (n_tables, n_rows, n_columns)
        Counts, or weights.

    Returns
    -------
    ndarray of float, shape (n_tables,)
        NaN if all counts are in one row or one column.

    Examples
    --------
    >>> table_kendall([[[5, 0], [0, 5]], [[1, 1], [1, 1]]]).tolist()
    [1.0, 0.0]
    """
    tables = np.asarray(tables, dtype=np.float64)
    lower = np.tril(np.ones((tables.shape[1],) * 2), -1)
    upper = np.triu(np.ones((tables.shape[2],) * 2), 1)
    # for each cell, the counts above it; then those to its left, less those to its right
    surplus = lower @ tables @ (upper - upper.T)
    surplus = np.einsum("kij,kij->k", tables, surplus)
    total = tables.sum(axis=(1, 2))
    x, y = (total**2 - (tables.sum(axis=a) ** 2).sum(axis=1) for a in (2, 1))
    spread = np.sqrt(np.maximum(x, 0) * np.maximum(y, 0)) / 2
    return np.divide(surplus, spread, out=np.full(total.size, np.nan), where=spread > 0)


def kendall(x: NDArray[np.integer], y: NDArray[np.integer]) -> float:
    """Return Kendall's tau-b of pairs of integers from 0, in each of which there are several.

    Examples
    --------
    >>> round(kendall(np.array([0, 1, 2]), np.array([0, 2, 1])), 9)
    0.333333333
    """
    from workloadkit._kernels.statistics import inversions

    few, many = sorted((x, y), key=np.max)  # sums over fewer values are faster
    n_few = int(few.max()) + 1
    pairs, counts = np.unique(many.astype(np.int64) * n_few + few, return_counts=True)
    discordant = inversions(pairs % n_few, counts, n_few)
    total, tied_x, tied_y, tied = (
        int((n * (n - 1) // 2).sum())
        for n in (np.array([x.size]), np.bincount(x), np.bincount(y), counts)
    )
    surplus = total - tied_x - tied_y + tied - 2 * discordant
    tau = surplus / np.sqrt(total - tied_x) / np.sqrt(total - tied_y)
    return float(np.clip(tau, -1, 1))


def mean_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1 along the last axis; ties have their mean rank.

    Examples
    --------
    >>> mean_ranks(np.array([[8.0, 5.0, 8.0], [1.0, 2.0, 3.0]])).tolist()
    [[2.5, 1.0, 2.5], [1.0, 2.0, 3.0]]
    """
    distinct, code = np.unique(values, return_inverse=True)
    rows = np.arange(values.size).reshape(values.shape) // values.shape[-1]
    _, place, counts = np.unique(
        rows * distinct.size + code.reshape(values.shape), return_inverse=True, return_counts=True
    )
    ranks = np.cumsum(counts) - counts + (counts + 1) / 2
    return ranks[place].reshape(values.shape) - rows * values.shape[-1]


@dataclass(frozen=True, eq=False)
class Coded:
    """Values, and the place of each among the distinct ones, so that each pair need not sort."""

    values: NDArray[np.float64]
    code: NDArray[Any]  # -1: unknown
    n_distinct: int

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> "Coded":
        """Code the finite values."""
        known = np.isfinite(values)
        distinct, place = coded(values[known])
        kinds = (np.int16, np.int32, np.int64)  # the shortest is sorted by radix
        code = np.full(values.size, -1, next(k for k in kinds if distinct.size <= np.iinfo(k).max))
        code[known] = place
        return cls(values, code, distinct.size)

    def ranks(self, jobs: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return ranks from 1 among some jobs; ties have their mean rank."""
        counts = np.bincount(self.code[jobs], minlength=self.n_distinct)
        return (np.cumsum(counts) - counts + (counts + 1) / 2)[self.code[jobs]]


def correlate(
    first: Coded, second: Coded, user: NDArray[np.int64], weights: NDArray[np.float64]
) -> dict[str, float]:
    """Return the three correlations of two properties, with intervals."""
    both = (first.code >= 0) & (second.code >= 0)
    user = user[both]
    found: dict[str, float] = {"n": user.size}
    found["n_log"], found["pearson_log"], of_logs = _of_logs(
        first.values[both], second.values[both], user, weights
    )
    found["spearman"], found["kendall"], of_ranks = _of_ranks(first, second, both, user, weights)
    for kind, values in (of_ranks | {"pearson_log": of_logs}).items():
        low, high = np.clip(interval(values), -1, 1).tolist()
        found |= {f"{kind}_low": low, f"{kind}_high": high}
    return found


def _of_logs(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    user: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> tuple[int, float, NDArray[np.float64]]:
    """Return the number of pairs above 0, the correlation of their logarithms, and its draws."""
    above = (x > 0) & (y > 0)
    x, y = np.log(x[above]), np.log(y[above])
    found = _linear(x, y)
    if np.isnan(found):
        return x.size, found, np.full(len(weights), np.nan)
    return x.size, found, _linear_draws(x, y, user[above], weights)


def _of_ranks(
    first: Coded,
    second: Coded,
    both: NDArray[np.bool_],
    user: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> tuple[float, float, dict[str, NDArray[np.float64]]]:
    """Return Spearman's and Kendall's correlation, and their draws."""
    rank_x, rank_y = first.ranks(both), second.ranks(both)
    spearman = _linear(rank_x, rank_y)
    found = {"spearman": spearman, "kendall": spearman}
    draws = dict.fromkeys(found, np.full(len(weights), np.nan))
    if np.isnan(spearman):
        return spearman, spearman, draws
    found["kendall"] = kendall(first.code[both], second.code[both])
    of_known = user >= 0
    if of_known.any():
        tables = class_tables(rank_x[of_known], rank_y[of_known], user[of_known], weights)
        whole = class_tables(rank_x, rank_y, np.zeros(user.size, np.int64), np.ones((1, 1)))
        for kind, of_tables in (("spearman", table_spearman), ("kendall", table_kendall)):
            draws[kind] = of_tables(tables) + found[kind] - of_tables(whole)[0]
    return found["spearman"], found["kendall"], draws


def _linear(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return Pearson's correlation; NaN for fewer than ten values or a constant."""
    if x.size < LEAST_JOBS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    x, y = x - x.mean(), y - y.mean()
    spread = np.sqrt((x * x).sum()) * np.sqrt((y * y).sum())
    return float(np.clip((x * y).sum() / spread, -1, 1)) if spread > 0 else np.nan


def _linear_draws(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    user: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return Pearson's correlation in each draw, from the sums of each user."""
    known, n_users = user >= 0, weights.shape[1]
    x, y, user = x[known] - x.mean(), y[known] - y.mean(), user[known]
    parts = (np.ones(x.size), x, y, x * x, y * y, x * y)
    sums = np.stack([np.bincount(user, part, minlength=n_users) for part in parts], axis=1)
    n, sx, sy, sxx, syy, sxy = np.tensordot(weights, sums, 1).T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (sxx - sx**2 / n) * (syy - sy**2 / n)
        return np.where(spread > 0, (sxy - sx * sy / n) / np.sqrt(spread), np.nan)
