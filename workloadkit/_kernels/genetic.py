"""The event loop of EASY in an order that a genetic search finds at each pass."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import kernel
from workloadkit._kernels.evolution import (
    evolve,
    fill_window,
    new_desk,
    new_population,
    new_window,
)
from workloadkit._kernels.orders import Keys, rank_arrivals
from workloadkit._kernels.reference import by_reference
from workloadkit._kernels.running import find_shadow, insert_end, insert_end_in_order, remove_end
from workloadkit._kernels.state import (
    ARRIVED,
    FREE,
    N_RUNNING,
    N_WAITING,
    Jobs,
    new_state,
)
from workloadkit._kernels.users import (
    keep_running,
    next_instant,
    some_to_come,
    take_arrivals,
)

# Searches after which the loop comes back, so that whoever waits for it can interrupt it.
BREATH = 64


def schedule_by_evolution(
    jobs: Jobs,
    machine: int,
    *,
    utilities: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
    at_start: bool,
    priority: NDArray[np.int64],
    window: int,
    individuals: int,
    generations: int,
    mutation: float,
    by_event: bool,
    rng: np.random.Generator,
    users: Any = None,
    keys: Keys | None = None,
) -> tuple[NDArray, int]:
    """Start of each job when the order of the queue evolves for what its jobs are worth.

    Parameters
    ----------
    jobs : Jobs
    machine : int
        Processors of the machine.
    utilities : tuple of ndarray
        The arrays of `workloadkit.utility.Utilities`.
    at_start : bool
        Whether the value of a job is read at its start, not at its end.
    priority : ndarray of int64, shape (n_jobs,)
        Of the jobs' queues, the most urgent smallest.
    window : int
        How many of the waiting jobs take part.
    individuals, generations : int
        Orders in each generation, and generations after the first.
    mutation : float
        Probability that two jobs of a child change places.
    by_event : bool
        Whether processors are allocated after each single event.
    rng : Generator
    users : NamedTuple, optional
        Users who react, see `users`; `jobs` and `priority` are tables then, to be filled as jobs
        arrive, and the utilities are those of the jobs of the log.
    keys : Keys, optional
        What the priorities of such jobs go by.

    Returns
    -------
    start : ndarray, shape (n_jobs,)
    n_searches : int
        How often an order was searched for.
    """
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    length = min(window, n_jobs)
    state = new_state(jobs, machine)
    how = (
        users,
        keys,
        machine,
        (utilities[0], utilities[1], utilities[2]),
        at_start,
        priority,
        new_window(length, dtype),
        new_population(individuals, length),
        new_desk(length, state.ends.size, dtype),
        generations,
        mutation,
        by_event,
        rng,
    )
    n_searches = 0
    while state.at[N_RUNNING] or some_to_come(users, jobs.submit, state.at[ARRIVED]):
        n_searches += _go_on(jobs, state, *how, BREATH)
    return state.start, n_searches


@kernel
def _go_on(
    jobs,
    state,
    users,
    keys,
    machine,
    utilities,
    at_start,
    priority,
    window,
    population,
    desk,
    generations,
    mutation,
    by_event,
    rng,
    most,
):
    """Go on to the end of the last job, or to the `most`-th search; how many there were."""
    users = by_reference(users)
    submit, run, estimate, procs = jobs
    start, ends, end_jobs, planned_ends, planned_procs, waiting, at = state
    n_jobs = submit.size
    n_running, free, arrived, n_waiting = at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING]
    line = np.empty(n_jobs, np.int64)  # the waiting jobs in the order that was found
    waits = np.zeros(n_jobs, np.bool_)
    waits[waiting[:n_waiting]] = True
    n_searches = 0
    smallest = 1  # no waiting job is smaller
    while (n_running > 0 or some_to_come(users, submit, arrived)) and n_searches < most:
        now = next_instant(users, submit, arrived, ends, n_running)
        n_before, n_left, n_arrived = n_running, 0, arrived
        if by_event:
            n_left = keep_running(users, submit, arrived, n_running, now, by_event)
        while n_running > n_left and ends[n_running - 1] == now:
            job = end_jobs[n_running - 1]
            planned_end = start[job] + estimate[job]
            remove_end(planned_ends, planned_procs, n_running, planned_end, procs[job])
            n_running -= 1
            free += procs[job]
        if users is None:
            while n_arrived < n_jobs and submit[n_arrived] == now:
                n_arrived += 1
                if by_event:
                    break
        else:
            n_arrived = take_arrivals(
                users, jobs, arrived, end_jobs, n_before, n_running, now, by_event
            )
            rank_arrivals(users, jobs, keys, priority, priority, arrived, n_arrived)
        while arrived < n_arrived:
            waiting[n_waiting] = arrived
            waits[arrived] = True
            smallest = min(smallest, procs[arrived])
            n_waiting += 1
            arrived += 1
        if smallest > free:
            continue
        smallest, needed = machine + 1, 0
        for place in range(n_waiting):
            job = waiting[place]
            line[place] = job
            smallest = min(smallest, procs[job])
            needed += procs[job]
        if smallest > free:
            continue

        if needed > free:  # else all start now, in whatever order
            n, worth_it = fill_window(
                window, waiting, n_waiting, now, jobs, priority, utilities, at_start, users
            )
            if n > 1 and worth_it:
                order = evolve(
                    now, free, planned_ends, planned_procs, n_running, window, n,
                    utilities, at_start, population, generations, mutation, rng, desk,
                )  # fmt: skip
                for place in range(n):
                    line[place] = waiting[order[place]]
                n_searches += 1
        head = 0
        while head < n_waiting and procs[line[head]] <= free:
            job = line[head]
            start[job] = now
            waits[job] = False
            insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
            insert_end(planned_ends, planned_procs, n_running, now + estimate[job], procs[job])
            n_running += 1
            free -= procs[job]
            head += 1
        if head < n_waiting and free > 0:
            shadow, spare = find_shadow(
                planned_ends, planned_procs, n_running, now, free, procs[line[head]]
            )
            for place in range(head + 1, n_waiting):
                job = line[place]
                size = procs[job]
                planned_end = now + estimate[job]
                if size <= free and (planned_end <= shadow or size <= spare):
                    start[job] = now
                    waits[job] = False
                    insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                    insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                    n_running += 1
                    free -= size
                    if planned_end > shadow:
                        spare -= size
        kept = 0
        for place in range(n_waiting):
            if waits[waiting[place]]:
                waiting[kept] = waiting[place]
                kept += 1
        n_waiting = kept
    at[N_RUNNING], at[FREE], at[ARRIVED], at[N_WAITING] = n_running, free, arrived, n_waiting
    return n_searches
