"""Compiled EASY around heads that are chosen from outside.

The part of the state contains the decisions to come. If they do not suffice, the loop returns in
the middle of a pass, and continues it with the next decision.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.machine.ledger import (
    fits,
    may_pass,
    passes,
    reserve,
    start_job,
)
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.policies import arrivals
from workloadkit.simulation.policies.arrivals import (
    COUNT,
    WaitingList,
    any_fits,
    forget_started,
    some_fit,
)

# Places in Steps.at: decisions that are followed, and given; whether another one is pending.
FOLLOWED, GIVEN, PENDING = range(3)


class Steps(NamedTuple):
    """A part of the state: the waiting jobs, and the decisions to come.

    Parameters
    ----------
    queue : WaitingList
    places : ndarray of int64
        The decisions, one behind the other: places in `queue.waiting`.
    first : ndarray of int64
        Where each decision begins in `places`, and where the last one ends.
    backfills : bool
        Whether jobs may overtake.
    at : ndarray of int64, shape (3,)
    shown : ndarray of float64, shape (window, 3)
        With each pending decision filled with submit, estimate and processors of the first waiting
        jobs, and with 0 processors behind them.
    """

    queue: WaitingList
    places: NDArray[np.int64]
    first: NDArray[np.int64]
    backfills: bool
    at: NDArray[np.int64]
    shown: NDArray[np.float64]


job_ended = arrivals.job_ended
job_left = arrivals.job_left
job_returned = arrivals.job_returned
plans_void = arrivals.plans_void


@inline
def must_return(state, what, now):
    """Whether a decision is pending."""
    return state.policy.at[PENDING] != 0


@inline
def pass_is_open(state, what, now):
    """Whether the loop returned in the middle of a pass."""
    return state.policy.at[PENDING] != 0


@inline
def finish_pass(state, what, now):
    """Continue this pass."""
    _follow_all(state, now)


@inline
def allocate(state, new, now):
    """Begin a pass."""
    if some_fit(state, new, now):
        _follow_all(state, now)


@bare
def _follow_all(state, now):
    """Follow decisions until the pass is over or needs another one."""
    queue, at = state.policy.queue, state.policy.at
    at[PENDING] = 0
    while any_fits(state, 0, now):
        if queue.at[COUNT] == 1:
            start_job(state, queue.waiting[0], now)
            queue.at[COUNT] = 0
        elif at[FOLLOWED] == at[GIVEN]:
            at[PENDING] = 1
            _show(state)
            break
        else:
            at[FOLLOWED] += 1
            if not _follow(state, at[FOLLOWED] - 1, now):
                break


@inline
def _show(state):
    """Show the first waiting jobs."""
    queue, jobs, shown = state.policy.queue, state.jobs, state.policy.shown
    for place in range(shown.shape[0]):
        if place < queue.at[COUNT]:
            job = queue.waiting[place]
            shown[place, 0], shown[place, 1] = jobs.submit[job], jobs.estimate[job]
            shown[place, 2] = jobs.procs[job]
        else:
            shown[place, 0] = shown[place, 1] = shown[place, 2] = 0.0


@inline
def _follow(state, which, now):
    """Follow one decision; return whether all listed jobs start."""
    steps = state.policy
    waiting, places = steps.queue.waiting, steps.places
    place, last = steps.first[which], steps.first[which + 1]
    while place < last and fits(state, waiting[places[place]], now):
        start_job(state, waiting[places[place]], now)
        waiting[places[place]] = -1
        place += 1
    if place < last and steps.backfills:
        reserve(state, waiting[places[place]], now)
        for listed in range(place + 1, last):
            _backfill(state, places[listed], now)
        for other in range(steps.queue.at[COUNT]):
            _backfill(state, other, now)  # again the head and those listed, which are refused again
    forget_started(steps.queue)
    return place == last


@inline
def _backfill(state, place, now):
    """Start a waiting job if it does not delay the head."""
    waiting = state.policy.queue.waiting
    job = waiting[place]
    if job >= 0 and may_pass(state, job, now):
        passes(state, job, now)
        start_job(state, job, now)
        waiting[place] = -1


register_functions(Steps, sys.modules[__name__])
