"""Which jobs a policy starts in each pass, from what a schedule has started before.

Nothing of the simulator is used here but the definitions of the orders: the passes of a schedule
are made again from the log and the schedule itself. A policy that the log, its parameters and the
past determine leaves one schedule only: the one in which all passes are alike.
"""

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
    place : ndarray of float, shape (n_jobs,)
        Of each job in the queue, if the order is `BY_PLACE`; smallest first, ties by arrival.
    backfills : bool
    own_order : bool
        Whether backfilling has an order of its own, `backfill_place`.
    backfill_place : ndarray of float, shape (n_jobs,)
    overtaking : Overtaking
    """

    order: int
    bonus: float
    place: NDArray[np.float64]
    backfills: bool
    own_order: bool
    backfill_place: NDArray[np.float64]
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
    nowhere = np.zeros(rows.size)
    if isinstance(policy, Reservations):
        policy = Easy(reservations=policy.depth)
    if isinstance(policy, Fcfs):
        return Rule(BY_PLACE, 0.0, nowhere, False, False, nowhere, AS_USUAL)
    if isinstance(policy, Creasy):
        bonus = worth.bonus(float(policy.alpha))
        return Rule(BY_WORTH, bonus, nowhere, True, False, nowhere, AS_USUAL)
    if not isinstance(policy, SettledOrder | InVaryingOrder):
        return None
    backfills = policy.backfill != "none"
    if backfills and getattr(policy, "reservations", 1) > 1:
        return None
    own_order = policy.backfill not in ("same", "none")
    backfill_place = nowhere
    if own_order:
        backfill_place = _places(lambda job: orders.SETTLED[policy.backfill](job, ()), workload)
    overtaking = overtaking_of(policy)
    how = (backfills, own_order, backfill_place[rows] if own_order else nowhere, overtaking)
    if isinstance(policy, SettledOrder):
        return Rule(BY_PLACE, 0.0, _places(policy.place, workload)[rows], *how)
    order = {"wfp3": BY_WFP3, "unicef": BY_UNICEF}.get(policy.order)
    return None if order is None else Rule(order, 0.0, nowhere, *how)


def _places(place: Any, workload: Workload) -> NDArray[np.float64]:
    """Return the places of jobs in a settled order."""
    w = workload
    columns = (w.submit, w.estimate, w.procs, w.user, w.queue)
    first = w.submit.min().item()
    jobs = zip(*(column.tolist() for column in columns), strict=True)
    return np.array([place(orders.Seen._make((*job, first))) for job in jobs], np.float64)


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

    ranks = [_rank(rule.place), _rank(rule.backfill_place)]
    moments = case.end == case.start
    by_start = np.argsort(case.start, kind="stable")
    by_end = np.argsort(case.end, kind="stable")
    by_end = by_end[~moments[by_end]]
    times = (case.submit, case.start, case.end, case.planned_end, case.estimate)
    jobs = kernel.Jobs(*times, case.procs, *ranks)
    codes = kernel.Codes(rule.order, rule.bonus, rule.backfills, rule.own_order, *rule.overtaking)
    found = np.full(len(Replayed._fields), -1)
    found[:2] = 0
    state, by_time = kernel.new_state(case.job.size), (by_start, by_end)
    kernel.replay(jobs, codes, state, by_time, (case.machine, case.by_event), found)
    return Replayed(*found.tolist())


def _rank(place: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give jobs numbers in the order of their places, ties by arrival."""
    rank = np.empty(place.size, np.int64)
    rank[np.argsort(place, kind="stable")] = np.arange(place.size)
    return rank
