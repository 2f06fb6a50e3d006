"""The jobs that a policy starts in each pass, given those that a schedule has started before.

Only the definitions of the orders are shared with the simulator: the passes of a schedule are
repeated from the log and the schedule itself. If the log, the parameters and the past determine a
policy, only one schedule is possible: the one in which all passes are equal.

The most common policies, planned with the limits, are compiled; `repeating` has all others and
predictions, in plain Python.
"""

from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.slices import run_in_slices
from workloadkit.fields import UNKNOWN
from workloadkit.simulation import orders
from workloadkit.simulation.check.replaying.passing import Passing
from workloadkit.simulation.check.replaying.predictions import RepeatedPredictions, passing_of
from workloadkit.simulation.check.replaying.repeating import Repetition, ReplayResult
from workloadkit.simulation.check.replaying.standing import ReplayedJob, Rounding, Standing
from workloadkit.simulation.check.replaying.state import (
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
from workloadkit.simulation.check.scheduled_jobs import Interruptions, ScheduleCase
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.policies.conservative import COMPRESSIONS, Conservative
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.creasy import kernel as worth
from workloadkit.simulation.policies.easy import SettledOrder
from workloadkit.simulation.policies.policy import AS_USUAL, Overtaking, overtaking_of
from workloadkit.simulation.policies.user_priority import UserPriority
from workloadkit.simulation.policies.varying import InVaryingOrder
from workloadkit.simulation.workload import Workload


class PolicyRule(NamedTuple):
    """The rule by which a policy selects jobs.

    Parameters
    ----------
    reserving : int
        Whether reservations are made again in each pass, or the way they are kept: see `state`.
    reservations : int
        Number of reservations in a pass.
    order : int
        Of the queue: see `state`.
    weight : float
        CREASY's priority at response time 0 [min], or the weight of the users' priorities.
    rank : ndarray of int64, shape (n_jobs,)
        Place of each job in the queue; that of its arrival, unless the order is `BY_PLACE`.
    backfills : bool
    orders_differ : bool
        Whether the order of backfilling differs.
    backfill_rank : ndarray of int64, shape (n_jobs,)
        Place of each job in that order.
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

    @property
    def keeps(self) -> bool:
        """Whether decisions depend on those of earlier passes."""
        return self.reserving != MADE_AGAIN


class ByTime(NamedTuple):
    """The events of a schedule, each kind in the order of time.

    Parameters
    ----------
    start : ndarray
        Of all runs. [s]
    starting : ndarray of int64
        Their jobs.
    end : ndarray
        Of the runs that are not stopped and last longer than zero. [s]
    ending : ndarray of int64
        Their jobs.
    stop : ndarray
        Of the stopped runs. [s]
    stopping : ndarray of int64
        Their jobs.
    following : ndarray, shape (3, n_stopped)
        Start, end and planned end of the next run of each of these. [s]
    change : ndarray
        When processors go down or come up. [s]
    up : ndarray of int64
        Change in the number of working processors.
    known, until : ndarray
        Period in which each announced outage is known. [s]
    leave : ndarray
        When cancelled jobs leave the queue. [s]
    leaving : ndarray of int64
        These jobs.
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
    leave: NDArray
    leaving: NDArray[np.int64]


class ReplayOptions(NamedTuple):
    """The options of the simulation.

    Parameters
    ----------
    by_event : bool
        Whether there was a pass after each event.
    reacting : bool
        Whether users reacted.
    starts_known : bool
        Whether the schedule contains the starts of cancelled jobs.
    """

    by_event: bool
    reacting: bool
    starts_known: bool


class PlainRule(NamedTuple):
    """The rule of a policy that is repeated in plain Python.

    Parameters
    ----------
    passing : type
        See `passing`.
    policy : object
    workload : Workload
    rows : ndarray of int64, shape (n_jobs,)
        Its jobs in the order of arrival.
    predictions : RepeatedPredictions or None
    """

    passing: type[Passing]
    policy: Any
    workload: Workload
    rows: NDArray[np.int64]
    predictions: RepeatedPredictions | None

    @property
    def keeps(self) -> bool:
        """Whether decisions depend on those of earlier passes."""
        return self.passing.keeps


def rule_of(
    policy: Any,
    workload: Workload,
    rows: NDArray[np.int64],
    predictions: RepeatedPredictions | None = None,
) -> PolicyRule | PlainRule | None:
    """Return the rule of a policy; None if it is not known here.

    Parameters
    ----------
    policy : object
    workload : Workload
    rows : ndarray of int64, shape (n_jobs,)
        Its jobs in the order of arrival.
    predictions : RepeatedPredictions, optional
        By default jobs are planned with their limits.
    """
    passing = passing_of(policy)
    if passing is None:
        return None
    policy = getattr(policy, "as_order", policy)
    compiled = None if predictions else _compiled_rule(policy, workload, rows)
    return compiled or PlainRule(passing, policy, workload, rows, predictions)


def _compiled_rule(policy: Any, workload: Workload, rows: NDArray[np.int64]) -> PolicyRule | None:
    """Return the rule of a policy that the kernel repeats; None for others."""
    arrival = np.arange(rows.size)
    rule = PolicyRule(MADE_AGAIN, 1, BY_PLACE, 0.0, arrival, True, False, arrival, AS_USUAL)
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


def replay(case: ScheduleCase, rule: PolicyRule | PlainRule) -> ReplayResult:
    """Repeat all passes of a schedule, and compare."""
    if isinstance(rule, PlainRule):
        return _replay_plainly(case, rule)
    from workloadkit.simulation.check.replaying import kernel
    from workloadkit.simulation.check.replaying.state import (
        ReplayFound,
        ReplayJobs,
        ReplayPlace,
        new_state,
    )

    (start, end, planned_end), by_time = _by_time(case)
    user = np.unique(case.user, return_inverse=True)[1]
    none = never(case.start.dtype)
    leaves = np.full_like(case.start, none) if case.leaves is None else case.leaves
    jobs = ReplayJobs(
        case.submit, start, end, planned_end, case.estimate, case.procs, user, case.run, leaves
    )
    found = ReplayFound(
        case.start.dtype, waits=-1, starts=-1, reserved=-1, now=-1, begin=-1, until=-1
    )
    play = partial(
        kernel.replay,
        jobs,
        rule,
        new_state(jobs, case.machine, case.tie if not case.whole else 0),
        by_time,
        ReplayOptions(case.by_event, case.reacting, case.starts_known),
        found,
        ReplayPlace(),
    )
    run_in_slices(play)
    return ReplayResult(*(getattr(found, name) for name in ReplayResult._fields))


def _replay_plainly(case: ScheduleCase, rule: PlainRule) -> ReplayResult:
    w, rows = rule.workload, rule.rows
    unknown = np.full(rows.size, UNKNOWN)
    of_log = (unknown if column is None else column[rows] for column in (w.group, w.partition))
    columns = (
        *(np.arange(rows.size), case.job, case.user, w.queue[rows], *of_log, w.tiers[rows]),
        *(case.procs, case.submit, case.start, case.end, w.run[rows]),
        *[case.estimate] * 3,
    )
    leaves = case.start if case.leaves is None else case.leaves
    gone = [
        time if cancelled else inf
        for time, cancelled in zip(leaves.tolist(), (~case.ran).tolist(), strict=True)
    ]
    jobs = [ReplayedJob(*row) for row in zip(*(c.tolist() for c in columns), gone, strict=True)]
    first = case.submit.min().item()
    standing = Standing(case.machine, Rounding(case.tie), case.machine, first)
    passing = rule.passing(rule.policy, standing)
    return Repetition(case, jobs, standing, passing, rule.predictions).play()


def _by_time(case: ScheduleCase) -> tuple[NDArray, ByTime]:
    """Return start, end and planned end of the first run of each job; and all events by time."""
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
    by_start = by_start[(start < never(start.dtype))[by_start]]
    by_end = np.argsort(case.end, kind="stable")
    by_end = by_end[(case.end > case.start)[by_end]]  # not those that never start
    leaves = nothing if case.leaves is None else case.leaves
    by_leave = np.argsort(leaves, kind="stable")[: np.count_nonzero(~case.ran)]
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
        leaves[by_leave],
        by_leave,
    )
