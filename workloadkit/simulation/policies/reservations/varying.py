"""Compiled backfilling with several reservations in orders that are computed again in each pass.

Each pass is a full one: the waiting jobs are sorted, then served as in `kernel`.
"""

import sys
from collections import namedtuple

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.orders import place_of, score_follows
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import insert_waiting
from workloadkit.simulation.orders import ARRIVED, ENDED, LEFT, RENEWED, RETURNED, STARTED
from workloadkit.simulation.policies.reservations import kernel
from workloadkit.simulation.policies.reservations.kernel import (  # noqa: F401 of the policy
    Reserving,
    job_ended,
    plans_void,
)

#: A `Reserving` with an order of the queue that varies with time; that of backfilling, None for the
#: same, may be a settled one.
ReservingAgain = namedtuple("ReservingAgain", Reserving._fields)  # type: ignore[misc]


@inline
def _follow(state, what, job, now):
    """Let scores that depend on users follow what happens to a job."""
    score_follows(state, state.policy.order, what, job, now)
    score_follows(state, state.policy.backfill_order, what, job, now)


@inline
def job_arrived(state, job, now):
    """Let scores follow the arrival of a job."""
    _follow(state, ARRIVED, job, now)


@inline
def prediction_renewed(state, job, now):
    """Let scores follow a renewed prediction; all places are found again in each pass."""
    _follow(state, RENEWED, job, now)


@inline
def job_started(state, job, now):
    """Let scores follow the start of a job."""
    _follow(state, STARTED, job, now)


@inline
def end_taken(state, job, now):
    """Let scores follow the end of a job."""
    _follow(state, ENDED, job, now)


@inline
def job_returned(state, job, now):
    """Return a stopped job to the queue."""
    _follow(state, RETURNED, job, now)
    kernel.job_returned(state, job, now)


@inline
def job_left(state, job, now):
    """Remove a cancelled job."""
    _follow(state, LEFT, job, now)
    kernel.job_left(state, job, now)


@inline
def sort_again(state, what, now):
    """Sort the waiting jobs for this pass."""
    policy = state.policy
    _sort(state, policy.queue, policy.order, policy.rank, now)
    if policy.orders_differ:
        _sort(state, policy.others, policy.backfill_order, policy.backfill_rank, now)


@inline
def _sort(state, jobs, order, rank, now):
    count = state.policy.at.wait
    for place in range(count):
        rank[jobs[place]] = place_of(state, order, jobs[place], now)
    for place in range(1, count):
        insert_waiting(jobs, 0, place, rank, jobs[place])


@inline
def allocate(state, new, now):
    """Start jobs in order or reserve for them, then backfill."""
    state.policy.at.known = False
    kernel.allocate(state, new, now)


register_functions(ReservingAgain, sys.modules[__name__])
