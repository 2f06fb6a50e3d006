"""EASY in an order that a genetic search finds at each pass, compiled."""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import inline
from workloadkit.simulation.compiled_orders import key_of
from workloadkit.simulation.machine.ledger import (
    fits,
    is_full,
    may_pass,
    passes,
    reserve,
    start_job,
)
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.policies.arrivals import (  # noqa: F401 they act on the queue
    COUNT,
    WaitingList,
    forget_started,
    job_ended,
    job_left,
    job_returned,
    plans_void,
    some_fit,
)
from workloadkit.simulation.policies.genetic.evaluation import FREE, N_JOBS, Search, take_in
from workloadkit.simulation.policies.genetic.evaluation import N_RUNNING as N_IMAGINED
from workloadkit.simulation.policies.genetic.search import evolve
from workloadkit.simulation.state import N_RUNNING

# Places in Evolved.at: searches so far; searches since the loop has returned.
N_SEARCHES, SINCE = range(2)


class Evolved(NamedTuple):
    """A part of the state: the waiting jobs, and the search for their order.

    Parameters
    ----------
    queue : WaitingList
    line : ndarray of int64, shape (n_jobs,)
        The waiting jobs in the order of this pass.
    priority : Order
        The settled order of queues by priority.
    valued : ndarray of int64, shape (n_jobs,)
        Index of each job's utility function.
    machine : int
        Processors that searches assume.
    search : Search
    return_interval : int
        Searches after which the loop returns.
    at : ndarray of int64, shape (2,)
    """

    queue: WaitingList
    line: NDArray[np.int64]
    priority: Any
    valued: NDArray[np.int64]
    machine: int
    search: Search
    return_interval: int
    at: NDArray[np.int64]


@inline
def must_return(state, what, now):
    """Whether the loop must return, so that the process can be interrupted."""
    return state.policy.at[SINCE] >= state.policy.return_interval


@inline
def allocate(state, new, now):
    """Find an order, start jobs in it while they fit, then backfill."""
    if not some_fit(state, new, now):
        return
    _put_in_order(state, now)
    waiting, line = state.policy.queue.waiting, state.policy.line
    head, count = 0, state.policy.queue.at[COUNT]
    while head < count and fits(state, waiting[line[head]], now):
        _start(state, line[head], now)
        head += 1
    if head < count and not is_full(state, 0, now):
        reserve(state, waiting[line[head]], now)
        for i in range(head + 1, count):
            if may_pass(state, waiting[line[i]], now):
                passes(state, waiting[line[i]], now)
                _start(state, line[i], now)
    forget_started(state.policy.queue)


@inline
def _start(state, place, now):
    waiting = state.policy.queue.waiting
    start_job(state, waiting[place], now)
    waiting[place] = -1


@inline
def _put_in_order(state, now):
    """Find the order of the queue in this pass."""
    policy, procs = state.policy, state.jobs.procs
    waiting, count = policy.queue.waiting, policy.queue.at[COUNT]
    needed = 0
    for place in range(count):
        policy.line[place] = place
        needed += procs[waiting[place]]
    if needed > _set_running(state, now) and _fill_window(state) and policy.search.at[N_JOBS] > 1:
        evolve(policy.search)
        policy.at[N_SEARCHES] += 1
        policy.at[SINCE] += 1
        for place in range(policy.search.at[N_JOBS]):
            policy.line[place] = policy.search.orders.best[place]


@inline
def _set_running(state, now):
    """Copy the running jobs into the search; return the free processors, ignoring outages."""
    policy, search, procs = state.policy, state.policy.search, state.jobs.procs
    ends, jobs = state.planned_ends, state.planned_jobs
    free, count = policy.machine, state.at[N_RUNNING]
    for i in range(count):
        search.running_ends[i], search.running_procs[i] = ends[i], procs[jobs[i]]
        free -= procs[jobs[i]]
    search.now[0] = now
    search.at[N_IMAGINED], search.at[FREE] = count, free
    return free


@inline
def _fill_window(state):
    """Add the first waiting jobs to the window; return whether any can still earn."""
    policy, waiting = state.policy, state.policy.queue.waiting
    n_jobs = min(policy.search.window.valued.size, policy.queue.at[COUNT])
    some_earn = False
    for place in range(n_jobs):
        job = waiting[place]
        priority = key_of(state, policy.priority, job)
        earns = take_in(policy.search, place, state.jobs, job, policy.valued[job], priority)
        some_earn = some_earn or earns
    policy.search.at[N_JOBS] = n_jobs
    return some_earn


register_functions(Evolved, sys.modules[__name__])
