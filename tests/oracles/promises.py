"""Promised starts from the words: what a job is planned to start in the pass of its submission.

Jobs are (submit, run, estimate, procs) in the order of arrival, in whole seconds; runs are at least
1 and at most the estimates.
"""


def slot(jobs, running, reserved, job, now, machine):
    """The first second from which a job has processors, by planned ends and reservations."""
    taken = [(now, start + jobs[i][2], jobs[i][3]) for i, start in running.items()]
    taken += [(begin, begin + jobs[i][2], jobs[i][3]) for i, begin in reserved.items()]
    begin, (_, _, length, procs) = now, jobs[job]
    while any(
        sum(p for first, end, p in taken if first <= second < end) + procs > machine
        for second in range(begin, begin + length)
    ):
        begin += 1
    return begin


def conservative(jobs, machine, compression):
    """Start and promised start of each job under conservative backfilling."""
    start, promised, reserved, running, second = {}, {}, {}, {}, 0
    while len(start) < len(jobs):
        ended = [i for i, begin in running.items() if begin + jobs[i][1] == second]
        early = any(jobs[i][1] < jobs[i][2] for i in ended)
        running = {i: begin for i, begin in running.items() if i not in ended}
        for i in sorted(reserved) if ended and compression != "none" else ():
            kept = reserved.pop(i)
            reserved[i] = slot(jobs, running, reserved, i, second, machine)
            if compression == "start" and not (early and reserved[i] == second):
                reserved[i] = kept
        for i, (submit, *_) in enumerate(jobs):
            if submit == second:
                reserved[i] = promised[i] = slot(jobs, running, reserved, i, second, machine)
        for i in [i for i in sorted(reserved) if reserved[i] == second]:
            running[i] = start[i] = reserved.pop(i)
        second += 1
    return [(start[i], promised[i]) for i in range(len(jobs))]


def with_reservations(jobs, start, machine, depth, key):
    """Promised starts with some reservations, by the starts; None without one.

    After the pass of a second the first `depth` waiting jobs, by their keys, have the earliest
    slots, each next to those of the others before it.
    """
    promised = []
    for i, (now, *_) in enumerate(jobs):
        places = range(len(jobs))
        running = {j: start[j] for j in places if start[j] <= now < start[j] + jobs[j][1]}
        waiting = [j for j in places if jobs[j][0] <= now < start[j]]
        reserved = {}
        for j in sorted(waiting, key=lambda j: (key(jobs[j]), j))[:depth]:
            reserved[j] = slot(jobs, running, reserved, j, now, machine)
        promised.append(now if start[i] == now else reserved.get(i))
    return promised
