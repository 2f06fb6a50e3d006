"""Empirical distributions of numbers, sizes and run times, and of going on after a response."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.display import Displayed, current_axes
from workloadkit.errors import plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Empirical(Displayed):
    """An empirical distribution: distinct values with their counts.

    Parameters
    ----------
    values : ndarray of float, shape (n_values,)
        Ascending.
    counts : ndarray of int64, shape (n_values,)
        Positive.

    Examples
    --------
    >>> widths = Empirical.of([1, 1, 2, 1])
    >>> widths.n, widths.mean, widths.share(1), widths.share_at_most([0, 1, 2]).tolist()
    (4, 1.25, 0.75, [0.0, 0.75, 1.0])
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, sample: ArrayLike, weights: ArrayLike | None = None) -> "Empirical":
        """Return the distribution of a sample, optionally weighted."""
        sample = np.asarray(sample, dtype=np.float64)
        if weights is None:
            return cls(*np.unique(sample, return_counts=True))
        values, code = np.unique(sample, return_inverse=True)
        counts = np.zeros(values.size, np.int64)
        np.add.at(counts, code, np.asarray(weights, dtype=np.int64))
        return cls(values, counts)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share at or below each value."""
        ax = current_axes(ax)
        ax.step(self.values, np.cumsum(self.counts) / max(self.n, 1), where="post")
        ax.set_xlabel("value")
        ax.set_ylabel("share at or below")
        return ax

    def _summary(self) -> str:
        return (
            f"{plural(self.n, 'value')}, {self.values.size:,} different, median {self.median:.6g}"
        )

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        return pd.DataFrame({"value": self.values, "count": self.counts})

    @property
    def n(self) -> int:
        """Size of the sample."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean; NaN for an empty sample."""
        return float(self.values @ self.counts / self.n) if self.n else np.nan

    @property
    def median(self) -> float:
        """Upper median; NaN for an empty sample."""
        if not self.n:
            return np.nan
        return float(self.values[np.searchsorted(np.cumsum(self.counts), self.n // 2 + 1)])

    @property
    def skewness(self) -> float:
        """Third standardized moment; NaN if all values are equal."""
        if not self.n:
            return np.nan
        away = self.values - self.mean
        second, third = (float(away**k @ self.counts) / self.n for k in (2, 3))
        return third / second**1.5 if second > 0 else np.nan

    def share(self, value: float) -> float:
        """Return the share of `value`; NaN for an empty sample."""
        return float(self.counts[self.values == value].sum() / self.n) if self.n else np.nan

    def share_at_most(self, value: ArrayLike) -> NDArray[np.float64]:
        """Return the share at or below each value; NaN for an empty sample."""
        if not self.n:
            return np.full(np.shape(value), np.nan)
        cumulative = np.append(0, np.cumsum(self.counts)) / self.n
        return cumulative[np.searchsorted(self.values, value, side="right")]


@dataclass(frozen=True, eq=False)
class Workpool:
    """Joint distribution of job size and run time, with the repetition of sizes.

    Parameters
    ----------
    size, run : ndarray of float, shape (n_pairs,)
        Processors and run time [s] of each pair; pairs ascend by size, then by run time.
    counts : ndarray of int64, shape (n_pairs,)
        Number of jobs of each pair, positive.
    repetition : Empirical
        Number of consecutive jobs of a user with the same size, the first of which is in this
        pool.

    Examples
    --------
    >>> pool = Workpool.of([4, 1, 4], [60, 5, 60], repetition=[2, 1])
    >>> pool.size.tolist(), pool.run.tolist(), pool.counts.tolist()
    ([1.0, 4.0], [5.0, 60.0], [1, 2])
    """

    size: NDArray[np.float64]
    run: NDArray[np.float64]
    counts: NDArray[np.int64]
    repetition: Empirical

    @classmethod
    def of(
        cls,
        size: ArrayLike,
        run: ArrayLike,
        *,
        repetition: "ArrayLike | Empirical",
        weights: ArrayLike | None = None,
    ) -> "Workpool":
        """Return the pool of some jobs, optionally weighted."""
        size, run = np.asarray(size, np.float64), np.asarray(run, np.float64)
        order = np.lexsort((run, size))  # several times as fast as np.unique of rows
        size, run = size[order], run[order]
        new = np.ones(size.size, np.bool_)
        new[1:] = (size[1:] != size[:-1]) | (run[1:] != run[:-1])
        counts = np.zeros(int(new.sum()), np.int64)
        jobs = 1 if weights is None else np.asarray(weights, np.int64)[order]
        np.add.at(counts, np.cumsum(new) - 1, jobs)
        if not isinstance(repetition, Empirical):
            repetition = Empirical.of(repetition)
        return cls(size[new], run[new], counts, repetition)


def together(parts: Iterable[Empirical]) -> Empirical:
    """Combine distributions, weighting each value by its count."""
    of = list(parts)
    return Empirical.of(
        np.concatenate([x.values for x in of]), np.concatenate([x.counts for x in of])
    )


def pooled(parts: Iterable[Workpool]) -> Workpool:
    """Combine workpools, weighting each job equally."""
    of = list(parts)
    return Workpool.of(
        np.concatenate([x.size for x in of]),
        np.concatenate([x.run for x in of]),
        repetition=together(x.repetition for x in of),
        weights=np.concatenate([x.counts for x in of]),
    )


# Fit of the curve p = a / (b r + 1) of continuing a session after a response time.

#: The published curve p = a / (b r + 1), r in minutes (Shmueli 2008, equation 5.1).
PUBLISHED_A, PUBLISHED_B = 0.8, 0.05

#: Upper edges of the bins of response times, inclusive (Shmueli 2008, Table 4.2). [s]
RESPONSE_EDGES = (300.0, 900.0, 2700.0, 8100.0, np.inf)

#: Range of b. [1/min]
#: Bounds of the search for the parameters of a / (b r + 1), r in minutes.
CURVE_BOUNDS = {"a": (1e-12, 1.0), "b": (1e-6, 1e3)}


def fit_curve(
    response: NDArray[np.float64], probability: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit p = a / (b r + 1) by least squares to several sets of points.

    The best a for each b has a closed form, so only b is searched.

    Parameters
    ----------
    response, probability : ndarray, shape (n_sets, n_points)
        NaN for missing points. Response times in minutes.

    Returns
    -------
    a, b : ndarray, shape (n_sets,)
        NaN for fewer than two points.
    """
    known = np.isfinite(response) & np.isfinite(probability)
    r = np.maximum(np.where(known, response, 0.0), 0.0)[:, None, :]
    p = np.where(known, probability, 0.0)[:, None, :]

    def best_a(log_b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = known[:, None, :] / (10 ** log_b[:, :, None] * r + 1)
        squares = np.maximum((shape**2).sum(axis=2), 1e-300)
        a = np.clip((p * shape).sum(axis=2) / squares, *CURVE_BOUNDS["a"])
        return a, ((a[:, :, None] * shape - p) ** 2).sum(axis=2)

    log_b = least_on_grid(lambda at: best_a(at)[1], *CURVE_BOUNDS["b"], r.shape[0])
    a = best_a(log_b[:, None])[0][:, 0]
    enough = known.sum(axis=1) >= 2
    return np.where(enough, a, np.nan), np.where(enough, 10**log_b, np.nan)


def least_on_grid(
    misfit: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    lowest: float,
    highest: float,
    n_sets: int,
) -> NDArray[np.float64]:
    """Return the logarithm to base 10 that minimizes a misfit, for several sets.

    A grid search that is refined around the best point ten times.

    Parameters
    ----------
    misfit : callable
        Maps logarithms, shape (n_sets, n_places), to misfits of the same shape.
    lowest, highest : float
        Ends of the grid, not as logarithms.
    n_sets : int

    Returns
    -------
    ndarray, shape (n_sets,)

    Examples
    --------
    >>> least_on_grid(lambda at: (at - 2.5) ** 2, 1, 1e6, 1).round(6).tolist()
    [2.5]
    """
    row = np.arange(n_sets)
    first, last = np.log10(lowest), np.log10(highest)
    places, step = np.linspace(first, last, 181, retstep=True)
    places = np.tile(places, (n_sets, 1))
    for _ in range(10):
        centre = places[row, misfit(places).argmin(axis=1)]
        places = np.clip(centre[:, None] + np.linspace(-step, step, 11), first, last)
        step /= 5
    return centre
