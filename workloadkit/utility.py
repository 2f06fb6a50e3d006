"""Utility functions: the value of a job's completion to its user, over time.

A function is a series of points (time, value) [1]_. The first time is 0, the submission of the
job. Times increase; values never increase and are never negative. The function is linear between
points and zero after the last one. A jump is two points with almost equal times. In the file of a
log the points follow the 18 columns of the job.

References
----------
.. [1] C. B. Lee, A. E. Snavely, "Precise and realistic utility functions for user-centric
   performance analysis of schedulers", HPDC 2007, section 3.4.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError, WorkloadError, plural, quoted
from workloadkit.fields import MAX_TIME
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd


#: A point of a utility function: time after the submission [s], and value.
Point = tuple[float, float]


class Utilities(NamedTuple):
    """The utility functions of jobs, with the points of all jobs concatenated.

    Parameters
    ----------
    first : ndarray of int64, shape (n_jobs + 1,)
        The points of job i are ``first[i]`` to ``first[i + 1] - 1``; a job without points has no
        utility function.
    time : ndarray of float64, shape (n_points,)
        Since the submission of the job. [s]
    value : ndarray of float64, shape (n_points,)
    """

    first: NDArray[np.int64]
    time: NDArray[np.float64]
    value: NDArray[np.float64]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each job has a utility function, shape (n_jobs,)."""
        return self.first[1:] > self.first[:-1]

    def of(self, job: int) -> tuple[Point, ...]:
        """Return the points of one job, as plain numbers."""
        points = slice(self.first[job], self.first[job + 1])
        return tuple(zip(self.time[points].tolist(), self.value[points].tolist(), strict=True))

    def take(self, jobs: ArrayLike) -> "Utilities":
        """Return the functions of the jobs at the given positions, in that order."""
        jobs = np.asarray(jobs, dtype=np.int64)
        n_points = np.diff(self.first)[jobs]
        first = _first(n_points)
        points = np.arange(first[-1]) + np.repeat(self.first[jobs] - first[:-1], n_points)
        return Utilities(first, self.time[points], self.value[points])


def pack(frame: "pd.DataFrame | Mapping[str, NDArray]", n_jobs: int) -> Utilities:
    """Concatenate the points of a table such as `Trace.utility`.

    Parameters
    ----------
    frame : DataFrame or mapping of str to ndarray
        Columns `row` (of the job, from 0), `time` [s] and `value`; the points of a job in order.
    n_jobs : int

    Raises
    ------
    WorkloadError
        If a point has no job. `check` verifies that the points form functions.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"row": [2, 0, 0], "time": [0, 0, 9], "value": [7, 4, 1]})
    >>> packed = pack(frame, 3)
    >>> packed.first.tolist(), packed.time.tolist(), packed.value.tolist()
    ([0, 2, 2, 3], [0.0, 9.0, 0.0], [4.0, 1.0, 7.0])
    """
    row = np.asarray(frame["row"])
    if row.size and (row.dtype.kind not in "iu" or row.min() < 0 or row.max() >= n_jobs):
        raise WorkloadError(
            f"utility points have rows {row.min()} to {row.max()}; the log has "
            f"{plural(n_jobs, 'job')}"
        )
    row = row.astype(np.int64)
    time, value = (np.asarray(frame[name], np.float64) for name in ("time", "value"))
    if (row[1:] < row[:-1]).any():
        order = np.argsort(row, kind="stable")
        row, time, value = row[order], time[order], value[order]
    return Utilities(_first(np.bincount(row, minlength=n_jobs)), time, value)


def unpack(utilities: Utilities) -> dict[str, NDArray]:
    """Return the points as the columns of a table, the inverse of `pack`.

    Examples
    --------
    >>> points = unpack(Utilities(np.array([0, 0, 1]), np.zeros(1), np.ones(1)))
    >>> {name: column.tolist() for name, column in points.items()}
    {'row': [1], 'time': [0.0], 'value': [1.0]}
    """
    n_points = np.diff(utilities.first)
    row = np.repeat(np.arange(n_points.size), n_points)
    return {"row": row, "time": utilities.time, "value": utilities.value}


def fault(points: Sequence[Point]) -> str:
    """Return why points are not a utility function; empty if they are.

    Examples
    --------
    >>> fault([(0, 5), (60, 2)])
    ''
    >>> fault([(0, 5), (60, 6)])
    'value 6 of point 2 is above the 5 before it'
    """
    numbers = np.array(points, dtype=np.float64).reshape(-1, 2)
    found = first_fault(Utilities(np.array([0, len(numbers)]), numbers[:, 0], numbers[:, 1]))
    return found[1] if found else ""


def check(trace: Trace) -> None:
    """Check that the points of a log are utility functions.

    Raises
    ------
    WorkloadError
        With the job, the point and the value.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import pandas as pd
    >>> points = pd.DataFrame({"row": [0, 0], "time": [0, 0], "value": [4, 1]})
    >>> check(replace(Trace.from_columns({"submit": [0], "job": [12]}), utility=points))
    Traceback (most recent call last):
        ...
    workloadkit.errors.WorkloadError: trace: utility function of job 12: time 0 of point 2 is not \
after the 0 before it
    """
    check_trace(trace)
    try:
        found = first_fault(pack(trace.table("utility"), trace.n_jobs))
    except WorkloadError as error:
        raise WorkloadError(f"{trace.name}: {error}") from None
    if found:
        row, what = found
        job = trace.column("job")[row]
        raise WorkloadError(f"{trace.name}: utility function of job {job}: {what}")


def value(utilities: Utilities, at: ArrayLike) -> NDArray[np.float64]:
    """Return the value of each job at a time since its submission.

    Parameters
    ----------
    utilities : Utilities
    at : array_like, shape (n_jobs,) or a number
        Time since the submission of each job, not negative; NaN gives NaN. [s]

    Returns
    -------
    ndarray of float, shape (n_jobs,)
        NaN for a job without a utility function.

    Raises
    ------
    ParameterError
        If a time is negative, or the number of times is not that of the jobs.

    Examples
    --------
    >>> functions = Utilities(np.array([0, 2, 2]), np.array([0.0, 10.0]), np.array([8.0, 4.0]))
    >>> value(functions, 5).tolist()
    [6.0, nan]
    >>> [value(functions, at)[0].item() for at in (0, 10, 10.1)]
    [8.0, 4.0, 0.0]
    """
    first, time, worth = utilities
    n_jobs = first.size - 1
    try:
        at = np.asarray(at, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "at", f"is {quoted(at)}; it must be a number, or one number per job"
        ) from None
    if at.shape not in ((), (n_jobs,)):
        raise ParameterError(f"{plural(at.size, 'time')} for {plural(n_jobs, 'utility function')}")
    if (at < 0).any():
        raise ParameterError("at", f"is {at.min():g} s; times before the submission have no value")
    at = np.broadcast_to(at, n_jobs)
    n_points = np.diff(first)
    reached = np.concatenate([[0], np.cumsum(time <= np.repeat(at, n_points))])
    n_reached = (
        reached[first[1:]] - reached[first[:-1]]
    )  # times increase, so these are the first points
    found = np.where((n_points > 0) & ~np.isnan(at), 0.0, np.nan)
    last = first[:-1] + n_reached - 1
    between = np.flatnonzero((n_reached > 0) & (n_reached < n_points))
    p, x = last[between], at[between]
    found[between] = worth[p] + (worth[p + 1] - worth[p]) * (
        (x - time[p]) / (time[p + 1] - time[p])
    )
    ends = np.flatnonzero((n_points > 0) & (n_reached == n_points))
    ends = ends[time[last[ends]] == at[ends]]
    found[ends] = worth[last[ends]]
    return found


def value_at(points: Sequence[Point], at: float) -> float:
    """Return the value of one job at a time since its submission: `value` in plain Python.

    Parameters
    ----------
    points : sequence of (float, float)
        Points of its utility function; without points the value is 0.
    at : float
        Time since its submission. [s]

    Examples
    --------
    >>> value_at(((0.0, 8.0), (10.0, 4.0)), 5), value_at((), 5)
    (6.0, 0.0)
    """
    before: Point | None = None
    for point in points:
        if point[0] > at:
            break
        before = point
    else:
        return before[1] if before is not None and before[0] == at else 0.0
    if before is None:
        return 0.0
    (t0, v0), (t1, v1) = before, point
    return v0 + (v1 - v0) * ((at - t0) / (t1 - t0))


def start_value(utilities: Utilities) -> NDArray[np.float64]:
    """Return the value of each job at its submission; NaN without a utility function.

    Examples
    --------
    >>> start_value(Utilities(np.array([0, 2, 2]), np.array([0.0, 9.0]), np.ones(2))).tolist()
    [1.0, nan]
    """
    start = np.full(utilities.first.size - 1, np.nan)
    start[utilities.known] = utilities.value[utilities.first[:-1][utilities.known]]
    return start


def _first(n_points: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(n_points)])


#: Requirements that a point may violate, in the order of checking; index 0 is none.
RULES = (
    "",
    "a time is negative or not finite",
    f"a time exceeds {MAX_TIME:g} s",
    "a value is negative or not finite",
    "the first time is not 0",
    "times do not increase",
    "values increase",
)


def broken_rules(utilities: Utilities) -> NDArray[np.int64]:
    """Return the index in `RULES` of the first violation by each point, shape (n_points,).

    Examples
    --------
    >>> broken_rules(Utilities(np.array([0, 3]), np.array([1, 9, 9.0]), np.array([4, 4, 5.0])))
    array([4, 0, 5])
    """
    first, time, value = utilities
    begins = np.zeros(time.size, dtype=bool)
    begins[first[:-1][utilities.known]] = True
    broken = (
        ~((time >= 0) & (time < np.inf)),  # also true for NaN
        time > MAX_TIME,
        ~((value >= 0) & (value < np.inf)),
        begins & (time != 0),
        ~begins & (time <= np.roll(time, 1)),
        ~begins & (value > np.roll(value, 1)),
    )
    return np.select(broken, range(1, len(RULES)), 0)


def first_fault(utilities: Utilities) -> tuple[int, str] | None:
    """Return the job of the first invalid point, and its fault; None if all points are valid."""
    broken = broken_rules(utilities)
    if not broken.any():
        return None
    first, time, value = utilities
    at = int(np.argmax(broken > 0))
    job = int(np.searchsorted(first, at, side="right")) - 1
    place = at - int(first[job])
    points = [(float(time[i]), float(value[i])) for i in range(at - (place > 0), at + 1)]
    return job, _what_is_wrong(points[-1], points[-2] if place else None, place + 1)


def _what_is_wrong(point: Point, before: Point | None, number: int) -> str:
    for name, x in zip(("time", "value"), point, strict=True):
        if not 0 <= x < np.inf:
            return f"{name} {x:.15g} of point {number} is {'negative' if x < 0 else 'not finite'}"
    time, value = point
    if time > MAX_TIME:
        return f"time {time:.15g} of point {number} exceeds {MAX_TIME:g} s"
    if before is None:
        return f"time {time:.15g} of point 1 is not 0"
    if time <= before[0]:
        return f"time {time:.15g} of point {number} is not after the {before[0]:.15g} before it"
    return f"value {value:.15g} of point {number} is above the {before[1]:.15g} before it"
