"""Users of a log who submit their recorded batches, compiled.

Each user is an incarnation of a member: a user of the log with known batches, sessions and
dependencies. A batch is submitted as a whole. After its last submission, and after the end of all
on which the next batch depends, the behaviour decides when that one arrives.
"""

import sys
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare, inline
from workloadkit._kernels.local_time import WEEK, ZoneArrays, seconds, weeks_until
from workloadkit.simulation.compiled.agenda import UNNUMBERED, WAKE_UP, Agenda, enter
from workloadkit.simulation.compiled.parts import by_part, register_functions

# An item of the agenda: place of a job in `MemberActivities.job`; from this bit on, its user.
USER = 32

# Events that release a batch. (Plain constants: the compiler would make a function for each enum.)
BY_SUBMISSION, BY_END = np.bool_(False), np.bool_(True)


class Adjusting(NamedTuple):
    """Users who keep their recorded think and inter-arrival times; nothing is counted."""

    counts: NDArray[np.int64]


class MemberActivities(NamedTuple):
    """The activities of the members; see `workloadkit.dependencies.Activities`.

    `batch` is the batch of each job; the others are as there.
    """

    first_batch: NDArray[np.int64]
    first_session: NDArray[np.int64]
    first_job: NDArray[np.int64]
    job: NDArray[np.int64]
    batch: NDArray[np.int64]
    gap: NDArray
    session: NDArray[np.int64]
    think_time: NDArray
    interarrival: NDArray
    needs: NDArray[np.int64]
    place: NDArray[np.int64]


class JobTable(NamedTuple):
    """The jobs of the log; for `BatchUsers` in the order of `MemberActivities.job`.

    `wait` is how long they waited in the log; `key` orders submissions of one second, see
    `agenda`.
    """

    run: NDArray
    estimate: NDArray
    wait: NDArray
    procs: NDArray[np.int64]
    queue: NDArray[np.int64]
    key: NDArray[np.int64]


class IncarnationTable(NamedTuple):
    """The incarnations of a simulation.

    Parameters
    ----------
    member : ndarray of int64, shape (n_users,)
    opening : ndarray of int64, shape (n_users,)
        The job that comes first, a place in `MemberActivities.job`.
    begin : ndarray, shape (n_users,)
        Time of its submission. [s]
    again : ndarray of bool, shape (n_users,)
        Whether the user begins again after the end of the last job.
    until : ndarray, shape (n_users,)
        End of the user's submissions. [s]
    pause, first_time : ndarray, shape (n_users,)
        Pause after the last job, and local time of the member's first job. [s]
    first_left, first_over : ndarray of int64, shape (n_users + 1,)
        Where the batches and the sessions of each begin in `UserProgress`.
    """

    member: NDArray[np.int64]
    opening: NDArray[np.int64]
    begin: NDArray
    again: NDArray[np.bool_]
    until: NDArray
    pause: NDArray
    first_time: NDArray
    first_left: NDArray[np.int64]
    first_over: NDArray[np.int64]


class UserProgress(NamedTuple):
    """The progress of each user.

    Parameters
    ----------
    next_batch : ndarray of int64, shape (n_users,)
    submitted : ndarray of bool, shape (n_users,)
        Whether the last job of the previous batch has been submitted.
    last_submission : ndarray, shape (n_users,)
        Time of that submission. [s]
    n_over : ndarray of int64, shape (n_users,)
        Number of leading sessions, by recorded end, that have all ended.
    to_end : ndarray of int64, shape (n_users,)
        Jobs that have not ended, submitted or not.
    left : ndarray of int64
        Jobs of each batch that have not ended.
    over : ndarray of bool
        Whether the last batch of each session has ended, by recorded end.
    """

    next_batch: NDArray[np.int64]
    submitted: NDArray[np.bool_]
    last_submission: NDArray
    n_over: NDArray[np.int64]
    to_end: NDArray[np.int64]
    left: NDArray[np.int64]
    over: NDArray[np.bool_]


def new_progress(incarnations: IncarnationTable, dtype: np.dtype) -> UserProgress:
    """Return the progress before the first batch."""
    n_users = incarnations.member.size
    return UserProgress(
        next_batch=np.zeros(n_users, np.int64),
        submitted=np.zeros(n_users, np.bool_),
        last_submission=np.zeros(n_users, dtype),
        n_over=np.zeros(n_users, np.int64),
        to_end=np.zeros(n_users, np.int64),
        left=np.zeros(incarnations.first_left[-1], np.int64),
        over=np.zeros(incarnations.first_over[-1], np.bool_),
    )


class BatchTables(NamedTuple):
    """Information on each job that has arrived, in addition to `state.Jobs`.

    Parameters
    ----------
    row : ndarray of int64, shape (room,)
        Its place among the jobs of the log, -1 for none.
    user : ndarray of int64, shape (room,)
        From 0.
    queue : ndarray of int64, shape (room,)
    at : ndarray of int64, shape (room,)
        Its place in `MemberActivities.job`.
    wait : ndarray, shape (room,)
        Wait in the log. [s]
    """

    row: NDArray[np.int64]
    user: NDArray[np.int64]
    queue: NDArray[np.int64]
    at: NDArray[np.int64]
    wait: NDArray


def new_tables(room: int, dtype: np.dtype) -> BatchTables:
    """Return tables with room for so many jobs."""
    row, user, queue, at = (np.empty(room, np.int64) for _ in range(4))
    return BatchTables(row, user, queue, at, np.empty(room, dtype))


class BatchUsers(NamedTuple):
    """The mechanism of users with recorded batches.

    `behaviour` is a part with functions, see below. With `by_event` there is a pass after each
    event; submissions of one second then keep the order in which they were planned.
    """

    agenda: Agenda
    tables: BatchTables
    rng: np.random.Generator
    by_event: bool
    behaviour: Any
    activities: MemberActivities
    source: JobTable
    incarnations: IncarnationTable
    progress: UserProgress
    zone: ZoneArrays


@inline
def _nothing(users, what, now):
    pass


@inline
def _recorded_arrival(users, released, now):
    _, batch, by_end = released
    activities = users.activities
    return now + (activities.think_time if by_end else activities.interarrival)[batch]


#: (users, who, begin): a user is about to plan the first batch.
_before_first = by_part("behaviour", "before_first", _nothing)

#: (users, (who, batch), arrival): a user begins with a batch.
_takes_up = by_part("behaviour", "takes_up", _nothing)

#: (users, who, shift): a user begins again, later by `shift`.
_begins_again = by_part("behaviour", "begins_again", _nothing)

#: (users, (who, batch), opening): the jobs of a batch are planned from one on.
_batch_sent = by_part("behaviour", "batch_sent", _nothing)


@inline
def _always(users, who, now):
    return True


#: (users, who, now): whether a user who has finished begins again.
_returns = by_part("behaviour", "returns", _always)

#: (users, place, response): a job has ended.
_job_ended = by_part("behaviour", "job_ended", _nothing)

#: (users, (who, batch, by_end), now): when a batch arrives that is released now, by the end of a
#: job or by a submission; `inf` for never.
_arrival = by_part("behaviour", "arrival", _recorded_arrival)


@bare
def begin(users):
    """Plan the first batch of all users."""
    incarnations = users.incarnations
    for who in range(incarnations.member.size):
        _before_first(users, who, incarnations.begin[who])
        _begin(users, who, incarnations.opening[who], incarnations.begin[who])


@bare
def _begin(users, who, position, arrival):
    """Start a user at a given job; treat all earlier jobs as done."""
    activities, incarnations, progress = users.activities, users.incarnations, users.progress
    member = incarnations.member[who]
    opening = activities.batch[position]
    base = incarnations.first_left[who] - activities.first_batch[member]
    for batch in range(opening, activities.first_batch[member + 1]):
        progress.left[base + batch] = activities.first_job[batch + 1] - activities.first_job[batch]
    progress.left[base + opening] = activities.first_job[opening + 1] - position
    progress.to_end[who] = activities.first_job[activities.first_batch[member + 1]] - position
    for place in range(incarnations.first_over[who], incarnations.first_over[who + 1]):
        progress.over[place] = False
    progress.n_over[who] = 0
    for session in range(activities.first_session[member], activities.session[opening]):
        _close_session(users, who, session)
    _takes_up(users, (who, opening), arrival)
    _send(users, who, position, arrival)


@bare
def submit(users, jobs, place, item):
    """Fill in the job of an item."""
    activities, source, tables = users.activities, users.source, users.tables
    at = item & ((1 << USER) - 1)
    jobs.run[place], jobs.estimate[place] = source.run[at], source.estimate[at]
    jobs.procs[place] = source.procs[at]
    tables.row[place], tables.queue[place] = activities.job[at], source.queue[at]
    tables.user[place] = item >> USER
    tables.at[place] = at
    tables.wait[place] = source.wait[at]


@bare
def job_ended(users, jobs, place, now):
    """Notify the user of a job of its end."""
    activities, progress = users.activities, users.progress
    who, batch = users.tables.user[place], activities.batch[users.tables.at[place]]
    _job_ended(users, place, now - jobs.submit[place])
    member = users.incarnations.member[who]
    at = users.incarnations.first_left[who] + batch - activities.first_batch[member]
    progress.left[at] -= 1
    progress.to_end[who] -= 1
    if progress.to_end[who] == 0 and users.incarnations.again[who]:
        if _returns(users, who, now):
            _begin_again(users, who, now)
        return
    if progress.left[at] > 0:
        return
    session = activities.session[batch]
    closes = (
        batch + 1 == activities.first_batch[member + 1] or activities.session[batch + 1] != session
    )
    if closes:
        _close_session(users, who, session)
    following = progress.next_batch[who]
    if following == activities.first_batch[member + 1]:
        return
    if closes:
        released = (
            activities.session[following] != activities.session[following - 1]
            and progress.submitted[who]
            and progress.n_over[who] >= activities.needs[following]
        )
    else:
        released = following == batch + 1
    if released:
        _release(users, who, now, BY_END)


@bare
def wake_up(users, jobs, who, now):
    """Wake a user after the last submission of a batch."""
    progress = users.progress
    progress.submitted[who] = True
    if progress.n_over[who] >= users.activities.needs[progress.next_batch[who]]:
        _release(users, who, now, BY_SUBMISSION)


@bare
def _begin_again(users, who, now):
    """Let a user who has finished begin again, after a pause, at the same weekday and time.

    Not in the same second as before if no time has passed, as that would never end.
    """
    activities, incarnations = users.activities, users.incarnations
    begins, offsets, start = users.zone.begins, users.zone.offsets, users.zone.start
    first = incarnations.first_time[who]
    shift = weeks_until(begins, offsets, start, first, now + incarnations.pause[who])
    if seconds(begins, offsets, start, first + shift) <= incarnations.begin[who]:
        shift += WEEK
    incarnations.begin[who] = seconds(begins, offsets, start, first + shift)
    _begins_again(users, who, shift)
    _begin(
        users,
        who,
        activities.first_job[activities.first_batch[incarnations.member[who]]],
        incarnations.begin[who],
    )


@bare
def _close_session(users, who, session):
    """Record that all of a session has ended."""
    activities, progress = users.activities, users.progress
    base = users.incarnations.first_over[who]
    member = users.incarnations.member[who]
    n_sessions = activities.first_session[member + 1] - activities.first_session[member]
    progress.over[base + activities.place[session]] = True
    n_over = progress.n_over[who]
    while n_over < n_sessions and progress.over[base + n_over]:
        n_over += 1
    progress.n_over[who] = n_over


@bare
def _release(users, who, now, by_end):
    """Decide when the next batch arrives, after a job's end or a submission has released it."""
    progress = users.progress
    batch = progress.next_batch[who]
    arrival = _arrival(users, (who, batch, by_end), now)
    if arrival == inf:  # never
        progress.next_batch[who] = batch + 1
        progress.submitted[who] = False
        return
    progress.last_submission[who] = arrival  # in the type of the simulation's times
    _send(users, who, users.activities.first_job[batch], progress.last_submission[who])


@bare
def _send(users, who, position, arrival):
    """Plan the submissions of the next batch, from a position on, and continue with the next."""
    activities, progress, agenda = users.activities, users.progress, users.agenda
    until = users.incarnations.until[who]
    batch = activities.batch[position]
    last = activities.first_job[batch + 1] - 1
    for at in range(position, last + 1):
        time = arrival + (activities.gap[at] - activities.gap[position])
        if time < until:
            key = 0 if users.by_event else users.source.key[at]
            if key == UNNUMBERED:
                key += who
            enter(agenda, time, key, (who << USER) + at)
    _batch_sent(users, (who, batch), position)
    progress.last_submission[who] = arrival + (activities.gap[last] - activities.gap[position])
    progress.next_batch[who] = batch + 1
    progress.submitted[who] = False
    end = activities.first_batch[users.incarnations.member[who] + 1]
    if batch + 1 < end and activities.session[batch + 1] != activities.session[batch]:
        time = progress.last_submission[who]
        if time < until:
            enter(agenda, time, WAKE_UP + who, -1 - who)


register_functions(Adjusting, None)
register_functions(BatchUsers, sys.modules[__name__])
