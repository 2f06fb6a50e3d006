"""Planned levels of the machine over time: steps in arrays, in descending order of time.

Step i begins at `times[i]`, has the level of the machine's row `PLANNED + i`, and lasts until
`times[i - 1]`; step 0 never ends. The last step is the present one, so that expired steps and most
changes are at the end. Neighbours never have the same level, so there are no more steps than
changes of it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.queue import move
from workloadkit.simulation.machine.ledger import (
    FREE,
    PLANNED,
    copy_row,
    has_room,
    move_rows,
    need_of,
    occupy,
    same_rows,
    vacate,
)


class _At(Record):
    """What a profile contains."""

    n_steps: int


class StepProfile(NamedTuple):
    """The begins of steps; their levels are rows of the machine.

    Parameters
    ----------
    times : ndarray, shape (n_rows,)
        [s]
    at : record
    """

    times: NDArray
    at: _At


def n_rows(n_jobs: int) -> int:
    """Return the number of rows for this many jobs that run or have a place."""
    return 2 * n_jobs + 2


def new_profile(n_jobs: int, dtype: np.dtype) -> StepProfile:
    """Return a profile for this many jobs, to be filled in by `plan_running`."""
    return StepProfile(np.zeros(n_rows(n_jobs), dtype), _At(n_steps=1))


@bare
def plan_running(state, profile, now):
    """Make the profile of the running jobs again.

    A job that has reached or outlived its planned end counts as ending now.
    """
    times, ends, jobs = profile.times, state.planned_ends, state.planned_jobs
    step, last = 0, now
    for place in range(state.at.n_running - 1, -1, -1):
        if ends[place] > last:
            last = ends[place]
            step += 1
    profile.at.n_steps = step + 1
    times[step] = now
    copy_row(state, PLANNED + step, FREE)
    for place in range(state.at.n_running - 1, -1, -1):
        if ends[place] > times[step]:
            step -= 1
            times[step] = ends[place]
            copy_row(state, PLANNED + step, PLANNED + step + 1)
        vacate(state, PLANNED + step, need_of(state, jobs[place], now))


@inline
def pass_time(profile, now):
    """Let the profile begin at `now`."""
    times, count = profile.times, profile.at.n_steps
    while count > 1 and times[count - 2] <= now:
        count -= 1
    times[count - 1] = now
    profile.at.n_steps = count


@bare
def find_slot(state, profile, need, duration):
    """Find the earliest slot for a need, of some duration.

    Returns the time, the step that begins then, and the last step of the slot. If there is no slot,
    the time is `state.never`.
    """
    times = profile.times
    place = profile.at.n_steps - 1
    while place >= 0:
        if not has_room(state, PLANNED + place, need):
            place -= 1
            continue
        first, limit = place, times[place] + duration
        while place > 0 and times[place - 1] < limit and has_room(state, PLANNED + place - 1, need):
            place -= 1
        if place == 0 or times[place - 1] >= limit:
            return times[first], first, place
        place -= 1
    return state.never, 0, 0


@inline
def find_steps(times, near, begin, end):
    """Find the last and the first step from `begin` until `end`; `near` begins by `begin`."""
    while near > 0 and times[near - 1] <= begin:
        near -= 1
    last = near
    while last > 0 and times[last - 1] < end:
        last -= 1
    return last, near


@bare
def take_between(state, profile, need, begin, end):
    """Take a need from `begin` until `end`."""
    last, first = find_steps(profile.times, profile.at.n_steps - 1, begin, end)
    take_steps(state, profile, need, last, first, begin, end)


@bare
def take_steps(state, profile, need, last, first, begin, end):
    """Take a need from `begin` until `end`.

    That time contains the steps `last` to `first`, the outer ones at least in part. A step is added
    if none begins at `begin` or at `end`; a step with the level of its neighbour is merged with it.
    A time of 0 s takes nothing.
    """
    if not begin < end:
        return
    times, count = profile.times, profile.at.n_steps
    for step in range(last, first + 1):
        occupy(state, PLANNED + step, need)
    at_end = at_begin = 1  # number of added steps
    if last > 0 and times[last - 1] == end:
        at_end = -1 if same_rows(state, PLANNED + last, PLANNED + last - 1) else 0
    if times[first] >= begin:
        same = first + 1 < count and same_rows(state, PLANNED + first, PLANNED + first + 1)
        at_begin = -1 if same else 0
    more = at_end + at_begin
    if more > 0:
        _move_steps(state, times, first + 1, count, more)
    _move_steps(state, times, last, first if at_begin < 0 else first + 1, at_end)
    if at_end > 0:
        times[last] = end
        vacate(state, PLANNED + last, need)
    if at_begin > 0:
        first += at_end
        times[first + 1] = times[first]
        copy_row(state, PLANNED + first + 1, PLANNED + first)
        vacate(state, PLANNED + first + 1, need)
        times[first] = begin
    if more < 0:
        _move_steps(state, times, first + 1, count, more)
    profile.at.n_steps = count + more


@inline
def _move_steps(state, times, low, high, by):
    """Move the steps from `low` up to `high` (not included) by `by` places."""
    if by != 0:
        move(times, low, high, by)
        move_rows(state, (PLANNED + low, PLANNED + high), by)


@inline
def fits_now(state, profile, need, end):
    """Whether a need is free from now until `end`; always for 0 s."""
    times = profile.times
    place = profile.at.n_steps - 1
    if end <= times[place]:
        return True
    while has_room(state, PLANNED + place, need):
        if place == 0 or times[place - 1] >= end:
            return True
        place -= 1
    return False
