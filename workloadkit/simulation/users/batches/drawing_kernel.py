"""Users who draw the times between their batches, by shifts too, compiled.

They draw think times and inter-arrival times, within sessions and between them, and know the
response time of the previous work.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.local_time import (
    draw_shift,
    is_active,
    local_time,
    next_beginning,
    seconds,
)
from workloadkit._kernels.record import Record
from workloadkit.simulation.compiled.parts import register_functions

# Lists of values, for a released batch that is the first or a later one of its session. Odd numbers
# are think times, even ones inter-arrival times.
WITHIN, BETWEEN = 0, 2

CONTINUES, BY_THE_MINUTE = 0.8, 0.05  # Shmueli's probability: 0.8 / (0.05 r + 1)


class DrawingCounts(Record):
    """What is drawn."""

    borrowed: int  # values drawn from others
    left: int  # users who left
    continued: int  # sessions
    aborted: int  # sessions


class DrawingState(NamedTuple):
    """Recorded times to draw from, and the state of the previous batch.

    Parameters
    ----------
    value : ndarray
        Lists of the members' times between batches. [s]
    first_value : ndarray of int64, shape (4, n_members + 1)
        Where those of each kind and member begin.
    first_ended : ndarray of int64, shape (n_users + 1,)
        Where the jobs of each user begin in `ended`.
    ended : ndarray of bool
        Whether jobs of the previous batch have ended.
    response_of_last, response : ndarray of float64, shape (n_users,)
        Of the previous batch, if known: of the job submitted last, of the last to end. [s]
    counts : record
    """

    value: NDArray
    first_value: NDArray[np.int64]
    first_ended: NDArray[np.int64]
    ended: NDArray[np.bool_]
    response_of_last: NDArray[np.float64]
    response: NDArray[np.float64]
    counts: DrawingCounts


@bare
def forget_ends(users, batch_of, opening):
    """Reset the ends for another batch, of which the jobs from one on are about to be submitted."""
    who, batch = batch_of
    activities, drawing = users.activities, users.behaviour.drawing
    base = (
        drawing.first_ended[who]
        - activities.first_job[activities.first_batch[users.incarnations.member[who]]]
    )
    for at in range(activities.first_job[batch], activities.first_job[batch + 1]):
        drawing.ended[base + at] = at < opening


@bare
def note_end(users, place, took):
    """Record the response of a job of the previous batch."""
    activities, drawing = users.activities, users.behaviour.drawing
    who, at = users.tables.user[place], users.tables.at[place]
    batch = activities.batch[at]
    if batch != users.progress.next_batch[who] - 1:
        return
    base = (
        drawing.first_ended[who]
        - activities.first_job[activities.first_batch[users.incarnations.member[who]]]
    )
    drawing.ended[base + at] = True
    drawing.response[who] = took
    if at == activities.first_job[batch + 1] - 1:
        drawing.response_of_last[who] = took


@bare
def response(users, who, batch, of_last, now):
    """Return the response of a batch, the previous one: its time, or its time so far."""
    activities, drawing = users.activities, users.behaviour.drawing
    base = (
        drawing.first_ended[who]
        - activities.first_job[activities.first_batch[users.incarnations.member[who]]]
    )
    last = activities.first_job[batch + 1] - 1
    at = last
    if not of_last:
        at = activities.first_job[batch]
        while at < last and drawing.ended[base + at]:
            at += 1
    if drawing.ended[base + at]:
        return drawing.response_of_last[who] if of_last else drawing.response[who]
    return float(
        now - users.progress.last_submission[who] + (activities.gap[last] - activities.gap[at])
    )


@bare
def continues_session(users, waited):
    """Draw whether a user continues after this response."""
    return users.rng.random() < CONTINUES / (BY_THE_MINUTE * (waited / 60) + 1)


@bare
def draw(users, who, kind):
    """Draw one of the user's recorded values; one of all values if there are none."""
    drawing, member = users.behaviour.drawing, users.incarnations.member[who]
    first = drawing.first_value[kind]
    low, high = first[member], first[member + 1]
    if low == high:
        drawing.counts.borrowed += 1
        low, high = first[0], first[-1]
        if low == high:
            return 0.0
    return float(drawing.value[low + int(users.rng.random() * (high - low))])


# Users who work in shifts, and are more likely to continue after a short response, compiled.


class Hours(NamedTuple):
    """The behaviour.

    Parameters
    ----------
    drawing : DrawingState
    of_last : bool
        Whether the response of a batch is that of the job submitted last, or of the last to end.
    by_day, on_weekdays : ndarray of bool, shape (n_users,)
    later : ndarray of int64, shape (n_users,)
        Working hours, see `local_time`; the time by which they are moved. [s]
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
            counts.continued += 1
            return now + draw(users, who, WITHIN + by_end)
        counts.aborted += 1
        free = now + draw(users, who, BETWEEN + by_end)
        local = local_time(zone.begins, zone.offsets, zone.start, free)
        if is_active(local, *hours):
            return free
    begin = next_beginning(local, *hours)
    return max(seconds(zone.begins, zone.offsets, zone.start, begin), free)


register_functions(Hours, sys.modules[__name__])
