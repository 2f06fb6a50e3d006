"""The workload of a log, by the rules of simulation, and those of synthetic users."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, parameter, plural
from workloadkit.fields import CANCELLED, MAX_TIME
from workloadkit.header import Header
from workloadkit.settings.simulation import Arriving, Estimates, Oversize, UtilityAt
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.workload import USUAL, Workload, plan, shortest_estimate
from workloadkit.trace import Trace
from workloadkit.units import in_known_unit, words_of
from workloadkit.utility import Point, Utilities, check, pack

_SHOWN = 5  # jobs that an error lists
_LAST_SECOND = 2**62  # whole seconds up to here: sums of times do not overflow


def make_workload(
    trace: Trace,
    machine: int,
    settings: Arriving = USUAL,
    *,
    utility_at: UtilityAt = "turnaround",
    of_any_size: bool = False,
    reacting: bool = False,
    decimals: bool = False,
) -> Workload:
    """Convert a log into a workload.

    Parameters
    ----------
    trace : Trace
    machine : int
        Processors of the machine.
    settings : Arriving
        `overrun` must not be "header"; run times and sizes are not scaled here.
    utility_at : {"turnaround", "start"}
        When the value of a job that has a utility function is read.
    of_any_size : bool
        Whether jobs larger than the machine are kept, whatever the settings.
    reacting : bool
        Whether users react: recorded waits and think times decide, too, whether times are whole.
    decimals : bool
        Whether times are decimals even if their values are whole: no estimate is raised to 1 s.

    Raises
    ------
    WorkloadError
        If no job ran, jobs are larger than the machine, the load cannot be set, or the points of a
        utility function are invalid.
    """
    cancelled = np.zeros(trace.n_jobs, bool)
    if settings.cancelled == "keep":
        cancelled = cancelled_in_queue(trace)
    row, procs = _served(trace, cancelled, machine, None if of_any_size else settings.oversize)
    cancelled = cancelled[row]
    job = trace.column("job")[row]
    submit, run, estimate, wait = _times(
        trace, row, cancelled, settings.estimates, reacting, decimals
    )
    run, estimate, killed = plan(run, estimate, settings.overrun)
    offered_load, scale = settings.offered_load, settings.scale_arrivals
    if offered_load is not None:
        work = float((run.astype(np.float64) * procs)[~cancelled].sum())
        factor = factor_for(submit, work, machine, offered_load)
        submit = _stretched(submit, factor, offered_load=offered_load)
    elif scale != 1:
        submit = _stretched(submit, scale, scale_arrivals=scale)

    most = np.maximum(run, estimate).astype(np.float64).sum() + np.abs(submit).max()
    if submit.dtype.kind == "i" and most > _LAST_SECOND:
        raise WorkloadError(f"{trace.name}: a total run time of {most:.1e} s is implausible")

    workload = Workload(
        row=row,
        job=job,
        user=trace.column("user")[row],
        submit=submit,
        run=run,
        estimate=estimate,
        procs=procs,
        killed=killed,
        queue=trace.column("queue")[row],
        group=trace.column("group")[row],
        partition=trace.column("partition")[row],
        wait=wait,
        left_out=n_jobs_of(trace) - row.size,
        utilities=_utilities(trace, row),
        utility_at=utility_at,
        leaves=_leaves(submit, wait, cancelled) if cancelled.any() else None,
    )
    if (
        settings.passes == "event"
    ):  # the rows of a trace are in the order of (submit, place in the log)
        return workload
    return workload if _in_order(submit, job) else workload.take(np.lexsort((job, submit)))


def cancelled_in_queue(trace: Trace) -> NDArray[np.bool_]:
    """Return which jobs of a log were cancelled while they waited, shape (n_jobs,).

    They have status 5 and no run time, and their waits and requests are known.

    Examples
    --------
    >>> columns = {"submit": [0, 1, 2], "wait": [0, 9, 9], "requested_procs": [4, 4, 4]}
    >>> log = Trace.from_columns(columns | {"run": [60, -1, -1], "status": [5, 5, 0]})
    >>> cancelled_in_queue(log).tolist()
    [False, True, False]
    """
    known = (trace.column("wait") >= 0) & (needed_procs(trace) > 0)  # False for NaN
    has_run = trace.ran | (trace.column("run") > 0)
    return (trace.column("status") == CANCELLED) & known & ~has_run


def needed_procs(trace: Trace) -> NDArray[np.float64]:
    """Return the processors that jobs need."""
    requested = trace.column("requested_procs")
    return np.where(requested > 0, requested, trace.used_procs)


def n_jobs_of(trace: Trace) -> int:
    """Return the jobs of a log, also those that its unit leaves out."""
    return trace.n_jobs if trace.counting is None else trace.n_jobs + trace.counting.left_out


def _served(
    trace: Trace, cancelled: NDArray[np.bool_], machine: int, oversize: Oversize | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the jobs that fit the machine, and the processors that they need.

    Cancelled jobs that are larger than it would never start: they are left out.
    """
    needed = needed_procs(trace)
    row = np.flatnonzero(trace.ran | (cancelled & (needed <= machine)))
    needed = needed[row]
    too_large = needed > machine
    if oversize is not None and too_large.any():
        if oversize == "error":
            _refuse(
                trace,
                row[too_large],
                f"larger than the machine of {plural(machine, words_of(trace).one)}",
                f"; leave them out with {parameter('oversize', 'drop')}",
            )
        row, needed = row[~too_large], needed[~too_large]
    if not trace.ran[row].any():
        only_nodes = in_known_unit(trace) is not trace
        hint = ": only their nodes are known, in which unit counts" if only_nodes else ""
        raise WorkloadError(f"{trace.name}: no job ran, there is nothing to simulate{hint}")
    procs = needed.astype(np.int64)
    if (procs != needed).any():
        advice = (
            f"; on nodes ({parameter('machine')}) each takes a whole one"
            if trace.unit == "gpus"
            else "; the mapping of a table gives whole ones with ceil(...)"
        )
        what = f"in need of a fraction of a {words_of(trace).one}"
        _refuse(trace, row[procs != needed], what, advice)
    return row, procs


def _times(
    trace: Trace,
    row: NDArray[np.int64],
    cancelled: NDArray[np.bool_],
    estimates: Estimates,
    reacting: bool,
    decimals: bool,
) -> tuple[NDArray, ...]:
    """Return submit, run, estimated and wait times, as whole numbers if possible.

    Cancelled jobs, which have no run time, run as short as possible if they start, and are planned
    with their requests.
    """
    submit, run = trace.column("submit")[row], trace.column("run")[row]
    requested_time, wait = trace.column("requested_time")[row], trace.column("wait")[row]
    wait = np.where(wait >= 0, wait, 0)  # also for NaN
    run = np.where(cancelled, 0, run)
    planned = requested_time >= 0  # False for NaN
    if estimates == "exact":
        planned &= cancelled
    estimate = np.where(planned, requested_time, run)
    named = {"submit": submit, "wait": wait, "run": run, "requested_time": estimate}
    for name, times in named.items():
        absurd = ~(np.abs(times) <= MAX_TIME)
        if absurd.any():
            _refuse(trace, row[absurd], f"implausible, with {name} of {times[absurd][0]:g} s")
    decide = [submit, run, estimate, wait[cancelled]]
    if reacting:
        decide += [wait, np.nan_to_num(trace.column("think_time")[row])]
    if not decimals and are_whole(*decide):
        submit, run, estimate = (times.astype(np.int64) for times in (submit, run, estimate))
        run = np.where(cancelled, shortest_estimate(run), run)
    return submit, run, estimate, wait.astype(np.int64) if are_whole(wait) else wait


def _leaves(submit: NDArray, wait: NDArray, cancelled: NDArray[np.bool_]) -> NDArray:
    """Return when cancelled jobs leave the queue; a time after all times for others."""
    leaves = np.full_like(submit, never(submit.dtype))
    leaves[cancelled] = submit[cancelled] + wait[cancelled]
    return leaves


def _utilities(trace: Trace, row: NDArray[np.int64]) -> Utilities | None:
    """Return the utility functions of the jobs at some rows; None if they have none."""
    if not len(trace.table("utility")):
        return None
    check(trace)
    utilities = pack(trace.table("utility"), trace.n_jobs).take(row)
    return utilities if utilities.known.any() else None


def are_whole(*times: NDArray) -> bool:
    """Whether all times are whole seconds; the shortest estimate is then 1 s."""
    return all(bool((some == np.rint(some)).all()) for some in times)


def look_whole(workload: Workload) -> bool:
    """Whether all times of the jobs are whole numbers."""
    estimate = workload.estimate if workload.limit is None else workload.limit
    return are_whole(workload.submit, workload.run, estimate)


def _in_order(submit: NDArray, job: NDArray) -> bool:
    earlier, equal = submit[:-1] < submit[1:], submit[:-1] == submit[1:]
    return bool((earlier | (equal & (job[:-1] <= job[1:]))).all())


def factor_for(submit: NDArray, work: float, machine: int, offered_load: float) -> float:
    """Return the factor of all inter-arrival times that sets an offered load."""
    span = float(submit.max() - submit.min())
    if not (span > 0 and work > 0):
        raise WorkloadError("the offered load cannot be set: no time passes, or no work is done")
    return work / machine / span / offered_load


def _stretched(submit: NDArray, factor: float, **asked: float) -> NDArray:
    """Multiply inter-arrival times by a factor, from the first submission on."""
    if not float(submit.max() - submit.min()) * factor <= MAX_TIME:
        name, value = asked.popitem()
        raise ParameterError(name, f"is {value:g}; the log would never end")
    scaled = (submit - submit.min()) * factor
    if submit.dtype.kind == "i":
        scaled = np.rint(scaled).astype(np.int64)
    return submit.min() + scaled


def _refuse(trace: Trace, rows: NDArray[np.int64], what: str, advice: str = "") -> None:
    jobs = trace.column("job")[rows]
    shown = ", ".join(str(job) for job in jobs[:_SHOWN])
    more = f" and {jobs.size - _SHOWN:,} more" if jobs.size > _SHOWN else ""
    refused = plural(jobs.size, "job is", "jobs are")
    raise WorkloadError(f"{trace.name}: {refused} {what}: {shown}{more}{advice}")


# Workloads of synthetic users, who submit jobs without a log.


def synthetic_workload(
    submit: NDArray,
    run: NDArray,
    estimate: NDArray,
    procs: NDArray,
    user: NDArray,
    queue: NDArray,
    users: Any = None,
) -> Workload:
    """Return a workload of jobs without a log, or tables for them."""
    n_jobs = submit.size
    return Workload(
        row=np.full(n_jobs, -1),
        job=np.arange(1, n_jobs + 1),
        user=user,
        submit=submit,
        run=run,
        estimate=estimate,
        procs=procs,
        killed=np.zeros(n_jobs, dtype=bool),
        queue=queue,
        wait=np.zeros(n_jobs, submit.dtype),
        left_out=0,
        users=users,
    )


def as_log(
    workload: Workload,
    machine: int,
    *,
    utilities: dict[int, tuple[Point, ...]] | None = None,
    **columns: NDArray,
) -> tuple[Trace, Workload]:
    """Return a log of synthetic jobs, and the jobs as a workload of that log.

    Parameters
    ----------
    workload : Workload
        In the order of (submit, job number); users are counted from 0.
    machine : int
        Processors.
    utilities : dict of int to tuple, optional
        Points of the jobs' utility functions, by place.
    **columns : ndarray, shape (n_jobs,)
        Further fields of the log.
    """
    import pandas as pd

    n_jobs = workload.submit.size
    user = workload.user + 1
    trace = Trace.from_columns(
        {
            "job": workload.job,
            "submit": workload.submit,
            "run": workload.run,
            "procs": workload.procs,
            "requested_procs": workload.procs,
            "requested_time": workload.estimate if workload.limit is None else workload.limit,
            "user": user,
            **columns,
        },
        header=Header(("; Version: 2.2", f"; MaxProcs: {machine}")),
        name="simulation",
    )
    workload = replace(workload, row=np.arange(n_jobs), user=user, users=None)
    if utilities:
        points = [(row, *point) for row, of_job in utilities.items() for point in of_job]
        table = pd.DataFrame(points, columns=["row", "time", "value"])
        trace = replace(trace, utility=table)
        workload = replace(workload, utilities=pack(table, n_jobs))
    return trace, workload
