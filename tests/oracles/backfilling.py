"""Passes that start waiting jobs in one order and backfill in another."""

from itertools import combinations


def easy(site, queue, backfill, spare="extra", strict="no"):
    """Start jobs of `queue` until one does not fit; that one is not delayed by any of `backfill`.

    Both hold the waiting jobs, in orders of their own. By another rule those of `backfill` may use
    no `spare` processors; by a `strict` one those that end at the shadow time need them, too, as
    many as all of them have in this pass.
    """
    queue = list(queue)
    while queue and site.procs[queue[0]] <= site.idle():
        site.launch(queue.pop(0))
    if not queue:
        return
    head = queue[0]
    instants = [site.now, *(site.planned_end(job) for job in site.running)]
    shadow = min(time for time in instants if site.free(time) >= site.procs[head])
    used = 0
    for job in backfill:
        if job in queue[1:] and site.procs[job] <= site.idle():
            end, left = site.now + site.estimate[job], site.free(shadow) - site.procs[head] - used
            in_time = end < shadow if strict == "yes" else end <= shadow
            if in_time or (spare == "extra" and site.procs[job] <= left):
                site.launch(job)
                used += site.procs[job] if end == shadow and not in_time else 0


def reservations(site, queue, backfill, depth):
    """Start or reserve jobs of `queue` until `depth` are reserved; then backfill around these."""
    reserved = {}
    for job in queue:
        if len(reserved) < depth:
            hole = earliest_hole(site, job, reserved)
            if hole == site.now and site.procs[job] <= site.idle():
                site.launch(job)
            else:
                reserved[job] = hole
    for job in backfill:
        fits = job in site.waiting and job not in reserved and site.procs[job] <= site.idle()
        if fits and delays_none(site, job, reserved):
            site.launch(job)


def delays_none(site, job, reserved):
    """Whether a job may start now; one of 0 s ends before any reservation begins."""
    return site.estimate[job] == 0 or earliest_hole(site, job, reserved) == site.now


def earliest_hole(site, job, reserved):
    """Return the earliest time at which a job finds its processors, for its whole estimate.

    `reserved` holds the times at which other waiting jobs are to start.
    """
    taken = [(site.now, site.planned_end(other), site.procs[other]) for other in site.running]
    for other, start in reserved.items():
        taken.append((start, start + site.estimate[other], site.procs[other]))

    def free(time):
        return site.machine - sum(procs for start, end, procs in taken if start <= time < end)

    def suits(time):
        until = time + site.estimate[job]
        fewer_from_then_on = [start for start, _, _ in taken if time < start < until]
        return all(free(moment) >= site.procs[job] for moment in [time, *fewer_from_then_on])

    instants = [site.now, *(end for _, end, _ in taken if end > site.now)]
    return min(time for time in instants if suits(time))


def lookahead(site, depth):
    """Start the jobs behind the head that use the most processors without delaying it.

    Of the first `depth` that could overtake it alone; of equal sets, the one with the first job in
    which they differ.
    """
    queue = list(site.waiting)
    while queue and site.procs[queue[0]] <= site.idle():
        site.launch(queue.pop(0))
    if not queue:
        return
    head = queue[0]
    instants = [site.now, *(site.planned_end(job) for job in site.running)]
    shadow = min(time for time in instants if site.free(time) >= site.procs[head])
    spare = site.free(shadow) - site.procs[head]

    def size(jobs):
        return sum(site.procs[job] for job in jobs)

    def allowed(jobs):
        late = [job for job in jobs if site.now + site.estimate[job] > shadow]
        return size(jobs) <= site.idle() and size(late) <= spare

    few = [job for job in queue[1:] if allowed([job])][:depth]
    sets = (chosen for n in range(len(few) + 1) for chosen in combinations(few, n))
    best = max(filter(allowed, sets), key=lambda jobs: (size(jobs), [job in jobs for job in few]))
    for job in best:
        site.launch(job)


def selective(site, threshold):
    """Reserve for the jobs that have reached the threshold, then backfill around them."""

    def reaches(job):
        return site.submit[job] + (threshold - 1) * site.estimate[job]

    due = sorted((job for job in site.waiting if reaches(job) <= site.now), key=reaches)
    others, reserved = [job for job in site.waiting if job not in due], {}
    for job in due:
        hole = earliest_hole(site, job, reserved)
        if hole == site.now and site.procs[job] <= site.idle():
            site.launch(job)
        else:
            reserved[job] = hole
    for job in others:
        if site.procs[job] <= site.idle() and delays_none(site, job, reserved):
            site.launch(job)
