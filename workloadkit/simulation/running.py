"""The running jobs, in arrays ordered by descending end: the next end comes last.

Two pairs of arrays contain them: (ends, jobs) by their ends, and (planned_ends, planned_procs) by
the planned ends. Only the first `n_running` entries are in use. Inserting or removing a job takes
as many steps as jobs end before it: few for the hundreds that run on real machines, many for
hundreds of thousands. Helpers take the arrays one by one, as the compiler counts references to
arrays inside a tuple at every use.
"""

from workloadkit._kernels.compile import bare, inline


@bare
def insert_end(ends, values, count, end, value):
    """Insert (`end`, `value`) into the first `count` entries, behind equal ends."""
    place = count
    while place > 0 and ends[place - 1] < end:
        ends[place] = ends[place - 1]
        values[place] = values[place - 1]
        place -= 1
    ends[place] = end
    values[place] = value


@bare
def insert_end_in_order(ends, jobs, count, end, job):
    """Insert as `insert_end` does, but before equal ends: the first start is taken first."""
    place = count
    while place > 0 and ends[place - 1] <= end:
        ends[place] = ends[place - 1]
        jobs[place] = jobs[place - 1]
        place -= 1
    ends[place] = end
    jobs[place] = job


@bare
def remove_end(ends, values, count, end, value):
    """Remove one entry (`end`, `value`) from the first `count` entries, which hold it."""
    low, high = 0, count - 1  # looking for the last entry whose end is not below `end`
    while low < high:
        middle = (low + high + 1) >> 1
        if ends[middle] >= end:
            low = middle
        else:
            high = middle - 1
    while values[low] != value:
        low -= 1
    for place in range(low, count - 1):
        ends[place] = ends[place + 1]
        values[place] = values[place + 1]


@inline
def move(values, low, high, by):
    """Move values[low:high] by `by` places."""
    if by > 0:
        for place in range(high - 1, low - 1, -1):
            values[place + by] = values[place]
    else:
        for place in range(low, high):
            values[place + by] = values[place]


@bare
def find_shadow(planned_ends, planned_procs, n_running, now, free, needed):
    """Return when `needed` processors will be free, and how many are spare then.

    A planned end that has passed counts as now, and all ends at that time count.
    """
    place = n_running - 1
    while free < needed:
        free += planned_procs[place]
        place -= 1
    shadow = max(planned_ends[place + 1], now)
    while place >= 0 and planned_ends[place] <= shadow:
        free += planned_procs[place]
        place -= 1
    return shadow, free - needed
