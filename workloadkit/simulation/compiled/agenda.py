"""The planned actions of users: an agenda ordered by time.

An entry is the submission of a job (an item from 0 on) or the wake-up of a user (item -1 minus the
user's number). In one second, submissions come before wake-ups; entries follow by key, then in the
order in which they were planned.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.record import Record

# Keys of submissions without a job number, and of wake-ups, begin here: after all job numbers.
UNNUMBERED, WAKE_UP = 2**61, 2**62


class _At(Record):
    """What the agenda counts."""

    size: int  # entries
    serial: int  # entries made so far
    overflows: bool  # whether one found no room
    arrived: int  # jobs that have arrived


class Agenda(NamedTuple):
    """A heap of times, the earliest first, and what is planned for each.

    To keep the heap in order, times and slots are moved; the entries stay in their slots.

    Parameters
    ----------
    time : ndarray, shape (capacity,)
        [s]
    slot : ndarray of int64, shape (capacity,)
        Slot of the entry for each time; after the heap, the free slots.
    key, serial, item : ndarray of int64, shape (capacity,)
        Contents of each slot.
    due : ndarray of int64, shape (capacity,)
        Items taken out together.
    at : record
    """

    time: NDArray
    slot: NDArray[np.int64]
    key: NDArray[np.int64]
    serial: NDArray[np.int64]
    item: NDArray[np.int64]
    due: NDArray[np.int64]
    at: _At


def new_agenda(capacity: int, dtype: np.dtype) -> Agenda:
    """Return an empty agenda."""
    key, serial, item, due = (np.empty(capacity, np.int64) for _ in range(4))
    return Agenda(np.empty(capacity, dtype), np.arange(capacity), key, serial, item, due, _At())


@bare
def enter(agenda, time, key, item):
    """Enter an item for a time."""
    times, slots, keys, at = agenda.time, agenda.slot, agenda.key, agenda.at
    place = at.size
    if place == times.size:
        at.overflows = 1
        return
    slot = slots[place]
    keys[slot], agenda.serial[slot], agenda.item[slot] = key, at.serial, item
    at.size += 1
    at.serial += 1
    while place > 0:
        parent = (place - 1) >> 1
        if times[parent] < time or (times[parent] == time and keys[slots[parent]] <= key):
            break  # it was entered before
        times[place], slots[place] = times[parent], slots[parent]
        place = parent
    times[place], slots[place] = time, slot


@bare
def take_first(agenda):
    """Take the earliest entry out; return its item."""
    times, slots, at = agenda.time, agenda.slot, agenda.at
    taken = slots[0]
    at.size -= 1
    last = at.size
    time, slot = times[last], slots[last]
    slots[last] = taken  # free from now on
    place, child = 0, 1
    while child < last:
        other = child + 1
        if other < last and _precedes(
            agenda, times[other], slots[other], times[child], slots[child]
        ):
            child = other
        if not _precedes(agenda, times[child], slots[child], time, slot):
            break
        times[place], slots[place] = times[child], slots[child]
        place = child
        child = 2 * place + 1
    if last > 0:
        times[place], slots[place] = time, slot
    return agenda.item[taken]


@bare
def take_due(agenda, now):
    """Take all entries out that are due, in their order, into `due`; return their number."""
    count = 0
    while agenda.at.size > 0 and agenda.time[0] <= now:
        agenda.due[count] = take_first(agenda)
        count += 1
    return count


@bare
def is_wake_up(agenda):
    """Whether the earliest entry is a wake-up; there is at least one."""
    return agenda.key[agenda.slot[0]] >= WAKE_UP


@bare
def _precedes(agenda, time, slot, other_time, other_slot):
    """Whether an entry comes before another one."""
    if time != other_time:
        return time < other_time
    key, other_key = agenda.key[slot], agenda.key[other_slot]
    if key != other_key:
        return key < other_key
    return agenda.serial[slot] < agenda.serial[other_slot]
