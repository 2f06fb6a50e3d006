"""Fluid users whose sessions are all repeated after the recorded ones, compiled.

Each user has the sessions of the member, moved by whole weeks of local time; after the last one,
all are repeated.
"""

import sys
from math import floor, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.local_time import local_time
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.users.batches.drawing_kernel import DrawingState
from workloadkit.simulation.users.batches.drawing_kernel import forget_ends as batch_sent
from workloadkit.simulation.users.batches.drawing_kernel import note_end as job_ended
from workloadkit.simulation.users.batches.fluid_kernel import arrival, begins_again, returns
from workloadkit.simulation.users.batches.sessions_kernel import Sessions, first_after, when

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
