"""Users whose sessions all come again, once those recorded are over.

Each user lives through the sessions of his member, moved by whole weeks of local time: after the
last of them all come again.
"""

import sys
from math import floor, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.local_time import local_time
from workloadkit.simulation.parts import acts_for
from workloadkit.simulation.users.batches.drawing_kernel import (
    LEFT,
    Drawing,
    arrival_within,
    forget_ends,
    note_end,
    response,
)
from workloadkit.simulation.users.batches.sessions_kernel import Sessions, first_after, when


class Recycled(NamedTuple):
    """How they behave.

    Parameters
    ----------
    drawing : Drawing
    patience, leave : float
        Response after which a user goes away until the next session, and for ever. [s]
    shift : ndarray of float64, shape (n_users,)
        By how much the sessions of each are moved, in local time: whole weeks. [s]
    sessions : Sessions
    """

    drawing: Drawing
    patience: float
    leave: float
    shift: NDArray[np.float64]
    sessions: Sessions


batch_sent, job_ended = forget_ends, note_end


@bare
def begins_again(users, who, shift):
    """Move the sessions of somebody who begins again."""
    users.behaviour.shift[who] = shift


@bare
def arrival(users, released, now):
    """When a batch arrives that is released now; `inf` for never."""
    who, batch, _ = released
    flow, member = users.behaviour, users.cast.member[who]
    sessions, shift = flow.sessions, flow.shift[who]
    waited = response(users, who, batch - 1, False, now)
    if waited > flow.leave:
        flow.drawing.counts[LEFT] += 1
        return inf
    end = latest_recycled_end(sessions, member, shift, now)
    planned = arrival_within(users, released, now, waited, end)
    return planned if planned <= end else next_recycled_begin(sessions, member, shift, now)


@bare
def latest_recycled_end(sessions, member, moved, now):
    """Latest end of all sessions that have begun by now; later than now if one is under way."""
    first = sessions.first[member]
    cycle, begun = _begun_recycled(sessions, member, moved, now)
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
def next_recycled_begin(sessions, member, moved, now):
    """When the next session begins, after now."""
    first, end = sessions.first[member], sessions.first[member + 1]
    cycle, begun = _begun_recycled(sessions, member, moved, now)
    if begun == end - first:
        begun = 0
        cycle += sessions.period[member]
    return when(sessions, sessions.begin, sessions.local_begin, first + begun, cycle)


@bare
def _begun_recycled(sessions, member, moved, now):
    """How far the sessions are moved that are there now, and how many of those have begun."""
    first, end = sessions.first[member], sessions.first[member + 1]
    begin, local_begin, zone = sessions.begin, sessions.local_begin, sessions.zone
    local = local_time(zone.begins, zone.offsets, zone.start, now)
    period = sessions.period[member]
    cycle = moved + period * max(floor((local - moved - local_begin[first]) / period), 0)
    # where clocks are put back, what they show now they have shown before
    if when(sessions, begin, local_begin, first, cycle + period) <= now:
        cycle += period
    low = first_after(local_begin, first, end, local - cycle)
    while low < end and when(sessions, begin, local_begin, low, cycle) <= now:
        low += 1
    while low > first and when(sessions, begin, local_begin, low - 1, cycle) > now:
        low -= 1
    return cycle, low - first


acts_for(Recycled, sys.modules[__name__])
