"""The state of a schedule at an instant: waiting and running jobs, planned processors; compiled."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.record import Record, Time

# Places in the arrays of a replay, and codes of orders.

#: After all seconds.
LATEST = 2**62

#: The place among the starts of a job that has left the queue without one.
LEFT = -2

#: Orders by a constant place of each job, or computed again in each pass.
BY_PLACE, BY_WFP3, BY_UNICEF, BY_WORTH, BY_LOAD, BY_RECENCY = range(6)

#: Reservations are made again in each pass, or kept and, after early ends, all, some or none moved.
MADE_AGAIN, FULL, START, NONE = range(4)


class _At(Record):
    """What is known at an instant of the schedule."""

    n_waiting: int
    n_running: int
    n_started: int
    n_chosen: int  # by a pass
    free: int  # processors
    n_steps: int  # of the plan
    head: int  # the job with the first reservation
    ended: bool  # whether jobs have ended since the last pass
    room: bool  # whether reservations may move to earlier slots
    void: bool  # whether reservations are void
    unclear: bool  # whether something that the schedule does not contain decides this instant
    n_brief: int  # jobs started by the policy that were cancelled while they waited
    n_brief_ended: int  # those of them that have ended
    shadow: Time  # begin of the first reservation
    timer: Time  # and of the next one


class ReplayPlace(Record):
    """How many events of each kind are processed."""

    arrived: int
    started: int
    ended: int
    stopped: int
    changed: int
    left: int


class ReplayFound(Record):
    """The result, as in `repeating.ReplayResult`."""

    passes: int
    differing: int
    undetermined: int
    waits: int
    starts: int
    reserved: int
    now: Time
    begin: Time
    until: Time


# Planned free processors from now on: a level that holds until the next step; compiled.


@bare
def plan_running(jobs, state, now):
    """Plan with the running jobs, by their estimates.

    A job that has reached or outlived its estimate counts as ending now.
    """
    times, free, n_steps = state.times, state.free, 1
    times[0], free[0] = now, state.at.free
    for place in range(state.at.n_running):
        job = state.running[place]
        end = jobs.planned_end[job]
        if end > times[n_steps - 1]:
            times[n_steps], free[n_steps] = end, free[n_steps - 1]
            n_steps += 1
        else:
            _compare(state, times[n_steps - 1], end)
        free[n_steps - 1] += jobs.procs[job]
    state.at.n_steps = n_steps


@bare
def forget(state, now):
    """Remove past steps."""
    times, free, n_steps = state.times, state.free, state.at.n_steps
    gone = 0
    while gone + 1 < n_steps and times[gone + 1] <= now:
        gone += 1
    if gone > 0:
        for step in range(gone, n_steps):
            times[step - gone], free[step - gone] = times[step], free[step]
        state.at.n_steps = n_steps - gone
    times[0] = now


@bare
def take(state, begin, end, procs):
    """Take processors from `begin`, not before now, until `end`; negative: release them."""
    if begin >= state.never:
        return
    first, last = _step(state, begin), _step(state, end)
    for step in range(first, last):
        state.free[step] -= procs
    _join(state, last)
    _join(state, first)


@bare
def take_at(state, time, procs):
    """Take processors for a job that ends at a time, and needs them at it, too."""
    state.free[_step(state, time)] -= procs


@bare
def _step(state, time):
    """Return the step that begins at a time; add it if necessary."""
    times, free, n_steps = state.times, state.free, state.at.n_steps
    low, high = 0, n_steps
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low > 0:
        _compare(state, times[low - 1], time)
        _compare(state, times[min(low, n_steps - 1)], time)
    if low == n_steps or times[low] != time:
        for step in range(n_steps, low, -1):
            times[step], free[step] = times[step - 1], free[step - 1]
        times[low], free[low] = time, free[low - 1]
        state.at.n_steps += 1
    return low


@bare
def _join(state, step):
    """Merge two steps of equal level."""
    times, free, n_steps = state.times, state.free, state.at.n_steps
    if 0 < step < n_steps and free[step - 1] == free[step]:
        for other in range(step, n_steps - 1):
            times[other], free[other] = times[other + 1], free[other + 1]
        state.at.n_steps -= 1


@bare
def earliest(state, duration, procs, own):
    """Return the begin of the earliest slot, at the latest at `own`, the job's reservation.

    A slot that lasts until then may continue in that reservation.
    """
    times, free, n_steps = state.times, state.free, state.at.n_steps
    begin = times[0]
    for step in range(n_steps):
        if begin >= own:
            break
        following = times[step + 1] if step + 1 < n_steps else state.never
        if free[step] < procs:
            begin = following
        elif following >= own or not is_before(state, following, begin + duration):
            return begin
    return own


@bare
def fits_now(state, end, procs, strict):
    """Whether processors are free from now until `end`; if `strict`, at that second, too."""
    if not strict and end <= state.times[0]:  # for 0 s
        return True
    if state.free[0] < procs:
        return False
    for step in range(1, state.at.n_steps):
        time = state.times[step]
        if is_before(state, end, time) if strict else not is_before(state, time, end):
            break
        if state.free[step] < procs:
            return False
    return True


@bare
def is_before(state, time, other):
    """Whether a time is before another one by more than rounding."""
    _compare(state, time, other)
    return time + state.tie < other


@bare
def _compare(state, time, other):
    """Record that only rounding decides which of two times comes first.

    Whole seconds are not rounded.
    """
    if 0 < state.tie >= abs(time - other):
        state.at.unclear = True


class ReplayJobs(NamedTuple):
    """The jobs of a schedule, in the order of arrival; times in seconds."""

    submit: NDArray
    start: NDArray
    end: NDArray
    planned_end: NDArray
    estimate: NDArray
    procs: NDArray[np.int64]
    user: NDArray[np.int64]  # 0, 1, ... in the order of their numbers
    run: NDArray
    leaves: NDArray  # when cancelled jobs leave the queue, unless they start before; or never


class ReplayState(NamedTuple):
    """The state at an instant of the schedule."""

    waiting: NDArray[np.int64]  # jobs by rank
    running: NDArray[np.int64]  # jobs by planned end
    started: NDArray[np.int64]  # when in the order of the starts; -1 for not yet, or LEFT
    chosen: NDArray[np.int64]  # by a pass, in order
    brief: NDArray[np.int64]  # cancelled jobs that the policy started, in order
    due: NDArray[np.int64]  # terminations of an instant, in the order of the starts
    reserved: NDArray  # reserved starts of waiting jobs
    last_submit: NDArray  # of each user
    load: NDArray[np.float64]  # work of a user's waiting jobs
    rank: NDArray[np.int64]  # of a user among those with waiting jobs, from 1
    times: NDArray  # when each step of the plan begins
    free: NDArray[np.int64]  # processors free in it
    at: _At
    never: int | float  # after all times
    tie: int | float  # times that are no further apart may be one


def new_state(jobs: ReplayJobs, machine: int, tie: Any) -> ReplayState:
    """Return the state before the first event."""
    n_jobs, dtype = jobs.submit.size, jobs.submit.dtype
    never = LATEST if dtype.kind == "i" else np.inf
    waiting, running, started, chosen, brief, due = (np.full(n_jobs, -1) for _ in range(6))
    return ReplayState(
        waiting,
        running,
        started,
        chosen,
        brief,
        due,
        reserved=np.full(n_jobs, never, dtype),
        last_submit=np.full(n_jobs, -never, dtype),
        load=np.zeros(n_jobs),
        rank=np.zeros(n_jobs, np.int64),
        times=np.empty(2 * n_jobs + 2, dtype),
        free=np.empty(2 * n_jobs + 2, np.int64),
        at=_At(dtype, free=machine, void=True, shadow=never, timer=never),  # no plan yet
        never=never,
        tie=tie,
    )


@bare
def _insert(jobs, n_jobs, key, job):
    """Insert a job into others in the order of a key, behind equal ones."""
    place = n_jobs
    while place > 0 and key[jobs[place - 1]] > key[job]:
        jobs[place] = jobs[place - 1]
        place -= 1
    jobs[place] = job


@bare
def _remove(jobs, n_jobs, job):
    """Remove a job from others."""
    place = 0
    while place < n_jobs - 1 and jobs[place] != job:
        place += 1
    for i in range(place, n_jobs - 1):
        jobs[i] = jobs[i + 1]


@bare
def wait(jobs, rule, state, job):
    """Add a job to the waiting ones."""
    _insert(state.waiting, state.at.n_waiting, rule.rank, job)
    state.at.n_waiting += 1
    user = jobs.user[job]
    state.last_submit[user] = max(state.last_submit[user], jobs.submit[job])


@bare
def leave(jobs, rule, state, job):
    """Remove a cancelled job from the waiting ones; its reservation becomes free."""
    at, own = state.at, state.reserved[job]
    _remove(state.waiting, at.n_waiting, job)
    at.n_waiting -= 1
    state.started[job] = LEFT
    if rule.reserving != MADE_AGAIN and not at.void:
        take(state, own, own + jobs.estimate[job], -jobs.procs[job])
        at.ended = at.room = True


@bare
def run(jobs, state, job):
    """Start a waiting job."""
    at = state.at
    _remove(state.waiting, at.n_waiting, job)
    at.n_waiting -= 1
    _insert(state.running, at.n_running, jobs.planned_end, job)
    at.n_running += 1
    at.free -= jobs.procs[job]
    state.started[job] = at.n_started
    at.n_started += 1


@bare
def end(jobs, rule, state, job, now):
    """End a job whose termination is processed."""
    stop(jobs, rule, state, job, now)
    state.at.ended = True


@bare
def stop(jobs, rule, state, job, now):
    """Release the processors of a running job, and its plan beyond now."""
    at, procs = state.at, jobs.procs[job]
    _remove(state.running, at.n_running, job)
    at.n_running -= 1
    at.free += procs
    planned = jobs.planned_end[job]
    if planned < now:
        at.void = True
    elif planned > now:
        at.room = True
        if rule.reserving != MADE_AGAIN and not at.void:
            take(state, now, planned, -procs)
