"""Planned free processors over time, and the earliest slot for a job.

A plan is three arrays: when each step begins, the free processors from then until the next step,
and the number of steps. Both engines use the same functions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class Line(NamedTuple):
    """Jobs of a site in the order of arrival.

    Parameters
    ----------
    key : ndarray of float64, shape (n,)
        The smallest comes first; of equal ones the first to arrive.
    arrival, estimate : ndarray, shape (n,)
        [s]
    procs : ndarray of int64, shape (n,)
    placed : ndarray of bool, shape (n,)
        For marks.
    """

    key: NDArray[np.float64]
    arrival: NDArray
    procs: NDArray[np.int64]
    estimate: NDArray
    placed: NDArray[np.bool_]


@shared
def start_by_key(time, level, count, line, n_jobs, which, overtakes):
    """Return the start of one of the first `n_jobs` of a line.

    Either no job starts while one with a smaller key waits; or each, in the order of the keys,
    takes the earliest slot that the others leave.
    """
    arrival, procs, estimate, placed = line.arrival, line.procs, line.estimate, line.placed
    now = time[0]
    for job in range(n_jobs):
        placed[job] = False
    while True:
        head = _first_by_key(line, n_jobs, now, overtakes)
        begin = now
        if head >= 0:
            after = max(now, arrival[head])
            begin = earliest_slot(time, level, count, procs[head], estimate[head], after)
        ahead = -1 if overtakes else _next_ahead(line, n_jobs, head, now, begin)
        if ahead >= 0:
            now = arrival[ahead]
        elif head == which:
            return begin
        else:
            placed[head] = True
            take_slot(time, level, count, begin, estimate[head], procs[head])
            now = now if overtakes else begin


@shared
def _first_by_key(line, n_jobs, now, whenever):
    """Return the job with the smallest key among those that have arrived, or among all; or -1."""
    key, arrival, placed = line.key, line.arrival, line.placed
    first = -1
    for job in range(n_jobs):
        is_there = not placed[job] and (whenever or arrival[job] <= now)
        if is_there and (first < 0 or key[job] < key[first]):
            first = job
    return first


@shared
def _next_ahead(line, n_jobs, head, now, begin):
    """Return the first job that arrives later, but ahead of the head or without one; or -1."""
    key, arrival, placed = line.key, line.arrival, line.placed
    ahead = -1
    for job in range(n_jobs):
        is_first = not placed[job] and arrival[job] > now
        is_first = is_first and (ahead < 0 or arrival[job] < arrival[ahead])
        if is_first and (head < 0 or (arrival[job] <= begin and key[job] < key[head])):
            ahead = job
    return ahead
