"""The workload of a simulation: the jobs of a log, by the rules of simulation."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    WorkloadWarning,
    check_number,
    parameter,
    plural,
)
from workloadkit.fields import CANCELLED, MAX_PROCS, MAX_TIME
from workloadkit.header import Header
from workloadkit.settings.simulation import (
    Arriving,
    AskedOverrun,
    Estimates,
    Overrun,
    Oversize,
    Passes,
    UtilityAt,
)
from workloadkit.simulation.state import never
from workloadkit.trace import Trace
from workloadkit.utility import Utilities, check, pack

#: The default settings.
USUAL = Arriving()

_SHOWN = 5  # jobs that an error lists
_LAST_SECOND = 2**62  # whole seconds up to here: sums of times do not overflow


@dataclass(frozen=True)
class Rules:
    """The rules of a simulation that are independent of the policy.

    Parameters
    ----------
    machine : int
        Processors of the machine.
    overrun : {"kill", "raise", "late"}
        Treatment of jobs that outlive their estimates, see `plan`.
    passes : {"instant", "event"}
        Whether processors are allocated once an instant or after each single event.
    seed : int
        Of the policy's random draws.
    hardware : object, optional
        The machine, see `workloadkit.simulation.machine`; one pool by default.
    predictor : object, optional
        Plans jobs, see `workloadkit.simulation.predictors`; by default with their limits. With an
        attribute `draws` its forms receive a generator of random numbers.
    holds : sequence of Hold
        Outages of users, in the plain-Python engine.
    requeues : bool
        Whether jobs that these stop return to the queue; otherwise they are lost.
    """

    machine: int
    overrun: Overrun = "raise"
    passes: Passes = "instant"
    seed: int = 0
    hardware: Any = None
    predictor: Any = None
    holds: Sequence[Any] = ()
    requeues: bool = True


def predictor_rng(rules: Rules) -> tuple[np.random.Generator, ...]:
    """Return the generator of a predictor that draws, independent of all others; else nothing."""
    if not getattr(rules.predictor, "draws", False):
        return ()
    return (np.random.default_rng(rules.seed).spawn(2)[1],)


@dataclass(frozen=True)
class Workload:
    """The jobs of a simulation, in the order of (submit, job number).

    With a pass after each event, jobs submitted in the same second keep the order of the log.

    Parameters
    ----------
    row : ndarray of int64, shape (n_jobs,)
        Row of each job in the table of its trace.
    job, user : ndarray of int64, shape (n_jobs,)
        Job and user numbers.
    submit, run, estimate : ndarray of int64 or all of float64, shape (n_jobs,)
        Whole seconds if all given times are whole. Run times are those in the simulation. [s]
    procs : ndarray of int64, shape (n_jobs,)
        Processors that each job needs.
    killed : ndarray of bool, shape (n_jobs,)
        Whether the job is stopped at its estimate.
    queue : ndarray of int64, shape (n_jobs,)
        Queue of each job in the log, -1 for unknown.
    wait : ndarray, shape (n_jobs,)
        Wait in the log, 0 for unknown. [s]
    left_out : int
        Jobs of the log that are not simulated.
    utilities : Utilities, optional
        Utility function of each job; None if no job has one.
    utility_at : {"turnaround", "start"}
        Whether a job's value is read at its end or at its start.
    users : NamedTuple, optional
        Users who react, see `workloadkit.simulation.mechanisms`. The arrays are then tables, filled
        in as the jobs arrive.
    user_numbers : ndarray of int64, optional
        Numbers of these users, if they are not 1, 2, … in order.
    limit : ndarray, optional
        In a result: the user's upper limit of each run time; `estimate` is then what was planned
        with at the arrival. [s]
    group, partition : ndarray of int64, optional
        Of each job of a log, -1 for unknown.
    tier : ndarray of int64, optional
        Tier of the partition of each job; by default 1.
    leaves : ndarray, optional
        When each job leaves the queue, as it is cancelled, unless it has started; a time after all
        times, see `state.never`, for jobs that ran. None if there are no cancelled jobs. [s]
    """

    row: NDArray[np.int64]
    job: NDArray[np.int64]
    user: NDArray[np.int64]
    submit: NDArray
    run: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    killed: NDArray[np.bool_]
    queue: NDArray[np.int64]
    wait: NDArray
    left_out: int
    utilities: Utilities | None = None
    utility_at: UtilityAt = "turnaround"
    users: Any = None
    user_numbers: NDArray[np.int64] | None = None
    limit: NDArray | None = None
    group: NDArray[np.int64] | None = None
    partition: NDArray[np.int64] | None = None
    tier: NDArray[np.int64] | None = None
    leaves: NDArray | None = None

    @property
    def tiers(self) -> NDArray[np.int64]:
        """Tier of the partition of each job."""
        return np.ones(self.submit.size, np.int64) if self.tier is None else self.tier

    @property
    def numbers_of_users(self) -> NDArray[np.int64]:
        """The numbers of users who react: those of the log, otherwise 1, 2, …."""
        if self.user_numbers is not None:
            return self.user_numbers
        return np.arange(1, self.users.agenda.time.size + 1)  # an upper limit

    @property
    def known_by(self) -> NDArray[np.int64] | None:
        """The numbers of users who react; None if `user` contains them."""
        return self.user_numbers if self.users is None else self.numbers_of_users

    def take(self, which: NDArray) -> "Workload":
        """Return the jobs at some places, in that order."""
        columns: dict[str, Any] = {
            name: values[which]
            for name, values in vars(self).items()
            if isinstance(values, np.ndarray)
        }
        if self.utilities is not None:
            columns["utilities"] = self.utilities.take(which)
        return replace(self, **columns)


def machine_size(header: Header, procs: int | None) -> int:
    """Processors of the machine: as given, else the header's MaxProcs, else its MaxNodes.

    Raises
    ------
    WorkloadError
        By default.

    Examples
    --------
    >>> machine_size(Header(("; MaxProcs: 1664 (72, 1368, 224)",)), None)
    1664
    """
    if procs is not None:
        check_number("procs", procs)
        if not (1 <= procs <= MAX_PROCS and procs == int(procs)):
            raise ParameterError("procs", f"is {procs}; a machine has from 1 to {MAX_PROCS:,}")
        return int(procs)
    if header.procs is None:
        raise WorkloadError(
            "the header names neither MaxProcs nor MaxNodes; give the processors of the machine "
            "(procs, on the command line --procs)"
        )
    if header.procs > MAX_PROCS:
        raise WorkloadError(f"the header's machine of {header.procs} processors is implausible")
    if not header.number("MaxProcs"):
        warnings.warn(
            f"the header names no MaxProcs; taking MaxNodes, {header.procs}, for the processors",
            WorkloadWarning,
            stacklevel=2,
        )
    return header.procs


def overrun_of(trace: Trace | None, asked: AskedOverrun) -> Overrun:
    """Return the treatment of jobs that outlive their estimates; "header": that of the log.

    With AllowOveruse Yes, jobs run on late; with No, they are stopped. Without AllowOveruse, they
    are stopped if the header contains MaxRuntime, as the system has then stopped jobs at limits.

    Raises
    ------
    ParameterError
        If the header contains neither, or there is none.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0]}, header=Header(("; AllowOveruse: No",)))
    >>> overrun_of(log, "header"), overrun_of(log, "raise")
    ('kill', 'raise')
    """
    if asked != "header":
        return asked
    header = None if trace is None else trace.header
    if header is not None and header.overuse is not None:
        return "late" if header.overuse else "kill"
    if header is not None and header.number("MaxRuntime"):
        return "kill"
    what = (
        "there is no log"
        if trace is None
        else (f"the header of {trace.name} contains neither AllowOveruse nor MaxRuntime")
    )
    raise ParameterError("overrun", f"is 'header', and {what}; give raise, kill or late")


def shortest_estimate(*times: Any) -> int:
    """Return the shortest estimate a scheduler plans with: 1 s for whole seconds, 0 with decimals.

    Parameters
    ----------
    *times
        Times, or their types; they are whole seconds if all of them are integers.

    Examples
    --------
    >>> shortest_estimate(0, np.array([5, 60])), shortest_estimate(0, 0.5)
    (1, 0)
    """
    return 0 if np.result_type(*times).kind == "f" else 1


def overrun_with(predictor: object, overrun: Overrun) -> Overrun:
    """Return the treatment of jobs that outlive their estimates where a predictor, or none, plans.

    A raised estimate contains the run time, which predictors must not see: with one, jobs run on
    late instead.

    Examples
    --------
    >>> overrun_with(None, "raise"), overrun_with("last-two", "raise")
    ('raise', 'late')
    """
    return "late" if overrun == "raise" and predictor is not None else overrun


def plan(
    run: ArrayLike, estimate: ArrayLike, overrun: AskedOverrun
) -> tuple[NDArray, NDArray, NDArray]:
    """Apply the treatment of jobs that outlive their estimates.

    Parameters
    ----------
    run, estimate : array_like
        Run time, and the estimate the user gave; whole seconds are integers. [s]
    overrun : {"kill", "raise", "late"}
        Stopped at the estimate; estimate raised to the run time from the start; not stopped.

    Returns
    -------
    run, estimate : ndarray
        As simulated. [s]
    killed : ndarray of bool

    Examples
    --------
    >>> run, estimate, killed = plan([90, 30], [60, 60], "kill")
    >>> run.tolist(), estimate.tolist(), killed.tolist()
    ([60, 30], [60, 60], [True, False])
    """
    ran, planned = np.asarray(run), np.asarray(estimate)
    planned = np.maximum(planned, shortest_estimate(ran, planned))
    killed = (ran > planned) & (overrun == "kill")
    if overrun == "kill":
        ran = np.minimum(ran, planned)
    elif overrun == "raise":
        planned = np.maximum(planned, ran)
    return ran, planned, killed


def never_starts(scheduler: str, stuck: Sequence[Any], n_jobs: int) -> str:
    """Return a message about jobs that never start."""
    jobs = f"{len(stuck):,} of {plural(n_jobs, 'job')}"
    return f"{scheduler} never starts {jobs}; the first is job {stuck[0]}"


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
        factor = _stretch_for(submit, work, machine, offered_load)
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
        left_out=trace.n_jobs - row.size,
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
                f"larger than the machine of {machine} processor{'s' * (machine != 1)}",
                f"; leave them out with {parameter('oversize', 'drop')}",
            )
        row, needed = row[~too_large], needed[~too_large]
    if not trace.ran[row].any():
        raise WorkloadError(f"{trace.name}: no job ran, there is nothing to simulate")
    procs = needed.astype(np.int64)
    if (procs != needed).any():
        _refuse(trace, row[procs != needed], "in need of a fraction of a processor")
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


def _in_order(submit: NDArray, job: NDArray) -> bool:
    earlier, equal = submit[:-1] < submit[1:], submit[:-1] == submit[1:]
    return bool((earlier | (equal & (job[:-1] <= job[1:]))).all())


def _stretch_for(submit: NDArray, work: float, machine: int, offered_load: float) -> float:
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
