"""What users have planned: an agenda ordered by time.

An entry is the submission of a job (an item from 0 on) or a wake-up of a user (-1 less his
number). At one second submissions come before wake-ups, by key, then in the order in which they
were planned.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare

# Places in Agenda.at.
SIZE, SERIAL, OVERFLOWS, ARRIVED = range(4)

# Keys of submissions without a job number, and of wake-ups, begin here: behind all before.
UNNUMBERED, WAKE_UP = 2**61, 2**62


class Agenda(NamedTuple):
    """A heap, the earliest entry first.

    Parameters
    ----------
    time : ndarray, shape (capacity,)
        [s]
    key, serial, item : ndarray of int64, shape (capacity,)
    due : ndarray of int64, shape (capacity,)
        Items that were taken together.
    at : ndarray of int64, shape (4,)
        Entries; those made so far; whether there was no room for one; jobs that have arrived.
    """

    time: NDArray
    key: NDArray[np.int64]
    serial: NDArray[np.int64]
    item: NDArray[np.int64]
    due: NDArray[np.int64]
    at: NDArray[np.int64]


def new_agenda(capacity: int, dtype: np.dtype) -> Agenda:
    """Return an empty agenda."""
    key, serial, item, due = (np.empty(capacity, np.int64) for _ in range(4))
    return Agenda(np.empty(capacity, dtype), key, serial, item, due, np.zeros(4, np.int64))


@bare
def enter(agenda, time, key, item):
    """Enter an item for a time."""
    times, keys, serials = agenda.time, agenda.key, agenda.serial
    items, at = agenda.item, agenda.at
    place = at[SIZE]
    if place == times.size:
        at[OVERFLOWS] = 1
        return
    serial = at[SERIAL]
    at[SIZE] += 1
    at[SERIAL] += 1
    while place > 0:
        parent = (place - 1) >> 1
        if times[parent] < time or (times[parent] == time and keys[parent] <= key):
            break  # it was entered before
        times[place], keys[place] = times[parent], keys[parent]
        serials[place], items[place] = serials[parent], items[parent]
        place = parent
    times[place], keys[place], serials[place], items[place] = time, key, serial, item


@bare
def take_first(agenda):
    """Take the earliest entry out; return its item."""
    times, keys, serials = agenda.time, agenda.key, agenda.serial
    items, at = agenda.item, agenda.at
    first = items[0]
    at[SIZE] -= 1
    last = at[SIZE]
    time, key, serial, item = times[last], keys[last], serials[last], items[last]
    place, child = 0, 1
    while child < last:
        other = child + 1
        if other < last and _precedes(agenda, other, times[child], keys[child], serials[child]):
            child = other
        if not _precedes(agenda, child, time, key, serial):
            break
        times[place], keys[place] = times[child], keys[child]
        serials[place], items[place] = serials[child], items[child]
        place = child
        child = 2 * place + 1
    times[place], keys[place], serials[place], items[place] = time, key, serial, item
    return first


@bare
def take_due(agenda, now):
    """Take all entries out that are due, in their order, into `due`; return their number."""
    count = 0
    while agenda.at[SIZE] > 0 and agenda.time[0] <= now:
        agenda.due[count] = take_first(agenda)
        count += 1
    return count


@bare
def _precedes(agenda, place, time, key, serial):
    """Whether the entry at a place comes before one of such time, key and serial."""
    if agenda.time[place] != time:
        return agenda.time[place] < time
    if agenda.key[place] != key:
        return agenda.key[place] < key
    return agenda.serial[place] < serial
