"""The event loop of the schedule that a log tells of: users react to it all the same."""

import numpy as np

from workloadkit._kernels.compile import kernel
from workloadkit._kernels.reference import by_reference
from workloadkit._kernels.running import insert_end_in_order
from workloadkit._kernels.users import (
    keep_running,
    next_instant,
    some_to_come,
    submission_due,
    take_arrivals,
)


@kernel
def schedule_as_recorded(jobs, wait, users, by_event):
    """Start of each job, `wait` after its submission; all are tables for `users` to fill."""
    users = by_reference(users)
    submit, run, _, _ = jobs
    room = submit.size
    start, due, ends = np.empty_like(submit), np.empty_like(submit), np.empty_like(submit)
    due_jobs, end_jobs = np.empty(room, np.int64), np.empty(room, np.int64)
    arrived = n_waiting = n_running = 0
    now = users.agenda.time[0]
    while True:
        n_before = n_running
        n_left = keep_running(users, submit, arrived, n_running, now, by_event)
        while n_running > n_left and ends[n_running - 1] <= now:
            n_running -= 1
        # a start that is due is an event of its own, between submissions and users' wake-ups
        starts_first = (
            by_event
            and n_running == n_before
            and n_waiting > 0
            and due[n_waiting - 1] <= now
            and not submission_due(users.agenda, now)
        )
        if not starts_first:
            before = arrived
            arrived = take_arrivals(
                users, jobs, arrived, end_jobs, n_before, n_running, now, by_event
            )
            for job in range(before, arrived):
                insert_end_in_order(due, due_jobs, n_waiting, now + wait[job], job)
                n_waiting += 1
        while n_waiting > 0 and due[n_waiting - 1] <= now:
            n_waiting -= 1
            job = due_jobs[n_waiting]
            start[job] = now
            insert_end_in_order(ends, end_jobs, n_running, now + run[job], job)
            n_running += 1
        goes_on = n_running > 0 or some_to_come(users, submit, arrived)
        if not goes_on and n_waiting == 0:
            break
        if not goes_on:
            now = due[n_waiting - 1]
        else:
            now = next_instant(users, submit, arrived, ends, n_running)
            if n_waiting > 0:
                now = min(now, due[n_waiting - 1])
    return start
