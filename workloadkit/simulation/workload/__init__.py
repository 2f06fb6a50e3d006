"""The workload of a simulation, and the rules that do not depend on the policy."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    WorkloadWarning,
    check_number,
    plural,
)
from workloadkit.errors import (
    parameter as parameter,
)
from workloadkit.fields import CANCELLED as CANCELLED
from workloadkit.fields import MAX_PROCS
from workloadkit.fields import MAX_TIME as MAX_TIME
from workloadkit.header import Header
from workloadkit.settings.simulation import (
    Arriving,
    AskedOverrun,
    Overrun,
    Passes,
    UtilityAt,
)
from workloadkit.settings.simulation import (
    Estimates as Estimates,
)
from workloadkit.settings.simulation import (
    Oversize as Oversize,
)
from workloadkit.simulation.compiled.state import never as never
from workloadkit.simulation.supports import NOTHING, Memories
from workloadkit.trace import Trace
from workloadkit.utility import Utilities
from workloadkit.utility import check as check
from workloadkit.utility import pack as pack

#: The default settings.
USUAL: Arriving = Arriving()


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
    holds : sequence of UserOutage
        Outages of users, in the plain-Python engine.
    requeues : bool
        Whether jobs that these stop return to the queue; otherwise they are lost.
    begin : scalar, optional
        The time at which the simulation begins, with the jobs submitted before it; see
        `Workload.begun`. By default the first submission. [s]
    memory : Memories
        What policy, machine and predictor remember then.
    """

    machine: int
    overrun: Overrun = "raise"
    passes: Passes = "instant"
    seed: int = 0
    hardware: Any = None
    predictor: Any = None
    holds: Sequence[Any] = ()
    requeues: bool = True
    begin: Any = None
    memory: Memories = NOTHING


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
        Users who react, see `workloadkit.simulation.compiled.mechanisms`. The arrays are then
        tables, filled in as the jobs arrive.
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
    begun : ndarray, optional
        Start of each job that runs as a simulation begins at `Rules.begin`; a time after all times
        for others. None if it begins with the first submission. [s]
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
    begun: NDArray | None = None

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


class CancelledJobs(NamedTuple):
    """Jobs that were cancelled while they waited; they count in no measure of jobs that ran.

    Parameters
    ----------
    workload : Workload
        The jobs, in the order of (submit, job number); `leaves` is when they are cancelled.
    start : ndarray of float64, shape (n_cancelled,)
        Start of each job that the scheduler started before; NaN for those that left the queue. [s]
    """

    workload: Workload
    start: NDArray[np.float64]

    @property
    def waited_until(self) -> NDArray:
        """When each job left the queue: at its start, or as it was cancelled. [s]."""
        leaves = np.asarray(self.workload.leaves)
        until: NDArray = np.where(np.isnan(self.start), leaves, self.start).astype(leaves.dtype)
        return until


def that_ran(workload: Workload) -> NDArray[np.int64]:
    """Return the places of the jobs that were not cancelled while they waited."""
    leaves = workload.leaves
    if leaves is None:
        return np.arange(workload.row.size)
    return np.flatnonzero(leaves == never(leaves.dtype))


def that_wait(workload: Workload) -> Workload:
    """Return the jobs without those cancelled in the second of their submission."""
    if workload.leaves is None:
        return workload
    return workload.take(np.flatnonzero(workload.leaves != workload.submit))
