"""Arrivals whose rate changes over the day."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import DAY


@dataclass(frozen=True)
class DailyCycle:
    """How the rate of arrivals goes up and down in the course of a day.

    Parameters
    ----------
    weights : tuple of float
        Rate in each of so many equal parts of the day, from midnight, in any unit.

    Examples
    --------
    Nobody comes in the second half of the day, and so twice as many as on average in the first:

    >>> cycle = DailyCycle((1.0, 0.0))
    >>> cycle.time([10, 86390, 86410]).tolist()
    [5.0, 43195.0, 86405.0]
    """

    weights: tuple[float, ...]

    @cached_property
    def _passed(self) -> NDArray[np.float64]:
        """Arrival time passed at the ends of the parts of a day."""
        total = np.concatenate([[0.0], np.cumsum(self.weights)])
        return total * (DAY / total[-1])

    def time(self, passed: ArrayLike) -> NDArray[np.float64]:
        """Tell the time at which so much *arrival time* has passed since a midnight.

        Arrival time passes as fast as arrivals come: a day of it in each day, but faster than the
        clock in hours of more arrivals than the average. It is not rounded, so that the hours of
        arrivals do not shift, however long the log.

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
