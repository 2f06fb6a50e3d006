"""Planned free processors over time, and the earliest slot for a job.

A plan is three arrays: when each step begins, the free processors from then until the next step,
and the number of steps. Both engines use the same functions.
"""

from workloadkit._kernels.compile import shared


@shared
def start_plan(time, level, count, now, free):
    """Begin with one step."""
    time[0], level[0], count[0] = now, free, 1


@shared
def step_at(time, level, count, when):
    """Return the step that begins at a time, which is not before the first step; insert it."""
    low, high = 0, count[0] - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if time[middle] <= when:
            low = middle
        else:
            high = middle - 1
    if time[low] < when:
        for place in range(count[0], low + 1, -1):
            time[place], level[place] = time[place - 1], level[place - 1]
        low += 1
        time[low], level[low] = when, level[low - 1]
        count[0] += 1
    return low


@shared
def free_from(time, level, count, when, procs):
    """Add free processors from a time on."""
    for place in range(step_at(time, level, count, when), count[0]):
        level[place] += procs


@shared
def take_slot(time, level, count, begin, duration, procs):
    """Take processors from a time on for a duration."""
    first = step_at(time, level, count, begin)
    for place in range(first, step_at(time, level, count, begin + duration)):
        level[place] -= procs


@shared
def earliest_slot(time, level, count, procs, duration, after):
    """Return the first time from `after` on with free processors for a duration.

    The last step must have so many free processors.
    """
    begin = max(after, time[0])
    for place in range(count[0] - 1):
        end = time[place + 1]
        if end > begin:
            if level[place] < procs:
                begin = end
            elif end >= begin + duration:
                break
    return begin
