"""A compiled genetic search for the order of a queue with the highest utility."""

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, counting, inline
from workloadkit._kernels.record import Record
from workloadkit._kernels.utility import value_at
from workloadkit.simulation.compiled.orders import key_of
from workloadkit.simulation.compiled.parts import register_functions
from workloadkit.simulation.machine.ledger import (
    fits,
    is_full,
    may_pass,
    passes,
    reserve,
    start_job,
)
from workloadkit.simulation.orders import ratio
from workloadkit.simulation.policies.arrivals import (  # noqa: F401 they act on the queue
    WaitingList,
    forget_started,
    job_ended,
    job_left,
    job_returned,
    plans_void,
    some_fit,
)
from workloadkit.simulation.policies.genetic.evaluation import (
    Search,
    evaluate,
    take_in,
)

#: Orders of the first generation that are not random.
N_SEEDS = 4


@bare
def evolve(search):
    """Find an order of the window with high utility."""
    parents, children = search.orders.parents, search.orders.children
    fitness, new_fitness = search.orders.fitness, search.orders.new_fitness
    n_jobs, best = search.at.n_jobs, search.orders.best
    for i in range(search.setting.individuals):
        if i < N_SEEDS:
            make_seed(search, i, parents, i * n_jobs)
        else:
            shuffle(search, parents, i * n_jobs)
        fitness[i] = evaluate(search, parents, i * n_jobs)
    for _ in range(search.setting.generations):
        _breed(search, parents, children, fitness, new_fitness)
        parents, children = children, parents
        fitness, new_fitness = new_fitness, fitness
    first = fittest(fitness) * n_jobs
    for place in range(n_jobs):
        best[place] = parents[first + place]


@inline
def _breed(search, parents, children, fitness, new_fitness):
    """Make the next generation: the best of this one, and children of two parents each."""
    n_jobs, share, rng = search.at.n_jobs, search.orders.share, search.rng
    total = 0.0
    for i in range(share.size):
        total += fitness[i]
        share[i] = total
    best = fittest(fitness)
    for place in range(n_jobs):
        children[place] = parents[best * n_jobs + place]
    new_fitness[0] = fitness[best]
    for i in range(1, share.size):
        one, other = draw_parent(share, rng), draw_parent(share, rng)
        zip_orders(search, parents, one * n_jobs, other * n_jobs, children, i * n_jobs)
        if rng.random() < search.setting.mutation:
            swap_two(search, children, i * n_jobs)
        elif one == other:  # the child is its parent
            new_fitness[i] = fitness[one]
            continue
        new_fitness[i] = evaluate(search, children, i * n_jobs)


@bare
def zip_orders(search, parents, one, other, children, first):
    """Make a child of the orders at `one` and `other`: a job of each in turn, no repetition."""
    n_jobs, taken = search.at.n_jobs, search.workspace.taken
    for place in range(n_jobs):
        taken[place] = False
    for i in range(n_jobs):
        if i & 1:
            while taken[parents[other]]:
                other += 1
            job = parents[other]
        else:
            while taken[parents[one]]:
                one += 1
            job = parents[one]
        children[first + i] = job
        taken[job] = True


@bare
def swap_two(search, orders, first):
    """Exchange two random jobs of an order."""
    n_jobs, rng = search.at.n_jobs, search.rng
    one, other = draw_below(rng, n_jobs), draw_below(rng, n_jobs - 1)
    other += other >= one
    job = orders[first + one]
    orders[first + one] = orders[first + other]
    orders[first + other] = job


@bare
def shuffle(search, orders, first):
    """Make a random order, all equally likely."""
    n_jobs, rng = search.at.n_jobs, search.rng
    for i in range(n_jobs):
        orders[first + i] = i
    for i in range(n_jobs - 1, 0, -1):
        j = draw_below(rng, i + 1)
        job = orders[first + i]
        orders[first + i] = orders[first + j]
        orders[first + j] = job


@counting
def draw_below(rng, n):
    """Draw one of 0 .. n - 1; the generator allocates an array for it."""
    return rng.integers(0, n)


@bare
def draw_parent(share, rng):
    """Draw an order in proportion to its fitness; uniformly if all are 0.

    `share` are the cumulative sums of the fitness.
    """
    x = rng.random()
    last = share.size - 1
    if share[last] == 0:
        return int(x * share.size)
    x *= share[last]
    i = 0
    while i < last and share[i] <= x:
        i += 1
    return i


@bare
def make_seed(search, which, orders, first):
    """Make one of the four orders that are not random.

    By arrival; by priority; by current utility for each requested processor hour; by current
    utility. Ties by arrival.
    """
    window, utilities, key = search.window, search.utilities, search.workspace.earned
    for place in range(search.at.n_jobs):
        key[place] = 0.0
        if which == 1:
            key[place] = -window.priority[place]
        elif which >= 2:
            key[place] = value_at(
                utilities.first, utilities.time, utilities.value, window.valued[place],
                float(search.now[0] - window.submit[place]),
            )  # fmt: skip
            if which == 2:
                procs, estimate = window.procs[place], window.estimate[place]
                key[place] = ratio(key[place], float(procs) * float(estimate) / 3600.0)
    for i in range(search.at.n_jobs):  # descending
        k = i
        while k > 0 and key[orders[first + k - 1]] < key[i]:
            orders[first + k] = orders[first + k - 1]
            k -= 1
        orders[first + k] = i


@bare
def fittest(fitness):
    """Return the first of the orders with the highest fitness."""
    best = 0
    for i in range(fitness.size):
        if fitness[i] > fitness[best]:
            best = i
    return best


# EASY in an order that a genetic search finds at each pass, compiled.


class EvolvedAt(Record):
    """What is counted."""

    n_searches: int  # so far
    since: int  # searches since the loop has returned


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
    at : record
    """

    queue: WaitingList
    line: NDArray[np.int64]
    priority: Any
    valued: NDArray[np.int64]
    machine: int
    search: Search
    return_interval: int
    at: EvolvedAt


@inline
def must_return(state, what, now):
    """Whether the loop must return, so that the process can be interrupted."""
    return state.policy.at.since >= state.policy.return_interval


@inline
def allocate(state, new, now):
    """Find an order, start jobs in it while they fit, then backfill."""
    if not some_fit(state, new, now):
        return
    _put_in_order(state, now)
    waiting, line = state.policy.queue.waiting, state.policy.line
    head, count = 0, state.policy.queue.at.count
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
    waiting, count = policy.queue.waiting, policy.queue.at.count
    needed = 0
    for place in range(count):
        policy.line[place] = place
        needed += procs[waiting[place]]
    if needed > _set_running(state, now) and _fill_window(state) and policy.search.at.n_jobs > 1:
        evolve(policy.search)
        policy.at.n_searches += 1
        policy.at.since += 1
        for place in range(policy.search.at.n_jobs):
            policy.line[place] = policy.search.orders.best[place]


@inline
def _set_running(state, now):
    """Copy the running jobs into the search; return the free processors, ignoring outages."""
    policy, search, procs = state.policy, state.policy.search, state.jobs.procs
    ends, jobs = state.planned_ends, state.planned_jobs
    free, count = policy.machine, state.at.n_running
    for i in range(count):
        search.running_ends[i], search.running_procs[i] = ends[i], procs[jobs[i]]
        free -= procs[jobs[i]]
    search.now[0] = now
    search.at.n_running, search.at.free = count, free
    return free


@inline
def _fill_window(state):
    """Add the first waiting jobs to the window; return whether any can still earn."""
    policy, waiting = state.policy, state.policy.queue.waiting
    n_jobs = min(policy.search.window.valued.size, policy.queue.at.count)
    some_earn = False
    for place in range(n_jobs):
        job = waiting[place]
        priority = key_of(state, policy.priority, job)
        earns = take_in(policy.search, place, state.jobs, job, policy.valued[job], priority)
        some_earn = some_earn or earns
    policy.search.at.n_jobs = n_jobs
    return some_earn


register_functions(Evolved, sys.modules[__name__])
