"""Free processors over time, as planned: steps in arrays, in descending order of time.

Step i begins at `times[i]`, with `free[i]` processors, and lasts until `times[i - 1]`; step 0
never ends and has the whole machine. The last one is that of now: what passes, and most of what
changes, is at the end. Neighbours never have the same level, so there are no more steps than
changes of it.
"""

from workloadkit._kernels.compile import helper


@helper
def pass_time(times, count, now):
    """Let the profile begin at `now`; return the number of steps left."""
    while count > 1 and times[count - 2] <= now:
        count -= 1
    times[count - 1] = now
    return count


@helper
def first_step(times, count, end):
    """Find the latest step that begins before `end`."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < end:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def find_hole(times, free, count, procs, duration, until):
    """Find the earliest hole of so many processors for so long.

    A job that already has its place from `until` on needs no other room from then on. Returns the
    time, which is not before `until` if no earlier hole is; the step that begins then; and the
    last step of the hole, or of its part before `until`.
    """
    place = count - 1
    begin = times[place]
    while True:
        if free[place] < procs:
            place -= 1
            while free[place] < procs and times[place] < until:
                place -= 1
            begin = times[place]
            if begin >= until:
                return begin, place, place
        first = place
        limit = min(begin + duration, until)
        while place > 0 and times[place - 1] < limit and free[place - 1] >= procs:
            place -= 1
        if place == 0 or times[place - 1] >= limit:
            return begin, first, place
        place -= 1


@helper
def find_steps(times, free, near, begin, end):
    """Find the steps from `begin` until `end`; step `near` does not begin after `begin`.

    Returns the bounds that `change_steps` asks for, and the most processors free in that time.
    """
    while near > 0 and times[near - 1] <= begin:
        near -= 1
    low = near
    highest = free[near]
    while low > 0 and times[low - 1] < end:
        low -= 1
        highest = max(highest, free[low])
    return low, near + (times[near] >= begin), highest


@helper
def change_free(times, free, count, begin, end, change):
    """Add to the free processors from `begin` until `end`; return the number of steps."""
    low, high, _ = find_steps(times, free, count - 1, begin, end)
    return change_steps(times, free, count, low, high, begin, end, change)


@helper
def change_steps(times, free, count, low, high, begin, end, change):
    """Add to the free processors from `begin` until `end`; return the number of steps.

    Steps from `low` up to `high`, which is not included, begin in that time. A step is made where
    none begins at `begin` or at `end`; one on a level with its neighbour becomes part of it.
    """
    if low > 0 and times[low - 1] == end:
        at_end = -1 if free[low] + change == free[low - 1] else 0
    else:
        at_end = 1
    level = free[low]
    if high > low and times[high - 1] == begin:
        at_begin = -1 if high < count and free[high] == free[high - 1] + change else 0
    else:
        at_begin = 1
        begin_level = free[high] + change
    shift = at_end + at_begin
    last = high - 1 if at_begin < 0 else high
    if shift > 0:
        for step in range(count - 1, high - 1, -1):
            times[step + shift] = times[step]
            free[step + shift] = free[step]
    if at_end > 0:
        for step in range(last - 1, low - 1, -1):
            times[step + 1] = times[step]
            free[step + 1] = free[step] + change
        times[low] = end
        free[low] = level
    elif at_end < 0:
        for step in range(low, last):
            times[step - 1] = times[step]
            free[step - 1] = free[step] + change
    else:
        for step in range(low, last):
            free[step] += change
    if at_begin > 0:
        times[high + at_end] = begin
        free[high + at_end] = begin_level
    if shift < 0:
        for step in range(high, count):
            times[step + shift] = times[step]
            free[step + shift] = free[step]
    return count + shift


@helper
def fits_now(times, free, count, procs, end):
    """Whether so many processors are free from now until `end`."""
    place = count - 1
    while free[place] >= procs:
        if place == 0 or times[place - 1] >= end:
            return True
        place -= 1
    return False
