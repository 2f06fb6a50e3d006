"""Local time for kernels: single seconds as in `workloadkit.clock.Clock`, and working hours."""

from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import shared

# Working hours: by day or by night, on weekdays or at weekends.
#
# A shift lasts from 7:30 to 17:30 or from 17:30 to 7:30, moved by up to an hour for each user. A
# night belongs to the day on which it begins. All times are local, from Monday 0:00 of some week.

DAY = 86400
WEEK = 7 * DAY

DAY_BEGINS, DAY_LENGTH = 27000.0, 36000.0
NIGHT_BEGINS, NIGHT_LENGTH = 63000.0, 50400.0
WEEKDAYS = 5  # from Monday on

BY_DAY, ON_WEEKDAYS = 0.7, 0.8  # shares of the users
FARTHEST = 3600.0


@shared
def draw_shift(rng):
    """Draw working hours: whether by day, whether on weekdays, and the time by which they move."""
    by_day = rng.random() < BY_DAY
    on_weekdays = rng.random() < ON_WEEKDAYS
    moved = floor(2 * FARTHEST * rng.random() - FARTHEST + 0.5)
    return by_day, on_weekdays, moved


@shared
def is_active(local, by_day, on_weekdays, moved):
    """Whether a user is at work at a local time."""
    begins, length = (DAY_BEGINS, DAY_LENGTH) if by_day else (NIGHT_BEGINS, NIGHT_LENGTH)
    since = local - moved - begins
    return since % DAY < length and works_on(floor(since / DAY), on_weekdays)


@shared
def next_beginning(local, by_day, on_weekdays, moved):
    """Return the local time of the first begin of a shift after a local time."""
    begins = DAY_BEGINS if by_day else NIGHT_BEGINS
    day = floor((local - moved - begins) / DAY) + 1
    while not works_on(day, on_weekdays):
        day += 1
    return day * DAY + begins + moved


@shared
def works_on(day, on_weekdays):
    """Whether a day, counted from a Monday, is a working day."""
    return (day % 7 < WEEKDAYS) == on_weekdays


class ZoneArrays(NamedTuple):
    """The arrays of a clock, for `local_time` and `seconds`.

    Parameters
    ----------
    begins : ndarray of float, shape (n_offsets,)
        Begin of each offset, since 1970 UTC; the first is -inf. [s]
    offsets : ndarray of float, shape (n_offsets,)
        Difference of local time, which counts from Monday 0:00 of some week, to time since 1970
        UTC. [s]
    start : float
        Second 0 of the log, since 1970 UTC. [s]
    """

    begins: NDArray[np.float64]
    offsets: NDArray[np.float64]
    start: float


@shared
def local_time(begins, offsets, start, t):
    """Return local time at second `t` of the log, as `Clock.local` does."""
    unix = t + start
    piece, last = 0, begins.size - 1
    while piece < last:
        middle = (piece + last + 1) // 2
        if unix >= begins[middle]:
            piece = middle
        else:
            last = middle - 1
    return unix + offsets[piece]


@shared
def seconds(begins, offsets, start, local):
    """Return the second of the log at which clocks first show `local`, as `Clock.seconds` does."""
    piece, last = 0, begins.size - 1
    while piece < last:
        middle = (piece + last + 1) // 2
        # an offset holds until its own clock shows the begin of the next one
        if local >= begins[middle] + offsets[middle - 1]:
            piece = middle
        else:
            last = middle - 1
    return max(local - offsets[piece], begins[piece]) - start


@shared
def weeks_until(begins, offsets, start, local, earliest):
    """Return the shift of a local time so that clocks first show it at `earliest` or later.

    It is the smallest number of whole weeks, in seconds.
    """
    # one week less than by the clocks at that time, since they may change in between
    moved = (floor((local_time(begins, offsets, start, earliest) - local) / WEEK) - 1) * WEEK
    while seconds(begins, offsets, start, local + moved) < earliest:
        moved += WEEK
    return moved
