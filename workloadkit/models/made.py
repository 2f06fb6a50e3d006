"""What the models share: checks of parameters, a daily cycle, construction of traces."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit import __version__
from workloadkit.clock import DAY
from workloadkit.errors import ParameterError, WorkloadError, check_count, check_load, check_number
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.header import Header
from workloadkit.provenance import plain
from workloadkit.trace import Trace

#: Second 0 of a generated log: Monday, 2 January 1995, 0:00 UTC. [s since 1970 UTC]
START = 789_004_800

#: Maximum number of jobs of a generated log.
MOST_JOBS = 10**8


def check_counts(jobs: object, procs: object) -> tuple[int, int]:
    """Check and return the numbers of jobs and of processors."""
    n_jobs = check_count("jobs", jobs, least=1, most=MOST_JOBS)
    return n_jobs, check_count("procs", procs, least=1, most=MAX_PROCS)


def machine_of(trace: Trace, procs: object) -> int:
    """Return the processors of the machine: as given, else from the header.

    Raises
    ------
    ParameterError
        If the given number is invalid.
    WorkloadError
        If the size of the machine is unknown.
    """
    if procs is not None:
        return check_counts(1, procs)[1]
    if trace.header.procs is None:
        raise WorkloadError(
            f"{trace.name}: the header states neither MaxProcs nor MaxNodes; specify the "
            "processors of the machine (procs)"
        )
    return trace.header.procs


def check_share(**parameters: Any) -> None:
    """Check that parameters are numbers from 0 to 1."""
    for name, value in parameters.items():
        check_number(name, value)
        if not 0 <= value <= 1:
            raise ParameterError(name, f"is {value:g}; it must be from 0 to 1")


def changed(model: Callable[..., Trace], **parameters: Any) -> dict[str, Any]:
    """Return the parameters that differ from the model's defaults."""
    defaults = signature(model).parameters
    return {name: value for name, value in parameters.items() if value != defaults[name].default}


def draw_until(
    draw: Callable[[NDArray[np.int64]], NDArray[np.float64]], n: int, most: float
) -> NDArray[np.float64]:
    """Draw n values, redrawing those above `most`; `draw` gets the indices to draw."""
    values = draw(np.arange(n))
    late = np.flatnonzero(~(values <= most))
    while late.size:
        values[late] = draw(late)
        late = late[~(values[late] <= most)]
    return values


def gap_factor(
    span_of: Callable[[float], float], work: float, procs: int, load: float | None
) -> float:
    """Return the factor of all gaps between arrivals for an offered load; 1 for None.

    Parameters
    ----------
    span_of : callable
        Submit span as a function of the factor, increasing without bound. [s]
    work : float
        Work of all jobs. [processor-seconds]

    Raises
    ------
    ParameterError
        If the load is not positive, above 3, or cannot be reached.
    """
    if load is None:
        return 1.0
    check_load("load", load)
    if not (work > 0 and span_of(1.0) > 0):
        raise ParameterError(
            "load", f"is {load:g}; it cannot be set for these jobs, because span or work are 0"
        )
    target = work / procs / load
    if target > MAX_TIME:
        raise ParameterError("load", f"is {load:g}; the log would be too long")
    if target < 1:
        raise ParameterError("load", f"is {load:g}; all jobs would arrive within a second")
    if span_of(0.0) >= target:
        most = work / procs / span_of(0.0)
        raise ParameterError("load", f"is {load:g}; the maximum for these jobs is {most:.3g}")
    low, high = 0.0, 1.0
    while span_of(high) < target:
        low, high = high, 2 * high
    for _ in range(100):  # reaches the precision of floats
        middle = (low + high) / 2
        low, high = (middle, high) if span_of(middle) < target else (low, middle)
    return high


def as_trace(
    model: str,
    source: str,
    columns: Mapping[str, ArrayLike],
    *,
    procs: int,
    seed: int,
    parameters: Mapping[str, Any],
    hours: bool = False,
    notes: tuple[tuple[str, str], ...] = (),
) -> Trace:
    """Return the output of a model as a log, with jobs numbered by submission, in whole seconds.

    Parameters
    ----------
    model, source : str
        Name of the model, and its authors.
    columns : mapping of str to array_like
        As for `Trace.from_columns`; times need not be whole.
    parameters : mapping of str to value
        Parameters that differ from the defaults, for the header.
    hours : bool
        Whether the model has a daily cycle: the log then starts at `START`.
    notes : tuple of (label, value)
        Further header lines.
    """
    n_jobs = len(np.asarray(columns["submit"]))
    longest = np.nanmax([np.nanmax(columns["submit"]), np.nanmax(columns["run"], initial=0)])
    if not longest <= MAX_TIME:
        raise ParameterError(
            f"model {model} generates times of up to {longest:.3g} s with these parameters, which "
            "is out of range"
        )
    made = ", ".join(
        [f"workloadkit {__version__}", f"model {model}", f"seed {seed}"]
        + [f"{name} {plain(value)}" for name, value in parameters.items()]
    )
    start = (("UnixStartTime", str(START)), ("TimeZoneString", "UTC")) if hours else ()
    header = Header().appended(
        ("Version", "2.2"),
        ("Computer", f"none, a statistical model: {source}"),
        ("MaxJobs", str(n_jobs)),
        ("MaxRecords", str(n_jobs)),
        *start,
        ("MaxProcs", str(procs)),
        *notes,
        ("Note", made),
    )
    times = {"submit", "run", "requested_time"}
    whole = {name: np.rint(v) if name in times else v for name, v in columns.items()}
    return Trace.from_columns(whole, header=header, name=model)


# Arrivals with a daily cycle.


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
