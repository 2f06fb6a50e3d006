"""Functions of the response time as tables with linear interpolation."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np

from workloadkit.errors import ParameterError, quoted

#: Number of steps of a function's table.
STEPS = 100_000


def points_of(
    name: str, function: Callable[[float], float], step: float | None, steps: int
) -> tuple[list[float], list[float]]:
    """Return the points of a function's table, `steps` steps of `step` seconds from 0 on.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    function : callable
        Of the response time. [s]
    step : float, optional
        [s]
    steps : int

    Returns
    -------
    times, values : list of float

    Raises
    ------
    ParameterError
        If there is no step.
    """
    if step is None:
        raise ParameterError(
            name,
            "is a function, and the compiled engine needs a table of it: give the step, "
            "or take engine='python'",
        )
    times = [step * place for place in range(steps + 1)]
    return times, [function(time) for time in times]


def check_points(
    name: str, what: str, times: Sequence[float], values: Sequence[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return times and values of a table as floats; refuse invalid tables.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    what : str
        The values, in words.
    times, values : sequence of float

    Raises
    ------
    ParameterError
        If they are empty or of different lengths, or the times do not ascend.
    """
    times, values = _numbers(name, times), _numbers(name, values)
    if not times or len(times) != len(values):
        raise ParameterError(
            name,
            f": a table needs as many times as {what}, at least one; it has {len(times)} and "
            f"{len(values)}",
        )
    for before, after in zip((-math.inf, *times), times, strict=False):
        if not before < after < math.inf:
            raise ParameterError(name, f"has the time {after:g} s after {before:g} s")
    return times, values


def on_lines(times: Sequence[float], values: Sequence[float], time: float) -> float:
    """Return the value at a time on straight lines between points, constant outside."""
    place = bisect_right(times, time) - 1
    if place < 0:
        return values[0]
    if place == len(times) - 1:
        return values[-1]
    begin, until = times[place], times[place + 1]
    first, last = values[place], values[place + 1]
    return first + (last - first) * ((time - begin) / (until - begin))


def _numbers(name: str, values: Sequence[float]) -> tuple[float, ...]:
    try:
        given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, f"has {quoted(values)}; they are numbers") from None
    return tuple(given.ravel().tolist())
