"""What columns say of each other: differences of times, orders, limits that were reached."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.io.tables.mapping import SECONDS

#: Rows and different values that an observation needs.
LEAST, DIFFERENT = 5, 3

#: Numbers that mean that there is no limit.
NO_LIMIT = (2**31 - 1, 2**32 - 2, 2**32 - 1, 2**63 - 1)

_MATCHING, _ORDERED = 0.95, 0.99
_TOLERANCE = 1.5  # of differences of times [s]
_FINE = 10.0  # how many units a typical duration has, if the unit is to be recognized

_Values = NDArray[np.float64]


def unit_of(
    numbers: _Values, seconds: _Values, *, different: int = DIFFERENT, rounded: bool = False
) -> str:
    """Return the one unit in which numbers are these durations; empty without exactly one.

    Parameters
    ----------
    numbers, seconds : ndarray of float
    different : int
        How many different durations there must be.
    rounded : bool, default False
        Whether numbers may be rounded up or down to whole units.

    Examples
    --------
    >>> seconds = np.array([600.0, 1200.0, 4800.0, 90.0, 3600.0])
    >>> unit_of(seconds * 1000, seconds), unit_of(np.ceil(seconds / 60), seconds)
    ('ms', '')
    >>> unit_of(np.ceil(seconds / 60), seconds, rounded=True)
    'min'
    """
    known = ~np.isnan(numbers) & ~np.isnan(seconds) & (seconds > 0)
    x, d = numbers[known], seconds[known]
    if x.size < LEAST or distinct(d).size < different:
        return ""
    fitting = [
        unit
        for unit, each in SECONDS.items()
        if (np.abs(x * each - d) <= (each if rounded and each > 1 else _TOLERANCE)).mean()
        >= _MATCHING
        and (not rounded or each <= 1 or np.median(d) >= _FINE * each)
    ]
    return fitting[0] if len(fitting) == 1 else ""


def are_equal(one: _Values, other: _Values, *, different: int = DIFFERENT) -> bool:
    """Whether nearly all durations are equal."""
    known = ~np.isnan(one) & ~np.isnan(other) & (other > 0)
    close = np.abs(one[known] - other[known]) <= _TOLERANCE
    enough = close.size >= LEAST and distinct(other[known]).size >= different
    return enough and float(close.mean()) >= _MATCHING


def in_order(first: _Values, second: _Values) -> bool:
    """Whether times of the first column are never after those of the second, and often before."""
    known = ~np.isnan(first) & ~np.isnan(second)
    gap = second[known] - first[known]
    return gap.size >= LEAST and bool(
        (gap >= 0).mean() >= _ORDERED and (gap > 0).sum() >= DIFFERENT
    )


def unit_of_reached(limits: _Values, run: _Values, reached: NDArray[np.bool_]) -> str:
    """Return the one unit in which the jobs that reached their limits ran as long as these."""
    known = reached & ~np.isnan(limits) & (limits > 0) & ~np.isnan(run) & (run > 0)
    if known.sum() < LEAST or distinct(limits[known]).size < DIFFERENT:
        return ""
    ratio = run[known] / limits[known]
    fitting = [u for u, s in SECONDS.items() if ((ratio >= 0.98 * s) & (ratio <= 1.2 * s)).mean()
               >= _MATCHING]  # fmt: skip
    return fitting[0] if len(fitting) == 1 else ""


def are_limits(limits: _Values, run: _Values) -> bool:
    """Whether run times are below limits, except for few."""
    known = ~np.isnan(limits) & ~np.isnan(run)
    within = run[known] <= 1.1 * limits[known] + 300
    return within.size >= LEAST and float(within.mean()) >= _MATCHING
