"""The plan of conservative backfilling: levels of the machine over time, as linked steps.

A step begins where a job with a place starts or ends, and lasts until the next one. Its level is a
row of the machine. A job knows the steps at which it starts and ends, so that moving it changes a
few steps, wherever they are.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.machine.ledger import (
    FREE,
    PLANNED,
    copy_row,
    has_room,
    need_of,
    occupy,
    room,
    vacate,
)
from workloadkit.simulation.policies.conservative.slots import (
    NONE,
    enter,
    extend,
    leave,
    n_rows,
    see_growth,
)


class _At(Record):
    """Where the plan begins and ends."""

    head: np.uint32  # first step
    last: np.uint32  # last step
    n_used: np.uint32  # rows that have been used
    n_spare: np.uint32  # those of them that are not in use


class Plan(NamedTuple):
    """The steps.

    Parameters
    ----------
    times : ndarray, shape (n_rows,)
        Begin of each step. [s]
    before, after : ndarray of uint32, shape (n_rows,)
        Its neighbours.
    uses : ndarray of uint32, shape (n_rows,)
        Number of jobs that start or end there.
    spare : ndarray of uint32, shape (n_rows,)
        Rows that are not in use.
    starts, ends : ndarray of uint32, shape (n_jobs,)
        The steps at which each job with a place starts and ends.
    at : record
    """

    times: NDArray
    before: NDArray[np.uint32]
    after: NDArray[np.uint32]
    uses: NDArray[np.uint32]
    spare: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    at: _At


def new_plan(n_jobs: int, dtype: np.dtype) -> Plan:
    """Return a plan for this many jobs, to be filled in by `plan_running`."""
    rows = n_rows(n_jobs)
    before, after, uses, spare = (np.empty(rows, np.uint32) for _ in range(4))
    starts, ends = np.full(n_jobs, NONE, np.uint32), np.full(n_jobs, NONE, np.uint32)
    return Plan(np.empty(rows, dtype), before, after, uses, spare, starts, ends, _At())


@inline
def _add(state, step, time):
    """Add a step behind another one, with its level; return it."""
    plan, at = state.policy.plan, state.policy.plan.at
    if at.n_spare > 0:
        at.n_spare -= 1
        added = plan.spare[at.n_spare]
    else:
        added = at.n_used
        at.n_used += 1
    follows = plan.after[step]
    plan.times[added], plan.uses[added] = time, 0
    plan.before[added], plan.after[added] = step, follows
    plan.after[step] = added
    if follows == NONE:
        at.last = added
    else:
        plan.before[follows] = added
    copy_row(state, PLANNED + added, PLANNED + step)
    if state.policy.slots.at.known:
        enter(state, added)
        extend(state, added, state.policy.slots.period[step])
    return added


@inline
def _step_at(state, step, time):
    """Return the step that begins at a time, not before `step`; add it if there is none."""
    plan = state.policy.plan
    follows = plan.after[step]
    while follows != NONE and plan.times[follows] <= time:
        step = follows
        follows = plan.after[step]
    return step if plan.times[step] == time else _add(state, step, time)


@inline
def _use(plan, step):
    plan.uses[step] += 1


@inline
def drop(state, step):
    """End a job's use of a step, which is removed after its last use."""
    plan, at = state.policy.plan, state.policy.plan.at
    plan.uses[step] -= 1
    if plan.uses[step] > 0 or step == at.head:
        return
    earlier, follows = plan.before[step], plan.after[step]
    if state.policy.slots.at.known:
        extend(state, earlier, state.policy.slots.period[step])
        leave(state, step)
    plan.after[earlier] = follows
    if follows == NONE:
        at.last = earlier
    else:
        plan.before[follows] = earlier
    plan.spare[at.n_spare] = step
    at.n_spare += 1


@bare
def plan_running(state, now):
    """Make the plan of the running jobs again.

    A job that has reached or outlived its planned end counts as ending now.
    """
    plan, at, ends, jobs = (
        state.policy.plan,
        state.policy.plan.at,
        state.planned_ends,
        state.planned_jobs,
    )
    state.policy.slots.at.known = False
    at.head = at.last = at.n_spare = 0
    at.n_used = 1
    plan.times[0], plan.before[0], plan.after[0], plan.uses[0] = now, NONE, NONE, 0
    copy_row(state, PLANNED, FREE)
    for place in range(state.at.n_running - 1, -1, -1):
        job = jobs[place]
        if ends[place] > plan.times[at.last]:
            _add(state, at.last, ends[place])
        vacate(state, PLANNED + at.last, need_of(state, job, now))
        plan.ends[job] = at.last
        _use(plan, at.last)


@inline
def pass_time(state, now):
    """Let the plan begin at `now`."""
    plan, at, known = state.policy.plan, state.policy.plan.at, state.policy.slots.at.known
    head = at.head
    if known:
        leave(state, head)
    follows = plan.after[head]
    while follows != NONE and plan.times[follows] <= now:
        plan.spare[at.n_spare] = head
        at.n_spare += 1
        head = follows
        if known:
            leave(state, head)
        follows = plan.after[head]
    plan.times[head], plan.before[head], at.head = now, NONE, head
    if known:
        origin = state.policy.slots.period[head]
        enter(state, head)
        extend(state, head, origin)


@bare
def take(state, job, begin, end, now):
    """Take the need of a job from the begin of a step until a time; return the step then."""
    plan, need = state.policy.plan, need_of(state, job, now)
    until = _step_at(state, begin, end)
    step = begin
    while step != until:
        occupy(state, PLANNED + step, need)
        step = plan.after[step]
    return until


@bare
def give_back(state, job, begin, end, now):
    """Release the need of a job from a step until another one; return the largest room there."""
    plan, need, largest = state.policy.plan, need_of(state, job, now), 0
    step = begin
    while step != end:
        vacate(state, PLANNED + step, need)
        largest = max(largest, room(state, PLANNED + step, 0))
        step = plan.after[step]
    if state.policy.slots.at.known:
        while begin != end:
            see_growth(state, begin, state.jobs.procs[job], plan.at.head)
            begin = plan.after[begin]
    return largest


@bare
def settle(state, job, begin, now):
    """Give a job without a place its place, from a step on."""
    plan = state.policy.plan
    end = plan.times[begin] + state.jobs.estimate[job]
    plan.starts[job], plan.ends[job] = begin, take(state, job, begin, end, now)
    _use(plan, begin)
    _use(plan, plan.ends[job])


@bare
def settle_at(state, job, begin, end, now):
    """Give a job a place in a time from now on."""
    plan, step = state.policy.plan, state.policy.plan.at.last
    while plan.times[step] > begin:
        step = plan.before[step]
    step = _step_at(state, step, begin)
    plan.starts[job], plan.ends[job] = step, take(state, job, step, end, now)
    _use(plan, step)
    _use(plan, plan.ends[job])


@bare
def take_out(state, job, now):
    """Remove a waiting job from its place."""
    plan = state.policy.plan
    start, end = plan.starts[job], plan.ends[job]
    give_back(state, job, start, end, now)
    plan.starts[job] = NONE
    drop(state, start)
    drop(state, end)


@bare
def shift(state, job, begin, now):
    """Move a job from its place to an earlier step.

    Returns the step from which its old place is free, its old end, and the largest room there.
    """
    plan = state.policy.plan
    start, last = plan.starts[job], plan.ends[job]
    end = plan.times[begin] + state.jobs.estimate[job]
    if end <= plan.times[start]:
        settle(state, job, begin, now)
        tail = start
    else:
        take(state, job, begin, plan.times[start], now)
        tail = last
        while plan.times[plan.before[tail]] >= end:
            tail = plan.before[tail]
        if plan.times[tail] > end:
            tail = _add(state, plan.before[tail], end)
        plan.starts[job], plan.ends[job] = begin, tail
        _use(plan, begin)
        _use(plan, tail)
    low, high = plan.times[tail], plan.times[last]
    largest = give_back(state, job, tail, last, now)
    drop(state, start)
    drop(state, last)
    return low, high, largest


@inline
def joins(state, job, now):
    """Return the earliest step from which a job has room until its place begins."""
    plan, need, step = state.policy.plan, need_of(state, job, now), state.policy.plan.starts[job]
    while step != plan.at.head and has_room(state, PLANNED + plan.before[step], need):
        step = plan.before[step]
    return step
