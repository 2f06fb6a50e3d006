"""Users whose sessions keep their times, compiled; sessions repeated after the recorded ones.

The behaviour defines the sessions by its functions `latest_end`, `next_begin` and `use`, see
`parts`.
"""

import sys
from math import floor, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.local_time import ZoneArrays, local_time, seconds
from workloadkit.simulation.compiled.parts import by_part, register_functions
from workloadkit.simulation.users.batches.drawing_kernel import (
    WITHIN,
    DrawingState,
    continues_session,
    draw,
    response,
)
from workloadkit.simulation.users.batches.drawing_kernel import forget_ends as batch_sent
from workloadkit.simulation.users.batches.drawing_kernel import note_end as job_ended

__all__ = [
    "RecycledBehaviour",
    "arrival",
    "batch_sent",
    "begins_again",
    "job_ended",
    "latest_end",
    "next_begin",
    "returns",
]


@inline
def _nothing(users, who, now):
    pass


#: (users, who, now): latest end of the user's sessions that have begun by now; `-inf` for none.
_latest_end = by_part("behaviour", "latest_end", how="bare")

#: (users, who, now): when the next session begins, after now.
_next_begin = by_part("behaviour", "next_begin", how="bare")

#: (users, who, arrival): a batch arrives, and uses the present session.
_use = by_part("behaviour", "use", _nothing, "bare")


@bare
def begins_again(users, who, shift):
    """Move the sessions of a user who begins again."""
    users.behaviour.shift[who] = shift


@bare
def returns(users, who, now):
    """Whether a user who has finished begins again, and has not left."""
    waited = response(users, who, users.progress.next_batch[who] - 1, False, now)
    return not _leaves(users, waited)


@bare
def arrival(users, released, now):
    """Return when a batch that is released now arrives; `inf` for never."""
    who, batch, by_end = released
    behaviour = users.behaviour
    counts = behaviour.drawing.counts
    waited = response(users, who, batch - 1, False, now)
    if _leaves(users, waited):
        return inf
    end = _latest_end(users, who, now)
    at_work = end >= now
    planned = inf
    if waited <= behaviour.patience and (at_work or behaviour.overtime):
        planned = now + draw(users, who, WITHIN + by_end)
    goes_on = planned <= end
    if not goes_on:
        begin = _next_begin(users, who, now)
        goes_on = behaviour.overtime and planned < begin and continues_session(users, waited)
        if not goes_on:
            planned = begin
    if goes_on:
        counts.continued += 1
    elif at_work:
        counts.aborted += 1
    _use(users, who, planned)
    return planned


@bare
def _leaves(users, waited):
    """Whether a user leaves for good after waiting this long."""
    if waited > users.behaviour.leave:
        users.behaviour.drawing.counts.left += 1
        return True
    return False


# The times of members' sessions, as recorded or moved by weeks of local time, compiled.


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


# Fluid users whose sessions are all repeated after the recorded ones, compiled.
#
# Each user has the sessions of the member, moved by whole weeks of local time; after the last one,
# all are repeated.


class RecycledBehaviour(NamedTuple):
    """The behaviour.

    Parameters
    ----------
    drawing : DrawingState
    patience, leave : float
        Response after which a user leaves until the next session, and for ever. [s]
    overtime : bool
        Whether users continue beyond the end of a session.
    shift : ndarray of float64, shape (n_users,)
        Shift of each user's sessions in local time: whole weeks. [s]
    sessions : Sessions
    """

    drawing: DrawingState
    patience: float
    leave: float
    overtime: bool
    shift: NDArray[np.float64]
    sessions: Sessions


@bare
def latest_end(users, who, now):
    """Return the latest end of all sessions that have begun; later than now if one is under way."""
    sessions, moved = users.behaviour.sessions, users.behaviour.shift[who]
    member = users.incarnations.member[who]
    first = sessions.first[member]
    cycle, begun = _begun(sessions, member, moved, now)
    latest = -inf
    if begun > 0:
        latest = when(sessions, sessions.reach, sessions.local_reach, first + begun - 1, cycle)
    if cycle > moved:
        cycle -= sessions.period[member]
        last = sessions.first[member + 1] - 1
        before = when(sessions, sessions.reach, sessions.local_reach, last, cycle)
        latest = max(latest, before)
    return latest


@bare
def next_begin(users, who, now):
    """Return the begin of the next session, after now."""
    sessions, member = users.behaviour.sessions, users.incarnations.member[who]
    first, end = sessions.first[member], sessions.first[member + 1]
    cycle, begun = _begun(sessions, member, users.behaviour.shift[who], now)
    if begun == end - first:
        begun = 0
        cycle += sessions.period[member]
    return when(sessions, sessions.begin, sessions.local_begin, first + begun, cycle)


@bare
def _begun(sessions, member, moved, now):
    """Return the shift of the present repetition, and how many of its sessions have begun."""
    first, end = sessions.first[member], sessions.first[member + 1]
    begin, local_begin, zone = sessions.begin, sessions.local_begin, sessions.zone
    local = local_time(zone.begins, zone.offsets, zone.start, now)
    period = sessions.period[member]
    cycle = moved + period * max(floor((local - moved - local_begin[first]) / period), 0)
    # where clocks are set back, they show the same time twice
    if when(sessions, begin, local_begin, first, cycle + period) <= now:
        cycle += period
    low = first_after(local_begin, first, end, local - cycle)
    while low < end and when(sessions, begin, local_begin, low, cycle) <= now:
        low += 1
    while low > first and when(sessions, begin, local_begin, low - 1, cycle) > now:
        low -= 1
    return cycle, low - first


register_functions(RecycledBehaviour, sys.modules[__name__])
