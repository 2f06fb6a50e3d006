"""Compiled EASY in orders that vary with time: a list of the waiting jobs.

The head of the queue may change in each pass, and with it the shadow time. So each pass in which a
waiting job fits evaluates all waiting jobs, once. The list is searched, never sorted: for the jobs
at its head, and for those to backfill.

Long queues of jobs that are all known are searched by `groups`.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.orders import key_of, score_follows, value_of
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.ledger import (
    fits,
    is_full,
    may_pass,
    passes,
    reserve,
    start_job,
)
from workloadkit.simulation.orders import (
    ARRIVED,
    ENDED,
    LEFT,
    RENEWED,
    RETURNED,
    SCORE,
    STARTED,
    VaryingOrder,
)
from workloadkit.simulation.policies.arrivals import (  # noqa: F401 they act on the queue
    WaitingList,
    forget_started,
    job_ended,
    new_arrivals,
    plans_void,
    some_fit,
)
from workloadkit.simulation.policies.arrivals import job_left as leave_list
from workloadkit.simulation.policies.arrivals import job_returned as return_to_list

#: No score for backfilling.
NO_ORDER = VaryingOrder(-1)


class VaryingList(NamedTuple):
    """A part of the state: the waiting jobs, and their orders.

    Parameters
    ----------
    queue : WaitingList
    order : NamedTuple
        One that varies with time, see `orders`.
    backfill_score : VaryingOrder
        A score for backfilling, or none.
    backfill_order : NamedTuple or None
        A settled one; None if the places of all jobs are known, or if it is the same.
    rank : ndarray of float64, shape (n_jobs,)
        Place of each job in the order of backfilling; unused if that is the order of the queue.
    backfills : bool
        Whether jobs may overtake.
    value : ndarray of float64, shape (n_jobs,)
        Values of the listed jobs in this pass.
    backfill_value : ndarray of float64, shape (n_jobs,)
        Likewise those of the score for backfilling, if there is one.
    candidate : ndarray of int64, shape (n_jobs,)
        Places in the list of jobs that may still be backfilled.
    long_queue : int
        Longest queue that is searched without end; for longer ones there is patience.
    patience : ndarray of int64, shape (1,)
        Remaining examinations of jobs in longer queues.
    """

    queue: WaitingList
    order: Any
    backfill_score: VaryingOrder
    backfill_order: Any
    rank: NDArray[np.float64]
    backfills: bool
    value: NDArray[np.float64]
    backfill_value: NDArray[np.float64]
    candidate: NDArray[np.int64]
    long_queue: int
    patience: NDArray[np.int64]


def new_line(
    n_jobs: int,
    order: Any,
    *,
    backfills: bool = True,
    rank: NDArray[np.float64] | None = None,
    backfill_order: Any = None,
    backfill_score: VaryingOrder = NO_ORDER,
    long_queue: int | None = None,
    patience: int = 1,
) -> VaryingList:
    """Return an empty queue; with an order of backfilling `rank` is filled in as jobs arrive."""
    return VaryingList(
        queue=new_arrivals(n_jobs),
        order=order,
        backfill_score=backfill_score,
        backfill_order=backfill_order,
        rank=np.empty(0) if rank is None else rank,
        backfills=backfills,
        value=np.empty(n_jobs),
        backfill_value=np.empty(n_jobs if backfill_score.code == SCORE else 0),
        candidate=np.empty(n_jobs, np.int64),
        long_queue=n_jobs if long_queue is None else long_queue,
        patience=np.array([patience]),
    )


@inline
def job_arrived(state, job, now):
    """Set a job's place in the order of backfilling, if it has none yet."""
    line = state.policy
    _follow(state, ARRIVED, job, now)
    if line.backfill_order is not None:
        line.rank[job] = key_of(state, line.backfill_order, job)


@inline
def prediction_renewed(state, job, now):
    """Set a job's new place in the order of backfilling."""
    line = state.policy
    _follow(state, RENEWED, job, now)
    if line.backfill_order is not None:
        line.rank[job] = key_of(state, line.backfill_order, job)


@inline
def end_taken(state, job, now):
    """Let scores follow the end of a job."""
    _follow(state, ENDED, job, now)


@inline
def job_returned(state, job, now):
    """Return a job to its old place."""
    _follow(state, RETURNED, job, now)
    return_to_list(state, job, now)


@inline
def job_left(state, job, now):
    """Remove a cancelled job."""
    _follow(state, LEFT, job, now)
    leave_list(state, job, now)


@inline
def _follow(state, what, job, now):
    """Let scores that depend on users follow what happens to a job."""
    score_follows(state, state.policy.order, what, job, now)
    score_follows(state, state.policy.backfill_score, what, job, now)


@inline
def must_return(state, what, now):
    """Whether the queue is long, and patience is exhausted."""
    line = state.policy
    return line.patience[0] <= 0 and line.queue.at.count > line.long_queue


@inline
def allocate(state, new, now):
    """Start jobs in order while they fit, then backfill."""
    if some_fit(state, new, now):
        line = state.policy
        _evaluate(state, now)
        head = _foremost(line)
        while head >= 0 and fits(state, line.queue.waiting[head], now):
            _start(state, head, now)
            head = _foremost(line)
        if line.backfills and head >= 0 and not is_full(state, 0, now):
            reserve(state, line.queue.waiting[head], now)
            _backfill(state, head, now)
        forget_started(line.queue)


@inline
def _evaluate(state, now):
    """Evaluate the waiting jobs."""
    line, count = state.policy, state.policy.queue.at.count
    waiting, value = line.queue.waiting, line.value
    if count > line.long_queue:
        line.patience[0] -= count
    for place in range(count):
        value[place] = value_of(state, line.order, waiting[place], now)
        if line.backfill_score.code == SCORE:
            line.backfill_value[place] = value_of(state, line.backfill_score, waiting[place], now)


@inline
def _foremost(line):
    """Return the place of the job that comes first, ties by arrival; -1 for none."""
    waiting, value = line.queue.waiting, line.value
    first = -1
    for place in range(line.queue.at.count):
        if waiting[place] >= 0 and (first < 0 or value[place] < value[first]):
            first = place
    return first


@inline
def _start(state, place, now):
    waiting = state.policy.queue.waiting
    start_job(state, waiting[place], now)
    _follow(state, STARTED, waiting[place], now)
    waiting[place] = -1


@inline
def _backfill(state, head, now):
    """Start jobs that may pass, in the order of backfilling."""
    line = state.policy
    waiting, value, rank, candidate = line.queue.waiting, line.value, line.rank, line.candidate
    n = 0
    for place in range(line.queue.at.count):
        job = waiting[place]
        if job >= 0 and place != head and may_pass(state, job, now):
            candidate[n] = place
            n += 1
            if rank.size > 0:
                value[place] = rank[job]
            elif line.backfill_score.code == SCORE:
                value[place] = line.backfill_value[place]
    while n > 0:
        chosen = candidate[0]
        for i in range(1, n):
            if value[candidate[i]] < value[chosen]:
                chosen = candidate[i]
        passes(state, waiting[chosen], now)
        _start(state, chosen, now)
        kept = 0  # jobs that may still start
        for i in range(n):
            job = waiting[candidate[i]]
            if job >= 0 and may_pass(state, job, now):
                candidate[kept] = candidate[i]
                kept += 1
        n = kept


register_functions(VaryingList, sys.modules[__name__])
