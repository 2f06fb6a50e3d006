"""The compiled User Priority Scheduler: a ring of the waiting jobs of each user.

Among the waiting jobs of a user, the first to arrive has the highest priority: so the first in
order is among the first of each user. The rest is as in `dynamic`; `trees` search long queues of
jobs that are all known.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import unlink
from workloadkit.simulation.machine.ledger import may_pass
from workloadkit.simulation.policies import dynamic
from workloadkit.simulation.policies.dynamic import (  # noqa: F401
    Queue,
    QueueAt,
    allocate,
    job_ended,
    job_left,
    job_returned,
    plans_void,
)
from workloadkit.simulation.policies.dynamic import list_must_return as must_return  # noqa: F401

# Priorities of users and jobs under the User Priority Scheduler.

#: A job that has waited this long has as much priority as the first user gives. [s]
FULL_WAIT = 14400


def priority(alpha_user, place, waited):
    """Priority of a job of the user at a place, 1, 2, …, in the order of the users [1]_.

    .. [1] N. Zakay, PhD thesis, The Hebrew University of Jerusalem, 2018.
    """
    return alpha_user * (1 / place) + (1 - alpha_user) * waited / FULL_WAIT


def work(estimate, procs):
    """Work of a job. [processor seconds]."""
    return float(estimate) * procs


# Whole numbers up to this, and their sums, are exact in float64.
EXACT = 2.0**53

_priority, _work = inline(priority), inline(work)


class RingsAt(QueueAt):
    """What the queue remembers, also with trees."""

    n_listed: int  # users that are listed
    place: int  # where backfilling is: the place of the user
    next: int  # and the next job
    least: int  # the smallest job that was refused


class UserRanking(NamedTuple):
    """The users in order.

    Parameters
    ----------
    alpha : float
        Weight of the users' priorities; the rest is that of the wait.
    by_load : bool
        Whether the user with the least waiting work comes first, not the last one to submit.
    whole_seconds : bool
    user : ndarray of int64, shape (n_jobs,)
        User of each job: 0, 1, …, in the order that breaks ties.
    key : ndarray of float64, shape (n_users,)
        Key by which users are ordered, smallest first.
    is_stale : ndarray of bool, shape (n_users,)
        Whether the load of a user must be summed.
    order : ndarray of int64, shape (n_users,)
        The users with waiting jobs, in the order of the last ranking, then new ones.
    place_of : ndarray of int64, shape (n_users,)
        Place of each user in `order`, -1 for none.
    """

    alpha: float
    by_load: bool
    whole_seconds: bool
    user: NDArray[np.int64]
    key: NDArray[np.float64]
    is_stale: NDArray[np.bool_]
    order: NDArray[np.int64]
    place_of: NDArray[np.int64]


class Rings(NamedTuple):
    """A part of the state: the waiting jobs of each user."""

    queue: Queue
    ranking: UserRanking


def new_ranking(
    user: NDArray[np.int64], n_users: int, *, alpha: float, by_load: bool, whole_seconds: bool
) -> UserRanking:
    """Return a ranking of users without jobs."""
    return UserRanking(
        alpha=alpha,
        by_load=by_load,
        whole_seconds=whole_seconds,
        user=user,
        key=np.zeros(n_users),
        is_stale=np.zeros(n_users, np.bool_),
        order=np.empty(n_users, np.int64),
        place_of=np.full(n_users, -1),
    )


@inline
def job_arrived(state, job, now):
    """Record the latest submission of a user."""
    ranking = state.policy.ranking
    if not ranking.by_load:
        ranking.key[ranking.user[job]] = -state.jobs.submit[job]


@inline
def join(state, job, now):
    """Add a job to the queue."""
    ranking, queue, jobs = state.policy.ranking, state.policy.queue, state.jobs
    user = ranking.user[job]
    dynamic.join_ring(state, job, user)
    if ranking.by_load and queue.after[job] == state.start.size + user:
        ranking.key[user] += _work(jobs.estimate[job], jobs.procs[job])
    else:  # another order of summation gives another sum
        ranking.is_stale[user] = True
    _list(state, user)


@inline
def prediction_renewed(state, job, now):
    """Let the load of the user be summed again."""
    ranking = state.policy.ranking
    ranking.is_stale[ranking.user[job]] = True


@inline
def _list(state, user):
    """Add a user to the ranking."""
    ranking, at = state.policy.ranking, state.policy.queue.at
    if ranking.place_of[user] < 0:
        ranking.place_of[user] = at.n_listed
        ranking.order[at.n_listed] = user
        at.n_listed += 1


@inline
def leave(state, job, now):
    """Remove a job from the queue."""
    queue, ranking, jobs = state.policy.queue, state.policy.ranking, state.jobs
    unlink(queue.after, queue.before, job)
    user = ranking.user[job]
    if ranking.by_load and ranking.whole_seconds and ranking.key[user] < EXACT:
        ranking.key[user] -= _work(jobs.estimate[job], jobs.procs[job])
    else:
        ranking.is_stale[user] = True


@inline
def rank(state, what, now):
    """Sort the users that have waiting jobs by (key, number)."""
    ranking, at = state.policy.ranking, state.policy.queue.at
    after, order, place_of = state.policy.queue.after, ranking.order, ranking.place_of
    key, n_jobs = ranking.key, state.start.size
    if ranking.by_load:
        _sum_loads(state)
    kept = 0
    for place in range(at.n_listed):
        user = order[place]
        if after[n_jobs + user] == n_jobs + user:
            place_of[user] = -1
            continue
        spot = kept
        while spot > 0:
            other = order[spot - 1]
            if key[other] < key[user] or (key[other] == key[user] and other < user):
                break
            order[spot] = other
            place_of[other] = spot
            spot -= 1
        order[spot] = user
        place_of[user] = spot
        kept += 1
    at.n_listed = kept


@inline
def _sum_loads(state):
    """Sum the waiting work of users, in the order of arrival, where it is unknown."""
    ranking, after, jobs = state.policy.ranking, state.policy.queue.after, state.jobs
    for place in range(state.policy.queue.at.n_listed):
        user = ranking.order[place]
        if ranking.is_stale[user]:
            ranking.is_stale[user] = False
            load = 0.0
            job = after[state.start.size + user]
            while job < state.start.size:
                load += _work(jobs.estimate[job], jobs.procs[job])
                job = after[job]
            ranking.key[user] = load


@inline
def first_in_order(state, what, now):
    """Return the job of the highest priority; ties by arrival."""
    ranking, queue, submit = state.policy.ranking, state.policy.queue, state.jobs.submit
    best, highest = -1, -1.0
    for place in range(queue.at.n_listed):
        job = queue.after[submit.size + ranking.order[place]]
        if job < submit.size:
            priority = _priority(ranking.alpha, place + 1, now - submit[job])
            if priority > highest or (priority == highest and job < best):
                best, highest = job, priority
    return best


@inline
def backfill_all(state, what, now):
    """Return the first job, by user and arrival, that may pass the head."""
    order, procs = state.policy.ranking.order, state.jobs.procs
    after, at, n_jobs = state.policy.queue.after, state.policy.queue.at, state.start.size
    if not at.again:
        at.place, at.next, at.least = 0, after[n_jobs + order[0]], at.head
    place, job, least, n_listed = at.place, at.next, at.least, at.n_listed
    while place < n_listed:
        while job < n_jobs:
            if job != at.head and may_pass(state, job, now):
                at.place, at.next, at.least = place, after[job], least
                return job
            if procs[job] < procs[least]:
                least = job
            job = after[job]
        place += 1
        if place < n_listed:
            job = after[n_jobs + order[place]]
    at.smallest = least
    return -1


@inline
def backfill_new(state, what, now):
    """Return the first new job, by user and arrival, that may pass the head."""
    ranking, at = state.policy.ranking, state.policy.queue.at
    if not at.again:
        at.place, at.next = 0, -1
    best, best_place = -1, 0
    for job in range(at.new, state.at.arrived):
        place = ranking.place_of[ranking.user[job]]
        if (
            (place > at.place or (place == at.place and job > at.next))
            and (best < 0 or place < best_place)
            and may_pass(state, job, now)
        ):
            best, best_place = job, place
    at.place, at.next = best_place, best
    return best


register_functions(Rings, sys.modules[__name__])
