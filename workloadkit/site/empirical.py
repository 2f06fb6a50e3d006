"""Empirical distributions: of a number, and of job sizes with run times."""

from collections.abc import Iterable
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
        values, code = np.unique(np.asarray(sample, dtype=np.float64), return_inverse=True)
        if weights is None:
            return cls(values, np.bincount(code, minlength=values.size))
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
