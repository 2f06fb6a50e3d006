"""CREASY, compiled: a ring of the waiting jobs.

No job is worth more than its wait and the bonus of a job that has only just come: so the first in
order is found among the first to arrive. The rest is as in `dynamic`; long queues of jobs that are
all known are searched by `trees`.
"""

import sys
from typing import NamedTuple

from workloadkit._kernels.compile import inline
from workloadkit.simulation.machine.ledger import may_pass
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.policies import dynamic
from workloadkit.simulation.policies.creasy import priority as priorities
from workloadkit.simulation.policies.dynamic import AGAIN, HEAD, MORE, NEW, SMALLEST, Queue
from workloadkit.simulation.queue import unlink
from workloadkit.simulation.state import ARRIVED, N_WAITING

# A bound on a sum, times this, is a bound on the sum as it is rounded.
ROUNDING = 1 + 1e-12

# Place in Queue.at: the first new job that is to be looked at.
LOOK = MORE

_priority = inline(priorities.priority)


class Ring(NamedTuple):
    """A part of the state: the waiting jobs.

    Parameters
    ----------
    queue : Queue
    bonus : float
        Worth of a job that responds at once. [min]
    """

    queue: Queue
    bonus: float


allocate, must_return, plans_void = dynamic.allocate, dynamic.list_must_return, dynamic.plans_void
job_ended, job_returned = dynamic.job_ended, dynamic.job_returned


@inline
def join(state, job, now):
    """Let a job wait."""
    dynamic.join_ring(state, job, 0)


@inline
def leave(state, job, now):
    """Let a job wait no more."""
    queue = state.policy.queue
    if queue.at[LOOK] == job:
        queue.at[LOOK] = queue.after[job]
    unlink(queue.after, queue.before, job)


@inline
def priority_of(state, job, now):
    """How much a job is worth now."""
    jobs = state.jobs
    return _priority(state.policy.bonus, now - jobs.submit[job], jobs.estimate[job])


@inline
def first_in_order(state, what, now):
    """Job of the highest priority; of equal ones the first to arrive."""
    job, _, _ = first_of_oldest(state, state.at[N_WAITING], now)
    return job


@inline
def first_of_oldest(state, most, now):
    """First in order of the first to arrive, its worth, and whether these are all that matter.

    No more than `most` jobs are looked at.
    """
    submit, after, end = state.jobs.submit, state.policy.queue.after, state.start.size
    bonus = state.policy.bonus
    job = best = after[end]
    highest = priority_of(state, job, now)
    job = after[job]
    while job != end:
        # from here on no job is worth more than one that takes no time and has waited as long as
        # this one or has only just come: their sum of a falling convex and a rising linear term
        # is largest at one end or the other
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
    """First job in order that may pass the head."""
    queue, end = state.policy.queue, state.start.size
    best, queue.at[SMALLEST] = _first_to_pass(state, queue.after[end], now)
    return best


@inline
def backfill_new(state, what, now):
    """First new job in order that may pass the head."""
    at = state.policy.queue.at
    if not at[AGAIN]:
        at[LOOK] = at[NEW] if at[NEW] < state.at[ARRIVED] else state.start.size
    best, _ = _first_to_pass(state, at[LOOK], now)
    return best


@inline
def _first_to_pass(state, job, now):
    """First in order, from `job` on in the ring, that may pass; and the smallest job met."""
    after, end, procs = state.policy.queue.after, state.start.size, state.jobs.procs
    head = smallest = state.policy.queue.at[HEAD]
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
