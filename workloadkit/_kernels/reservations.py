"""The event loop of backfilling with any number of reservations, in any settled orders.

A full pass makes the profile of the running jobs anew and all reservations in it. It is needed
after a termination, and then only if a waiting job fits on the free processors. Until the next
planned end no reservation's time comes and no step of the profile is passed: reservations stay
where they are, who was refused stays refused, and a job that arrives behind those reserved needs
one look at itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper, kernel
from workloadkit._kernels.orders import Keys, rank_arrivals
from workloadkit._kernels.profile import change_free, find_hole, fits_now, pass_time
from workloadkit._kernels.reference import by_reference
from workloadkit._kernels.running import insert_end, insert_end_in_order, remove_end
from workloadkit._kernels.state import Jobs
from workloadkit._kernels.users import (
    keep_running,
    next_instant,
    some_to_come,
    take_arrivals,
)


def schedule_with_reservations(
    jobs: Jobs,
    machine: int,
    *,
    rank: NDArray[np.int64],
    backfill_rank: NDArray[np.int64] | None,
    reservations: int,
    late: bool,
    by_event: bool,
    users: Any = None,
    keys: Keys | None = None,
) -> NDArray:
    """Start of each job when the first waiting jobs have reservations and others backfill.

    Parameters
    ----------
    jobs : Jobs
    machine : int
        Processors of the machine.
    rank, backfill_rank : ndarray of int64, shape (n_jobs,)
        Place of each job in the order of the queue and in that of backfilling; None for no
        backfilling.
    reservations : int
        Waiting jobs that are promised a start.
    late : bool
        Whether jobs may outlive their estimates.
    by_event : bool
        Whether there is a pass after each event, instead of one an instant.
    users : NamedTuple, optional
        Users who react, see `users`; `jobs`, `rank` and `backfill_rank` are tables then, to be
        filled as jobs arrive.
    keys : Keys, optional
        What jobs of such users are ranked by.

    Returns
    -------
    ndarray, shape (n_jobs,)
    """
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    backfill = backfill_rank is not None
    start = np.empty(n_jobs, dtype)
    _run(
        jobs,
        users,
        keys,
        machine,
        rank,
        backfill_rank if backfill else rank,
        min(reservations, n_jobs) if backfill else 1,
        backfill,
        by_event,
        dtype.type(np.iinfo(dtype).max if dtype.kind == "i" else np.inf),
        rank.dtype.type(-1 if users is None else -np.inf),
        start,
    )
    return start


@kernel
def _run(
    jobs, users, keys, machine, rank, backfill_rank, reservations, backfill, by_event,
    never, before_all, start,
):  # fmt: skip
    users = by_reference(users)
    submit, run, estimate, procs = jobs
    n_jobs = submit.size
    capacity = min(n_jobs, machine) + 1
    ends, planned_ends = np.empty(capacity, submit.dtype), np.empty(capacity, submit.dtype)
    end_jobs, planned_procs = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    queue = np.empty(n_jobs, np.int64)  # the waiting jobs in the order of the queue
    others = np.empty(n_jobs, np.int64)  # and in that of backfilling
    waits = np.zeros(n_jobs, np.bool_)
    times = np.empty(2 * n_jobs + 2, submit.dtype)
    free_then = np.empty(2 * n_jobs + 2, np.int64)
    n_running = n_waiting = arrived = n_reserved = count = 0
    free = machine
    known = False  # whether the profile holds the running jobs and the reservations
    last_rank = before_all  # of those reserved
    while n_running > 0 or some_to_come(users, submit, arrived):
        now = next_instant(users, submit, arrived, ends, n_running)
        first, n_before, n_left = arrived, n_running, 0
        if by_event:
            n_left = keep_running(users, submit, arrived, n_running, now, by_event)
        while n_running > n_left and ends[n_running - 1] == now:
            job = end_jobs[n_running - 1]
            planned_end = start[job] + estimate[job]
            remove_end(planned_ends, planned_procs, n_running, planned_end, procs[job])
            n_running -= 1
            free += procs[job]
            known = False
        if users is None:
            while arrived < n_jobs and submit[arrived] == now:
                arrived += 1
                if by_event:
                    break
        else:
            arrived = take_arrivals(
                users, jobs, first, end_jobs, n_before, n_running, now, by_event
            )
            rank_arrivals(users, jobs, keys, rank, backfill_rank, first, arrived)
        known &= n_running == 0 or planned_ends[n_running - 1] > now

        if known and _come_behind(rank, backfill_rank, last_rank, first, arrived):
            count = pass_time(times, count, now)
            for job in range(first, arrived):
                size, planned_end = procs[job], now + estimate[job]
                if size <= free and (backfill or n_waiting == 0):
                    starts = fits_now(times, free_then, count, size, planned_end)
                else:
                    starts = False
                if starts:
                    count = change_free(times, free_then, count, now, planned_end, -size)
                    start[job] = now
                    insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                    insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                    n_running += 1
                    free -= size
                    continue
                if n_reserved < reservations:
                    begin, _, _ = find_hole(times, free_then, count, size, estimate[job], never)
                    count = change_free(
                        times, free_then, count, begin, begin + estimate[job], -size
                    )
                    n_reserved += 1
                    last_rank = rank[job]
                waits[job] = True
                _insert(queue, n_waiting, rank, job)
                _insert(others, n_waiting, backfill_rank, job)
                n_waiting += 1
            continue

        for job in range(first, arrived):
            waits[job] = True
            _insert(queue, n_waiting, rank, job)
            _insert(others, n_waiting, backfill_rank, job)
            n_waiting += 1
        known = False
        if not _any_fits(queue, n_waiting, procs, free):
            continue
        count = _plan(planned_ends, planned_procs, n_running, now, machine, times, free_then)
        n_reserved = place = 0
        last_rank = before_all
        n_started = n_running
        while place < n_waiting and n_reserved < reservations and free > 0:
            job = queue[place]
            size = procs[job]
            begin, _, _ = find_hole(times, free_then, count, size, estimate[job], never)
            planned_end = begin + estimate[job]
            count = change_free(times, free_then, count, begin, planned_end, -size)
            if begin == now and size <= free:
                waits[job] = False
                start[job] = now
                insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                n_running += 1
                free -= size
            else:
                n_reserved += 1
                last_rank = rank[job]
            place += 1
        for place in range(n_waiting if backfill else 0):
            if free == 0:
                break
            job = others[place]
            size, planned_end = procs[job], now + estimate[job]
            if size <= free and waits[job] and fits_now(times, free_then, count, size, planned_end):
                count = change_free(times, free_then, count, now, planned_end, -size)
                waits[job] = False
                start[job] = now
                insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                insert_end(planned_ends, planned_procs, n_running, planned_end, size)
                n_running += 1
                free -= size
        known = True  # or else nothing is free, and nothing starts before the next full pass
        if n_running > n_started:
            _compact(queue, n_waiting, waits)
            n_waiting = _compact(others, n_waiting, waits)


@helper
def _come_behind(rank, backfill_rank, last_rank, first, arrived):
    """Whether new jobs come behind those reserved, and one after the other in both orders."""
    for job in range(first, arrived):
        if rank[job] < last_rank:
            return False
        if job > first and (
            rank[job] < rank[job - 1] or backfill_rank[job] < backfill_rank[job - 1]
        ):
            return False
    return True


@helper
def _insert(queue, n_waiting, rank, job):
    """Insert a job into a queue in the order of `rank`."""
    place = n_waiting
    while place > 0 and rank[queue[place - 1]] > rank[job]:
        queue[place] = queue[place - 1]
        place -= 1
    queue[place] = job


@helper
def _compact(queue, n_waiting, waits):
    """Take the jobs out that wait no more; return the number of the others."""
    kept = 0
    for place in range(n_waiting):
        job = queue[place]
        if waits[job]:
            queue[kept] = job
            kept += 1
    return kept


@helper
def _any_fits(queue, n_waiting, procs, free):
    """Whether a waiting job needs no more than the free processors."""
    place = 0
    while place < n_waiting and procs[queue[place]] > free:
        place += 1
    return place < n_waiting


@helper
def _plan(planned_ends, planned_procs, n_running, now, machine, times, free_then):
    """Make the profile of the running jobs; return the number of steps.

    A job that has reached its estimate, or outlived it, counts as ending at this very second.
    """
    count = 0
    free = machine
    for place in range(n_running):
        end = planned_ends[place]
        if end <= now:
            break
        if count == 0 or times[count - 1] > end:
            times[count] = end
            free_then[count] = free
            count += 1
        free -= planned_procs[place]
    times[count] = now
    free_then[count] = free
    return count + 1
