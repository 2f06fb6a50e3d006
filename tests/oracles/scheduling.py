"""Schedules by the definition: FCFS and EASY, everything found anew at each pass.

Nothing is carried from one pass to the next but who waits and who runs since when. It is slow and
meant to be; a few hundred jobs are no trouble.
"""

import math


def schedule(
    submit,
    run,
    requested_time,
    procs,
    machine,
    *,
    policy="fcfs",
    overrun="raise",
    estimates="user",
    job_numbers=None,
):
    """Simulate a log; a list of (start, end, killed), one a job, in the order of the input.

    `requested_time` may hold None or NaN for unknown. Without job numbers the place counts.
    """
    n_jobs = len(submit)
    job_numbers = range(n_jobs) if job_numbers is None else job_numbers
    too_large = [job for job in range(n_jobs) if procs[job] > machine]
    if too_large:
        raise ValueError(f"jobs {too_large} are larger than the machine of {machine}")

    run = list(run)
    estimate = [
        estimate_of(run[job], requested_time[job], estimates=estimates) for job in range(n_jobs)
    ]
    killed = [False] * n_jobs
    for job in range(n_jobs):
        if run[job] > estimate[job]:
            if overrun == "kill":
                run[job], killed[job] = estimate[job], True
            elif overrun == "raise":
                estimate[job] = run[job]

    in_order = sorted(range(n_jobs), key=lambda job: (submit[job], job_numbers[job]))
    start, end = {}, {}  # of the jobs that have started
    over = set()  # the jobs that have ended
    now = -math.inf
    while len(over) < n_jobs:
        due = [submit[job] for job in in_order if submit[job] > now and job not in start]
        due += [end[job] for job in start if job not in over]
        now = min(due)
        while True:  # rounds within this instant
            over |= {job for job in start if end[job] <= now}
            running = [job for job in start if job not in over]
            waiting = [job for job in in_order if submit[job] <= now and job not in start]
            planned_end = {job: max(start[job] + estimate[job], now) for job in running}
            started = allocate(policy, now, waiting, running, planned_end, estimate, procs, machine)
            for job in started:
                start[job], end[job] = now, now + run[job]
            if not any(end[job] <= now for job in started):
                break
    return [(start[job], end[job], killed[job]) for job in range(n_jobs)]


def estimate_of(run, requested_time, *, estimates):
    """Return what the scheduler plans with: the requested time if known, else the run time."""
    unknown = requested_time is None or math.isnan(requested_time)
    return max(run if unknown or estimates == "exact" else requested_time, 1)


def allocate(policy, now, waiting, running, planned_end, estimate, procs, machine):
    """One allocation pass: the jobs it starts, in the order in which it starts them."""
    waiting, running, planned_end = list(waiting), list(running), dict(planned_end)
    started = []

    def free(time):
        """Processors free at `time` if nothing else starts; ends at that second are counted."""
        return machine - sum(procs[job] for job in running if planned_end[job] > time)

    def idle():
        """Processors idle now: an overdue job still holds its own."""
        return machine - sum(procs[job] for job in running)

    def launch(job):
        waiting.remove(job)
        running.append(job)
        planned_end[job] = now + estimate[job]
        started.append(job)

    while waiting and procs[waiting[0]] <= idle():
        launch(waiting[0])
    if policy == "fcfs" or not waiting:
        return started
    if policy != "easy":
        raise ValueError(f"no such policy: {policy}")

    head = waiting[0]
    shadow = min(t for t in [now, *planned_end.values()] if free(t) >= procs[head])
    spare = free(shadow) - procs[head]
    for job in waiting[1:]:
        if procs[job] > idle():
            continue
        if now + estimate[job] <= shadow:
            launch(job)
        elif procs[job] <= spare:
            launch(job)
            spare -= procs[job]
    return started
