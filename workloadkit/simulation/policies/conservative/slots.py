"""An index of the slots in a plan of many jobs: where one of some length may begin.

For classes of rooms and periods of time, the index contains an upper limit of the lengths of the
slots that begin in the period and offer at least the smallest room of the class. A limit grows when
a slot begins or grows. A search that finds a limit too high computes it again.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit.simulation.machine.ledger import PLANNED, has_room, need_of, room

NONE = -1  # no step

N_PERIODS = 64

# Places in Slots.at: whether the index is in use; number of releases so far.
KNOWN, N_RELEASES = range(2)

# Places in Slots.when: begin of the first period, and length of each.
ORIGIN, LENGTH = range(2)


class Slots(NamedTuple):
    """The index.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n_classes,)
        Smallest room of each class; class 0 is no room.
    class_of : ndarray of uint8, shape (procs + 1,)
        Class of each room.
    longest : ndarray, shape (n_classes, N_PERIODS)
        Upper limit of the lengths of slots that begin in each period. [s]
    by_then : ndarray, shape (n_classes, N_PERIODS)
        The same of all periods up to it. [s]
    first : ndarray of int32, shape (N_PERIODS,)
        The first step of each period.
    period : ndarray of int32, shape (n_rows,)
        Period of each step.
    changed : ndarray of int64, shape (N_PERIODS,)
        Number of the last release before a slot began or grew in each period.
    searched : ndarray of int64, shape (n_jobs,)
        Number of the last release before the last search for each job.
    when : ndarray, shape (2,)
        [s]
    rounding : scalar
        Largest relative error of a sum of times.
    at : ndarray of int64, shape (2,)
    """

    sizes: NDArray[np.int64]
    class_of: NDArray[np.uint8]
    longest: NDArray
    by_then: NDArray
    first: NDArray[np.int32]
    period: NDArray[np.int32]
    changed: NDArray[np.int64]
    searched: NDArray[np.int64]
    when: NDArray
    rounding: Any
    at: NDArray[np.int64]


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
        longest=np.zeros((len(sizes), N_PERIODS), dtype),
        by_then=np.zeros((len(sizes), N_PERIODS), dtype),
        first=np.empty(N_PERIODS, np.int32),
        period=np.empty(n_rows(n_jobs), np.int32),
        changed=np.zeros(N_PERIODS, np.int64),
        searched=np.zeros(n_jobs, np.int64),
        when=np.zeros(2, dtype),
        rounding=dtype.type(0 if dtype.kind == "i" else 2.0**-50),
        at=np.zeros(2, np.int64),
    )


@bare
def make_index(state, head, last, now):
    """Make the index of a plan."""
    slots, plan = state.policy.slots, state.policy.plan
    span = plan.times[last] - now
    slots.when[ORIGIN], slots.when[LENGTH] = now, 2 * span // N_PERIODS + 1
    slots.at[KNOWN] = True
    slots.at[N_RELEASES] += 1
    for period in range(N_PERIODS):
        slots.first[period] = NONE
        slots.changed[period] = slots.at[N_RELEASES]
        for kind in range(slots.sizes.size):
            slots.longest[kind, period] = slots.by_then[kind, period] = 0
    step = head
    while step != NONE:
        enter(state, step)
        step = plan.after[step]
    step = head
    while step != NONE:
        see_begin(state, step, head)
        step = plan.after[step]


@inline
def covers(state, last, now):
    """Whether the periods are still those of the plan."""
    slots = state.policy.slots
    origin, span = slots.when[ORIGIN], slots.when[LENGTH] * N_PERIODS
    return 2 * (now - origin) <= span and state.policy.plan.times[last] - origin <= span


@inline
def enter(state, step):
    """Add a step to its period."""
    slots, times = state.policy.slots, state.policy.plan.times
    behind = (times[step] - slots.when[ORIGIN]) // slots.when[LENGTH]
    period = int(min(behind, N_PERIODS - 1))
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
def _reach(state, step, size):
    """Return the last step of the slot with so much room that contains a step."""
    after = state.policy.plan.after
    while after[step] != NONE and room(state, PLANNED + after[step], 0) >= size:
        step = after[step]
    return step


@inline
def _length(state, step, last):
    """Return the time from the begin of a step to the end of another one, rounded up."""
    times, after = state.policy.plan.times, state.policy.plan.after[last]
    if after == NONE:
        return state.never
    return times[after] - times[step] + times[after] * state.policy.slots.rounding


@inline
def _record(slots, kind, step, length):
    """Record a slot that begins at a step."""
    period = slots.period[step]
    slots.changed[period] = slots.at[N_RELEASES]
    if slots.longest[kind, period] < length:
        slots.longest[kind, period] = length
        while period < N_PERIODS and slots.by_then[kind, period] < length:
            slots.by_then[kind, period] = length
            period += 1


@bare
def see_begin(state, step, head):
    """Record the slots that begin at a step."""
    slots, low = state.policy.slots, 0
    if step != head:
        low = _class_at(state, state.policy.plan.before[step])
    last = step
    for kind in range(_class_at(state, step), low, -1):
        last = _reach(state, last, slots.sizes[kind])
        _record(slots, kind, step, _length(state, step, last))


@bare
def see_release(state, first, end, head):
    """Record the slots that begin or grow as the room of steps has grown, up to step `end`."""
    slots, plan = state.policy.slots, state.policy.plan
    slots.at[N_RELEASES] += 1
    step = first
    while step != end:
        see_begin(state, step, head)
        step = plan.after[step]
    if first == head:
        return
    begin = last = first
    for kind in range(min(_class_at(state, first), _class_at(state, plan.before[first])), 0, -1):
        size = slots.sizes[kind]
        while begin != head and room(state, PLANNED + plan.before[begin], 0) >= size:
            begin = plan.before[begin]
        last = _reach(state, last, size)
        _record(slots, kind, begin, _length(state, begin, last))


@bare
def find_first(state, need, duration, step, until, size):
    """Find the first slot from a step on that ends by `until`; return its step, or none.

    The search stops where the room is smaller than `size`.
    """
    times, after = state.policy.plan.times, state.policy.plan.after
    while (
        step != NONE and times[step] + duration <= until and room(state, PLANNED + step, 0) >= size
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
def may_begin(state, job, goal):
    """Whether a slot for a job may begin before step `goal`, perhaps none."""
    slots = state.policy.slots
    period = N_PERIODS - 1 if goal == NONE else slots.period[goal]
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
        until, final = times[goal], slots.period[goal]
    begin, high = slots.period[head], final
    while begin < high:  # the first period by whose end a slot may begin
        middle = (begin + high) >> 1
        if slots.by_then[kind, middle] >= duration:
            high = middle
        else:
            begin = middle + 1
    longest = slots.by_then[kind, begin - 1] if begin > slots.period[head] else 0
    for period in range(begin, final + 1):
        if slots.longest[kind, period] >= duration and slots.changed[period] > since:
            first = slots.first[period]
            found = _find_in_period(state, need, duration, (first, head), until, kind)
            if found != NONE:
                return found
            if goal != NONE and (
                period == final or (first != NONE and times[first] + duration > until)
            ):
                break
            _measure(state, kind, period, duration, head)
        longest = max(longest, slots.longest[kind, period])
        slots.by_then[kind, period] = longest
    slots.searched[job] = slots.at[N_RELEASES]
    return NONE


@inline
def _begins_slot(state, step, size, head):
    """Whether a slot with so much room begins at a step."""
    if room(state, PLANNED + step, 0) < size:
        return False
    return step == head or room(state, PLANNED + state.policy.plan.before[step], 0) < size


@bare
def _find_in_period(state, need, duration, steps, until, kind):
    """Find the first slot in those of a class that begin in the period of a step."""
    slots, plan = state.policy.slots, state.policy.plan
    size, (step, head), period = slots.sizes[kind], steps, NONE
    if step != NONE:
        period = slots.period[step]
    while step != NONE and slots.period[step] == period and plan.times[step] + duration <= until:
        if _begins_slot(state, step, size, head):
            found = find_first(state, need, duration, step, until, size)
            if found != NONE:
                return found
        step = plan.after[step]
    return NONE


@bare
def _measure(state, kind, period, duration, head):
    """Compute the limit of a period again, unless it is at least `duration`."""
    slots, plan = state.policy.slots, state.policy.plan
    size, step, longest = slots.sizes[kind], slots.first[period], 0
    while step != NONE and slots.period[step] == period:
        if _begins_slot(state, step, size, head):
            last, limit = step, plan.times[step] + duration
            follows = plan.after[last]
            while (
                follows != NONE
                and plan.times[follows] < limit
                and room(state, PLANNED + follows, 0) >= size
            ):
                last = follows
                follows = plan.after[last]
            length = _length(state, step, last)
            if length >= duration:
                return
            longest = max(longest, length)
        step = plan.after[step]
    slots.longest[kind, period] = longest
