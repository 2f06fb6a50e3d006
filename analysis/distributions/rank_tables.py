"""Rank correlations of contingency tables, computed for many draws of users at once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Number of classes of about equal size; equal values share a class.
CLASSES = 32


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
    ndarray of float, shape (n_draws, CLASSES, CLASSES)

    Examples
    --------
    >>> ranks, users = np.array([1.0, 2.0]), np.array([0, 0])
    >>> tables = class_tables(ranks, ranks[::-1], users, np.array([[1.0], [3.0]]))
    >>> tables.sum(axis=(1, 2)).tolist(), table_spearman(tables).tolist()
    ([2.0, 6.0], [-1.0, -1.0])
    """
    from scipy import sparse

    def classes(rank: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.minimum((rank - 0.5) / rank.max() * CLASSES, CLASSES - 1).astype(np.int64)

    cell = classes(rank_x) * CLASSES + classes(rank_y)
    counts = sparse.csr_array(
        (np.ones(cell.size), (cell, user)), shape=(CLASSES**2, weights.shape[1])
    )
    return (counts @ weights.T).T.reshape(len(weights), CLASSES, CLASSES)


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
    above = lower @ tables  # for each cell, the counts above it; then those to its left, or right
    concordant = np.einsum("kij,kij->k", tables, above @ upper)
    discordant = np.einsum("kij,kij->k", tables, above @ upper.T)
    total = tables.sum(axis=(1, 2))
    x, y = (total**2 - (tables.sum(axis=a) ** 2).sum(axis=1) for a in (2, 1))
    spread = np.sqrt(np.maximum(x, 0) * np.maximum(y, 0)) / 2
    return np.divide(
        concordant - discordant, spread, out=np.full(total.size, np.nan), where=spread > 0
    )
