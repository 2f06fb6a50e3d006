"""Waiting jobs in the order of arrival, for policies that sort them again in each pass.

Between two terminations, free resources only shrink. So if no job fits, no pass is necessary until
a job ends, a fitting one arrives, or the machine changes or was to change.

A part of the state with such a list names it `queue`; the functions work for any such policy.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.machine.ledger import (
    FREE,
    changes_ahead,
    fits,
    is_full,
    release_all,
    room,
)


class _At(Record):
    """The state of the list."""

    count: int  # jobs in the list
    look: bool  # whether any may fit


class WaitingList(NamedTuple):
    """A list of waiting jobs.

    Parameters
    ----------
    waiting : ndarray of int64, shape (n_jobs,)
        During a pass -1 for those that have started.
    at : record
    """

    waiting: NDArray[np.int64]
    at: _At


def new_arrivals(n_jobs: int) -> WaitingList:
    """Return an empty list.

    Examples
    --------
    >>> queue = new_arrivals(3)
    >>> queue.waiting.size, queue.at.count
    (3, 0)
    """
    return WaitingList(np.empty(n_jobs, np.int64), _At())


@inline
def job_ended(state, job, now):
    """Request a look for jobs that fit."""
    state.policy.queue.at.look = True


@inline
def plans_void(state, what, now):
    """Request a look for jobs that fit."""
    state.policy.queue.at.look = True


@inline
def job_returned(state, job, now):
    """Return a job to its old place."""
    waiting, at = state.policy.queue.waiting, state.policy.queue.at
    place = at.count
    while place > 0 and waiting[place - 1] > job:
        waiting[place] = waiting[place - 1]
        place -= 1
    waiting[place] = job
    at.count += 1
    at.look = True


@inline
def job_left(state, job, now):
    """Remove a cancelled job from the list."""
    queue, place = state.policy.queue, 0
    while queue.waiting[place] != job:
        place += 1
    queue.waiting[place] = -1
    forget_started(queue)
    queue.at.look = True


@inline
def some_fit(state, new, now):
    """Add new jobs; return whether any job fits, so that a pass is necessary."""
    waiting, at = state.policy.queue.waiting, state.policy.queue.at
    ahead = changes_ahead(state, 0, now)
    look = at.look or ahead
    for job in range(new, state.at.arrived):
        look = look or fits(state, job, now)
        waiting[at.count] = job
        at.count += 1
    if not look:
        return False
    release_all(state, 0, now)
    some = any_fits(state, 0, now)
    at.look = some or ahead  # a refused job may fit later, also if this was the last change
    return some


@inline
def any_fits(state, what, now):
    """Whether any job of the list fits."""
    queue, procs, most = state.policy.queue, state.jobs.procs, room(state, FREE, 0)
    if not is_full(state, 0, now):
        for place in range(queue.at.count):
            job = queue.waiting[place]
            if procs[job] <= most and fits(state, job, now):
                return True
    return False


@inline
def forget_started(queue):
    """Remove jobs from the list that have started or left it: those marked by -1."""
    waiting, at = queue.waiting, queue.at
    kept = 0
    for place in range(at.count):
        if waiting[place] >= 0:
            waiting[kept] = waiting[place]
            kept += 1
    at.count = kept
