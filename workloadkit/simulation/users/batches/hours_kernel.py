"""Users who work in shifts, and are more likely to continue after a short response, compiled."""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.local_time import local_time, seconds
from workloadkit._kernels.shifts import draw_shift, is_active, next_beginning
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.users.batches.drawing_kernel import (
    ABORTED,
    BETWEEN,
    CONTINUED,
    WITHIN,
    DrawingState,
    continues_session,
    draw,
    forget_ends,
    note_end,
    response,
)


class Hours(NamedTuple):
    """The behaviour.

    Parameters
    ----------
    drawing : DrawingState
    of_last : bool
        Whether the response of a batch is that of the job submitted last, or of the last to end.
    by_day, on_weekdays : ndarray of bool, shape (n_users,)
    later : ndarray of int64, shape (n_users,)
        Working hours, see `shifts`; the time by which they are moved. [s]
    """

    drawing: DrawingState
    of_last: bool
    by_day: NDArray[np.bool_]
    on_weekdays: NDArray[np.bool_]
    later: NDArray[np.int64]


batch_sent, job_ended = forget_ends, note_end


@bare
def before_first(users, who, begin):
    """Draw a user's working hours."""
    hours = users.behaviour
    by_day, on_weekdays, later = draw_shift(users.rng)
    hours.by_day[who], hours.on_weekdays[who], hours.later[who] = by_day, on_weekdays, later


@bare
def arrival(users, released, now):
    """Return when a batch that is released now arrives."""
    who, batch, by_end = released
    behaviour, zone = users.behaviour, users.zone
    hours = behaviour.by_day[who], behaviour.on_weekdays[who], behaviour.later[who]
    counts = behaviour.drawing.counts
    local = local_time(zone.begins, zone.offsets, zone.start, now)
    free = float(now)
    if is_active(local, *hours):
        if continues_session(users, response(users, who, batch - 1, behaviour.of_last, now)):
            counts[CONTINUED] += 1
            return now + draw(users, who, WITHIN + by_end)
        counts[ABORTED] += 1
        free = now + draw(users, who, BETWEEN + by_end)
        local = local_time(zone.begins, zone.offsets, zone.start, free)
        if is_active(local, *hours):
            return free
    begin = next_beginning(local, *hours)
    return max(seconds(zone.begins, zone.offsets, zone.start, begin), free)


register_functions(Hours, sys.modules[__name__])
