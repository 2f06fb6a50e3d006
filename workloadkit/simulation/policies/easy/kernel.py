"""Compiled EASY in a settled order: a list of the waiting jobs.

Between two terminations, free resources only shrink and time only passes. So a job that cannot be
backfilled now cannot be before the next termination, and the shadow time stays: only the new job is
examined. This also holds for a new job before the head, if it starts at once without delaying the
head. All waiting jobs are examined after a termination, an arrival that becomes or delays the head,
several arrivals in another order than that of the pass, a job that outlives its estimate, or a
change of the machine.

Long queues of jobs that are all known are searched by `trees`.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import (
    comes_before,
    foremost,
    insert_waiting,
    move_waiting,
    take_out,
)
from workloadkit.simulation.machine.ledger import (
    FREE,
    fits,
    has_room,
    is_full,
    may_have_moved,
    may_pass,
    need_of,
    passes,
    places_matter,
    release_all,
    reserve,
    room,
    some_overdue,
    start_job,
)
from workloadkit.simulation.policies import settled
from workloadkit.simulation.policies.settled import in_turn


class _At(Record):
    """The queue is waiting[first:last]."""

    first: int
    last: int
    head: int
    look: bool  # whether all waiting jobs must be examined
    known: bool  # whether the reservation is known
    patience: int  # remaining examinations in long queues


class SettledList(NamedTuple):
    """A part of the state: the waiting jobs, in the order of backfilling.

    Parameters
    ----------
    order, backfill_order : NamedTuple or None
        See `orders`; None where the places of all jobs are known from the start.
    rank, backfill_rank : ndarray of float64, shape (n_jobs,)
        Place of each job in both orders.
    backfills : bool
        Whether jobs may overtake.
    orders_differ : bool
        Whether the two orders differ: then the head is not the first in the list.
    waiting : ndarray of int64, shape (n_jobs,)
    long_queue : int
        Longest queue that is searched without end; for longer ones there is patience.
    at : record
    """

    order: Any
    backfill_order: Any
    rank: NDArray[np.float64]
    backfill_rank: NDArray[np.float64]
    backfills: bool
    orders_differ: bool
    waiting: NDArray[np.int64]
    long_queue: int
    at: _At


def new_line(
    rank: NDArray[np.float64],
    backfill_rank: NDArray[np.float64],
    *,
    orders: tuple[Any, Any] = (None, None),
    backfills: bool,
    long_queue: int,
    patience: int,
) -> SettledList:
    """Return an empty queue; with `orders` the ranks are tables, filled in as jobs arrive."""
    at = _At(head=-1, look=True, patience=patience)
    orders_differ = rank is not backfill_rank
    waiting = np.empty(rank.size, np.int64)
    return SettledList(
        *orders, rank, backfill_rank, backfills, orders_differ, waiting, long_queue, at
    )


job_arrived = settled.job_arrived


@inline
def job_ended(state, job, now):
    """Examine the whole queue in the next pass."""
    state.policy.at.look = True


@inline
def job_returned(state, job, now):
    """Let a job wait that was stopped; the list moves to its beginning, so that there is room."""
    waiting, at = state.policy.waiting, state.policy.at
    if at.first > 0:
        for place in range(at.first, at.last):
            waiting[place - at.first] = waiting[place]
        at.last -= at.first
        at.first = 0
    _join(state.policy, job)
    at.look = True


@inline
def job_left(state, job, now):
    """Remove a cancelled job; another one may become the head."""
    line, at = state.policy, state.policy.at
    take_out(line.waiting, at.first, job)
    at.first += 1
    if job == at.head and at.first < at.last:
        at.head = foremost(line.waiting, at.first, at.last, line.rank)
    at.look = True


@inline
def plans_void(state, what, now):
    """Examine the whole queue in the next pass."""
    state.policy.at.look = True


@inline
def prediction_renewed(state, job, now):
    """Give a job its new places in the orders."""
    line, at = state.policy, state.policy.at
    job_arrived(state, job, now)
    waiting, first, last = line.waiting, at.first, at.last
    if line.order is not None and move_waiting(waiting, first, last, line.backfill_rank, job):
        at.head = _head(line, first, last)


@inline
def _head(line, first, last):
    """Return the first job in the order of the queue."""
    waiting = line.waiting
    return foremost(waiting, first, last, line.rank) if line.orders_differ else waiting[first]


@inline
def must_return(state, what, now):
    """Whether to switch to trees: the queue is long and the search budget is used up."""
    at = state.policy.at
    return at.patience <= 0 and at.last - at.first > state.policy.long_queue


@inline
def allocate(state, new, now):
    """Start jobs in order while they fit, then backfill."""
    line = state.policy
    look = (
        line.at.look
        or may_have_moved(state, 0, now)
        or (state.late and some_overdue(state, now))
        or not in_turn(line, new, state.at.arrived)
    )
    if not look:
        new = _look_at_new(state, new, now)
        look = new < state.at.arrived
    if look:
        _look_at_all(state, new, now)


@inline
def _look_at_new(state, new, now):
    """Start new jobs that may; return the first for which all must be looked at."""
    line, at = state.policy, state.policy.at
    while new < state.at.arrived:
        some_wait = at.first < at.last
        ahead = some_wait and line.rank[new] < line.rank[at.head]
        if ahead and line.backfills and places_matter(state, 0, now):
            break
        starts = fits(state, new, now)
        if starts and some_wait:
            starts = _overtakes(state, new, at.head, now) if line.backfills else ahead
        if starts:
            start_job(state, new, now)
        elif ahead:
            break
        else:
            _join(line, new)
        new += 1
    return new


@inline
def _overtakes(state, job, head, now):
    """Whether a job passes the head, for which is reserved as soon as one might."""
    at = state.policy.at
    if not has_room(state, FREE, need_of(state, job, now)):
        return False
    if not at.known:
        reserve(state, head, now)
        at.known = True
    if not may_pass(state, job, now):
        return False
    passes(state, job, now)
    return True


@inline
def _join(line, job):
    """Let a job wait."""
    at = line.at
    first, last = at.first, at.last
    insert_waiting(line.waiting, first, last, line.backfill_rank, job)
    at.last = last + 1
    if first == last or comes_before(line.rank, job, at.head):
        at.head = job


@inline
def _look_at_all(state, new, now):
    line, at = state.policy, state.policy.at
    waiting = line.waiting
    while new < state.at.arrived:
        _join(line, new)
        new += 1
    at.known = False
    release_all(state, 0, now)
    first, last, head = at.first, at.last, at.head
    while first < last and fits(state, head, now):
        start_job(state, head, now)
        take_out(waiting, first, head)
        first += 1
        if first < last:
            head = _head(line, first, last)
    if line.backfills and first < last and not is_full(state, 0, now):
        if last - first > line.long_queue:
            at.patience -= last - first
        kept, procs, most = first, state.jobs.procs, room(state, FREE, 0)
        for place in range(first, last):
            job = waiting[place]
            if procs[job] <= most and job != head and _overtakes(state, job, head, now):
                start_job(state, job, now)
                most = room(state, FREE, 0)
            else:
                waiting[kept] = job
                kept += 1
        last = kept
    at.first, at.last, at.head = first, last, head
    at.look = may_have_moved(state, 0, now)  # also if this was the last change


register_functions(SettledList, sys.modules[__name__])
