"""When the sessions of members are there, as they were recorded or moved by weeks of local time."""

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
        When each begins, when it is over, and the latest of that among the member's sessions up to
        this one. [s]
    local_begin, local_until, local_reach : ndarray of float64, shape (n_sessions,)
        The same in local time, before users are moved. They do not fall where clocks are put back.
        [s]
    period : ndarray of float64, shape (n_members,)
        After how long, in local time, a member's sessions come again: whole weeks. [s]
    by_phase, rank : ndarray of int64, shape (n_sessions,)
        The member's sessions, from 0, in the order in which they come within a week; and where each
        is in that order.
    phase : ndarray of float64, shape (n_sessions,)
        In that order: begin, from the begin of the week. [s]
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
    """Return the first place from `low` on, before `high` if any is, of a time after a limit."""
    while low < high:
        middle = (low + high) // 2
        if times[middle] <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@bare
def when(sessions, times, local_times, session, moved):
    """Tell a time of a session that is moved so far; one that is not keeps its own."""
    if moved == 0:
        return float(times[session])
    zone = sessions.zone
    return seconds(zone.begins, zone.offsets, zone.start, local_times[session] + moved)
