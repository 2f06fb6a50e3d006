"""The event loop of EASY in orders that vary with time.

The head of the queue may be another one at each pass, and with it the shadow time. So each pass
in which a waiting job fits on the free processors evaluates the order of all that wait, once. A
queue is looked through, never sorted: for the jobs at its head, and for those to backfill.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper, kernel
from workloadkit._kernels.orders import Keys, order_by, rank_arrivals
from workloadkit._kernels.reference import by_reference
from workloadkit._kernels.running import find_shadow, insert_end, insert_end_in_order, remove_end
from workloadkit._kernels.state import Jobs, new_state
from workloadkit._kernels.users import (
    keep_running,
    next_instant,
    some_to_come,
    take_arrivals,
)


def schedule_in_varying_order(
    jobs: Jobs,
    machine: int,
    *,
    order: int | Callable[..., float],
    user: NDArray[np.int64],
    backfill_rank: NDArray[np.int64] | None,
    backfill: bool,
    by_event: bool,
    users: Any = None,
    keys: Keys | None = None,
    numbers: NDArray[np.int64] | None = None,
) -> NDArray:
    """Start of each job when the order of the queue is found anew at each pass.

    Parameters
    ----------
    jobs : Jobs
    machine : int
        Processors of the machine.
    order : int or compiled function
        One of `orders`, or a function of (now, submit, estimate, procs, user); the smallest value
        comes first, ties by arrival.
    user : ndarray of int64, shape (n_jobs,)
        For a function.
    backfill_rank : ndarray of int64, shape (n_jobs,), or None
        Place of each job in the order of backfilling; None for the order of the queue.
    backfill : bool
        Whether jobs may overtake.
    by_event : bool
        Whether processors are allocated after each single event.
    users : NamedTuple, optional
        Users who react, see `users`; `jobs`, `user` and `backfill_rank` are tables then.
    keys : Keys, optional
        What jobs of such users are ranked by.
    numbers : ndarray of int64, shape (n_users,), optional
        What a function knows such users by.

    Returns
    -------
    ndarray, shape (n_jobs,)
    """
    state = new_state(jobs, machine)
    same = backfill_rank is None
    if backfill_rank is None:
        rank = np.empty(0, np.int64 if users is None else np.float64)
    else:
        rank = backfill_rank
    number = np.empty(0, np.int64) if numbers is None else numbers
    how = (rank, same, backfill, by_event, users, keys, number)
    if callable(order):
        _run_own(jobs, state, machine, user, -1, order, *how)
    else:
        _run_built_in(jobs, state, machine, user, order, None, *how)
    return state.start


def _run(
    jobs,
    state,
    machine,
    user,
    built_in,
    own,
    backfill_rank,
    same,
    backfill,
    by_event,
    users,
    keys,
    number,
):
    users = by_reference(users)
    submit, run, estimate, procs = jobs
    start, ends, end_jobs, planned_ends, planned_procs, waiting, _ = state
    n_jobs = submit.size
    n_running, free, arrived, n_waiting = 0, machine, 0, 0
    value = np.empty(n_jobs)  # of each waiting job, as they stand in `waiting`
    turn = np.empty(n_jobs)  # what the candidates for backfilling are sorted by
    candidate = np.empty(n_jobs, np.int64)  # their places in `waiting`
    smallest = machine + 1  # no waiting job is smaller
    while n_running > 0 or some_to_come(users, submit, arrived):
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
            if not same:
                rank_arrivals(users, jobs, keys, backfill_rank, backfill_rank, arrived, n_arrived)
        while arrived < n_arrived:
            waiting[n_waiting] = arrived
            smallest = min(smallest, procs[arrived])
            n_waiting += 1
            arrived += 1
        if smallest > free:
            continue
        smallest = machine + 1
        for place in range(n_waiting):
            smallest = min(smallest, procs[waiting[place]])
        if smallest > free:
            continue

        for place in range(n_waiting):
            job = waiting[place]
            if own is None:
                x = order_by(built_in, now, submit[job], estimate[job], procs[job], user[job])
            else:
                who = user[job] if users is None else number[user[job]]
                x = float(own(now, submit[job], estimate[job], procs[job], who))
            value[place] = x if x == x else np.inf  # what is no number comes last
        head = first_of(value, n_waiting)
        while n_waiting > 0 and procs[waiting[head]] <= free:
            job = waiting[head]
            start[job] = now
            insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
            insert_end(planned_ends, planned_procs, n_running, now + estimate[job], procs[job])
            n_running += 1
            free -= procs[job]
            n_waiting -= 1
            for place in range(head, n_waiting):
                waiting[place] = waiting[place + 1]
                value[place] = value[place + 1]
            head = first_of(value, n_waiting)
        if not backfill or n_waiting == 0 or free == 0:
            continue

        needed = procs[waiting[head]]
        shadow, spare = find_shadow(planned_ends, planned_procs, n_running, now, free, needed)
        n_candidates = 0
        for place in range(n_waiting):
            job = waiting[place]
            if procs[job] <= free and (now + estimate[job] <= shadow or procs[job] <= spare):
                candidate[n_candidates] = place
                turn[n_candidates] = value[place] if same else backfill_rank[job]
                n_candidates += 1
        n_started = 0
        while n_candidates > 0:
            chosen = first_of(turn, n_candidates)
            job = waiting[candidate[chosen]]
            size = procs[job]
            planned_end = now + estimate[job]
            start[job] = now
            insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
            insert_end(planned_ends, planned_procs, n_running, planned_end, size)
            n_running += 1
            free -= size
            if planned_end > shadow:
                spare -= size
            waiting[candidate[chosen]] = -1
            n_started += 1
            kept = 0  # those that may still start
            for i in range(n_candidates):
                job = waiting[candidate[i]]
                if (
                    i != chosen
                    and procs[job] <= free
                    and (now + estimate[job] <= shadow or procs[job] <= spare)
                ):
                    candidate[kept] = candidate[i]
                    turn[kept] = turn[i]
                    kept += 1
            n_candidates = kept
        if n_started > 0:
            kept = 0
            for place in range(n_waiting):
                if waiting[place] >= 0:
                    waiting[kept] = waiting[place]
                    kept += 1
            n_waiting = kept


@helper
def first_of(value, count):
    """Place of the smallest of the first `count` values, the first of equal ones; 0 for none."""
    first = 0
    for place in range(1, count):
        if value[place] < value[first]:
            first = place
    return first


_run_built_in = kernel(_run)
_run_own = helper(_run)  # with a function for an argument nothing can be kept for other processes
