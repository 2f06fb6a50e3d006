"""The times of members' sessions, as recorded or moved by weeks of local time, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.local_time import ZoneArrays, seconds

WEEK = 7 * 86400


class Sessions(NamedTuple):
    """The sessions of the members, in the order of their begins.

    Parameters
    ----------
    first : ndarray of int64, shape (n_members + 1,)
        The sessions of member m are `first[m]` to `first[m + 1] - 1`.
    begin, until, reach : ndarray, shape (n_sessions,)
        Begin and end of each, and the latest end among the member's sessions up to this one. [s]
    local_begin, local_until, local_reach : ndarray of float64, shape (n_sessions,)
        The same in local time, without shifts. They do not decrease where clocks are set back. [s]
    period : ndarray of float64, shape (n_members,)
        Time after which a member's sessions are repeated, in local time: whole weeks. [s]
    by_phase, rank : ndarray of int64, shape (n_sessions,)
        The member's sessions, from 0, in their order within a week; and the place of each in that
        order.
    phase : ndarray of float64, shape (n_sessions,)
        In that order: begin, since the begin of the week. [s]
    zone : ZoneArrays
    """

    first: NDArray[np.int64]
    begin: NDArray
    until: NDArray
    reach: NDArray
    local_begin: NDArray[np.float64]
    local_until: NDArray[np.float64]
    local_reach: NDArray[np.float64]
    period: NDArray[np.float64]
    by_phase: NDArray[np.int64]
    rank: NDArray[np.int64]
    phase: NDArray[np.float64]
    zone: ZoneArrays


@bare
def first_after(times, low, high, limit):
    """Return the first place from `low` on of a time after a limit; `high` if there is none."""
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@bare
def when(sessions, times, local_times, session, moved):
    """Return a time of a session with a shift; without a shift it keeps its recorded one."""
    if moved == 0:
        return float(times[session])
    zone = sessions.zone
    return seconds(zone.begins, zone.offsets, zone.start, local_times[session] + moved)
