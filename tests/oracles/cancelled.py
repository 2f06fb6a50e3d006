"""FCFS and EASY among jobs that are cancelled while they wait, by the words of events.md.

A cancelled job waits like the others and leaves the queue once its recorded wait is over, before
the pass of that second. If it starts before, it runs for the shortest time.
"""

from dataclasses import dataclass


@dataclass(eq=False)
class Waiting:
    """A job; `leaves` is None unless it is cancelled. Times in seconds."""

    submit: float
    run: float
    procs: int
    estimate: float
    leaves: float | None = None
    start: float | None = None
    left: bool = False


def simulate(jobs, machine, *, backfills):
    """Serve jobs, which are in the order of arrival: sets the start of each, or that it left."""
    waiting, running, coming = [], [], list(jobs)
    while coming or waiting or running:
        times = [job.submit for job in coming[:1]] + [job.start + job.run for job in running]
        now = min(times + [job.leaves for job in waiting if job.leaves is not None])
        running = [job for job in running if job.start + job.run > now]
        while coming and coming[0].submit == now:
            waiting.append(coming.pop(0))
        for job in waiting:
            job.left = job.leaves is not None and job.leaves <= now
        waiting = [job for job in waiting if not job.left]
        for job in _chosen(waiting, running, machine, now, backfills=backfills):
            job.start = now
            waiting.remove(job)
            running.append(job)


def _chosen(waiting, running, machine, now, *, backfills):
    """Return the jobs that start now."""
    free = machine - sum(job.procs for job in running)
    chosen, queue = [], list(waiting)
    while queue and queue[0].procs <= free:
        chosen.append(queue.pop(0))
        free -= chosen[-1].procs
    if not (queue and backfills):
        return chosen
    head, *others = queue
    planned = [(job.start + job.estimate, job.procs) for job in running]
    planned += [(now + job.estimate, job.procs) for job in chosen]

    def freed(time):
        return free + sum(procs for end, procs in planned if end <= time)

    shadow = min(end for end, _ in planned if freed(end) >= head.procs)
    spare = freed(shadow) - head.procs
    for job in others:
        late = now + job.estimate > shadow
        if job.procs <= free and (not late or job.procs <= spare):
            chosen.append(job)
            free -= job.procs
            spare -= job.procs * late
    return chosen
