"""Think times that depend on the response time: short ones, or breaks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workloadkit.errors import ParameterError, check_not_negative, quoted
from workloadkit.parameters import read_duration
from workloadkit.simulation.users.queueing.points import STEPS, check_points, on_lines, points_of


@dataclass(frozen=True)
class BreakPause:
    """A short mean think time after a response up to a limit, a long one otherwise.

    Parameters
    ----------
    short, long : float
        Mean think times: within a session, and of a break. [s]
    limit : float
        Longest response time after which the session goes on. [s]

    Examples
    --------
    >>> think = BreakPause(short=60, long=7200, limit=1200)
    >>> think(1200), think(1201)
    (60, 7200)
    """

    short: float
    long: float
    limit: float

    def __post_init__(self) -> None:
        check_not_negative(short=self.short, long=self.long, limit=self.limit)

    def __call__(self, response: float) -> float:
        """Return the mean think time after a response time [s]."""
        return self.short if response <= self.limit else self.long

    def __str__(self) -> str:
        return f"breaks:{self.short!r},{self.long!r},{self.limit!r}"


@dataclass(frozen=True)
class PauseTable:
    """The mean think time is interpolated linearly between the points of a table.

    Outside the table, the first or the last value holds.

    Parameters
    ----------
    times : sequence of float
        Response times, ascending. [s]
    means : sequence of float
        Mean think times. [s]

    Examples
    --------
    >>> PauseTable([0, 600], [60, 360])(300)
    210.0
    """

    times: Sequence[float]
    means: Sequence[float]

    def __post_init__(self) -> None:
        times, means = check_points("think", "mean think times", self.times, self.means)
        for mean in means:
            check_not_negative(think=mean)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "means", means)

    def __call__(self, response: float) -> float:
        """Return the mean think time after a response time [s]."""
        return on_lines(self.times, self.means, response)

    def __str__(self) -> str:
        return f"a table of {len(self.times):,} points"


@dataclass(frozen=True)
class CustomPause:
    """A custom function of the response time.

    Parameters
    ----------
    think : callable
        From a response time [s] to a mean think time [s].
    step : float, optional
        Step of its table. [s]
    """

    think: Callable[[float], float]
    step: float | None = None

    def __call__(self, response: float) -> float:
        """Return the mean think time after a response time [s]."""
        value = self.think(response)
        check_not_negative(**{f"think({response:g})": value})
        return float(value)

    def tabulated(self, steps: int = STEPS) -> PauseTable:
        """Return a table of it with `steps` steps of `step` seconds from 0 on.

        Raises
        ------
        ParameterError
            If no step was given.
        """
        return PauseTable(*points_of("think", self, self.step, steps))


Pause = BreakPause | PauseTable | CustomPause


def parse_pause(text: str, *, name: str = "think") -> float | BreakPause:
    """Read a mean think time, or its dependence on the response time.

    Parameters
    ----------
    text : str
        A duration, or ``breaks:SHORT,LONG,LIMIT``, three durations; they may also be separated by
        slashes.
    name : str, optional
        Name in messages.

    Raises
    ------
    ParameterError
        If it is neither.

    Examples
    --------
    >>> parse_pause("20min"), parse_pause("breaks:1min,2h,20min")
    (1200.0, BreakPause(short=60.0, long=7200.0, limit=1200.0))
    """
    form, *words = text.replace(":", "/").replace(",", "/").split("/")
    try:
        if not words:
            return read_duration(form)
        values = [read_duration(word) for word in words]
    except ValueError:
        values = []
    if form == "breaks" and len(values) == 3:
        return BreakPause(*values)
    raise ParameterError(
        name,
        f"is {quoted(text)}; it is a time, such as 90, 20min, 1.5h or 2d, or "
        "breaks:SHORT,LONG,LIMIT, three times",
    )
