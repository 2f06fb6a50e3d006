"""Compiled conservative backfilling.

Running and waiting jobs have their places in one plan, which is updated, not made again. After a
termination a job can move forward only if, since it was last examined, enough has been freed before
its own start. Early ends and moves of other jobs free resources; the time and the amount show which
jobs need no examination. Most moves join a place to the room right before it. Earlier slots are
searched in the plan, and if many jobs wait, in an index of it.

If changes of the machine are ahead, the machine keeps the reservations.

Another policy whose part has the fields of `Promises` may use these functions, and define those of
(state, job, now) that are chosen by part below.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record, Time
from workloadkit.simulation.compiled.parts import by_part, register_functions
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.machine.ledger import (
    ANY_ROOM,
    FREE,
    PLANNED,
    changes_ahead,
    fits,
    has_room,
    need_of,
    release,
    release_all,
    reserve,
    room,
    some_overdue,
    start_job,
)
from workloadkit.simulation.policies.conservative.plan import (
    Plan,
    drop,
    give_back,
    joins,
    new_plan,
    pass_time,
    plan_running,
    settle,
    settle_at,
    shift,
    take_out,
)
from workloadkit.simulation.policies.conservative.slots import (
    N_PERIODS,
    NONE,
    Slots,
    covers,
    find_first,
    is_kept,
    keep_class,
    make_index,
    may_begin,
    new_slots,
    search,
)

# Places in Promises.at: waiting jobs; jobs that have ended since the last pass; whether promises
# cannot be kept; whether the plan contains all running and waiting jobs; whether there may be free
# slots that the plan does not mark as new; the largest room that was freed since the examination of
# the next job, and of later ones.
WAIT, ENDED, VOID, KEPT, ROOM, FREED_ROOM, LEFT_ROOM = range(7)

# Places in Promises.when: the earliest reservation, and the earliest that has not begun; the time
# of what later jobs freed since the examination.
NEXT_START, NEXT_TIMER, LEFT_LOW, LEFT_HIGH = range(4)


# Promises.compression: when a job ends early, all reservations are made again, or only those that
# may begin now, or none.
FULL, START, WITHOUT = range(3)

CROWD = 64  # waiting jobs for which an index is worth its upkeep


class PromisesAt(Record):
    """What is known of the promises."""

    wait: int  # waiting jobs
    ended: int  # jobs that have ended since the last pass
    void: bool  # whether promises cannot be kept
    kept: bool  # whether the plan contains all running and waiting jobs
    room: bool  # whether there may be free slots that the plan does not mark as new
    freed_room: int  # largest room that was freed since the examination of the next job
    left_room: int  # and of later ones
    left_low: Time  # begin of what later jobs freed since the examination
    left_high: Time  # its end
    next_start: Time  # the earliest reservation
    next_timer: Time  # the earliest that has not begun


class Promises(NamedTuple):
    """A part of the state: the waiting jobs and their reservations.

    Parameters
    ----------
    waiting : ndarray of int64, shape (n_jobs,)
        In the order of arrival.
    reserved : ndarray, shape (n_jobs,)
        Start of each waiting job. [s]
    promised : ndarray, shape (n_jobs,)
        The first reservation of each job; before it, a time before all times. [s]
    ended : ndarray of int64, shape (n_jobs,)
        The jobs that have ended since the last pass.
    plan : Plan
    slots : Slots
    compression : int
    at : record
    """

    waiting: NDArray[np.int64]
    reserved: NDArray
    promised: NDArray
    ended: NDArray[np.int64]
    plan: Plan
    slots: Slots
    compression: int
    at: PromisesAt


def new_promises(submit: NDArray, procs: int, compression: int) -> Promises:
    """Return an empty queue for the jobs of a table, on a machine of so many processors."""
    n_jobs, dtype = submit.size, submit.dtype
    return Promises(
        waiting=np.empty(n_jobs, np.int64),
        reserved=np.empty(n_jobs, dtype),
        promised=np.full(n_jobs, -never(dtype)),
        ended=np.empty(n_jobs, np.int64),
        plan=new_plan(n_jobs, dtype),
        slots=new_slots(procs, n_jobs, dtype),
        compression=compression,
        at=PromisesAt(dtype),
    )


@inline
def _nothing(state, what, now):
    pass


#: A job starts.
_starts = by_part("policy", "starts", _nothing)

#: (state, new, now): start jobs, and reserve for those from `new` on if the machine does not.
_finish = by_part("policy", "finish")


@inline
def _placed(state, job):
    """Promise a job its first reservation."""
    policy = state.policy
    if policy.promised[job] == -state.never:
        policy.promised[job] = policy.reserved[job]


@inline
def end_taken(state, job, now):
    """Record the end of a job."""
    policy = state.policy
    policy.ended[policy.at.ended] = job
    policy.at.ended += 1


@inline
def job_returned(state, job, now):
    """Return a stopped job to its old place in the queue."""
    waiting, at = state.policy.waiting, state.policy.at
    place = at.wait
    while place > 0 and waiting[place - 1] > job:
        waiting[place] = waiting[place - 1]
        place -= 1
    waiting[place] = job
    at.wait += 1
    at.void = True


@inline
def reserved_start(state, job, now):
    """Return the start of a waiting job by its reservation."""
    return state.policy.reserved[job]


@inline
def job_left(state, job, now):
    """Remove a cancelled job; others may move into its slot."""
    policy, at = state.policy, state.policy.at
    place = 0
    while policy.waiting[place] != job:
        place += 1
    at.wait -= 1
    for behind in range(place, at.wait):
        policy.waiting[behind] = policy.waiting[behind + 1]
    release(state, job, now)
    if at.kept and policy.plan.starts[job] != NONE:
        take_out(state, job, now)
    at.room = at.room or policy.compression != WITHOUT
    at.left_low, at.left_high, at.left_room = now, state.never, ANY_ROOM
    at.next_start = now  # find the next ones again


@inline
def plans_void(state, what, now):
    """Void all promises."""
    state.policy.at.void = True


@inline
def next_timer(state, what, now):
    """Return the begin of the next reservation, if perhaps nothing else happens then."""
    policy = state.policy
    begin = policy.at.next_timer
    if policy.compression == FULL or policy.at.wait == 0 or begin <= now:
        return state.never
    if some_overdue(state, now):  # it will be made again
        return state.never
    return begin


@inline
def allocate(state, new, now):
    """Move reservations forward, start jobs with a reservation now, reserve for new jobs."""
    policy, at = state.policy, state.policy.at
    if not at.void:
        at.void = _is_late(state, now)
    if at.void:
        release_all(state, 0, now)
    ahead, low = changes_ahead(state, 0, now), state.never
    if ahead:
        _reserve_parts(state, new, now)
    elif at.void or not at.kept:
        _replan(state, now)  # without the jobs that have ended
    else:
        if policy.at.next_start < now:
            _forget_passed(state, now)
        pass_time(state, now)
        low = _give_back(state, now)
    if not ahead and not at.void and (at.room or _may_move(state, now)):
        if policy.compression == FULL:
            _move_forward(state, low, now)
        else:
            _move_to_now(state, now)
    at.ended, at.kept, at.room = 0, not ahead, False
    _finish(state, new, now)
    at.void = False


@bare
def _forget_passed(state, now):
    """Remove the places of jobs of 0 s that could not start then; their steps are used again."""
    policy = state.policy
    for place in range(policy.at.wait):
        job = policy.waiting[place]
        if policy.reserved[job] < now and policy.plan.starts[job] != NONE:
            take_out(state, job, now)


@inline
def _is_late(state, now):
    """Whether a job has outlived its estimate."""
    policy, start, estimate = state.policy, state.start, state.jobs.estimate
    if some_overdue(state, now):
        return True
    for place in range(policy.at.ended):
        job = policy.ended[place]
        if start[job] + estimate[job] < now:
            return True
    return False


@inline
def _reserve_parts(state, new, now):
    """Let the machine reserve, as changes of it are ahead."""
    policy, at = state.policy, state.policy.at
    if at.void or at.room or _may_move(state, now):
        for place in range(at.wait):
            job = policy.waiting[place]
            if at.void or policy.compression == FULL or fits(state, job, now):
                policy.reserved[job] = reserve(state, job, now)
                _placed(state, job)
    for job in range(new, state.at.arrived):
        policy.reserved[job] = reserve(state, job, now)
        _placed(state, job)
        wait(state, job)
    policy.at.next_start = now  # examine all


@inline
def _may_move(state, now):
    """Whether reservations may be moved, as jobs have ended (in some modes, early)."""
    policy, start, estimate = state.policy, state.start, state.jobs.estimate
    if policy.compression != START:
        return policy.compression == FULL and policy.at.ended > 0
    for place in range(policy.at.ended):
        job = policy.ended[place]
        if start[job] + estimate[job] > now:
            return True
    return False


@bare
def _replan(state, now):
    """Make the plan again, with the promises that the machine has kept, or with new ones."""
    policy, at = state.policy, state.policy.at
    release_all(state, 0, now)
    plan_running(state, now)
    at.next_start = at.next_timer = state.never
    for place in range(at.wait):
        job = policy.waiting[place]
        if at.void:
            place_first(state, job, now)
            continue
        begin, policy.plan.starts[job] = policy.reserved[job], NONE
        if begin < state.never and now < begin + state.jobs.estimate[job]:
            settle_at(state, job, max(begin, now), begin + state.jobs.estimate[job], now)
        note(policy, begin, now)
    if at.void:
        at.left_low, at.left_high, at.left_room = state.never, now, 0
    else:
        at.left_low, at.left_high, at.left_room = now, state.never, ANY_ROOM


@inline
def note(policy, begin, now):
    """Record a reservation."""
    at = policy.at
    at.next_start = min(at.next_start, begin)
    if begin > now:
        at.next_timer = min(at.next_timer, begin)


@bare
def place_first(state, job, now):
    """Reserve the earliest slot for a job; return its start."""
    policy, plan = state.policy, state.policy.plan
    begin = find_slot(state, job, NONE, -1)
    if begin == NONE:
        policy.reserved[job], plan.starts[job] = state.never, NONE
    else:
        policy.reserved[job] = plan.times[begin]
        settle(state, job, begin, now)
    policy.slots.searched[job] = policy.slots.at.n_releases
    note(policy, policy.reserved[job], now)
    _placed(state, job)
    return policy.reserved[job]


@inline
def find_slot(state, job, goal, since):
    """Find the earliest slot for a job that ends by a step; return its step, or none."""
    plan, head = state.policy.plan, state.policy.plan.at.head
    if is_kept(state, job):
        return search(state, job, goal, head, since)
    until = state.never if goal == NONE else plan.times[goal]
    need = need_of(state, job, plan.times[head])
    return find_first(state, need, state.jobs.estimate[job], (head, N_PERIODS), until)


@inline
def _give_back(state, now):
    """Release what jobs that ended early no longer need; return now, or never if there is none."""
    policy, plan, low = state.policy, state.policy.plan, state.never
    policy.at.freed_room = 0
    for place in range(policy.at.ended):
        job = policy.ended[place]
        if state.start[job] + state.jobs.estimate[job] > now:
            end = plan.ends[job]
            largest = give_back(state, job, plan.at.head, end, now)
            drop(state, end)
            policy.at.freed_room = max(policy.at.freed_room, largest)
            low = now
    return low


@bare
def _move_forward(state, low, now):
    """Examine jobs that may find an earlier slot, as resources were freed from `low` on."""
    policy, at = state.policy, state.policy.at
    waiting, reserved, procs = policy.waiting, policy.reserved, state.jobs.procs
    if at.left_high > now:
        low = min(low, max(at.left_low, now))
        at.freed_room = max(at.freed_room, at.left_room)
    at.left_low, at.left_high, at.left_room = state.never, now, 0
    _keep_index(state, now)
    for place in range(at.wait):
        job = waiting[place]
        if reserved[job] > low and procs[job] <= at.freed_room:
            _move(state, job, now)


@inline
def _keep_index(state, now):
    """Make an index of the plan, or abandon it, as many jobs wait, or few."""
    policy, slots, plan_at = state.policy, state.policy.slots, state.policy.plan.at
    crowd = CROWD // 2 if slots.at.known else CROWD
    if room(state, FREE, 0) == ANY_ROOM or policy.at.wait < crowd:
        slots.at.known = False
    elif not slots.at.known or not covers(state, plan_at.last, now):
        make_index(state, plan_at.head, plan_at.last, now)
        for place in range(policy.at.wait):
            keep_class(state, policy.waiting[place])


@inline
def _move(state, job, now):
    """Move a job to an earlier slot, if there is one."""
    plan, slots = state.policy.plan, state.policy.slots
    start = begin = plan.starts[job]
    if start != NONE:
        begin = joins(state, job, now)
    if begin != plan.at.head and (not slots.at.known or may_begin(state, job, begin)):
        found = find_slot(state, job, begin, slots.searched[job])
        if found != NONE:
            begin = found
    if begin != start:
        _move_to(state, job, begin, now)


@bare
def _move_to_now(state, now):
    """Move reservations to now for jobs with a slot now."""
    policy, plan = state.policy, state.policy.plan
    for place in range(policy.at.wait):
        job, head = policy.waiting[place], plan.at.head
        if policy.reserved[job] > now and _has_slot_now(state, job, now):
            _move_to(state, job, head, now)


@inline
def _has_slot_now(state, job, now):
    """Whether a job has room from now on, to its end or its own start."""
    plan, need, end = state.policy.plan, need_of(state, job, now), now + state.jobs.estimate[job]
    step = plan.at.head
    while has_room(state, PLANNED + step, need):
        step = plan.after[step]
        if step == NONE or step == plan.starts[job] or plan.times[step] >= end:
            return True
    return False


@inline
def _move_to(state, job, begin, now):
    """Move a job to an earlier slot."""
    policy, at = state.policy, state.policy.at
    policy.reserved[job] = policy.plan.times[begin]
    note(policy, policy.reserved[job], now)
    if policy.plan.starts[job] == NONE:
        settle(state, job, begin, now)
        return
    low, high, largest = shift(state, job, begin, now)
    at.left_low, at.left_high = min(at.left_low, low), max(at.left_high, high)
    at.left_room = max(at.left_room, largest)
    at.freed_room = max(at.freed_room, largest)


@inline
def start_due(state, now):
    """Start waiting jobs with a reservation now."""
    policy, waiting = state.policy, state.policy.waiting
    next_start, next_timer, kept = state.never, state.never, 0
    for place in range(policy.at.wait):
        job = waiting[place]
        begin = policy.reserved[job]
        if begin <= now and fits(state, job, now):
            _start(state, job, now)
        else:
            waiting[kept] = job
            kept += 1
            next_start = min(next_start, begin)
            if begin > now:
                next_timer = min(next_timer, begin)
    policy.at.wait = kept
    policy.at.next_start, policy.at.next_timer = next_start, next_timer


@inline
def _take_in(state, new, now):
    """Reserve for new jobs, and start those that can start at once."""
    for job in range(new, state.at.arrived):
        if place_first(state, job, now) <= now and fits(state, job, now):
            _start(state, job, now)
        else:
            wait(state, job)


@inline
def _start(state, job, now):
    """Start a job; the plan needs the step of its start no longer."""
    _starts(state, job, now)
    start_job(state, job, now)
    if state.policy.at.kept and state.policy.plan.starts[job] != NONE:
        drop(state, state.policy.plan.starts[job])


@inline
def wait(state, job):
    """Add a job to the queue."""
    policy = state.policy
    policy.waiting[policy.at.wait] = job
    policy.at.wait += 1
    if policy.slots.at.known:
        keep_class(state, job)


@inline
def finish(state, new, now):
    """Start jobs with a reservation now, and reserve for new jobs."""
    if state.policy.at.next_start <= now:
        start_due(state, now)
    if state.policy.at.kept:
        _take_in(state, new, now)


register_functions(Promises, sys.modules[__name__])
