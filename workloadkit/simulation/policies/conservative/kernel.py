"""Compiled conservative backfilling.

Running and waiting jobs have their places in one profile, which is updated, not made again. After a
termination a job can move forward only if, since it was last examined, enough has been freed before
its own start. Early ends and moves of other jobs free resources; the time and the amount show which
jobs need no examination. The search for an earlier slot ends at the job's own start, from where it
has its place; a move takes the front and releases the tail.

If changes of the machine are ahead, the machine keeps the reservations.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation import profile
from workloadkit.simulation.machine.ledger import (
    PLANNED,
    changes_ahead,
    copy_row,
    fits,
    has_room,
    need_of,
    raise_row,
    release_all,
    reserve,
    start_job,
    vacate,
)
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.profile import (
    N_STEPS,
    StepProfile,
    change_between,
    change_steps,
    find_slot,
    find_steps,
    first_step,
    new_profile,
    pass_time,
    plan_running,
)
from workloadkit.simulation.state import ARRIVED, N_RUNNING

# Places in Promises.at: waiting jobs; jobs that have ended since the last pass; whether promises
# cannot be kept; whether the profile contains all running and waiting jobs; whether there may be
# free slots that the profile does not mark as new.
WAIT, ENDED, VOID, KEPT, ROOM = range(5)

# Places in Promises.when: the earliest reservation, and the earliest that has not begun; the time
# of what later jobs freed since the examination.
NEXT_START, NEXT_TIMER, LEFT_LOW, LEFT_HIGH = range(4)


# Promises.compression: when a job ends early, all reservations are made again, or only those that
# may begin now, or none.
FULL, START, NONE = range(3)


class Promises(NamedTuple):
    """A part of the state: the waiting jobs and their reservations.

    Parameters
    ----------
    waiting : ndarray of int64, shape (n_jobs,)
        In the order of arrival.
    reserved : ndarray, shape (n_jobs,)
        Start of each waiting job. [s]
    ended : ndarray of int64, shape (n_jobs,)
        The jobs that have ended since the last pass.
    profile : StepProfile
    highest : int
        Row of the highest level for jobs that move forward; the next row is for notes.
    compression : int
    when : ndarray, shape (4,)
        [s]
    at : ndarray of int64, shape (5,)
    """

    waiting: NDArray[np.int64]
    reserved: NDArray
    ended: NDArray[np.int64]
    profile: StepProfile
    highest: int
    compression: int
    when: NDArray
    at: NDArray[np.int64]


def n_rows(n_jobs: int) -> int:
    """Return how many rows of the machine are needed."""
    return profile.n_rows(n_jobs) + 2


def new_promises(submit: NDArray, compression: int) -> Promises:
    """Return an empty queue for the jobs of a table."""
    n_jobs, dtype = submit.size, submit.dtype
    return Promises(
        waiting=np.empty(n_jobs, np.int64),
        reserved=np.empty(n_jobs, dtype),
        ended=np.empty(n_jobs, np.int64),
        profile=new_profile(n_jobs, dtype),
        highest=PLANNED + profile.n_rows(n_jobs),
        compression=compression,
        when=np.zeros(4, dtype),
        at=np.zeros(5, np.int64),
    )


@inline
def end_taken(state, job, now):
    """Record the end of a job."""
    policy = state.policy
    policy.ended[policy.at[ENDED]] = job
    policy.at[ENDED] += 1


@inline
def job_returned(state, job, now):
    """Return a stopped job to its old place in the queue."""
    waiting, at = state.policy.waiting, state.policy.at
    place = at[WAIT]
    while place > 0 and waiting[place - 1] > job:
        waiting[place] = waiting[place - 1]
        place -= 1
    waiting[place] = job
    at[WAIT] += 1
    at[VOID] = True


@inline
def plans_void(state, what, now):
    """Void all promises."""
    state.policy.at[VOID] = True


@inline
def next_timer(state, what, now):
    """Return the begin of the next reservation, if perhaps nothing else happens then."""
    policy, count = state.policy, state.at[N_RUNNING]
    begin = policy.when[NEXT_TIMER]
    if policy.compression == FULL or policy.at[WAIT] == 0 or begin <= now:
        return state.never
    if count > 0 and state.planned_ends[count - 1] < now:  # it will be made again
        return state.never
    return begin


@inline
def allocate(state, new, now):
    """Move reservations forward, start jobs with a reservation now, reserve for new jobs."""
    policy, at, when = state.policy, state.policy.at, state.policy.when
    if not at[VOID]:
        at[VOID] = _is_late(state, now)
    if at[VOID]:
        release_all(state, 0, now)
    ahead, released = changes_ahead(state, 0, now), now
    if ahead:
        _reserve_parts(state, new, now)
    elif at[VOID] or not at[KEPT]:
        _replan(state, now)  # without the jobs that have ended
    else:
        pass_time(policy.profile, now)
        released = _give_back(state, now)
    if not ahead and not at[VOID] and (at[ROOM] or _may_move(state, now)):
        if policy.compression == FULL:
            _move_forward(state, released, now)
        else:
            _move_to_now(state, now)
    at[ENDED], at[VOID], at[KEPT], at[ROOM] = 0, False, not ahead, False
    if when[NEXT_START] <= now:
        _start_due(state, now)
    if not ahead:
        _take_in(state, new, now)


@inline
def _is_late(state, now):
    """Whether a job has outlived its estimate."""
    policy, start, estimate = state.policy, state.start, state.jobs.estimate
    count = state.at[N_RUNNING]
    if count > 0 and state.planned_ends[count - 1] < now:
        return True
    for place in range(policy.at[ENDED]):
        job = policy.ended[place]
        if start[job] + estimate[job] < now:
            return True
    return False


@inline
def _reserve_parts(state, new, now):
    """Let the machine reserve, as changes of it are ahead."""
    policy, at = state.policy, state.policy.at
    if at[VOID] or _may_move(state, now):
        for place in range(at[WAIT]):
            job = policy.waiting[place]
            if at[VOID] or policy.compression == FULL or fits(state, job, now):
                policy.reserved[job] = reserve(state, job, now)
    for job in range(new, state.at[ARRIVED]):
        policy.reserved[job] = reserve(state, job, now)
        _wait(policy, job)
    policy.when[NEXT_START] = now  # examine all


@inline
def _may_move(state, now):
    """Whether reservations may be moved, as jobs have ended (in some modes, early)."""
    policy, start, estimate = state.policy, state.start, state.jobs.estimate
    if policy.compression != START:
        return policy.compression == FULL and policy.at[ENDED] > 0
    for place in range(policy.at[ENDED]):
        job = policy.ended[place]
        if start[job] + estimate[job] > now:
            return True
    return False


@bare
def _replan(state, now):
    """Make the profile again, with the promises that the machine has kept, or with new ones."""
    policy, when = state.policy, state.policy.when
    release_all(state, 0, now)
    plan_running(state, policy.profile, now)
    when[NEXT_START] = when[NEXT_TIMER] = state.never
    for place in range(policy.at[WAIT]):
        job = policy.waiting[place]
        begin = policy.reserved[job]
        if policy.at[VOID]:
            _place(state, job, now)
            continue
        if begin < state.never:
            need, end = need_of(state, job, now), begin + state.jobs.estimate[job]
            if now < end:
                change_between(state, policy.profile, need, max(begin, now), end, True)
        _note(policy, begin, now)
    if policy.at[VOID]:
        when[LEFT_LOW], when[LEFT_HIGH] = state.never, now
    else:
        when[LEFT_LOW], when[LEFT_HIGH] = now, state.never


@inline
def _note(policy, begin, now):
    """Record a reservation."""
    when = policy.when
    when[NEXT_START] = min(when[NEXT_START], begin)
    if begin > now:
        when[NEXT_TIMER] = min(when[NEXT_TIMER], begin)


@bare
def _place(state, job, now):
    """Reserve the earliest slot for a job; return its start."""
    policy, estimate = state.policy, state.jobs.estimate[job]
    need = need_of(state, job, now)
    begin, first, last = find_slot(state, policy.profile, need, estimate, state.never)
    if begin < state.never:
        change_steps(state, policy.profile, need, last, first, begin, begin + estimate, True)
    policy.reserved[job] = begin
    _note(policy, begin, now)
    return begin


@bare
def _move_forward(state, released, now):
    """Examine jobs that may find an earlier slot, as resources were freed until `released`."""
    policy, when = state.policy, state.policy.when
    low = _find_freed(state, released, now)
    when[LEFT_LOW], when[LEFT_HIGH] = state.never, now
    if low == state.never:
        return
    place = _next_to_look_at(state, 0, low, now)
    while place < policy.at[WAIT]:
        _move(state, policy.waiting[place], now)
        place = _next_to_look_at(state, place + 1, low, now)


@bare
def _move_to_now(state, now):
    """Move reservations to now for jobs with a slot now."""
    policy, estimates = state.policy, state.jobs.estimate
    for place in range(policy.at[WAIT]):
        job = policy.waiting[place]
        need, estimate, planned = need_of(state, job, now), estimates[job], policy.reserved[job]
        if planned > now and has_room(state, PLANNED + policy.profile.at[N_STEPS] - 1, need):
            begin, first, last = find_slot(state, policy.profile, need, estimate, planned)
            if begin == now:
                _move_from(state, job, need, planned, (begin, first, last))


@inline
def _next_to_look_at(state, place, low, now):
    """Return the next place in the queue of a job that may find an earlier slot."""
    policy, highest = state.policy, state.policy.highest
    waiting, reserved, count = policy.waiting, policy.reserved, policy.at[WAIT]
    knows_highest = raise_row(state, highest, highest)
    while place < count and (
        reserved[waiting[place]] <= low
        or (knows_highest and not has_room(state, highest, need_of(state, waiting[place], now)))
    ):
        place += 1
    return place


@inline
def _give_back(state, now):
    """Release what jobs that ended early no longer need; return until when."""
    policy, released = state.policy, now
    for place in range(policy.at[ENDED]):
        job = policy.ended[place]
        planned_end = state.start[job] + state.jobs.estimate[job]
        if planned_end > now:
            need = need_of(state, job, now)
            change_between(state, policy.profile, need, now, planned_end, False)
            released = max(released, planned_end)
    return released


@inline
def _find_freed(state, released, now):
    """Find the time of the first freed resources, and the highest level there; or never."""
    when, low = state.policy.when, state.never
    if when[LEFT_HIGH] > now:
        low = max(when[LEFT_LOW], now)
        _see_levels(state, low, when[LEFT_HIGH], True)
    if released > now:
        _see_levels(state, now, released, low == state.never)
        low = now
    return low


@inline
def _see_levels(state, low, high, again):
    """Find the highest level from `low`, which is not before now, until `high`."""
    times, highest = state.policy.profile.times, state.policy.highest
    step = first_step(times, state.policy.profile.at[N_STEPS], high)
    if again:
        copy_row(state, highest, PLANNED + step)
    raise_row(state, highest, PLANNED + step)
    while times[step] > low:
        step += 1
        raise_row(state, highest, PLANNED + step)


@inline
def _move(state, job, now):
    """Move a job to an earlier slot, if there is one."""
    policy, estimate, planned = state.policy, state.jobs.estimate[job], state.policy.reserved[job]
    need = need_of(state, job, now)
    begin, first, last = find_slot(state, policy.profile, need, estimate, planned)
    if begin < planned:
        _move_from(state, job, need, planned, (begin, first, last))


@inline
def _move_from(state, job, need, planned, slot):
    """Move a job from its place to an earlier slot."""
    policy, estimate = state.policy, state.jobs.estimate[job]
    begin, first, last = slot
    end = begin + estimate
    front_end = min(end, planned)
    change_steps(state, policy.profile, need, last, first, begin, front_end, True)
    policy.reserved[job] = begin
    _note(policy, begin, state.clock[0])
    if planned < state.never:
        _release_tail(state, need, last, max(end, planned), planned + estimate)


@inline
def _release_tail(state, need, near, begin, end):
    """Release the end of a job's old place; step `near` does not begin after `begin`."""
    policy, when, highest = state.policy, state.policy.when, state.policy.highest
    if begin < end:  # not if rounding made them equal
        near = min(near, policy.profile.at[N_STEPS] - 1)
        last, first = find_steps(policy.profile.times, near, begin, end)
        copy_row(state, highest + 1, PLANNED + last)
        for step in range(last + 1, first + 1):
            raise_row(state, highest + 1, PLANNED + step)
        vacate(state, highest + 1, need)
        raise_row(state, highest, highest + 1)
        change_steps(state, policy.profile, need, last, first, begin, end, False)
        when[LEFT_LOW] = min(when[LEFT_LOW], begin)
        when[LEFT_HIGH] = max(when[LEFT_HIGH], end)


@inline
def _start_due(state, now):
    """Start waiting jobs with a reservation now."""
    policy, waiting = state.policy, state.policy.waiting
    next_start, next_timer, kept = state.never, state.never, 0
    for place in range(policy.at[WAIT]):
        job = waiting[place]
        begin = policy.reserved[job]
        if begin <= now and fits(state, job, now):
            start_job(state, job, now)
        else:
            waiting[kept] = job
            kept += 1
            next_start = min(next_start, begin)
            if begin > now:
                next_timer = min(next_timer, begin)
    policy.at[WAIT] = kept
    policy.when[NEXT_START], policy.when[NEXT_TIMER] = next_start, next_timer


@inline
def _take_in(state, new, now):
    """Reserve for new jobs, and start those that can start at once."""
    for job in range(new, state.at[ARRIVED]):
        if _place(state, job, now) <= now and fits(state, job, now):
            start_job(state, job, now)
        else:
            _wait(state.policy, job)


@inline
def _wait(policy, job):
    policy.waiting[policy.at[WAIT]] = job
    policy.at[WAIT] += 1


register_functions(Promises, sys.modules[__name__])
