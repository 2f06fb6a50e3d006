"""How users who react decide when a batch arrives that is released: by hours, or by sessions.

They draw from what they themselves did in the log: think times and inter-arrival times, within
sessions and between them.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit._kernels.local_time import local_time, seconds
from workloadkit._kernels.shifts import draw_shift, is_active, next_beginning
from workloadkit.simulation.users.batches.session_times_kernel import (
    Rounds,
    Sessions,
    latest_recycled_end,
    latest_reinserted_end,
    next_recycled_begin,
    next_reinserted_begin,
    reset_rounds,
    use_sessions,
)

# Lists of values: of a released batch, the first or a later one of its session. Odd numbers are
# think times, even ones inter-arrival times.
WITHIN, BETWEEN = 0, 2

# Places in Habits.counts.
BORROWED, LEFT, CONTINUED, ABORTED = range(4)

CONTINUES, BY_THE_MINUTE = 0.8, 0.05  # Shmueli's probability of going on: 0.8 / (0.05 r + 1)


class Habits(NamedTuple):
    """What users go by beside their acts.

    Parameters
    ----------
    value : ndarray
        Lists of the members' times between batches. [s]
    first_value : ndarray of int64, shape (4, n_members + 1)
        Where those of each kind and member begin.
    of_last : bool
        Whether the response of a batch is that of the job submitted last, or of the last to end.
    patience, leave : float
        Response after which a user goes away until the next session, and for ever. [s]
    recycles : bool
        Whether all sessions come again, or those that were skipped.
    by_day, on_weekdays : ndarray of bool, shape (n_users,)
    moved : ndarray of int64, shape (n_users,)
        Working hours, see `shifts`.
    shift : ndarray of float64, shape (n_users,)
        By how much the sessions of each are moved, in local time: whole weeks. [s]
    sessions : Sessions
    rounds : Rounds
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
    of_last: bool
    patience: float
    leave: float
    recycles: bool
    by_day: NDArray[np.bool_]
    on_weekdays: NDArray[np.bool_]
    moved: NDArray[np.int64]
    shift: NDArray[np.float64]
    sessions: Sessions
    rounds: Rounds
    first_ended: NDArray[np.int64]
    ended: NDArray[np.bool_]
    response_of_last: NDArray[np.float64]
    response: NDArray[np.float64]
    counts: NDArray[np.int64]


@bare
def choose_hours(habits, rng, who):
    """Draw somebody's working hours."""
    by_day, on_weekdays, moved = draw_shift(rng)
    habits.by_day[who], habits.on_weekdays[who], habits.moved[who] = by_day, on_weekdays, moved


@bare
def take_up_sessions(users, who, opening, arrival):
    """Let somebody's sessions be where they are as he sets out with a batch."""
    habits = users.habits
    if habits.recycles:
        return
    member = users.cast.member[who]
    n_over = users.acts.session[opening] - users.acts.first_session[member]
    reset_rounds(habits.sessions, habits.rounds, who, member, n_over)
    use_sessions(habits.sessions, habits.rounds, who, member, habits.shift[who], float(arrival))


@bare
def forget_ends(users, who, batch, opening):
    """Go on to another batch, of which all jobs from one on are about to be submitted."""
    acts, habits = users.acts, users.habits
    base = habits.first_ended[who] - acts.first_job[acts.first_batch[users.cast.member[who]]]
    for at in range(acts.first_job[batch], acts.first_job[batch + 1]):
        habits.ended[base + at] = at < opening


@bare
def note_end(users, jobs, who, place, now):
    """Keep the response of a job of the batch before."""
    acts, habits = users.acts, users.habits
    at = users.tables.at[place]
    batch = acts.batch[at]
    if batch != users.progress.next_batch[who] - 1:
        return
    base = habits.first_ended[who] - acts.first_job[acts.first_batch[users.cast.member[who]]]
    habits.ended[base + at] = True
    habits.response[who] = now - jobs.submit[place]
    if at == acts.first_job[batch + 1] - 1:
        habits.response_of_last[who] = habits.response[who]


@bare
def _response(users, who, batch, of_last, now):
    """Return the response of a batch, the one before: how long it took, or has taken so far."""
    acts, habits = users.acts, users.habits
    base = habits.first_ended[who] - acts.first_job[acts.first_batch[users.cast.member[who]]]
    last = acts.first_job[batch + 1] - 1
    at = last
    if not of_last:
        at = acts.first_job[batch]
        while at < last and habits.ended[base + at]:
            at += 1
    if habits.ended[base + at]:
        return habits.response_of_last[who] if of_last else habits.response[who]
    return float(now - users.progress.last_submission[who] + (acts.gap[last] - acts.gap[at]))


@bare
def arrival_by_hours(users, who, batch, now, by_end):
    """When a batch arrives, released now by a job's end or by a submission, by working hours."""
    habits, zone = users.habits, users.habits.sessions.zone
    hours = habits.by_day[who], habits.on_weekdays[who], habits.moved[who]
    local = local_time(zone.begins, zone.offsets, zone.start, now)
    arrival = float(now)
    if is_active(local, *hours):
        minutes = _response(users, who, batch - 1, habits.of_last, now) / 60
        if users.rng.random() < CONTINUES / (BY_THE_MINUTE * minutes + 1):
            habits.counts[CONTINUED] += 1
            return now + _draw(users, who, WITHIN + by_end)
        habits.counts[ABORTED] += 1
        arrival = now + _draw(users, who, BETWEEN + by_end)
        local = local_time(zone.begins, zone.offsets, zone.start, arrival)
        if is_active(local, *hours):
            return arrival
    begin = next_beginning(local, *hours)
    return max(seconds(zone.begins, zone.offsets, zone.start, begin), arrival)


@bare
def arrival_by_sessions(users, who, batch, now, by_end):
    """When a batch arrives, released now, by the user's sessions; `inf` for never."""
    habits, member = users.habits, users.cast.member[who]
    sessions, rounds, shift = habits.sessions, habits.rounds, habits.shift[who]
    waited = _response(users, who, batch - 1, False, now)
    if waited > habits.leave:
        habits.counts[LEFT] += 1
        return inf
    if habits.recycles:
        end = latest_recycled_end(sessions, member, shift, now)
    else:
        end = latest_reinserted_end(sessions, rounds, who, member, shift, now)
    arrival = inf
    if end >= now:
        if waited <= habits.patience:
            arrival = now + _draw(users, who, WITHIN + by_end)
        habits.counts[CONTINUED if arrival <= end else ABORTED] += 1
    if arrival > end:
        if habits.recycles:
            return next_recycled_begin(sessions, member, shift, now)
        arrival = next_reinserted_begin(sessions, rounds, who, member, shift, now)
    if not habits.recycles:
        use_sessions(sessions, rounds, who, member, shift, arrival)
    return arrival


@bare
def _draw(users, who, kind):
    """Draw one of the user's own values; of all values if he has none."""
    habits, member = users.habits, users.cast.member[who]
    first = habits.first_value[kind]
    low, high = first[member], first[member + 1]
    if low == high:
        habits.counts[BORROWED] += 1
        low, high = first[0], first[-1]
        if low == high:
            return 0.0
    return float(habits.value[low + int(users.rng.random() * (high - low))])
