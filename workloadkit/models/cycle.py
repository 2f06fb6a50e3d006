"""Arrivals with a daily cycle."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import DAY


@dataclass(frozen=True)
class DailyCycle:
    """Daily cycle of the arrival rate.

    Parameters
    ----------
    weights : tuple of float
        Relative rate in equal parts of the day, from midnight.

    Examples
    --------
    No arrivals in the second half of the day, twice the mean rate in the first:

    >>> cycle = DailyCycle((1.0, 0.0))
    >>> cycle.time([10, 86390, 86410]).tolist()
    [5.0, 43195.0, 86405.0]
    """

    weights: tuple[float, ...]

    @cached_property
    def _passed(self) -> NDArray[np.float64]:
        """Arrival time at the ends of the parts of a day."""
        total = np.concatenate([[0.0], np.cumsum(self.weights)])
        return total * (DAY / total[-1])

    def time(self, passed: ArrayLike) -> NDArray[np.float64]:
        """Return the time at which a given *arrival time* has passed since a midnight.

        Arrival time advances in proportion to the arrival rate, by one day per day: it is faster
        than the clock in hours with more arrivals than average. It is not rounded, so the daily
        cycle does not drift in long logs.

        Parameters
        ----------
        passed : array_like
            Arrival time. [s]

        Returns
        -------
        ndarray of float
            Time. [s]
        """
        day, rest = np.divmod(np.asarray(passed, dtype=np.float64), DAY)
        edges = np.linspace(0, DAY, len(self.weights) + 1)
        return day * DAY + np.interp(rest, self._passed, edges)
