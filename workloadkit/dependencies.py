"""What each batch of a user's work waits for."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import MAX_TIME
from workloadkit.sessions import delimit_sessions
from workloadkit.trace import Trace, check_trace

#: Where a batch depends on nothing, or follows none.
NONE = -1

#: The fields of `Activities` that are times.
TIMES = ("gap", "arrival", "think_time", "interarrival", "begin", "until", "end", "ended")


class Activities(NamedTuple):
    """The work of the users of a log: sessions, their batches, and what each batch waits for.

    A user's batches are one sequence, in which each *follows* the one before. A batch *depends on*
    the one before in its session; the first batch of a session on the last batches of all of the
    user's sessions that had ended before it began [1]_. As there are as many such pairs as the
    square of the sessions, they are not listed: in the order of their ends, the sessions that one
    depends on are always the first so many.

    Times are int64 if the submit, wait and run times of all jobs are whole, else float64. [s]

    Parameters
    ----------
    user : ndarray of int64, shape (n_users,)
        User numbers, ascending. Jobs of unknown user are one user, -1.
    first_batch, first_session : ndarray of int64, shape (n_users + 1,)
        The batches of the u-th user are `first_batch[u]` to `first_batch[u + 1] - 1`, in the order
        of their arrivals; likewise the sessions.
    first_job : ndarray of int64, shape (n_batches + 1,)
        The jobs of batch b are `job[first_job[b]:first_job[b + 1]]`.
    job : ndarray of int64, shape (n_jobs,)
        Rows of the jobs that ran, by batch, in the order of (submit, job number, row).
    gap : ndarray, shape (n_jobs,)
        How long after the first job of its batch each `job` was submitted. [s]
    session : ndarray of int64, shape (n_batches,)
        Session of each batch: 0, 1, 2, … by user, then by begin.
    arrival : ndarray, shape (n_batches,)
        First submission. [s]
    think_time : ndarray, shape (n_batches,)
        From the latest end of all that the batch depends on to its arrival; -1 where it depends on
        nothing. [s]
    interarrival : ndarray, shape (n_batches,)
        From the last submission of the user's batch before to the arrival; -1 for the first batch
        of a user. [s]
    needs : ndarray of int64, shape (n_batches,)
        Of the first batch of a session, how many of the user's sessions it depends on: those of a
        `place` below this number. 0 for the others, which depend on the batch before.
    place : ndarray of int64, shape (n_sessions,)
        Place of each session among those of its user by `end`, ties by `begin`: 0, 1, 2, …
    begin, until, end : ndarray, shape (n_sessions,)
        First submission, last submission and latest end. An unknown wait counts as 0. [s]
    ended : ndarray, shape (n_jobs,)
        When each `job` ended. [s]

    References
    ----------
    .. [1] N. Zakay, "Resampling and feedback in workload modeling", Ph.D. thesis, Hebrew
       University of Jerusalem, 2018: feedback-based simulation, section V.
    """

    user: NDArray[np.int64]
    first_batch: NDArray[np.int64]
    first_session: NDArray[np.int64]
    first_job: NDArray[np.int64]
    job: NDArray[np.int64]
    gap: NDArray
    session: NDArray[np.int64]
    arrival: NDArray
    think_time: NDArray
    interarrival: NDArray
    needs: NDArray[np.int64]
    place: NDArray[np.int64]
    begin: NDArray
    until: NDArray
    end: NDArray
    ended: NDArray


def activities(trace: Trace) -> Activities:
    """Find the sessions and batches of every user, and what each batch waits for.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out. Sessions are those of `delimit_sessions` by arrival, with
        60 min. An unknown wait counts as 0.

    Returns
    -------
    Activities

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they are taken for the jobs of one user.

    Examples
    --------
    The second batch thinks for 30 s after the first; the next session begins 2 h later, when only
    the first one's work has ended.

    >>> log = {"submit": [0, 90, 7290], "run": [60, 30, 10], "procs": [1, 1, 1], "user": [5, 5, 5]}
    >>> found = activities(Trace.from_columns(log))
    >>> found.think_time.tolist(), found.interarrival.tolist(), found.needs.tolist()
    ([-1, 30, 7170], [-1, 90, 7200], [0, 0, 1])
    """
    check_trace(trace)
    wait = trace.column("wait")
    if (wait < 0).any():  # as little believed as in a simulation
        trace = trace.with_columns(wait=np.where(wait < 0, np.nan, wait))
    row = np.flatnonzero(trace.ran)
    sessions = delimit_sessions(trace)
    submit, ended = _times(trace, row)
    number, user = trace.column("job")[row], trace.column("user")[row]
    users, of_user = np.unique(user, return_inverse=True)

    # Labels ascend with time, so that by user and label batches come in the order of arrival.
    batch = sessions["batch"].to_numpy()
    order = np.lexsort((number, submit, batch, of_user))
    submit, ended, of_user, batch = submit[order], ended[order], of_user[order], batch[order]
    first_job = _bounds(batch)
    opens = first_job[:-1]
    arrival, last_arrival = submit[opens], submit[first_job[1:] - 1]
    batch_end = _latest(ended, opens)

    of_user = of_user[opens]
    bounds = _bounds(sessions["session"].to_numpy()[order[opens]])
    heads = bounds[:-1]  # first batch of each session
    session = np.repeat(np.arange(heads.size), np.diff(bounds))
    begin, until = arrival[heads], last_arrival[bounds[1:] - 1]
    end = _latest(batch_end, heads)
    first_session = np.searchsorted(of_user[heads], np.arange(users.size + 1))
    by_end = np.lexsort((begin, end, of_user[heads]))
    place = np.empty_like(by_end)
    place[by_end] = np.arange(by_end.size)
    place -= first_session[of_user[heads]]
    needed = _ended_before(of_user[heads], begin, end)

    think_time = np.full_like(arrival, NONE)
    interarrival = np.full_like(arrival, NONE)
    follows = np.flatnonzero(of_user[1:] == of_user[:-1]) + 1
    interarrival[follows] = arrival[follows] - last_arrival[follows - 1]
    inside = np.flatnonzero(session[1:] == session[:-1]) + 1
    think_time[inside] = arrival[inside] - batch_end[inside - 1]
    waits = np.flatnonzero(needed)
    latest = by_end[first_session[of_user[heads[waits]]] + needed[waits] - 1]
    think_time[heads[waits]] = begin[waits] - end[latest]
    needs = np.zeros(opens.size, np.int64)
    needs[heads] = needed
    return Activities(
        user=users,
        first_batch=np.searchsorted(of_user, np.arange(users.size + 1)),
        first_session=first_session,
        first_job=first_job,
        job=row[order],
        gap=submit - np.repeat(arrival, np.diff(first_job)),
        session=session,
        arrival=arrival,
        think_time=think_time,
        interarrival=interarrival,
        needs=needs,
        place=place,
        begin=begin,
        until=until,
        end=end,
        ended=ended,
    )


def _times(trace: Trace, row: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
    """Submit times and ends at some rows, of int64 where all of their times are whole."""
    times = [np.nan_to_num(trace.column(name)[row]) for name in ("submit", "wait", "run")]
    if all(((t == np.rint(t)) & (np.abs(t) <= MAX_TIME)).all() for t in times):
        times = [t.astype(np.int64) for t in times]
    submit, wait, run = times
    return submit, submit + wait + run


def _bounds(label: NDArray) -> NDArray[np.int64]:
    """Where each stretch of equal labels begins, and after them where the last one ends."""
    changes = np.flatnonzero(label[1:] != label[:-1]) + 1
    return np.concatenate((np.zeros(min(label.size, 1), np.int64), changes, [label.size]))


def _latest(times: NDArray, first: NDArray[np.int64]) -> NDArray:
    """Return the latest time of each group, groups beginning at `first`."""
    return np.maximum.reduceat(times, first) if first.size else times


def _ended_before(user: NDArray[np.int64], begin: NDArray, end: NDArray) -> NDArray[np.int64]:
    """Count the sessions of a user that ended before each began."""
    n = user.size
    is_end = np.repeat([False, True], n)
    # at equal times begins come first: what ends in that very second had not ended before
    order = np.lexsort((is_end, np.concatenate((begin, end)), np.concatenate((user, user))))
    ended = np.empty(2 * n, np.int64)
    ended[order] = np.cumsum(is_end[order])
    return ended[:n] - np.searchsorted(user, user)  # all sessions of the users before have ended
