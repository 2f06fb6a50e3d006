"""Set the offered load of a log by arrivals, users or machine size."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import span
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    check_choice,
    check_load,
    plural,
    takes_rng,
)
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.models.load_by_users import double_users, remove_users
from workloadkit.models.made import machine_of
from workloadkit.provenance import as_note, provenance, seed_of
from workloadkit.trace import Trace, check_trace

By = Literal["arrivals", "users", "machine"]


def offered_load(trace: Trace, procs: int | None = None) -> float:
    """Return the offered load: work divided by the capacity during the submit span.

    Parameters
    ----------
    trace : Trace
        Jobs that ran count, with their requested, else used processors.
    procs : int, optional
        Processors of the machine; by default the header's.

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If the argument is not a log, or procs is invalid.
    WorkloadError
        If the size of the machine is unknown, or the submit span is 0.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 100], "run": [100, 50], "procs": [4, 2]})
    >>> offered_load(log, 4)
    1.25
    """
    work, span = _work_and_span(trace)
    return work / (machine_of(trace, procs) * span)


@takes_rng
def scale_load(
    trace: Trace,
    load: float,
    by: By = "arrivals",
    procs: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> Trace:
    """Set the offered load of a log.

    Parameters
    ----------
    trace : Trace
    load : float
        The load to set, see `offered_load`; at most 3.
    by : {"arrivals", "users", "machine"}
        What is changed:

        - "arrivals": all gaps between submissions, by the same factor. Days become longer or
          shorter, so the daily cycle is lost. In a log of whole seconds submit times are rounded,
          which changes the load by at most the share 1 / span; otherwise it is exact.
        - "users": whole users, in random order, are removed with all their jobs, or duplicated,
          until the load is closest to the requested one, which is within half of the last user's
          work. A duplicate is a new user with jobs moved by a whole number of weeks (days in a log
          of less than two weeks), by the log's clock, wrapping around its end. No user is
          duplicated twice before all are once, and duplicates of the same user are moved
          differently as long as there are enough weeks. Jobs of unknown user are not changed.
        - "machine": the number of processors in the header, rounded to a whole number, which
          changes the load by at most the share 1 / (2 × processors).
    procs : int, optional
        Processors of the machine; by default the header's. Not for "machine", which computes it.
    rng : Generator or int, optional
        Generator of random numbers, or seed, for the users.

    Returns
    -------
    trace : Trace
        With a header note on the operation. Waits and other fields are kept. If users are
        duplicated, all jobs are renumbered by submission, and bursts are left out.

    Raises
    ------
    ParameterError
        If the argument is not a log, or a parameter is invalid.
    WorkloadError
        If the load cannot be set: the size of the machine is unknown; no job ran, or span or work
        are 0; by users, all users are unknown, or the log is too short to duplicate them; by
        machine, a job is larger than the computed one.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 100], "run": [100, 50], "procs": [4, 2]})
    >>> scale_load(log, 0.5, procs=4).column("submit").tolist()
    [0.0, 250.0]
    >>> scale_load(log, 0.5, "machine").header.procs
    10
    """
    check_trace(trace)
    check_load("load", load)
    check_choice("by", by, By)
    if by == "machine":
        if procs is not None:
            raise ParameterError(
                "procs cannot be given for the change by machine, which computes it"
            )
        return _by_machine(trace, load)
    machine = machine_of(trace, procs)
    if procs is not None:
        trace = replace(trace, header=trace.header.with_procs(machine))
    return (
        _by_arrivals(trace, load, machine)
        if by == "arrivals"
        else _by_users(trace, load, machine, seed_of(rng))
    )


def _needed(trace: Trace) -> NDArray[np.float64]:
    """Return the processors of each job, as in a simulation."""
    requested = trace.column("requested_procs")
    return np.where(requested > 0, requested, trace.used_procs)


def _work_and_span(trace: Trace) -> tuple[float, float]:
    """Return the work of the jobs that ran, and their submit span."""
    check_trace(trace)
    ran = trace.ran
    work = float((trace.column("run")[ran] * _needed(trace)[ran]).sum())
    span = float(np.ptp(trace.column("submit")[ran])) if ran.any() else 0.0
    if not span > 0:
        raise WorkloadError(
            f"{trace.name}: the offered load is undefined, because the submit span is 0"
        )
    return work, span


def _by_arrivals(trace: Trace, load: float, machine: int) -> Trace:
    work, span = _work_and_span(trace)
    _check_work(trace, work)
    stretch = work / machine / load / span
    submit = trace.column("submit")
    if not stretch * float(np.ptp(submit)) <= MAX_TIME:
        raise ParameterError("load", f"is {load:g}; the log would be too long")
    first = submit.min()
    scaled = (submit - first) * stretch
    if (submit == np.rint(submit)).all():
        scaled = np.rint(scaled)
    made = trace.with_columns(submit=first + scaled)
    return _noted(made, trace, load=load, by="arrivals", factor=float(f"{stretch:.6g}"))


def _by_machine(trace: Trace, load: float) -> Trace:
    work, span = _work_and_span(trace)
    _check_work(trace, work)
    exact = work / span / load
    needed = np.where(trace.ran, _needed(trace), 0)
    largest = int(np.argmax(needed))
    machine = max(round(min(exact, 2.0 * MAX_PROCS)), 1)
    if machine > MAX_PROCS:
        raise ParameterError("load", f"is {load:g}; the machine would be too large")
    if machine < needed[largest]:
        raise WorkloadError(
            f"{trace.name}: a load of {load:g} requires a machine of "
            f"{plural(machine, 'processor')}, but job {trace.column('job')[largest]} needs "
            f"{needed[largest]:g}"
        )
    made = replace(trace, header=trace.header.with_procs(machine))
    return _noted(made, trace, load=load, by="machine")


def _by_users(trace: Trace, load: float, machine: int, seed: int) -> Trace:
    work, span = _work_and_span(trace)
    _check_work(trace, work)
    rng = np.random.default_rng(seed)
    work_of = np.where(trace.ran, trace.column("run") * _needed(trace), 0.0)
    if load < work / machine / span:
        made, n = remove_users(trace, work_of, load * machine, rng)
        how = {"removed": n}
    else:
        made, n = double_users(trace, work_of, load * machine * span - work, rng)
        how = {"added": n}
    met = float(f"{offered_load(made, machine):.6g}")
    return _noted(made, trace, load=load, by="users", **how, met=met, seed=seed)


def _check_work(trace: Trace, work: float) -> None:
    if not work > 0:
        raise WorkloadError(f"{trace.name}: the work is 0, so no load can be set")


def _noted(made: Trace, trace: Trace, **parameters: object) -> Trace:
    """Update the header, and record the operation in it."""
    header = made.header.with_jobs(made.n_jobs, made.n_bursts, EndTime=span(made)[1])
    note = f"load set: {as_note(provenance(trace, **parameters))}"
    return replace(made, header=header.appended(("Note", note)), repairs=())
