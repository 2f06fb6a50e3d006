"""An index of the slots in a plan of many jobs: where one of some length may be.

For classes of rooms and periods of time, the index contains an upper limit of the lengths of the
slots that include a step of the period and offer at least the smallest room of the class. A limit
grows when the room of a step grows. A search that finds a limit too high computes it again.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.record import Record
from workloadkit.simulation.machine.ledger import PLANNED, has_room, need_of, room

NONE = np.uint32(0xFFFFFFFF)  # no step

N_PERIODS = 64


class _At(Record):
    """What the index remembers."""

    known: bool  # whether the index is in use
    n_releases: int  # so far
    origin: float  # begin of the first period [s]
    end: float  # end of the last one [s]
    rate: float  # periods per second


class Slots(NamedTuple):
    """The index.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_classes,)
        Smallest room of each class; class 0 is no room.
    class_of : ndarray of uint8, shape (procs + 1,)
        Class of each room.
    is_kept : ndarray of bool, shape (n_classes,)
        Whether the index contains the class: those of waiting jobs.
    longest : ndarray, shape (n_classes, N_PERIODS)
        Upper limit of the lengths of slots in each period. [s]
    by_then : ndarray, shape (n_classes, N_PERIODS)
        The same of all periods up to it. [s]
    first : ndarray of uint32, shape (N_PERIODS,)
        The first step of each period.
    period : ndarray of uint32, shape (n_rows,)
        The period in which each step begins.
    changed : ndarray of int64, shape (N_PERIODS,)
        Number of the last release in each period.
    searched : ndarray of int64, shape (n_jobs,)
        Number of the last release before the last search for each job.
    rounding : scalar
        Largest relative error of a sum of times.
    at : record
    """

    sizes: NDArray[np.int64]
    class_of: NDArray[np.uint8]
    is_kept: NDArray[np.bool_]
    longest: NDArray
    by_then: NDArray
    first: NDArray[np.uint32]
    period: NDArray[np.uint32]
    changed: NDArray[np.int64]
    searched: NDArray[np.int64]
    rounding: Any
    at: _At


def n_rows(n_jobs: int) -> int:
    """Return the number of steps, and of rows of the machine, for this many jobs."""
    return 2 * n_jobs + 2


def new_slots(procs: int, n_jobs: int, dtype: np.dtype) -> Slots:
    """Return an index that is not in use yet."""
    sizes = [0, 1]
    while sizes[-1] < procs:  # four classes to each power of two
        sizes.append(sizes[-1] + max((1 << sizes[-1].bit_length()) // 8, 1))
    rooms = np.arange(procs + 1)
    return Slots(
        sizes=np.array(sizes),
        class_of=(np.searchsorted(sizes, rooms, side="right") - 1).astype(np.uint8),
        is_kept=np.zeros(len(sizes), np.bool_),
        longest=np.zeros((len(sizes), N_PERIODS), dtype),
        by_then=np.zeros((len(sizes), N_PERIODS), dtype),
        first=np.empty(N_PERIODS, np.uint32),
        period=np.zeros(n_rows(n_jobs), np.uint32),
        changed=np.zeros(N_PERIODS, np.int64),
        searched=np.zeros(n_jobs, np.int64),
        rounding=dtype.type(0 if dtype.kind == "i" else 2.0**-50),
        at=_At(),
    )


@bare
def make_index(state, head, last, now):
    """Make the index of a plan, without classes."""
    slots, plan = state.policy.slots, state.policy.plan
    span = 2.0 * (plan.times[last] - now) + N_PERIODS
    slots.at.origin, slots.at.end, slots.at.rate = now, now + span, N_PERIODS / span
    slots.at.known = True
    slots.at.n_releases += 1
    slots.is_kept[:] = False
    slots.first[:] = NONE
    slots.changed[:] = slots.at.n_releases
    step = head
    while step != NONE:
        enter(state, step)
        step = plan.after[step]


@inline
def keep_class(state, job):
    """Add the class of a waiting job to the index; limits are computed when they are needed."""
    slots = state.policy.slots
    kind = slots.class_of[state.jobs.procs[job]]
    if not slots.is_kept[kind]:
        slots.is_kept[kind] = True
        for period in range(N_PERIODS):
            slots.longest[kind, period] = slots.by_then[kind, period] = state.never


@inline
def covers(state, last, now):
    """Whether the periods are still those of the plan."""
    origin, end = state.policy.slots.at.origin, state.policy.slots.at.end
    return 2 * (now - origin) <= end - origin and state.policy.plan.times[last] <= end


@inline
def enter(state, step):
    """Add a step to its period."""
    slots, times = state.policy.slots, state.policy.plan.times
    behind = int((times[step] - slots.at.origin) * slots.at.rate)
    period = min(behind, N_PERIODS - 1)
    slots.period[step] = period
    first = slots.first[period]
    if first == NONE or times[step] < times[first]:
        slots.first[period] = step


@inline
def leave(state, step):
    """Remove a step from its period."""
    slots, after = state.policy.slots, state.policy.plan.after[step]
    period = slots.period[step]
    if slots.first[period] == step:
        follows = after != NONE and slots.period[after] == period
        slots.first[period] = after if follows else NONE


@inline
def _class_at(state, step):
    return state.policy.slots.class_of[max(room(state, PLANNED + step, 0), 0)]


@inline
def _raise_limit(slots, kind, period, length):
    """Let a limit be at least a length."""
    if slots.longest[kind, period] < length:
        slots.longest[kind, period] = length
        while period < N_PERIODS and slots.by_then[kind, period] < length:
            slots.by_then[kind, period] = length
            period += 1


@inline
def extend(state, step, origin):
    """Record the slots of a step that was, or was a part of, a step of the period `origin`."""
    slots, period = state.policy.slots, state.policy.slots.period[step]
    if period != origin:
        slots.changed[period] = max(slots.changed[period], slots.changed[origin])
        for kind in range(_class_at(state, step), 0, -1):
            _raise_limit(slots, kind, period, slots.longest[kind, origin])


@bare
def see_growth(state, step, more, head):
    """Record the slots that begin or grow as the room of a step has grown by `more`."""
    slots, after, before = state.policy.slots, state.policy.plan.after, state.policy.plan.before
    period, begin, follows = slots.period[step], step, after[step]
    slots.at.n_releases += 1
    slots.changed[period] = slots.at.n_releases
    lowest = slots.class_of[max(room(state, PLANNED + step, 0) - more + 1, 0)]
    for kind in range(_class_at(state, step), max(lowest, 1) - 1, -1):
        if slots.is_kept[kind]:
            size = slots.sizes[kind]
            while begin != head and room(state, PLANNED + before[begin], 0) >= size:
                begin = before[begin]
            while follows != NONE and room(state, PLANNED + follows, 0) >= size:
                follows = after[follows]
            _raise_limit(slots, kind, period, _length(state, begin, follows))


@inline
def _length(state, begin, end):
    """Return the time from a step to another one, perhaps none, rounded up."""
    times = state.policy.plan.times
    if end == NONE:
        return state.never
    return times[end] - times[begin] + times[end] * state.policy.slots.rounding


@bare
def find_first(state, need, duration, steps, until):
    """Find the first slot from a step to a period that ends by `until`: its step, or none."""
    (step, period), times, after = steps, state.policy.plan.times, state.policy.plan.after
    while (
        step != NONE
        and state.policy.slots.period[step] <= period
        and times[step] + duration <= until
    ):
        if not has_room(state, PLANNED + step, need):
            step = after[step]
            continue
        limit, follows = times[step] + duration, after[step]
        while (
            follows != NONE and times[follows] < limit and has_room(state, PLANNED + follows, need)
        ):
            follows = after[follows]
        if follows == NONE or times[follows] >= limit:
            return step
        step = follows
    return NONE


@inline
def is_kept(state, job):
    """Whether the index contains the slots for a job."""
    slots = state.policy.slots
    return slots.at.known and slots.is_kept[slots.class_of[state.jobs.procs[job]]]


@inline
def may_begin(state, job, goal):
    """Whether there may be a slot for a job before step `goal`, perhaps none."""
    slots = state.policy.slots
    period = N_PERIODS - 1 if goal == NONE else int(slots.period[goal])
    kind = slots.class_of[state.jobs.procs[job]]
    return slots.by_then[kind, period] >= state.jobs.estimate[job]


@bare
def search(state, job, goal, head, since):
    """Find the first slot for a job that ends by step `goal`, perhaps none; return its step.

    Slots that were there before the release number `since` need no examination.
    """
    slots, times = state.policy.slots, state.policy.plan.times
    need, duration = need_of(state, job, times[head]), state.jobs.estimate[job]
    kind = slots.class_of[state.jobs.procs[job]]
    until, final = state.never, N_PERIODS - 1
    if goal != NONE:
        until, final = times[goal], int(slots.period[goal])
    begin, high = int(slots.period[head]), final
    while begin < high:  # the first period by whose end there may be a slot
        middle = (begin + high) >> 1
        if slots.by_then[kind, middle] >= duration:
            high = middle
        else:
            begin = middle + 1
    longest = slots.by_then[kind, begin - 1] if begin > slots.period[head] else 0
    for period in range(begin, final + 1):
        if slots.longest[kind, period] >= duration and slots.changed[period] > since:
            step = _first_begin(state, period, slots.sizes[kind], head)
            found = find_first(state, need, duration, (step, period), until)
            if found != NONE:
                return found
            if period == final and goal != NONE:
                break
            _measure(state, kind, period, duration, step)
        longest = max(longest, slots.longest[kind, period])
        slots.by_then[kind, period] = longest
    slots.searched[job] = slots.at.n_releases
    return NONE


@inline
def _first_begin(state, period, size, head):
    """Return the step at which the first slot with so much room in a period may begin, or none."""
    step, before = state.policy.slots.first[period], state.policy.plan.before
    if step != NONE and room(state, PLANNED + step, 0) >= size:
        while step != head and room(state, PLANNED + before[step], 0) >= size:
            step = before[step]
    return step


@bare
def _measure(state, kind, period, duration, step):
    """Compute the limit of a period again, from a step on, unless it is at least `duration`."""
    slots, plan, longest = state.policy.slots, state.policy.plan, 0
    size = slots.sizes[kind]
    while step != NONE and slots.period[step] <= period:
        follows = plan.after[step]
        if room(state, PLANNED + step, 0) >= size:
            limit = plan.times[step] + duration
            while (
                follows != NONE
                and plan.times[follows] < limit
                and room(state, PLANNED + follows, 0) >= size
            ):
                follows = plan.after[follows]
            length = _length(state, step, follows)
            if length >= duration:
                return
            longest = max(longest, length)
        step = follows
    slots.longest[kind, period] = longest
