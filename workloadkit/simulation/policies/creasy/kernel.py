"""Compiled CREASY: a ring of the waiting jobs.

A job's priority is at most its wait plus the bonus of a job that has just arrived. So the first in
order is among the first to arrive. The rest is as in `dynamic`; `trees` search long queues
of jobs that are all known.
"""

import sys
from typing import NamedTuple

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.compiled.queue import unlink
from workloadkit.simulation.machine.ledger import may_pass
from workloadkit.simulation.policies import dynamic
from workloadkit.simulation.policies.dynamic import Queue, QueueAt

# The priority of jobs under CREASY.


def priority(bonus, waited, estimate):
    """Return the priority of a job [min]; `bonus` is that at response time 0 [1]_, eq. 5.4.

    .. [1] E. Shmueli, PhD thesis, The Hebrew University of Jerusalem, 2008.
    """
    stretch = 0.05 * ((waited + estimate) / 60) + 1
    return bonus / (stretch * stretch) + waited / 60


def bonus(alpha):
    """Return the priority of a job with response time 0. [min]."""
    return alpha * 0.04


# An exact bound of a sum, times this, is a bound of the rounded sum.
ROUNDING = 1 + 1e-12

_priority = inline(priority)


class RingAt(QueueAt):
    """What the queue remembers, also with trees."""

    look: int  # the first new job to examine
    n_open: int  # fitting classes
    next_class: int  # the class to examine again


class Ring(NamedTuple):
    """A part of the state: the waiting jobs.

    Parameters
    ----------
    queue : Queue
    bonus : float
        Priority of a job with response time 0. [min]
    """

    queue: Queue
    bonus: float


allocate, must_return, plans_void = dynamic.allocate, dynamic.list_must_return, dynamic.plans_void
job_ended, job_returned, job_left = dynamic.job_ended, dynamic.job_returned, dynamic.job_left


@inline
def join(state, job, now):
    """Add a job to the queue."""
    dynamic.join_ring(state, job, 0)


@inline
def leave(state, job, now):
    """Remove a job from the queue."""
    queue = state.policy.queue
    if queue.at.look == job:
        queue.at.look = queue.after[job]
    unlink(queue.after, queue.before, job)


@inline
def priority_of(state, job, now):
    """Return the priority of a job now."""
    jobs = state.jobs
    return _priority(state.policy.bonus, now - jobs.submit[job], jobs.estimate[job])


@inline
def first_in_order(state, what, now):
    """Return the job of the highest priority; ties by arrival."""
    job, _, _ = first_of_oldest(state, state.at.n_waiting, now)
    return job


@inline
def first_of_oldest(state, most, now):
    """Return the first in order of the oldest jobs, its priority, and whether these were enough.

    At most `most` jobs are examined.
    """
    submit, after, end = state.jobs.submit, state.policy.queue.after, state.start.size
    bonus = state.policy.bonus
    job = best = after[end]
    highest = priority_of(state, job, now)
    job = after[job]
    while job != end:
        # The priority is a falling convex plus a rising linear function of the wait: it is largest
        # at one of the ends. So no further job exceeds one with estimate 0 that has waited as long
        # as this one, or one that has just arrived.
        if (
            highest >= bonus * ROUNDING
            and highest >= _priority(bonus, now - submit[job], 0) * ROUNDING
        ):
            break
        if most == 0:
            return best, highest, False
        most -= 1
        priority = priority_of(state, job, now)
        if priority > highest:
            best, highest = job, priority
        job = after[job]
    return best, highest, True


@inline
def backfill_all(state, what, now):
    """Return the first job in order that may pass the head."""
    queue, end = state.policy.queue, state.start.size
    best, queue.at.smallest = _first_to_pass(state, queue.after[end], now)
    return best


@inline
def backfill_new(state, what, now):
    """Return the first new job in order that may pass the head."""
    at = state.policy.queue.at
    if not at.again:
        at.look = at.new if at.new < state.at.arrived else state.start.size
    best, _ = _first_to_pass(state, at.look, now)
    return best


@inline
def _first_to_pass(state, job, now):
    """Return the first in order, from `job` on, that may pass; and the smallest one examined."""
    after, end, procs = state.policy.queue.after, state.start.size, state.jobs.procs
    head = smallest = state.policy.queue.at.head
    best, highest = -1, -1.0
    while job != end:
        if procs[job] < procs[smallest]:
            smallest = job
        if job != head and may_pass(state, job, now):
            priority = priority_of(state, job, now)
            if priority > highest:
                best, highest = job, priority
        job = after[job]
    return best, smallest


register_functions(Ring, sys.modules[__name__])
