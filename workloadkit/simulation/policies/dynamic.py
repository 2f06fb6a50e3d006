"""EASY in an order that is computed again in each pass, compiled: what such policies share.

Between two terminations what is free only shrinks, and the shadow time stays. So a job that cannot
be backfilled stays so until the next termination, unless another job takes the head of the queue:
as long as the head stays, only new jobs are looked at. Where nothing that waits would fit there is
no need to know who is first. Where changes of the machine lie ahead, all are looked at each time.

A policy's part has a field `queue` and functions that all take (state, -, now):

- ``join`` and ``leave``, of (state, job, now), let a job wait, and no more as it starts;
- ``rank`` prepares a pass, if need be;
- ``first_in_order`` returns the first of the waiting jobs, of which there is one;
- ``backfill_all`` and ``backfill_new`` return the first job that may pass the head, -1 for none,
  of all that wait or of those from `NEW` on; with `AGAIN` unset they begin again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.machine.ledger import (
    changes_ahead,
    fits,
    is_full,
    passes,
    release_all,
    reserve,
    start_job,
)
from workloadkit.simulation.parts import by_part
from workloadkit.simulation.queue import link
from workloadkit.simulation.state import ARRIVED, N_RUNNING, N_WAITING, State

# Places in Queue.at: whether the reservation is known and all others were refused; whose it is; the
# first job that no pass has looked at; a job that no waiting one is smaller than; whether all are
# to be looked at in this pass, and whether backfilling has begun; others for the policy.
KNOWN, HEAD, NEW, SMALLEST, ALL, AGAIN, MORE = range(7)


class Queue(NamedTuple):
    """The waiting jobs, in rings in the order of arrival.

    Parameters
    ----------
    after, before : ndarray of int64, shape (n_jobs + n_rings,)
        Neighbours of each job; ring r begins and ends at n_jobs + r.
    by_size : bool
        Whether of two jobs the smaller one fits where the other one does.
    long_queue : int
        A queue longer than this is searched by trees, until it is half as long.
    at : ndarray of int64, shape (11,)
    """

    after: NDArray[np.int64]
    before: NDArray[np.int64]
    by_size: bool
    long_queue: int
    at: NDArray[np.int64]


def new_queue(state: State, n_rings: int, *, by_size: bool, long_queue: int) -> Queue:
    """Return empty rings; the jobs of the state that have arrived are let wait by the loop."""
    after = np.arange(state.start.size + n_rings)
    at = np.zeros(MORE + 4, np.int64)
    at[NEW] = state.at[ARRIVED]
    return Queue(after, after.copy(), by_size, long_queue, at)


@inline
def _nothing(state, what, now):
    pass


_join = by_part("policy", "join")
_leave = by_part("policy", "leave")
_rank = by_part("policy", "rank", _nothing)
_first_in_order = by_part("policy", "first_in_order")
_backfill_all = by_part("policy", "backfill_all")
_backfill_new = by_part("policy", "backfill_new")


@inline
def join_ring(state, job, ring):
    """Let a job wait, at its place in the order of arrival."""
    queue, procs = state.policy.queue, state.jobs.procs
    link(queue.after, queue.before, state.start.size + ring, job)
    if procs[job] < procs[queue.at[SMALLEST]]:
        queue.at[SMALLEST] = job


@inline
def job_returned(state, job, now):
    """Let a job wait that was stopped."""
    _join(state, job, now)
    state.policy.queue.at[KNOWN] = False


@inline
def job_ended(state, job, now):
    """Look at all that wait."""
    state.policy.queue.at[KNOWN] = False


@inline
def plans_void(state, what, now):
    """Look at all that wait."""
    state.policy.queue.at[KNOWN] = False


@inline
def list_must_return(state, what, now):
    """Whether so many wait that trees are better."""
    return state.at[N_WAITING] > state.policy.queue.long_queue


@inline
def trees_must_return(state, what, now):
    """Whether so few wait that a list is better."""
    return state.at[N_WAITING] < state.policy.queue.long_queue // 2


@inline
def allocate(state, new, now):
    """Start jobs in order while they fit, then backfill."""
    at, count = state.policy.queue.at, state.at[N_RUNNING]
    _join_new(state, now)
    if state.late and count > 0 and state.planned_ends[count - 1] < now:
        at[KNOWN] = False
    if not at[KNOWN]:
        release_all(state, 0, now)
    if _some_may_start(state, now):
        _rank(state, 0, now)
        if _start_heads(state, now):
            _backfill(state, now)
    if changes_ahead(state, 0, now):
        at[KNOWN] = False
    at[NEW] = state.at[ARRIVED]


@inline
def _join_new(state, now):
    """Let those wait that have arrived since the last pass."""
    at, arrived = state.policy.queue.at, state.at[ARRIVED]
    if 0 < arrived - at[NEW] == state.at[N_WAITING]:
        at[SMALLEST] = at[NEW]
    for job in range(at[NEW], arrived):
        _join(state, job, now)


@inline
def _some_may_start(state, now):
    """Whether jobs wait, and it is not plain that none of them fits."""
    queue = state.policy.queue
    if state.at[N_WAITING] == 0 or is_full(state, 0, now):
        return False
    return not queue.by_size or changes_ahead(state, 0, now) or fits(state, queue.at[SMALLEST], now)


@inline
def _start_heads(state, now):
    """Start jobs in order while they fit, and make the reservation; whether there is one."""
    at = state.policy.queue.at
    while True:
        job = _first_in_order(state, 0, now)
        if not fits(state, job, now):
            break
        at[KNOWN] = False
        _start(state, job, now)
        if not _some_may_start(state, now):
            return False
    at[ALL] = not at[KNOWN] or job != at[HEAD]
    if at[ALL]:
        reserve(state, job, now)
        at[HEAD], at[KNOWN] = job, True
    return True


@inline
def _backfill(state, now):
    """Start the jobs that may pass: of all, or of the new ones where the others were refused."""
    at = state.policy.queue.at
    at[AGAIN] = False
    while _some_may_start(state, now):
        job = _backfill_all(state, 0, now) if at[ALL] else _backfill_new(state, 0, now)
        if job < 0:
            break
        at[AGAIN] = True
        passes(state, job, now)
        _start(state, job, now)


@inline
def _start(state, job, now):
    _leave(state, job, now)
    start_job(state, job, now)
