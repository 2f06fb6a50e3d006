"""Compiled slack-based backfilling: the plan of conservative backfilling, with moves for new jobs.

To try a plan, jobs are taken out of it and placed again, one after the other; what is not chosen is
undone the same way.
"""

import sys
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.ledger import ANY_ROOM
from workloadkit.simulation.orders import ratio
from workloadkit.simulation.policies.conservative.kernel import (  # noqa: F401 they act on the plan
    PromisesAt,
    allocate,
    end_taken,
    find_slot,
    job_left,
    job_returned,
    new_promises,
    next_timer,
    note,
    place_first,
    plans_void,
    start_due,
    wait,
)
from workloadkit.simulation.policies.conservative.plan import Plan, settle, settle_at, take_out
from workloadkit.simulation.policies.conservative.slots import NONE, Slots


class Slacks(NamedTuple):
    """A part of the state: the waiting jobs, their reservations and their promises.

    Parameters
    ----------
    waiting, reserved, promised, ended, plan, slots, compression, at
        As in `conservative.kernel.Promises`.
    factor : float
        Slack in mean waits.
    by_slowdown : bool
        Whether a wait costs its ratio to the estimate.
    machine : int
        Processors.
    queues : ndarray of int64, shape (n_queues,)
        Numbers of the important queues.
    slack : ndarray of float64, shape (n_jobs,)
        [s]
    later : ndarray of int64, shape (depth + 1,)
        The jobs with the latest reservations, in the order of these.
    begins, best : ndarray, shape (depth + 2,)
        Starts of these in a plan that is examined, and in the cheapest; the last one is that of the
        new job. [s]
    waited : ndarray, shape (1,)
        By the jobs that have started. [s]
    n_started : ndarray of int64, shape (1,)
        Number of them.
    """

    waiting: NDArray[np.int64]
    reserved: NDArray
    promised: NDArray
    ended: NDArray[np.int64]
    plan: Plan
    slots: Slots
    compression: int
    at: PromisesAt
    factor: float
    by_slowdown: bool
    machine: int
    queues: NDArray[np.int64]
    slack: NDArray[np.float64]
    later: NDArray[np.int64]
    begins: NDArray
    best: NDArray
    waited: NDArray
    n_started: NDArray[np.int64]


def new_slacks(
    submit: NDArray,
    machine: int,
    compression: int,
    *,
    factor: float,
    by_slowdown: bool,
    queues: tuple[int, ...],
    depth: int,
) -> Slacks:
    """Return an empty queue for the jobs of a table, on a machine of so many processors."""
    n_jobs, dtype = submit.size, submit.dtype
    depth = min(depth, n_jobs)
    promises = new_promises(submit, machine, compression)
    promises.at.void = True  # jobs of another policy arrive at once; their promises are new
    return Slacks(
        **promises._asdict(),
        factor=factor,
        by_slowdown=by_slowdown,
        machine=machine,
        queues=np.array(queues, np.int64),
        slack=np.zeros(n_jobs),
        later=np.empty(depth + 1, np.int64),
        begins=np.empty(depth + 2, dtype),
        best=np.empty(depth + 2, dtype),
        waited=np.zeros(1, dtype),
        n_started=np.zeros(1, np.int64),
    )


@inline
def job_arrived(state, job, now):
    """Determine the slack of a new job, by the waits until now."""
    policy, mean, share, rank = state.policy, 0.0, 1.0, 0
    if policy.n_started[0] > 0:
        mean = policy.waited[0] / policy.n_started[0]
    n_queues = policy.queues.size
    if n_queues > 0:
        while rank < n_queues and policy.queues[rank] != state.jobs.queue[job]:
            rank += 1
        share = rank / n_queues
    left = 1 - state.jobs.procs[job] / policy.machine
    policy.slack[job] = policy.factor * mean * share * left


@inline
def starts(state, job, now):
    """Count the wait of a job that starts."""
    policy = state.policy
    policy.waited[0] += now - state.jobs.submit[job]
    policy.n_started[0] += 1


@inline
def finish(state, new, now):
    """Reserve for new jobs, which may move others, and start jobs with a reservation now."""
    policy = state.policy
    if policy.at.kept:
        for job in range(new, state.at.arrived):
            begin = place_first(state, job, now)
            if not policy.at.void and now < begin < state.never:
                _improve(state, job, now)
                policy.promised[job] = policy.reserved[job]
            wait(state, job)
    if policy.at.next_start <= now:
        start_due(state, now)


@bare
def _improve(state, new, now):
    """Move the jobs with the latest reservations, as long as that is cheaper."""
    policy, at, reserved, later = (
        state.policy,
        state.policy.at,
        state.policy.reserved,
        state.policy.later,
    )
    count, new_at = _list_later(state, now), policy.best.size - 1
    goal, lowest, first, cheapest = reserved[new], 0.0, count, count
    if count == 0 or not _may_help(state, new, later[0], goal):
        return
    take_out(state, new, now)
    while first > 0 and goal > now:
        first -= 1
        take_out(state, later[first], now)
        if not _may_help(state, new, later[first], goal):
            continue
        step = find_slot(state, new, NONE, -1)
        if policy.plan.times[step] < goal:
            goal = policy.plan.times[step]
            cost = _try(state, new, step, first, count, now)
            if cost < lowest:
                lowest, cheapest = cost, first
                for i in range(first, count):
                    policy.best[i] = policy.begins[i]
                policy.best[new_at] = goal
    if lowest < 0:
        reserved[new] = policy.best[new_at]
        for i in range(cheapest, count):
            reserved[later[i]] = policy.best[i]
        at.left_low, at.left_high, at.left_room = now, state.never, ANY_ROOM
    _settle_again(state, new, now)
    for i in range(first, count):
        _settle_again(state, later[i], now)


@inline
def _may_help(state, new, job, goal):
    """Whether a new job may start before `goal` without a job and those with later reservations."""
    return state.policy.reserved[job] < goal + state.jobs.estimate[new]


@inline
def _settle_again(state, job, now):
    """Give a job the place of its reservation."""
    policy, begin = state.policy, state.policy.reserved[job]
    settle_at(state, job, begin, begin + state.jobs.estimate[job], now)
    policy.slots.searched[job] = 0
    note(policy, begin, now)


@bare
def _list_later(state, now):
    """List the jobs with the latest reservations, in the order of these; return how many."""
    policy, reserved, later = state.policy, state.policy.reserved, state.policy.later
    count, depth = 0, state.policy.later.size - 1
    for i in range(policy.at.wait):
        job = policy.waiting[i]
        begin = reserved[job]
        if not now < begin < state.never or (count == depth and begin < reserved[later[0]]):
            continue
        j = count
        while j > 0 and reserved[later[j - 1]] > begin:
            later[j] = later[j - 1]
            j -= 1
        later[j] = job
        count += 1
        if count > depth:
            for j in range(depth):
                later[j] = later[j + 1]
            count = depth
    return count


@bare
def _try(state, new, step, first, count, now):
    """Return what it costs to place a new job, and the listed ones again, at the earliest."""
    policy, plan, reserved = state.policy, state.policy.plan, state.policy.reserved
    cost = _cost(state, new, plan.times[step])
    settle(state, new, step, now)
    end = first
    while end < count:
        job = policy.later[end]
        step = find_slot(state, job, NONE, -1)
        latest = max(policy.promised[job] + policy.slack[job], float(reserved[job]))
        if step == NONE or plan.times[step] > latest:
            cost = inf
            break
        policy.begins[end] = plan.times[step]
        cost += _cost(state, job, plan.times[step])
        settle(state, job, step, now)
        end += 1
    for i in range(first, end):
        take_out(state, policy.later[i], now)
    take_out(state, new, now)
    return cost


@inline
def _cost(state, job, begin):
    """Return what it costs to start a job at a time instead of at its reservation."""
    more = begin - state.policy.reserved[job]
    return ratio(more, state.jobs.estimate[job] if state.policy.by_slowdown else 1)


register_functions(Slacks, sys.modules[__name__])
