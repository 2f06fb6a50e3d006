"""The yardsticks: EASY as one would write it at once, with a compiler and without."""

from bisect import insort
from heapq import heappop, heappush

import numba
import numpy as np


@numba.njit
def insert(keys, jobs, count, key, job):
    i = count
    while i > 0 and keys[i - 1] > key:
        keys[i] = keys[i - 1]
        jobs[i] = jobs[i - 1]
        i -= 1
    keys[i] = key
    jobs[i] = job


@numba.njit
def easy(submit, run, estimate, procs, machine):
    """Sorted lists of running jobs; the whole queue is looked through at every event."""
    n = submit.size
    start = np.full(n, -1)
    ends, jobs = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    planned_ends, planned_jobs = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    queue = np.empty(n, np.int64)
    n_running = n_waiting = arrived = 0
    free = machine
    while arrived < n or n_running > 0:
        now = submit[arrived] if arrived < n else ends[0]
        if n_running > 0 and ends[0] < now:
            now = ends[0]
        ended = 0
        while ended < n_running and ends[ended] == now:
            job = jobs[ended]
            free += procs[job]
            ended += 1
            i = 0
            while planned_jobs[i] != job:
                i += 1
            for k in range(i, n_running - ended):
                planned_ends[k] = planned_ends[k + 1]
                planned_jobs[k] = planned_jobs[k + 1]
        n_running -= ended
        for k in range(n_running if ended else 0):
            ends[k] = ends[k + ended]
            jobs[k] = jobs[k + ended]
        while arrived < n and submit[arrived] == now:
            queue[n_waiting] = arrived
            n_waiting += 1
            arrived += 1
        head = 0
        shadow, spare = now, 0
        kept = 0
        for q in range(n_waiting):
            job = queue[q]
            starts = procs[job] <= free
            if starts and kept > 0:
                starts = now + estimate[job] <= shadow or procs[job] <= spare
                if starts and now + estimate[job] > shadow:
                    spare -= procs[job]
            if starts:
                start[job] = now
                free -= procs[job]
                insert(ends, jobs, n_running, now + run[job], job)
                insert(planned_ends, planned_jobs, n_running, now + estimate[job], job)
                n_running += 1
                continue
            if kept == 0:  # the head: its reservation
                head = job
                spare = free
                i = 0
                while spare < procs[head]:
                    spare += procs[planned_jobs[i]]
                    shadow = planned_ends[i]
                    i += 1
                while i < n_running and planned_ends[i] == shadow:
                    spare += procs[planned_jobs[i]]
                    i += 1
                spare -= procs[head]
            queue[kept] = job
            kept += 1
        n_waiting = kept
    return start


def plain(submit, run, estimate, procs, machine):
    """A heap of real ends, and a sorted list of planned ones, in plain Python; all are lists."""
    start, ends, planned, queue = [-1] * len(submit), [], [], []
    arrived, free = 0, machine

    def begin(job):
        start[job] = now
        heappush(ends, (now + run[job], job))
        insort(planned, (now + estimate[job], procs[job]))
        return free - procs[job]

    while arrived < len(submit) or ends:
        now = min([*submit[arrived : arrived + 1], *(end for end, _ in ends[:1])])
        while ends and ends[0][0] == now:
            job = heappop(ends)[1]
            planned.remove((start[job] + estimate[job], procs[job]))
            free += procs[job]
        while arrived < len(submit) and submit[arrived] == now:
            queue.append(arrived)
            arrived += 1
        while queue and procs[queue[0]] <= free:
            free = begin(queue.pop(0))
        if len(queue) < 2 or not free:
            continue
        shadow, spare = None, free - procs[queue[0]]
        for end, count in planned:
            if shadow is not None and end > shadow:
                break
            spare += count
            if shadow is None and spare >= 0:
                shadow = end
        kept = queue[:1]
        for job in queue[1:]:
            in_time = now + estimate[job] <= shadow
            if procs[job] <= free and (in_time or procs[job] <= spare):
                spare -= 0 if in_time else procs[job]
                free = begin(job)
            else:
                kept.append(job)
        queue = kept
    return start
