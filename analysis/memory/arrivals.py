"""Arrivals per unit of time: raw, without cycle, without trend, and shuffled."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.clock import DAY, WEEK, Clock
from workloadkit.errors import ParameterError
from workloadkit.trace import Trace, check_trace

#: Maximum length of a series. In hours this is 30 years.
MOST_UNITS = 2**18

#: Minimum number of times that an hour of the day or week must occur for its mean.
_FEWEST_OF_A_KIND = 4
_HOUR = 3600


def arrivals_per_unit(trace: Trace, unit: float = 3600) -> pd.Series:
    """Count the submissions per unit of time.

    The first unit starts with the first submission in the log's window. Only whole units count:
    submissions after the last whole unit are left out.

    Parameters
    ----------
    trace : Trace
        All jobs within the window count, whether they ran or not.
    unit : float, default 3600
        Length of a unit. [s]

    Returns
    -------
    Series of float
        Number of jobs by `begin` of the unit. [s]

    Raises
    ------
    ParameterError
        If the unit is not positive, or there are more than 262,144 units.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [50, 60, 3650, 7300, 10900]})
    >>> arrivals_per_unit(trace)
    begin
    50.0      2.0
    3650.0    1.0
    7250.0    1.0
    Name: jobs, dtype: float64
    """
    check_trace(trace)
    if not 0 < unit < np.inf:
        raise ParameterError("unit", f"must be positive, not {unit:g} s")
    submit = trace.within_window().column("submit")
    first = submit.min() if submit.size else 0.0
    n = int(np.floor((submit - first).max(initial=0) / unit))
    if n > MOST_UNITS:
        raise ParameterError(
            f"{trace.name} spans {n:,} units of {unit:g} s; at most {MOST_UNITS:,} are counted"
        )
    place = np.floor((submit - first) / unit).astype(np.int64)
    jobs = np.bincount(place[place < n], minlength=n).astype(np.float64)
    begin = pd.Index(first + unit * np.arange(n), name="begin", dtype=np.float64)
    return pd.Series(jobs, begin, name="jobs")


def without_cycle(counts: pd.Series, clock: Clock) -> pd.Series:
    """Subtract the mean of each hour of the week, which removes daily and weekly cycles.

    The hour is that of the unit's middle, in local time if known. In logs of less than four weeks,
    the mean of each hour of the day is subtracted instead.

    Parameters
    ----------
    counts : Series
        Result of `arrivals_per_unit`.
    clock : Clock
        Clock of the log.

    Raises
    ------
    ParameterError
        If the series is shorter than four days, or an hour of the day occurs fewer than four times.

    Examples
    --------
    A job in the first hour of each day is a pure cycle.

    >>> trace = Trace.from_columns({"submit": [day * 86400.0 for day in range(9)]})
    >>> bool((without_cycle(arrivals_per_unit(trace), Clock.of(trace)) == 0).all())
    True
    """
    begin = counts.index.to_numpy()
    unit = begin[1] - begin[0] if begin.size > 1 else 0.0
    local = clock.local(begin + unit / 2)
    for period in (WEEK, DAY):
        kind = np.floor(local % period / _HOUR).astype(np.int64)
        times = np.bincount(kind)
        often = begin.size >= _FEWEST_OF_A_KIND * np.count_nonzero(times)
        if often and begin.size * unit >= _FEWEST_OF_A_KIND * period:
            return counts - (np.bincount(kind, counts) / np.maximum(times, 1))[kind]
    raise ParameterError("the series is too short for a daily cycle: less than four days")


def without_trend(counts: pd.Series) -> pd.Series:
    """Subtract the least-squares line.

    Examples
    --------
    >>> without_trend(pd.Series([1.0, 2.0, 3.0])).tolist()
    [0.0, 0.0, 0.0]
    """
    values = counts.to_numpy()
    place = np.arange(values.size) - (values.size - 1) / 2
    square = (place**2).sum()
    slope = (place * values).sum() / square if square else 0.0
    return counts - values.mean() - slope * place


def treatments(
    counts: pd.Series, clock: Clock, rng: np.random.Generator
) -> dict[str, NDArray[np.float64] | ParameterError]:
    """Return the series raw, cycle_removed, detrended and shuffled.

    If the series is too short for a cycle, the error takes the place of `cycle_removed`.
    """
    values = counts.to_numpy()
    largest = np.abs(values).max(initial=0)

    def clean(series: pd.Series) -> NDArray[np.float64]:
        rest = series.to_numpy()
        # residuals of the size of rounding errors are 0
        return np.zeros(rest.size) if np.abs(rest).max(initial=0) <= 1e-9 * largest else rest

    cycle_removed: NDArray[np.float64] | ParameterError
    try:
        cycle_removed = clean(without_cycle(counts, clock))
    except ParameterError as error:
        cycle_removed = error
    return {
        "raw": values,
        "cycle_removed": cycle_removed,
        "detrended": clean(without_trend(counts)),
        "shuffled": rng.permutation(values),
    }
