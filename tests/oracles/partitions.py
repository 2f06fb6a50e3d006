"""EASY on the partitions of a machine: a program of its own, with a heap and a list.

Each partition has processors, a queue and a shadow time of its own. Jobs are tuples (submit, run,
estimate, procs), in the order of submission; estimates are not shorter than runs.
"""

from heapq import heappop, heappush


def schedule(jobs, partition, sizes):
    """Return the start of each job; `sizes` maps a partition to its processors."""
    start = [None] * len(jobs)
    for name, size in sizes.items():
        mine = [job for job in range(len(jobs)) if partition[job] == name]
        for job, begin in easy([jobs[job] for job in mine], size).items():
            start[mine[job]] = begin
    return start


def easy(jobs, size):
    """Return the start of each job on one partition."""
    start, ends, running, queue, free, coming = {}, [], set(), [], size, 0
    while coming < len(jobs) or ends:
        now = min([time for time, _ in ends[:1]] + [job[0] for job in jobs[coming : coming + 1]])
        while ends and ends[0][0] == now:
            _, job = heappop(ends)
            running.remove(job)
            free += jobs[job][3]
        while coming < len(jobs) and jobs[coming][0] == now:
            queue.append(coming)
            coming += 1
        shadow = spare = None
        for job in list(queue):
            _, run, estimate, procs = jobs[job]
            if procs > free and shadow is None:
                shadow, spare = reservation(jobs, start, running, free, procs)
            elif procs <= free and (shadow is None or now + estimate <= shadow or procs <= spare):
                if shadow is not None and now + estimate > shadow:
                    spare -= procs
                queue.remove(job)
                start[job] = now
                running.add(job)
                heappush(ends, (now + run, job))
                free -= procs
    return start


def reservation(jobs, start, running, free, procs):
    """Return when so many processors are free, by the estimates, and how many more are then."""
    planned = sorted((start[job] + jobs[job][2], jobs[job][3]) for job in running)
    shadow = None
    for end, freed in planned:
        if shadow is not None and end > shadow:
            break
        free += freed
        if shadow is None and free >= procs:
            shadow = end
    return shadow, free - procs
