"""Users who draw the times between their batches from what they themselves did in the log.

They draw think times and inter-arrival times, within sessions and between them, and know how long
the work before took.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare

# Lists of values: of a released batch, the first or a later one of its session. Odd numbers are
# think times, even ones inter-arrival times.
WITHIN, BETWEEN = 0, 2

CONTINUES, BY_THE_MINUTE = 0.8, 0.05  # Shmueli's probability of going on: 0.8 / (0.05 r + 1)

# Places in DrawingState.counts.
BORROWED, LEFT, CONTINUED, ABORTED = range(4)


class DrawingState(NamedTuple):
    """What users draw from, and what they know of the batch before.

    Parameters
    ----------
    value : ndarray
        Lists of the members' times between batches. [s]
    first_value : ndarray of int64, shape (4, n_members + 1)
        Where those of each kind and member begin.
    first_ended : ndarray of int64, shape (n_users + 1,)
        Where the jobs of each begin in `ended`.
    ended : ndarray of bool
        Whether jobs of the batch before have ended.
    response_of_last, response : ndarray of float64, shape (n_users,)
        Of the batch before, where it is known: of the job submitted last, of the last to end. [s]
    counts : ndarray of int64, shape (4,)
        Values drawn from others; users who left; sessions gone on with, and not.
    """

    value: NDArray
    first_value: NDArray[np.int64]
    first_ended: NDArray[np.int64]
    ended: NDArray[np.bool_]
    response_of_last: NDArray[np.float64]
    response: NDArray[np.float64]
    counts: NDArray[np.int64]


@bare
def forget_ends(users, batch_of, opening):
    """Go on to another batch, of which all jobs from one on are about to be submitted."""
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
    """Keep the response of a job of the batch before."""
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
    """Return the response of a batch, the one before: how long it took, or has taken so far."""
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
    """Draw whether a user goes on after so long a response."""
    return users.rng.random() < CONTINUES / (BY_THE_MINUTE * (waited / 60) + 1)


@bare
def draw(users, who, kind):
    """Draw one of the user's own values; of all values if he has none."""
    drawing, member = users.behaviour.drawing, users.incarnations.member[who]
    first = drawing.first_value[kind]
    low, high = first[member], first[member + 1]
    if low == high:
        drawing.counts[BORROWED] += 1
        low, high = first[0], first[-1]
        if low == high:
            return 0.0
    return float(drawing.value[low + int(users.rng.random() * (high - low))])
