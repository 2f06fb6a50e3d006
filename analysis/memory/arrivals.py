"""Arrivals counted per unit of time, and the same without cycle, without trend, and shuffled."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.clock import DAY, WEEK, Clock
from workloadkit.errors import ParameterError
from workloadkit.trace import Trace, check_trace

#: The longest series that is made; beyond, a log has gaps of centuries.
MOST_UNITS = 2**18

#: A mean is taken of a kind of hour that comes so often, or not at all.
_FEWEST_OF_A_KIND = 4
_HOUR = 3600


def arrivals_per_unit(trace: Trace, unit: float = 3600) -> pd.Series:
    """Count the submissions in each unit of time.

    The first unit begins with the first submission in the log's window, and all are whole: what was
    submitted after the last whole unit is left out.

    Parameters
    ----------
    trace : Trace
        All its jobs count, whether they ran or not, but for those outside its window.
    unit : float, default 3600
        [s]

    Returns
    -------
    Series of float
        Number of jobs by `begin` of the unit, in seconds of the log.

    Raises
    ------
    ParameterError
        If the unit is not positive, or so short that there would be more than 262,144.

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
        raise ParameterError(f"unit must be positive, not {unit:g} s")
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
    """Subtract the mean of each hour of the week, so that neither time nor day matters.

    An hour is that of the unit's middle, in local time where it is known. In logs of less than
    four weeks the mean of each hour of the day is subtracted instead.

    Parameters
    ----------
    counts : Series
        As `arrivals_per_unit` gives it.
    clock : Clock
        That of the log.

    Raises
    ------
    ParameterError
        If it is shorter than four days, or an hour of the day comes fewer than four times.

    Examples
    --------
    A job on the first hour of each day is nothing but a cycle.

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
    raise ParameterError("the series is too short to tell a daily cycle: less than four days")


def without_trend(counts: pd.Series) -> pd.Series:
    """Subtract the line that fits best.

    Parameters
    ----------
    counts : Series

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
    """Return the series as it is and treated, each by name.

    Parameters
    ----------
    counts : Series
    clock : Clock
    rng : Generator
        Shuffles.

    Returns
    -------
    dict
        "raw", "cycle_removed", "detrended" and "shuffled", or why there is no such series.
    """
    values = counts.to_numpy()
    largest = np.abs(values).max(initial=0)

    def clean(series: pd.Series) -> NDArray[np.float64]:
        left = series.to_numpy()
        # What rounding has left of a cycle or a trend is nothing.
        return np.zeros(left.size) if np.abs(left).max(initial=0) <= 1e-9 * largest else left

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
