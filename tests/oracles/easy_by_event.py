"""EASY with a pass after each event, for whole logs; from the words of the rule alone.

Submissions come first, then terminations in the order of the starts; a job that ends in this second
at its planned end counts as ended in every pass of the second, unless this is switched off.
"""

from bisect import bisect_left, insort
from heapq import heappop, heappush


def simulate(jobs, procs, planned_ends_count=True):
    """Start of each of the jobs, (submit, run, procs, estimate), in the order of submission."""
    count = len(jobs)
    run_of = [job[1] for job in jobs]
    size_of = [job[2] for job in jobs]
    estimate_of = [max(job[3], job[1]) for job in jobs]  # overrun "raise"
    start = [None] * count
    place_in_starts = [0] * count  # the order of terminations of one second
    started = 0
    free = procs
    plan = []  # those that hold processors: (planned end, place in starts, job), sorted
    terminations = []  # heap: (end, place in starts, job); of those freed before, too
    queue = []  # in order of arrival

    def release(job):
        nonlocal free
        entry = (start[job] + estimate_of[job], place_in_starts[job], job)
        at = bisect_left(plan, entry)
        assert plan[at] == entry
        del plan[at]
        free += size_of[job]

    def launch(job, now):
        nonlocal free, started
        start[job] = now
        place_in_starts[job] = started
        insort(plan, (now + estimate_of[job], started, job))
        heappush(terminations, (now + run_of[job], started, job))
        started += 1
        free -= size_of[job]

    def release_on_time(now):
        """Free all whose planned end and actual end are now."""
        for _, _, job in plan[: bisect_left(plan, (now + 1,))]:
            assert start[job] + run_of[job] == now
            release(job)

    def schedule(now):
        """One pass."""
        nonlocal queue
        head = 0
        while head < len(queue) and size_of[queue[head]] <= free:
            launch(queue[head], now)
            head += 1
        if head:
            del queue[:head]
        if not queue or free == 0:
            return
        # the first that does not fit: its shadow time, with all planned ends of that second
        first = queue[0]
        available = free
        shadow = None
        for end, _, job in plan:
            if shadow is not None and end > shadow:
                break
            available += size_of[job]
            if shadow is None and available >= size_of[first]:
                shadow = end
        spare = available - size_of[first]
        # those started here need not be in the reckoning above: they end by the shadow, or live
        # on what is to spare
        chosen = []
        for at in range(1, len(queue)):
            job = queue[at]
            size = size_of[job]
            if size > free:
                continue
            if now + estimate_of[job] > shadow:
                if size > spare:
                    continue
                spare -= size
            launch(job, now)
            chosen.append(at)
            if free == 0:
                break
        for at in reversed(chosen):
            del queue[at]

    upcoming = 0
    while upcoming < count or terminations:
        if upcoming < count and (not terminations or jobs[upcoming][0] <= terminations[0][0]):
            now = jobs[upcoming][0]
        else:
            now = terminations[0][0]
        if planned_ends_count:
            release_on_time(now)
        while upcoming < count and jobs[upcoming][0] == now:
            queue.append(upcoming)
            upcoming += 1
            schedule(now)
        # those that a pass of this second starts with run time 0 come last
        while terminations and terminations[0][0] == now:
            _, _, job = heappop(terminations)
            if start[job] + estimate_of[job] != now or not planned_ends_count:
                release(job)
            schedule(now)
    assert free == procs and not queue and not plan
    return start
