"""The probability of another job in the re-open model, by the response time: formulas, tables."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from workloadkit.errors import ParameterError, check_not_negative, check_number, quoted

# Functions of the response time as tables with linear interpolation.

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


def _check_probability(name: str, value: float) -> None:
    check_number(name, value)
    if not 0 <= value <= 1:
        raise ParameterError(name, f"is {value:g}; a probability is from 0 to 1")


@dataclass(frozen=True)
class ConstantAgain:
    """The probability is constant."""

    p: float

    def __post_init__(self) -> None:
        _check_probability("again", self.p)

    def __call__(self, response: float) -> float:
        """Return the probability after a response time [s]."""
        return self.p

    def __str__(self) -> str:
        return f"{self.p!r}"


@dataclass(frozen=True)
class ExponentialAgain:
    """The probability decreases exponentially with the response time r: e^(-theta r).

    Parameters
    ----------
    theta : float
        [1/s]
    """

    theta: float

    def __post_init__(self) -> None:
        check_not_negative(theta=self.theta)

    def __call__(self, response: float) -> float:
        """Return the probability after a response time [s]."""
        return math.exp(-self.theta * response)

    def __str__(self) -> str:
        return f"exp:{self.theta!r}"


@dataclass(frozen=True)
class HyperbolicAgain:
    """The probability decreases hyperbolically with the response time r: a / (b r + 1).

    Parameters
    ----------
    a : float
        The probability at response time 0.
    b : float
        [1/s]

    Examples
    --------
    Shmueli's 0.8 / (0.05 r + 1), with r in minutes, after a response of 20 minutes:

    >>> SHMUELI(1200)
    0.4
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        _check_probability("a", self.a)
        check_not_negative(b=self.b)

    def __call__(self, response: float) -> float:
        """Return the probability after a response time [s]."""
        return self.a / (self.b * response + 1.0)

    def __str__(self) -> str:
        return f"hyperbolic:{self.a!r},{self.b!r}"


@dataclass(frozen=True)
class AgainTable:
    """The probability is interpolated linearly between the points of a table.

    Outside the table, the first or the last value holds.

    Parameters
    ----------
    times : sequence of float
        Response times, ascending. [s]
    probabilities : sequence of float

    Examples
    --------
    >>> table = AgainTable([0, 600], [0.8, 0.2])
    >>> table(300), table(900)
    (0.5, 0.2)
    """

    times: Sequence[float]
    probabilities: Sequence[float]

    def __post_init__(self) -> None:
        times, values = check_points("again", "probabilities", self.times, self.probabilities)
        for value in values:
            _check_probability("again", value)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "probabilities", values)

    def __call__(self, response: float) -> float:
        """Return the probability after a response time [s]."""
        return on_lines(self.times, self.probabilities, response)

    def __str__(self) -> str:
        if len(self.times) > 20:
            return f"a table of {len(self.times):,} points"
        points = zip(self.times, self.probabilities, strict=True)
        return "table:" + ",".join(f"{time!r}/{value!r}" for time, value in points)


Again = ConstantAgain | ExponentialAgain | HyperbolicAgain | AgainTable

#: Shmueli's hyperbola, 0.8 / (0.05 r + 1) with r in minutes, here in seconds.
SHMUELI = HyperbolicAgain(0.8, 0.05 / 60)

#: The same where a second of the simulation stands for ten minutes, the mean run time that Zakay
#: uses as the unit: 0.8 / (0.5 r + 1).
ZAKAY = HyperbolicAgain(0.8, 0.5)

_NAMED = {"shmueli": SHMUELI, "zakay": ZAKAY}
_FORMS = (
    "a probability, exp:THETA, hyperbolic:A,B, table:TIME/P,TIME/P,..., "
    f"{' or '.join(_NAMED)}; times in seconds"
)


def parse_again(text: str, *, name: str = "again") -> Again:
    """Read the probability of another job.

    Parameters
    ----------
    text : str
        A probability; ``exp:THETA``; ``hyperbolic:A,B``; ``table:TIME/P,TIME/P,...``; ``shmueli``
        or ``zakay``. Numbers may also be separated by slashes: ``hyperbolic/0.8/0.05``.
    name : str, optional
        Name in messages.

    Raises
    ------
    ParameterError
        If it is none of these; the message lists them.

    Examples
    --------
    >>> parse_again("hyperbolic:0.8,0.05")
    HyperbolicAgain(a=0.8, b=0.05)
    """
    if text in _NAMED:
        return _NAMED[text]
    form, *words = text.replace(":", "/").replace(",", "/").split("/")
    try:
        if not words:
            return ConstantAgain(float(form))
        values = [float(word) for word in words]
    except ValueError:
        values = []
    if form == "exp" and len(values) == 1:
        return ExponentialAgain(*values)
    if form == "hyperbolic" and len(values) == 2:
        return HyperbolicAgain(*values)
    if form == "table" and values and len(values) % 2 == 0:
        return AgainTable(values[::2], values[1::2])
    raise ParameterError(name, f"is {quoted(text)}; it is {_FORMS}")


@dataclass(frozen=True)
class CustomAgain:
    """A custom function of the response time.

    Parameters
    ----------
    again : callable
        From a response time [s] to a probability.
    step : float, optional
        Step of its table. [s]
    """

    again: Callable[[float], float]
    step: float | None = None

    def __call__(self, response: float) -> float:
        """Return the probability after a response time [s]."""
        value = self.again(response)
        _check_probability(f"again({response:g})", value)
        return float(value)

    def tabulated(self, steps: int = STEPS) -> AgainTable:
        """Return a table of it with `steps` steps of `step` seconds from 0 on.

        Raises
        ------
        ParameterError
            If no step was given.

        Examples
        --------
        >>> table = CustomAgain(lambda r: 1 / (1 + r) ** 2, 0.5).tabulated(4)
        >>> table.times
        (0.0, 0.5, 1.0, 1.5, 2.0)
        >>> round(table(0.75), 4)  # half way between 0.4444 and 0.25
        0.3472
        """
        return AgainTable(*points_of("again", self, self.step, steps))
