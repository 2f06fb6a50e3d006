"""Set the offered load of a log: by its arrivals, its users, or its machine."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import span
from workloadkit.errors import ParameterError, WorkloadError, check_choice, check_positive
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.models.load_by_users import double_users, remove_users
from workloadkit.models.made import machine_of
from workloadkit.provenance import as_note, provenance, seed_of
from workloadkit.trace import Trace, check_trace

By = Literal["arrivals", "users", "machine"]


def offered_load(trace: Trace, procs: int | None = None) -> float:
    """Return the offered load: work over what the machine could do while jobs were submitted.

    Parameters
    ----------
    trace : Trace
        The jobs that ran are counted, with the processors they requested, else used.
    procs : int, optional
        Processors of the machine; by default the header's.

    Returns
    -------
    float

    Raises
    ------
    ParameterError
        If it is no log, or procs is not a number of processors.
    WorkloadError
        If nobody says how large the machine is, or no time passes between the jobs.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 100], "run": [100, 50], "procs": [4, 2]})
    >>> offered_load(log, 4)
    1.25
    """
    work, span = _work_and_span(trace)
    return work / (machine_of(trace, procs) * span)


def scale_load(
    trace: Trace,
    load: float,
    by: By = "arrivals",
    procs: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> Trace:
    """Give a log another offered load.

    Parameters
    ----------
    trace : Trace
    load : float
        The load to set, see `offered_load`.
    by : {"arrivals", "users", "machine"}
        What is changed for it.

        - "arrivals": the gaps between submissions, all by the same factor. Days become longer or
          shorter, so that hours of the day lose their meaning. In a log of whole seconds submit
          times are rounded, which moves the load by at most its share 1 / span; else it is exact.
        - "users": whole users, taken in random order, leave with all their jobs, or are doubled,
          until the next would take the load farther from the one asked for than it is. It is then
          met to within half of that user's work. A double is a new user whose jobs are moved by a
          whole number of weeks (of days in a log of less than two weeks), by the log's clock, and
          from its end on to its beginning. No user is doubled twice before all are once, and
          doubles of the same user are moved differently as long as there are weeks. Jobs of
          unknown user stay.
        - "machine": the number of processors in the header, rounded to a whole number, which
          moves the load by at most its share 1 / (2 × processors).
    procs : int, optional
        Processors of the machine; by default the header's. Not with "machine", which finds it.
    rng : Generator or int, optional
        Generator of random numbers, or seed, for the users.

    Returns
    -------
    trace : Trace
        Its header says what was done. Waits and other fields are kept. Where users are doubled,
        all jobs are numbered anew by submission, and bursts are left out.

    Raises
    ------
    ParameterError
        If it is no log, or a parameter is not what it should be.
    WorkloadError
        If the load cannot be set: nobody says how large the machine is; no job ran, no time
        passes or no work is done; by users, no user is known, or the log is too short to double
        them; or by machine, a job is larger than that.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 100], "run": [100, 50], "procs": [4, 2]})
    >>> scale_load(log, 0.5, procs=4).column("submit").tolist()
    [0.0, 250.0]
    >>> scale_load(log, 0.5, "machine").header.procs
    10
    """
    check_trace(trace)
    check_positive(load=load)
    check_choice("by", by, By)
    if by == "machine":
        if procs is not None:
            raise ParameterError("procs is given, but by machine it is what is found")
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
    """Processors of each job, as a simulation gives them to it."""
    requested = trace.column("requested_procs")
    return np.where(requested > 0, requested, trace.used_procs)


def _work_and_span(trace: Trace) -> tuple[float, float]:
    """Return the work of the jobs that ran, and the time in which they were submitted."""
    check_trace(trace)
    ran = trace.ran
    work = float((trace.column("run")[ran] * _needed(trace)[ran]).sum())
    span = float(np.ptp(trace.column("submit")[ran])) if ran.any() else 0.0
    if not span > 0:
        raise WorkloadError(f"{trace.name}: there is no offered load, for no time passes")
    return work, span


def _by_arrivals(trace: Trace, load: float, machine: int) -> Trace:
    work, span = _work_and_span(trace)
    _check_work(trace, work)
    stretch = work / machine / load / span
    submit = trace.column("submit")
    if not stretch * float(np.ptp(submit)) <= MAX_TIME:
        raise ParameterError(f"load is {load:g}; the log would never end")
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
        raise ParameterError(f"load is {load:g}; no machine is so large")
    if machine < needed[largest]:
        raise WorkloadError(
            f"{trace.name}: a load of {load:g} takes a machine of {machine} processors, and job "
            f"{trace.column('job')[largest]} needs {needed[largest]:g}"
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
        raise WorkloadError(f"{trace.name}: no work is done, so no load can be set")


def _noted(made: Trace, trace: Trace, **parameters: object) -> Trace:
    """Make the header true and say in it what was done."""
    header = made.header.with_jobs(made.n_jobs, EndTime=span(made)[1])
    note = f"load set: {as_note(provenance(trace, **parameters))}"
    return replace(made, header=header.appended(("Note", note)), repairs=())
