"""Which jobs a policy starts in each pass, from what a schedule has started before.

Nothing of the simulator is used here but the definitions of the orders: the passes of a schedule
are made again from the log and the schedule itself. A policy that the log, its parameters and the
past determine leaves one schedule only: the one in which all passes are alike.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation import orders
from workloadkit.simulation.case import Interruptions, ScheduleCase
from workloadkit.simulation.claims import INSTANT
from workloadkit.simulation.policies.conservative import COMPRESSIONS, Conservative
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.creasy import priority as worth
from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.easy.ordered import SettledOrder
from workloadkit.simulation.policies.fcfs import Fcfs
from workloadkit.simulation.policies.overtaking import AS_USUAL, Overtaking, overtaking_of
from workloadkit.simulation.policies.reservations import Reservations
from workloadkit.simulation.policies.user_priority import UserPriority
from workloadkit.simulation.policies.varying import InVaryingOrder
from workloadkit.simulation.replaying.codes import (
    BY_LOAD,
    BY_PLACE,
    BY_RECENCY,
    BY_UNICEF,
    BY_WFP3,
    BY_WORTH,
    FULL,
    LATEST,
    MADE_AGAIN,
)
from workloadkit.simulation.workload import Workload


class PolicyRule(NamedTuple):
    """How a policy chooses.

    Parameters
    ----------
    reserving : int
        Whether reservations are made again in each pass, or how they are kept: one of the `codes`.
    reservations : int
        How many are made in a pass.
    order : int
        Of the queue: one of the `codes`.
    weight : float
        What CREASY adds for a job that responds at once [min]; or of the priorities of users.
    rank : ndarray of int64, shape (n_jobs,)
        Place of each job in the queue; that of its arrival, if the order is not `BY_PLACE`.
    backfills : bool
    orders_differ : bool
        Whether backfilling has an order of its own.
    backfill_rank : ndarray of int64, shape (n_jobs,)
        Place of each job in it.
    overtaking : Overtaking
    """

    reserving: int
    reservations: int
    order: int
    weight: float
    rank: NDArray[np.int64]
    backfills: bool
    orders_differ: bool
    backfill_rank: NDArray[np.int64]
    overtaking: Overtaking


class ByTime(NamedTuple):
    """What happens when, each in the order of time.

    Parameters
    ----------
    start : ndarray
        Of all runs. [s]
    starting : ndarray of int64
        Their jobs.
    end : ndarray
        Of those that are not stopped, and last longer than no time. [s]
    ending : ndarray of int64
        Their jobs.
    stop : ndarray
        Of those that are stopped. [s]
    stopping : ndarray of int64
        Their jobs.
    following : ndarray, shape (3, n_stopped)
        Start, end and planned end of the next run of each of these. [s]
    change : ndarray
        When processors go down or come up. [s]
    up : ndarray of int64
        How many more there are then.
    known, until : ndarray
        From when to when outages are known that were announced. [s]
    """

    start: NDArray
    starting: NDArray[np.int64]
    end: NDArray
    ending: NDArray[np.int64]
    stop: NDArray
    stopping: NDArray[np.int64]
    following: NDArray
    change: NDArray
    up: NDArray[np.int64]
    known: NDArray
    until: NDArray


class ReplayOptions(NamedTuple):
    """What a simulation was like.

    Parameters
    ----------
    by_event : bool
        Whether there was a pass after each event.
    reacting : bool
        Whether its users reacted.
    """

    by_event: bool
    reacting: bool


class ReplayResult(NamedTuple):
    """What came of it.

    Parameters
    ----------
    passes : int
        How many were made.
    differing : int
        At how many instants other jobs start in the schedule.
    undetermined : int
        At how many further ones they do, or may, where something decides that it does not tell.
    waits : int
        The first job that the policy starts when they first differ, and the schedule does not; -1
        for none.
    starts : int
        The first job that starts in the schedule alone; -1 for none.
    reserved : int
        The job with the first reservation then; -1 for none.
    now : int or float
        When that was. [s]
    begin : int or float
        When the reservation begins. [s]
    until : int or float
        If anything was untold, from when on it is not known which reservations are kept. [s]
    """

    passes: int
    differing: int
    undetermined: int
    waits: int
    starts: int
    reserved: int
    now: Any
    begin: Any
    until: Any


def rule_of(policy: Any, workload: Workload, rows: NDArray[np.int64]) -> PolicyRule | None:
    """Return how a policy chooses; None where that is not known here.

    Parameters
    ----------
    policy : object
    workload : Workload
    rows : ndarray of int64, shape (n_jobs,)
        Its jobs in the order of arrival.
    """
    arrival = np.arange(rows.size)
    rule = PolicyRule(MADE_AGAIN, 1, BY_PLACE, 0.0, arrival, True, False, arrival, AS_USUAL)
    if isinstance(policy, Reservations):
        policy = Easy(reservations=policy.depth)
    if isinstance(policy, Fcfs):
        return rule._replace(backfills=False)
    if isinstance(policy, Conservative):
        return rule._replace(reserving=FULL + COMPRESSIONS.index(policy.compression))
    if isinstance(policy, Creasy):
        weight = worth.bonus(float(policy.alpha))
        return rule._replace(order=BY_WORTH, weight=weight, overtaking=overtaking_of(policy))
    if isinstance(policy, UserPriority):
        order = BY_LOAD if policy.by == "load" else BY_RECENCY
        rule = rule._replace(order=order, weight=float(policy.alpha_user), orders_differ=True)
        return rule._replace(overtaking=overtaking_of(policy))
    if isinstance(policy, SettledOrder):
        ranks = _ranks(policy.place, workload, rows)
        rule = rule._replace(rank=ranks, reservations=policy.reservations)
    elif isinstance(policy, InVaryingOrder) and policy.order in _CODES:
        rule = rule._replace(order=_CODES[policy.order])
    else:
        return None
    rule = rule._replace(backfills=policy.backfill != "none", overtaking=overtaking_of(policy))
    if policy.backfill in ("same", "none"):
        return rule
    by = partial(orders.SETTLED[policy.backfill], numbers=())
    return rule._replace(orders_differ=True, backfill_rank=_ranks(by, workload, rows))


_CODES = {"wfp3": BY_WFP3, "unicef": BY_UNICEF}


def _ranks(key: Any, workload: Workload, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of jobs in a settled order, ties by arrival."""
    w = workload
    columns = (w.submit, w.estimate, w.procs, w.user, w.queue)
    first = w.submit.min().item()
    jobs = zip(*(column[rows].tolist() for column in columns), strict=True)
    keys = np.array([key(orders.VisibleJob._make((*job, first))) for job in jobs], np.float64)
    rank = np.empty(keys.size, np.int64)
    rank[np.argsort(keys, kind="stable")] = np.arange(keys.size)
    return rank


def replay(case: ScheduleCase, rule: PolicyRule) -> ReplayResult:
    """Make all passes of a schedule again.

    Parameters
    ----------
    case : Case
    rule : PolicyRule

    Returns
    -------
    ReplayResult
    """
    from workloadkit.simulation.replaying import kernel
    from workloadkit.simulation.replaying.state import ReplayJobs, new_state

    (start, end, planned_end), by_time = _by_time(case)
    user = np.unique(case.user, return_inverse=True)[1]
    tie = 0 if case.whole else max(INSTANT, 8 * float(np.spacing(np.abs(case.end).max())))
    jobs = ReplayJobs(case.submit, start, end, planned_end, case.estimate, case.procs, user)
    counts, when = np.array([0, 0, 0, -1, -1, -1]), np.full(3, -1, case.start.dtype)
    kernel.replay(
        jobs,
        rule,
        new_state(jobs, case.machine, tie),
        by_time,
        ReplayOptions(case.by_event, case.reacting),
        (counts, when),
    )
    return ReplayResult(*counts.tolist(), *when.tolist())


def _by_time(case: ScheduleCase) -> tuple[NDArray, ByTime]:
    """Return start, end and planned end of the first run of each job; and what happens when."""
    nothing = np.empty(0, case.start.dtype)
    none = np.empty(0, np.int64)
    interruptions = case.outages or Interruptions(
        nothing, none, nothing, nothing, none, nothing, nothing
    )
    runs = np.stack([case.start, case.end, case.planned_end])
    following = np.empty((3, interruptions.job.size), runs.dtype)
    for i in range(interruptions.job.size - 1, -1, -1):  # from the last to the first
        job, start = interruptions.job[i], interruptions.start[i]
        following[:, i] = runs[:, job]
        runs[:, job] = start, LATEST, start + case.estimate[job]
    start = np.concatenate([case.start, interruptions.start])
    jobs = np.concatenate([np.arange(case.job.size), interruptions.job])
    by_start = np.lexsort((jobs, start))
    by_end = np.argsort(case.end, kind="stable")
    by_end = by_end[(case.end > case.start)[by_end]]
    return runs, ByTime(
        start[by_start],
        jobs[by_start],
        case.end[by_end],
        by_end,
        interruptions.end,
        interruptions.job,
        following,
        interruptions.time,
        interruptions.up,
        interruptions.begin,
        interruptions.until,
    )
