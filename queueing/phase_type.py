"""Phase-type distributions: the time until a Markov chain of phases is left."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from workloadkit.queueing.arguments import Floats, Value, numbers, plain
from workloadkit.queueing.display import DisplayedResult
from workloadkit.queueing.errors import QueueingError, quoted
from workloadkit.queueing.result import Exactness

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MOST_ORDER = 20
#: Phases up to which a dense matrix is faster.
_MOST_DENSE = 60


@dataclass(frozen=True, eq=False)
class PhaseType(DisplayedResult):
    """The distribution of a time that passes through exponential phases [1]_.

    Parameters
    ----------
    start : ndarray, shape (n,)
        Probability to begin in each phase; the rest is the probability that the time is 0.
    rates : ndarray, shape (n, n)
        Rates from phase to phase; the diagonal has the rates of leaving a phase, negative.
    exactness : Exactness

    References
    ----------
    .. [1] M. F. Neuts, "Matrix-Geometric Solutions in Stochastic Models", 1981, chapter 2.
    """

    start: Floats = field(repr=False)
    rates: Floats = field(repr=False)
    exactness: Exactness = field(default=Exactness("exact"), repr=False)

    @property
    def mean(self) -> float:
        """Mean time."""
        return float(self.moment(1))

    def sf(self, t: ArrayLike) -> Value:
        """Return the probability that the time exceeds t."""
        from scipy.linalg import expm
        from scipy.sparse import csr_array
        from scipy.sparse.linalg import expm_multiply

        times = numbers("t", t)
        found = np.empty(times.shape)
        columns = csr_array(self.rates.T) if self.start.size > _MOST_DENSE else None
        for place, time in np.ndenumerate(times):
            if time < 0 or not time < np.inf:
                found[place] = 1.0 if time < 0 else (0.0 if time == np.inf else np.nan)
                continue
            if columns is None:
                found[place] = (self.start @ expm(self.rates * time)).sum()
            else:
                found[place] = expm_multiply(columns * time, self.start).sum()
        return plain(np.clip(found, 0.0, 1.0))

    def cdf(self, t: ArrayLike) -> Value:
        """Return the probability that the time is at most t."""
        return plain(1 - np.asarray(self.sf(t)))

    def ppf(self, q: ArrayLike) -> Value:
        """Return the quantiles at probabilities q, from 0 to 1."""
        from scipy.optimize import brentq

        shares = numbers("q", q)
        if not ((shares >= 0) & (shares < 1)).all():
            raise QueueingError(f"q is {quoted(q)}; it must be from 0 to below 1")
        found = np.zeros(shares.shape)
        for place, share in np.ndenumerate(shares):
            if float(self.sf(0.0)) <= 1 - share:
                continue
            high = self.mean
            while float(self.sf(high)) > 1 - share:
                high *= 2
            found[place] = brentq(
                lambda t, above: float(self.sf(t)) - above, 0, high, args=(1 - share,), rtol=1e-12
            )
        return plain(found)

    def moment(self, order: int) -> float:
        """Return E[T^order] of the time T; the order is an integer from 1 to 20."""
        if isinstance(order, bool) or order not in range(1, _MOST_ORDER + 1):
            raise QueueingError(f"order is {quoted(order)}; it must be a whole number from 1 to 20")
        found: Floats = np.ones(self.start.size)
        for k in range(1, order + 1):
            found = k * np.asarray(np.linalg.solve(-self.rates, found), dtype=np.float64)
        return float(self.start @ found)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with times up to the quantile 0.999, and the probabilities to exceed."""
        import pandas as pd

        times = np.linspace(0, float(self.ppf(0.999)), 101)
        return pd.DataFrame({"t": times, "sf": self.sf(times)})

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the probability that the time exceeds t."""
        from matplotlib import pyplot as plt

        ax = plt.gca() if ax is None else ax
        table = self.to_frame()
        ax.plot(table["t"], table["sf"])
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set(xlabel="time t", ylabel="share of times above t")
        return ax


def chained(parts: Sequence[PhaseType], start: Floats, routing: Floats) -> PhaseType:
    """Return the time to pass through parts in the order that `routing` draws, each independent.

    Parameters
    ----------
    parts : sequence of PhaseType
        Times above 0.
    start : ndarray, shape (K,)
        Probability that each part is the first.
    routing : ndarray, shape (K, K)
        Probability of the next part after each part; the rest of a row ends the time.
    """
    sizes = [part.start.size for part in parts]
    ends = np.cumsum(sizes)
    begins = ends - sizes
    rates = np.zeros((ends[-1], ends[-1]))
    first = np.zeros(ends[-1])
    for k, part in enumerate(parts):
        here = slice(begins[k], ends[k])
        first[here] = start[k] * part.start
        rates[here, here] += part.rates
        leave = -part.rates.sum(axis=1)
        for other, then in enumerate(parts):
            if routing[k, other]:
                there = slice(begins[other], ends[other])
                rates[here, there] += routing[k, other] * np.outer(leave, then.start)
    return PhaseType(first, rates)
