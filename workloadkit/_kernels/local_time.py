"""Local time of single seconds and back: `workloadkit.clock.Clock` for kernels."""

from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import shared
from workloadkit._kernels.shifts import WEEK


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
