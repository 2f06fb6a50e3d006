"""What the models share: the checks of what they are asked for, and the trace they return."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit import __version__
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    check_count,
    check_number,
    check_positive,
)
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.header import Header
from workloadkit.provenance import plain
from workloadkit.trace import Trace

#: Second 0 of a made log: Monday, 2 January 1995, 0:00 UTC. [s since 1970 UTC]
START = 789_004_800

#: Logs of more jobs than this are not made.
MOST_JOBS = 10**8


def check_counts(jobs: object, procs: object) -> tuple[int, int]:
    """Return the numbers of jobs and of processors, if they are such.

    Raises
    ------
    ParameterError
    """
    n_jobs = check_count("jobs", jobs, least=1, most=MOST_JOBS)
    return n_jobs, check_count("procs", procs, least=1, most=MAX_PROCS)


def machine_of(trace: Trace, procs: object) -> int:
    """Return the processors of the machine: as given, else the header's.

    Raises
    ------
    ParameterError
        If what is given is no number of processors.
    WorkloadError
        Where nobody says.
    """
    if procs is not None:
        return check_counts(1, procs)[1]
    if trace.header.procs is None:
        raise WorkloadError(
            f"{trace.name}: the header names neither MaxProcs nor MaxNodes; give the processors "
            "of the machine (procs)"
        )
    return trace.header.procs


def check_share(**parameters: Any) -> None:
    """Refuse parameters that are not numbers from 0 to 1.

    Raises
    ------
    ParameterError
    """
    for name, value in parameters.items():
        check_number(name, value)
        if not 0 <= value <= 1:
            raise ParameterError(f"{name} is {value:g}; it is a share, from 0 to 1")


def changed(model: Callable[..., Trace], **parameters: Any) -> dict[str, Any]:
    """Return those of the parameters that differ from the defaults of the model."""
    defaults = signature(model).parameters
    return {name: value for name, value in parameters.items() if value != defaults[name].default}


def draw_until(
    draw: Callable[[NDArray[np.int64]], NDArray[np.float64]], n: int, most: float
) -> NDArray[np.float64]:
    """Draw n values, those above `most` again until none is; `draw` gets the places to draw for."""
    values = draw(np.arange(n))
    late = np.flatnonzero(~(values <= most))
    while late.size:
        values[late] = draw(late)
        late = late[~(values[late] <= most)]
    return values


def gap_factor(
    span_of: Callable[[float], float], work: float, procs: int, load: float | None
) -> float:
    """Factor of all gaps between arrivals at which the offered load is `load`; 1 for None.

    Parameters
    ----------
    span_of : callable
        From the factor to the submit span, which grows with it without bound. [s]
    work : float
        Of all jobs. [processor-seconds]

    Raises
    ------
    ParameterError
        If the load is not positive, or no factor has it.
    """
    if load is None:
        return 1.0
    check_positive(load=load)
    if not (work > 0 and span_of(1.0) > 0):
        raise ParameterError(
            f"load is {load:g}; of these jobs it cannot be set: no time passes, or no work is done"
        )
    wanted = work / procs / load
    if wanted > MAX_TIME:
        raise ParameterError(f"load is {load:g}; the log would never end")
    if wanted < 1:
        raise ParameterError(f"load is {load:g}; all jobs would come within a second")
    if span_of(0.0) >= wanted:
        most = work / procs / span_of(0.0)
        raise ParameterError(f"load is {load:g}; the most that these jobs can offer is {most:.3g}")
    low, high = 0.0, 1.0
    while span_of(high) < wanted:
        low, high = high, 2 * high
    for _ in range(100):  # more halvings than a float has digits
        middle = (low + high) / 2
        low, high = (middle, high) if span_of(middle) < wanted else (low, middle)
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
    """Return what a model made as a log, its jobs numbered by submission, times in whole seconds.

    Parameters
    ----------
    model, source : str
        Name of the model, and whose it is.
    columns : mapping of str to array_like
        As `Trace.from_columns` takes them; times need not be whole.
    parameters : mapping of str to value
        What was asked for beyond the defaults, for the header.
    hours : bool
        Whether the time of day means something: the log then begins on `START`.
    notes : tuple of (label, value)
        Further lines of the header.
    """
    n_jobs = len(np.asarray(columns["submit"]))
    longest = np.nanmax([np.nanmax(columns["submit"]), np.nanmax(columns["run"], initial=0)])
    if not longest <= MAX_TIME:
        raise ParameterError(
            f"model {model} makes times of up to {longest:.3g} s with these parameters, "
            "which are not believed"
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
