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
from workloadkit.simulation.policies.creasy import Creasy
from workloadkit.simulation.policies.creasy import priority as worth
from workloadkit.simulation.policies.easy import Easy
from workloadkit.simulation.policies.easy.ordered import SettledOrder
from workloadkit.simulation.policies.easy.overtaking import AS_USUAL, Overtaking, overtaking_of
from workloadkit.simulation.policies.fcfs import Fcfs
from workloadkit.simulation.policies.reservations import Reservations
from workloadkit.simulation.policies.varying import InVaryingOrder
from workloadkit.simulation.replaying.codes import BY_PLACE, BY_UNICEF, BY_WFP3, BY_WORTH
from workloadkit.simulation.workload import Workload


class Rule(NamedTuple):
    """How a policy with one reservation chooses.

    Parameters
    ----------
    order : int
        Of the queue: one of the `codes`.
    bonus : float
        What CREASY adds for a job that responds at once. [min]
    rank : ndarray of int64, shape (n_jobs,)
        Place of each job in the queue; that of its arrival, if the order is not `BY_PLACE`.
    backfills : bool
    own_order : bool
        Whether backfilling has an order of its own.
    backfill_rank : ndarray of int64, shape (n_jobs,)
        Place of each job in it.
    overtaking : Overtaking
    """

    order: int
    bonus: float
    rank: NDArray[np.int64]
    backfills: bool
    own_order: bool
    backfill_rank: NDArray[np.int64]
    overtaking: Overtaking


class Replayed(NamedTuple):
    """What came of it.

    Parameters
    ----------
    passes : int
        How many were made.
    differing : int
        In how many of these other jobs start in the schedule.
    now : int
        When the first of them was. [s]
    waits : int
        The first job that the policy starts in it, and the schedule does not; -1 for none.
    starts : int
        The first job that starts in the schedule alone; -1 for none.
    head : int
        The job with the reservation then; -1 for none.
    shadow : int
        When it will fit. [s]
    """

    passes: int
    differing: int
    now: int
    waits: int
    starts: int
    head: int
    shadow: int


def rule_of(policy: Any, workload: Workload, rows: NDArray[np.int64]) -> Rule | None:
    """Return how a policy chooses; None where that is not known here.

    Parameters
    ----------
    policy : object
    workload : Workload
    rows : ndarray of int64, shape (n_jobs,)
        Its jobs in the order of arrival.
    """
    arrival = np.arange(rows.size)
    if isinstance(policy, Reservations):
        policy = Easy(reservations=policy.depth)
    if isinstance(policy, Fcfs):
        return Rule(BY_PLACE, 0.0, arrival, False, False, arrival, AS_USUAL)
    if isinstance(policy, Creasy):
        bonus = worth.bonus(float(policy.alpha))
        return Rule(BY_WORTH, bonus, arrival, True, False, arrival, AS_USUAL)
    if not isinstance(policy, SettledOrder | InVaryingOrder):
        return None
    backfills = policy.backfill != "none"
    if backfills and getattr(policy, "reservations", 1) > 1:
        return None
    if isinstance(policy, SettledOrder):
        order, rank = BY_PLACE, _ranks(policy.place, workload, rows)
    elif policy.order in _CODES:
        order, rank = _CODES[policy.order], arrival
    else:
        return None
    backfill_rank = arrival
    own_order = policy.backfill not in ("same", "none")
    if own_order:
        backfill_order = partial(orders.SETTLED[policy.backfill], numbers=())
        backfill_rank = _ranks(backfill_order, workload, rows)
    overtaking = overtaking_of(policy)
    return Rule(order, 0.0, rank, backfills, own_order, backfill_rank, overtaking)


_CODES = {"wfp3": BY_WFP3, "unicef": BY_UNICEF}


def _ranks(key: Any, workload: Workload, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of jobs in a settled order, ties by arrival."""
    w = workload
    columns = (w.submit, w.estimate, w.procs, w.user, w.queue)
    first = w.submit.min().item()
    jobs = zip(*(column[rows].tolist() for column in columns), strict=True)
    keys = np.array([key(orders.Seen._make((*job, first))) for job in jobs], np.float64)
    rank = np.empty(keys.size, np.int64)
    rank[np.argsort(keys, kind="stable")] = np.arange(keys.size)
    return rank


def replay(case: Any, rule: Rule) -> Replayed:
    """Make all passes of a schedule again.

    Parameters
    ----------
    case : workloadkit.simulation.promises.Case
        With whole seconds.
    rule : Rule

    Returns
    -------
    Replayed
    """
    from workloadkit.simulation.replaying import kernel

    by_start = np.argsort(case.start, kind="stable")
    by_end = np.argsort(case.end, kind="stable")
    by_end = by_end[(case.end > case.start)[by_end]]
    times = (case.submit, case.start, case.end, case.planned_end, case.estimate)
    jobs, state = kernel.Jobs(*times, case.procs), kernel.new_state(case.job.size)
    found = np.full(len(Replayed._fields), -1)
    found[:2] = 0
    kernel.replay(jobs, rule, state, (by_start, by_end), (case.machine, case.by_event), found)
    return Replayed(*found.tolist())
