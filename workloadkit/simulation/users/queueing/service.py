"""The needs of synthetic users' jobs: run times by a law or from a list, and processors."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import (
    ParameterError,
    check_choice,
    check_number,
    check_positive,
    plural,
    quoted,
)
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.parameters import read_duration
from workloadkit.trace import Trace

Law = Literal["exponential", "fixed", "drawn", "listed"]

#: Run times by a law have a mean; others are listed.
_OF_A_MEAN = ("exponential", "fixed")


@dataclass(frozen=True, eq=False)
class Given:
    """A list of values for jobs.

    Parameters
    ----------
    values : ndarray, shape (n_values,)
    source : str
        Origin of the values.
    """

    values: NDArray
    source: str

    def __str__(self) -> str:
        return f"{plural(self.values.size, 'value')} of {self.source}"

    __repr__ = __str__


class Service:
    """The needs of one job after the other.

    Parameters
    ----------
    run : float or Given
        Mean run time, or run times. [s]
    law : {"exponential", "fixed", "drawn", "listed"}
        Law of the run times: exponential with that mean; always the mean; drawn from the list, with
        replacement; in the order of the list, repeated from the start.
    procs : int or Given
        Processors of each job, or a list of sizes. Listed with as many run times, both describe the
        same jobs; otherwise sizes are drawn with replacement, after the run time.
    rng : Generator
    """

    def __init__(
        self, run: float | Given, law: Law, procs: int | Given, rng: np.random.Generator
    ) -> None:
        self.run, self.law, self.procs, self.rng = run, law, procs, rng
        self.n_made = 0

    def make(self) -> tuple[int, float]:
        """Return the processors and the run time [s] of another job."""
        place = -1
        if not isinstance(self.run, Given):
            run = self.run * self.rng.standard_exponential() if self.law != "fixed" else self.run
        else:
            n_given = self.run.values.size
            listed = self.law == "listed"
            place = self.n_made % n_given if listed else int(self.rng.random() * n_given)
            run = self.run.values[place]
        self.n_made += 1
        if not isinstance(self.procs, Given):
            return self.procs, float(run)
        if place < 0:
            place = int(self.rng.random() * self.procs.values.size)
        return int(self.procs.values[place]), float(run)


def law_of(run: float | Given, law: Law | None) -> Law:
    """Return the law of run times: as requested, else exponential or, for a list, drawn."""
    if law is not None:
        return law
    return "drawn" if isinstance(run, Given) else "exponential"


def check_service(name: str, run: Any, law: Any, procs: Any) -> tuple[Any, Any]:
    """Return run times and processors in the form for `Service`.

    Parameters
    ----------
    name : str
        Name of the users, for messages.
    run : float, array_like, Trace or str
        Mean run time, or a list; of the jobs of a log that ran; or of a log in a file.
    law : str, optional
        Law of the run times.
    procs : int, array_like, Trace or str
        Processors, likewise.
    """
    run = _number_or_given(name, "run", run)
    procs = _number_or_given(name, "procs", procs)
    given = isinstance(run, Given)
    law = law_of(run, law)
    check_choice("law", law, Law)
    if given == (law in _OF_A_MEAN):
        what = plural(run.values.size, "run time") if given else "a mean run time"
        fitting = ("drawn", "listed") if given else _OF_A_MEAN
        raise ParameterError(
            f"{name}: law is {quoted(law)}, of {what} it is {' or '.join(fitting)}"
        )
    if not given:
        check_positive(run=run)
    elif not run.values.any():
        raise ParameterError(f"{name}: run has no value above 0")
    if isinstance(procs, Given) and procs.values.size == 1:
        procs = procs.values.item()
    if not isinstance(procs, Given):
        _check_whole(name, np.array([procs]))
        procs = int(procs)
    elif given and procs.values.size != run.values.size:
        raise ParameterError(
            f"{name}: run has {plural(run.values.size, 'value')} and procs has "
            f"{procs.values.size}; given together, they describe the same jobs",
        )
    return run, procs


def check_sizes(name: str, procs: int | Given, machine: int) -> None:
    """Check that the machine has enough processors for all jobs."""
    largest = int(procs.values.max()) if isinstance(procs, Given) else procs
    if largest > machine:
        raise ParameterError(
            f"{name}: procs is {largest}; the machine has {machine} processor{'s' * (machine != 1)}"
        )


def _number_or_given(name: str, parameter: str, value: Any) -> Any:
    """Return a number, or a list of values with their origin."""
    if isinstance(value, Given):
        return value
    if isinstance(value, str):
        for read in (read_duration, float) if parameter == "run" else (float,):
            with suppress(ValueError):
                return read(value)
        value = _read(value)
    if isinstance(value, os.PathLike):
        value = _read(os.fspath(value))
    if isinstance(value, Trace):
        return _check_given(name, parameter, _of_log(parameter, value), value.name)
    if isinstance(value, (Sequence, np.ndarray)) or hasattr(value, "to_numpy"):
        return _check_given(name, parameter, value, "one's own")
    check_number(parameter, value)
    return value


def _read(path: str) -> Trace:
    from workloadkit.io.formats import read_native

    return read_native(path)


def _of_log(parameter: str, trace: Trace) -> NDArray:
    """Return the run times, or the processors needed, of the jobs of a log that ran."""
    if parameter == "run":
        return trace.column("run")[trace.ran]
    requested = trace.column("requested_procs")
    return np.where(requested > 0, requested, trace.used_procs)[trace.ran]


def _check_given(name: str, parameter: str, values: ArrayLike, source: str) -> Given:
    """Check the values of a list, and return it."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name}: {parameter} is {quoted(values)}; it is a list of numbers"
        ) from None
    if array.ndim != 1 or not array.size:
        raise ParameterError(f"{name}: {parameter} has the shape {array.shape}; it is a list")
    if parameter == "procs":
        _check_whole(name, array)
        array = array.astype(np.int64)
    elif not (array >= 0).all() or not (array <= MAX_TIME).all():
        absurd = array[~((array >= 0) & (array <= MAX_TIME))][0]
        raise ParameterError(f"{name}: run has the value {absurd:g} s")
    array.setflags(write=False)
    return Given(array, source)


def _check_whole(name: str, procs: NDArray) -> None:
    fine = (procs >= 1) & (procs <= MAX_PROCS) & (procs == np.rint(procs))
    if not fine.all():
        raise ParameterError(
            f"{name}: procs is {procs[~fine][0]:g}; a job needs a whole number, 1 or more"
        )
