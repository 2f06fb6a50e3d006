"""The event loop of conservative backfilling.

Running and waiting jobs hold their processors in one profile, which is changed and not made
anew. After a termination a job can move forward only if, since it was last looked at, processors
were freed before its own start, and at least as many as it needs. They are freed by early ends,
and by moves of other jobs; from when on, and how many there are, tells who need not be looked at.
The search for an earlier hole ends at the job's own start, for from there on it has its place; to
move it is to take the front and to release the tail.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import helper, kernel
from workloadkit._kernels.profile import (
    change_free,
    change_steps,
    find_hole,
    find_steps,
    first_step,
    pass_time,
)
from workloadkit._kernels.reference import by_reference
from workloadkit._kernels.running import insert_end_in_order
from workloadkit._kernels.state import Jobs
from workloadkit._kernels.users import (
    keep_running,
    next_instant,
    some_to_come,
    take_arrivals,
)


def schedule_conservatively(
    jobs: Jobs, machine: int, *, late: bool, by_event: bool, users: Any = None
) -> NDArray:
    """Start of each job under conservative backfilling.

    Parameters
    ----------
    jobs : Jobs
    machine : int
        Processors of the machine.
    late : bool
        Whether jobs may outlive their estimates.
    by_event : bool
        Whether there is a pass after each event, instead of one an instant.
    users : NamedTuple, optional
        Users who react, see `users`; `jobs` are tables then, to be filled as jobs arrive.

    Returns
    -------
    ndarray, shape (n_jobs,)
    """
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    capacity = min(n_jobs, machine) + 1
    start, reserved = np.empty(n_jobs, dtype), np.empty(n_jobs, dtype)
    ends, end_jobs = np.empty(capacity, dtype), np.empty(capacity, np.int64)
    waiting = np.empty(n_jobs, np.int64)
    times, free_then = np.empty(2 * n_jobs + 2, dtype), np.empty(2 * n_jobs + 2, np.int64)
    never = dtype.type(np.iinfo(dtype).max if dtype.kind == "i" else np.inf)
    _run(
        jobs, users, machine, late, by_event, never,
        start, reserved, ends, end_jobs, waiting, times, free_then,
    )  # fmt: skip
    return start


@kernel
def _run(
    jobs, users, machine, late, by_event, never,
    start, reserved, ends, end_jobs, waiting, times, free_then,
):  # fmt: skip
    users = by_reference(users)
    submit, run, estimate, procs = jobs
    n_jobs = submit.size
    n_running = n_waiting = arrived = 0
    free = machine
    now = next_instant(users, submit, 0, ends, 0)
    times[0], free_then[0], count = now, machine, 1
    next_start = never  # the earliest of the reservations
    # Where processors were freed since the jobs were looked at, by jobs behind them in the queue.
    left_low, left_high = never, now
    while n_running > 0 or some_to_come(users, submit, arrived):
        now = next_instant(users, submit, arrived, ends, n_running)
        count = pass_time(times, count, now)
        released = now  # until when processors are free that were to be in use
        ended = void = False
        n_before, n_left, n_arrived = n_running, 0, arrived
        if by_event:
            n_left = keep_running(users, submit, arrived, n_running, now, by_event)
        while n_running > n_left and ends[n_running - 1] == now:
            n_running -= 1
            job = end_jobs[n_running]
            free += procs[job]
            planned_end = start[job] + estimate[job]
            if planned_end > now:
                count = change_free(times, free_then, count, now, planned_end, procs[job])
                released = max(released, planned_end)
            void |= planned_end < now
            ended = True
        if users is None:
            while n_arrived < n_jobs and submit[n_arrived] == now:
                n_arrived += 1
                if by_event:
                    break
        else:
            n_arrived = take_arrivals(
                users, jobs, arrived, end_jobs, n_before, n_running, now, by_event
            )
        if late and not void:
            void = _is_overdue(start, estimate, end_jobs, n_running, now)

        if void:
            count = _plan_running(
                start, estimate, procs, end_jobs, n_running, now, machine, times, free_then
            )
            next_start = never
            for place in range(n_waiting):
                job = waiting[place]
                begin, first, last = find_hole(
                    times, free_then, count, procs[job], estimate[job], never
                )
                count = change_steps(
                    times, free_then, count,
                    last, first + 1, begin, begin + estimate[job], -procs[job],
                )  # fmt: skip
                reserved[job] = begin
                next_start = min(next_start, begin)
            left_low, left_high = never, now
        elif ended and n_waiting > 0:
            low, level = never, 0  # processors were freed from then on, and at most so many
            if left_high > now:
                low = max(left_low, now)
                level = _highest(times, free_then, count, low, left_high)
            if released > now:
                low = now
                level = max(level, _highest(times, free_then, count, now, released))
            left_low, left_high = never, now
            if level > 0:
                next_start = never
                for place in range(n_waiting):
                    job = waiting[place]
                    planned = reserved[job]
                    size = procs[job]
                    if size <= level and planned > low:
                        begin, first, last = find_hole(
                            times, free_then, count, size, estimate[job], planned
                        )
                        if begin < planned:
                            planned_end = planned + estimate[job]
                            end = begin + estimate[job]
                            tail = max(end, planned)
                            count = change_steps(
                                times, free_then, count,
                                last, first + 1, begin, min(end, planned), -size,
                            )  # fmt: skip
                            if tail < planned_end:  # not if lost in rounding
                                last, after_first, most = find_steps(
                                    times, free_then, min(last, count - 1), tail, planned_end
                                )
                                count = change_steps(
                                    times, free_then, count,
                                    last, after_first, tail, planned_end, size,
                                )  # fmt: skip
                                level = max(level, most + size)
                                left_low = min(left_low, tail)
                                left_high = max(left_high, planned_end)
                            reserved[job] = planned = begin
                    next_start = min(next_start, planned)

        if next_start <= now:
            next_start = never
            kept = 0
            for place in range(n_waiting):
                job = waiting[place]
                if reserved[job] <= now and procs[job] <= free:
                    start[job] = now
                    insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                    n_running += 1
                    free -= procs[job]
                else:
                    waiting[kept] = job
                    kept += 1
                    next_start = min(next_start, reserved[job])
            n_waiting = kept

        while arrived < n_arrived:
            job = arrived
            arrived += 1
            begin, first, last = find_hole(
                times, free_then, count, procs[job], estimate[job], never
            )
            count = change_steps(
                times, free_then, count,
                last, first + 1, begin, begin + estimate[job], -procs[job],
            )  # fmt: skip
            if begin == now and procs[job] <= free:
                start[job] = now
                insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
                n_running += 1
                free -= procs[job]
            else:
                reserved[job] = begin
                next_start = min(next_start, begin)
                waiting[n_waiting] = job
                n_waiting += 1


@helper
def _is_overdue(start, estimate, end_jobs, n_running, now):
    """Whether a running job has outlived its estimate."""
    for place in range(n_running):
        job = end_jobs[place]
        if start[job] + estimate[job] < now:
            return True
    return False


@helper
def _plan_running(start, estimate, procs, end_jobs, n_running, now, machine, times, free_then):
    """Make the profile of the running jobs anew; return the number of steps."""
    times[0], free_then[0], count = now, machine, 1
    for place in range(n_running):
        job = end_jobs[place]
        planned_end = start[job] + estimate[job]
        if planned_end > now:
            count = change_free(times, free_then, count, now, planned_end, -procs[job])
    return count


@helper
def _highest(times, free_then, count, low, high):
    """Most processors free at a time from `low`, which is not before now, until `high`."""
    place = first_step(times, count, high)
    level = free_then[place]
    while times[place] > low:
        place += 1
        level = max(level, free_then[place])
    return level
