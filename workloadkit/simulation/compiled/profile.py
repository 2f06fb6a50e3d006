"""Planned levels of the machine over time: steps in arrays, in the order of time.

Step i begins at `times[i]`, has the level of the machine's row `PLANNED + i`, and lasts until
`times[i + 1]`; the last one never ends. Expired steps stay before the present one. Where many jobs
have places, new ones come late, where few steps must move. Neighbours never have the same level, so
there are no more steps than changes of it.
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

    first: int  # the present step
    n_steps: int  # with expired ones


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
    step, times[0] = 0, now
    copy_row(state, PLANNED, FREE)
    for place in range(state.at.n_running - 1, -1, -1):
        if ends[place] > times[step]:
            step += 1
            times[step] = ends[place]
            copy_row(state, PLANNED + step, PLANNED + step - 1)
        vacate(state, PLANNED + step, need_of(state, jobs[place], now))
    profile.at.first, profile.at.n_steps = 0, step + 1


@inline
def pass_time(profile, now):
    """Let the profile begin at `now`."""
    times, first = profile.times, profile.at.first
    while first + 1 < profile.at.n_steps and times[first + 1] <= now:
        first += 1
    times[first], profile.at.first = now, first


@inline
def step_at(profile, time):
    """Return the step at a time that is not over."""
    times, first, last = profile.times, profile.at.first, profile.at.n_steps - 1
    while first < last:
        middle = (first + last + 1) >> 1
        if times[middle] <= time:
            first = middle
        else:
            last = middle - 1
    return first


@bare
def find_slot(state, profile, need, duration, place):
    """Find the earliest slot for a need, of some duration, from a step on.

    Returns the time, the step that begins then, and the last step of the slot. If there is no slot,
    the time is `state.never`.
    """
    times, count = profile.times, profile.at.n_steps
    while place < count:
        if not has_room(state, PLANNED + place, need):
            place += 1
            continue
        first, limit, place = place, times[place] + duration, place + 1
        while place < count and times[place] < limit and has_room(state, PLANNED + place, need):
            place += 1
        if place == count or times[place] >= limit:
            return times[first], first, place - 1
    return state.never, 0, 0


@bare
def take_between(state, profile, need, begin, end):
    """Take a need from `begin` until `end`."""
    times, count, first = profile.times, profile.at.n_steps, step_at(profile, begin)
    last = first
    while last + 1 < count and times[last + 1] < end:
        last += 1
    take_steps(state, profile, need, first, last, begin, end)


@bare
def take_steps(state, profile, need, first, last, begin, end):
    """Take a need from `begin` until `end`.

    That time contains the steps `first` to `last`, the outer ones at least in part. A step is added
    if none begins at `begin` or at `end`; a step with the level of the one before is merged with
    it. A time of 0 s takes nothing.
    """
    if not begin < end:
        return
    times, count = profile.times, profile.at.n_steps
    for step in range(first, last + 1):
        occupy(state, PLANNED + step, need)
    at_begin = at_end = 1  # number of added steps
    if times[first] >= begin:
        same = first > profile.at.first and same_rows(state, PLANNED + first, PLANNED + first - 1)
        at_begin = -1 if same else 0
    if last + 1 < count and times[last + 1] == end:
        at_end = -1 if same_rows(state, PLANNED + last, PLANNED + last + 1) else 0
    more, behind = at_begin + at_end, last + 2 if at_end < 0 else last + 1
    if at_begin < 0:
        _move_steps(state, times, first + 1, last + 1, at_begin)
    _move_steps(state, times, behind, count, more)
    if at_begin > 0:
        _move_steps(state, times, first, last + 1, at_begin)
        vacate(state, PLANNED + first, need)
        times[first + 1] = begin
    if at_end > 0:
        step = last + 1 + at_begin
        times[step] = end
        copy_row(state, PLANNED + step, PLANNED + step - 1)
        vacate(state, PLANNED + step, need)
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
    times, count, place = profile.times, profile.at.n_steps, profile.at.first
    if end <= times[place]:
        return True
    while has_room(state, PLANNED + place, need):
        place += 1
        if place == count or times[place] >= end:
            return True
    return False
