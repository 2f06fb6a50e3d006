"""Dependencies between the batches of a user's jobs."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import MAX_TIME, UNKNOWN
from workloadkit.provenance import as_note, noted, provenance
from workloadkit.sessions import THRESHOLDS, check_threshold, label_jobs
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd


#: Marks a batch that depends on no batch, or follows none.
NONE = -1

#: Default longest time between two arrivals of a session. [s]
THRESHOLD = THRESHOLDS["arrival"]

#: The fields of `Activities` that are times.
TIMES = ("gap", "arrival", "think_time", "interarrival", "begin", "until", "end", "ended")


class Activities(NamedTuple):
    """Sessions and batches of the users of a log, and the dependencies between batches.

    A user's batches form one sequence, in which each *follows* the previous one. A batch *depends
    on* the previous batch of its session; the first batch of a session depends on the last batches
    of all sessions of the user that ended before it began [1]_. The number of such pairs grows with
    the square of the number of sessions, so they are not stored: with sessions sorted by their
    ends, a session depends on the first `needs` ones.

    Times are int64 if the submit, wait and run times of all jobs are whole, else float64. [s]

    Parameters
    ----------
    user : ndarray of int64, shape (n_users,)
        User numbers, ascending. Jobs of unknown user are one user, -1.
    first_batch, first_session : ndarray of int64, shape (n_users + 1,)
        The batches of the u-th user are `first_batch[u]` to `first_batch[u + 1] - 1`, in order of
        arrival; likewise the sessions.
    first_job : ndarray of int64, shape (n_batches + 1,)
        The jobs of batch b are `job[first_job[b]:first_job[b + 1]]`.
    job : ndarray of int64, shape (n_jobs,)
        Rows of the jobs that ran, by batch, in order of (submit, job number, row).
    gap : ndarray, shape (n_jobs,)
        Time from the first submission of the batch to that of each `job`. [s]
    session : ndarray of int64, shape (n_batches,)
        Session of each batch: 0, 1, 2, … by user, then by begin.
    arrival : ndarray, shape (n_batches,)
        First submission. [s]
    think_time : ndarray, shape (n_batches,)
        From the latest end of all batches that the batch depends on to its arrival; -1 if it
        depends on none. [s]
    interarrival : ndarray, shape (n_batches,)
        From the last submission of the user's previous batch to the arrival; -1 for the first
        batch of a user. [s]
    needs : ndarray of int64, shape (n_batches,)
        For the first batch of a session, the number of sessions that it depends on: those with a
        `place` below this number. 0 for other batches, which depend on the previous batch.
    place : ndarray of int64, shape (n_sessions,)
        Position of each session among those of its user by `end`, ties by `begin`: 0, 1, 2, …
    begin, until, end : ndarray, shape (n_sessions,)
        First submission, last submission and latest end. An unknown wait counts as 0. [s]
    ended : ndarray, shape (n_jobs,)
        End of each `job`. [s]

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on feedback-based simulation, sections IV and VI.
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


def activities(trace: Trace, *, threshold: float = THRESHOLD) -> Activities:
    """Find the sessions, batches and dependencies of every user.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out. Sessions are those of `delimit_sessions` by arrival. An
        unknown wait counts as 0.
    threshold : float, default 3600
        Longest time between two arrivals of a session. [s]

    Raises
    ------
    ParameterError
        If the threshold is negative.

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they count as jobs of one user.

    Examples
    --------
    The second batch starts after a think time of 30 s; the next session begins 2 h later, after
    the first session has ended.

    >>> log = {"submit": [0, 90, 7290], "run": [60, 30, 10], "procs": [1, 1, 1], "user": [5, 5, 5]}
    >>> found = activities(Trace.from_columns(log))
    >>> found.think_time.tolist(), found.interarrival.tolist(), found.needs.tolist()
    ([-1, 30, 7170], [-1, 90, 7200], [0, 0, 1])
    """
    check_trace(trace)
    wait = trace.column("wait")
    if (wait < 0).any():  # invalid, as in a simulation
        trace = trace.with_columns(wait=np.where(wait < 0, np.nan, wait))
    row = np.flatnonzero(trace.ran)
    _, label = label_jobs(trace, threshold=threshold)
    submit, ended = _times(trace, row)
    number, user = trace.column("job")[row], trace.column("user")[row]
    users, of_user = np.unique(user, return_inverse=True)

    # Labels ascend with time, so sorting by user and label gives batches in order of arrival.
    order = np.lexsort((number, submit, label["batch"], of_user))
    columns = submit, ended, of_user, label["session"], label["batch"]
    return _joined(users, row[order], *(values[order] for values in columns))


def with_threshold(acts: Activities, threshold: float) -> Activities:
    """Return the activities of the same jobs with sessions by another threshold.

    The order of the jobs stays the same: by user, then by time.
    """
    from workloadkit._kernels.statistics import label_sessions

    check_threshold(threshold)
    submit = np.repeat(acts.arrival, np.diff(acts.first_job)) + acts.gap
    n_jobs = np.diff(acts.first_job[acts.first_batch])
    of_user = np.repeat(np.arange(n_jobs.size), n_jobs)
    arrives, ends = submit.astype(np.float64), acts.ended.astype(np.float64)
    session, batch, _ = label_sessions(
        arrives, arrives, ends, of_user, n_jobs.size, float(threshold), True
    )
    return _joined(acts.user, acts.job, submit, acts.ended, of_user, session, batch)


def _joined(
    users: NDArray[np.int64],
    job: NDArray[np.int64],
    submit: NDArray,
    ended: NDArray,
    of_user: NDArray[np.int64],
    session: NDArray[np.int64],
    batch: NDArray[np.int64],
) -> Activities:
    """Return the activities of jobs, by user and time, with the labels of session and batch."""
    first_job = _bounds(batch)
    opens = first_job[:-1]
    arrival, last_arrival = submit[opens], submit[first_job[1:] - 1]
    batch_end = _latest(ended, opens)

    of_user = of_user[opens]
    bounds = _bounds(session[opens])
    heads = bounds[:-1]  # first batch of each session
    session = np.repeat(np.arange(heads.size), np.diff(bounds))
    begin, until = arrival[heads], last_arrival[bounds[1:] - 1]
    end = _latest(batch_end, heads)
    first_session = np.searchsorted(of_user[heads], np.arange(users.size + 1))

    think_time = np.full_like(arrival, NONE)
    interarrival = np.full_like(arrival, NONE)
    needs = np.zeros(opens.size, np.int64)
    follows = np.flatnonzero(of_user[1:] == of_user[:-1]) + 1
    interarrival[follows] = arrival[follows] - last_arrival[follows - 1]
    inside = np.flatnonzero(session[1:] == session[:-1]) + 1
    think_time[inside] = arrival[inside] - batch_end[inside - 1]
    place, needs[heads], think_time[heads] = _by_end(of_user[heads], first_session, begin, end)
    return Activities(
        user=users,
        first_batch=np.searchsorted(of_user, np.arange(users.size + 1)),
        first_session=first_session,
        first_job=first_job,
        job=job,
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


def dependencies(trace: Trace, *, threshold: float = THRESHOLD) -> "pd.DataFrame":
    """Return what each batch of a log follows and depends on.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out.
    threshold : float, default 3600
        Longest time between two arrivals of a session. [s]

    Returns
    -------
    DataFrame
        One row per batch, in order of arrival: `user`, `session` and `batch` (labels as in
        `delimit_sessions`); `first_job`, the number of its first job; `jobs`, its number of jobs;
        `arrival`, `last_arrival` and `end` [s]; `follows`, the user's previous batch (-1 for none);
        `depends_on`, the number of batches that it depends on; `think_time` since the latest end
        of these, and `interarrival` since the last arrival of the batch that it follows (float,
        NaN for none) [s].

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they count as jobs of one user.

    Examples
    --------
    >>> log = {"submit": [0, 90, 7290], "run": [60, 30, 10], "procs": [1, 1, 1], "user": [5, 5, 5]}
    >>> table = dependencies(Trace.from_columns(log))
    >>> table[["session", "batch", "follows", "depends_on", "think_time"]]
       session  batch  follows  depends_on  think_time
    0        0      0       -1           0         NaN
    1        0      1        0           1        30.0
    2        1      2        1           1      7170.0
    """
    import pandas as pd

    acts = activities(trace, threshold=threshold)
    opens, n_batches = acts.first_job[:-1], acts.session.size
    # labels are ordered by first row
    label = _rank(np.minimum.reduceat(acts.job, opens) if n_batches else opens)
    heads = _bounds(acts.session)[:-1]
    session = _rank(np.minimum.reduceat(label, heads) if n_batches else heads)
    last = acts.first_job[1:] - 1
    follows = np.append(NONE, label[:-1])[:n_batches]
    follows[acts.first_batch[:-1]] = NONE
    table = pd.DataFrame(
        {
            "user": np.repeat(acts.user, np.diff(acts.first_batch)),
            "session": session[acts.session],
            "batch": label,
            "first_job": trace.column("job")[acts.job[opens]],
            "jobs": np.diff(acts.first_job),
            "arrival": acts.arrival,
            "last_arrival": acts.arrival + acts.gap[last],
            "end": _latest(acts.ended, opens),
            "follows": follows,
            "depends_on": _n_needed(acts),
            "think_time": np.where(acts.think_time == NONE, np.nan, acts.think_time),
            "interarrival": np.where(acts.interarrival == NONE, np.nan, acts.interarrival),
        }
    )
    return table.sort_values("batch", ignore_index=True)


def with_dependencies(trace: Trace, *, threshold: float = THRESHOLD) -> Trace:
    """Record the dependencies between batches in fields 17 and 18, as far as possible.

    The first job of a batch gets as `preceding_job` (field 17) the job with the latest end in all
    batches that its batch depends on (ties: the latest submission, then the largest job number),
    and as `think_time` (field 18) the time from that end to its arrival. All other jobs have
    neither. `carry_dependencies` also counts the information that is lost.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out.
    threshold : float, default 3600
        Longest time between two arrivals of a session. [s]

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they count as jobs of one user.

    Examples
    --------
    >>> log = {"submit": [0, 90, 7290], "run": [60, 30, 10], "procs": [1, 1, 1], "user": [5, 5, 5]}
    >>> trace = with_dependencies(Trace.from_columns(log))
    >>> trace.jobs[["preceding_job", "think_time"]].to_numpy().tolist()
    [[-1.0, nan], [1.0, 30.0], [2.0, 7170.0]]
    """
    return carry_dependencies(trace, threshold=threshold)[0]


def carry_dependencies(
    trace: Trace, *, threshold: float = THRESHOLD
) -> tuple[Trace, dict[str, int]]:
    """Do as `with_dependencies`, and count the recorded and the lost information.

    Returns
    -------
    made : Trace
    counts : dict of str to int
        `batches`; `dependencies`, pairs of dependent batches; `written`, batches whose first job
        has a preceding job; `of_several`, those that depend on further batches; `only_following`,
        batches that follow one and depend on none; `within_batches`, jobs that are not the first
        of their batch (their gaps are lost); `ambiguous`, preceding jobs without a unique number.

    Examples
    --------
    >>> log = {"submit": [0, 90, 7290], "run": [60, 30, 10], "procs": [1, 1, 1], "user": [5, 5, 5]}
    >>> carry_dependencies(Trace.from_columns(log))[1]["written"]
    2
    """
    acts = activities(trace, threshold=threshold)
    row, before = _preceding(trace, acts)
    job = trace.column("job")
    preceding, think_time = np.full(trace.n_jobs, UNKNOWN), np.full(trace.n_jobs, np.nan)
    preceding[row] = job[before]
    think_time[row] = acts.think_time[acts.think_time != NONE]
    made = trace.with_columns(preceding_job=preceding, think_time=think_time)

    numbers, n_such = np.unique(job, return_counts=True)
    repeats = n_such[np.searchsorted(numbers, job[before])] > 1
    n_needed = _n_needed(acts)
    counts = {
        "batches": acts.session.size,
        "dependencies": int(n_needed.sum()),
        "written": before.size,
        "of_several": int((n_needed > 1).sum()),
        "only_following": int(((n_needed == 0) & (acts.interarrival != NONE)).sum()),
        "within_batches": acts.job.size - acts.session.size,
        "ambiguous": int((repeats | (job[before] < 1)).sum()),
    }
    return noted(made, trace.header, "dependencies", as_note(provenance(trace))), counts


def _preceding(trace: Trace, acts: Activities) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of the first jobs of dependent batches, and of the jobs that they depend on."""
    n_batches = acts.session.size
    batch = np.repeat(np.arange(n_batches), np.diff(acts.first_job))
    submit = acts.arrival[batch] + acts.gap
    number = trace.column("job")[acts.job]
    order = np.lexsort((acts.job, number, submit, acts.ended, batch))
    last = order[acts.first_job[1:] - 1]  # last job of each batch, as an index into `acts.job`

    inside = np.append(False, acts.session[1:] == acts.session[:-1])[:n_batches]
    before = np.full(n_batches, NONE)
    before[inside] = last[np.flatnonzero(inside) - 1]
    of_session = last[_bounds(acts.session)[1:] - 1]
    user = np.repeat(np.arange(acts.user.size), np.diff(acts.first_session))
    # sessions with equal ends are needed all or not at all, so the first ones are the same here
    keys = (acts.job[of_session], number[of_session], submit[of_session], acts.end, user)
    in_order = of_session[np.lexsort(keys)]
    needy = np.flatnonzero(acts.needs)
    first = acts.first_session[user[acts.session[needy]]]
    before[needy] = in_order[first + acts.needs[needy] - 1]
    has = np.flatnonzero(before != NONE)
    return acts.job[acts.first_job[has]], acts.job[before[has]]


def _n_needed(acts: Activities) -> NDArray[np.int64]:
    """Return the number of batches that each batch depends on."""
    inside = np.append(False, acts.session[1:] == acts.session[:-1])[: acts.session.size]
    return np.where(inside, 1, acts.needs)


def _rank(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank of each of distinct values."""
    rank = np.empty_like(values)
    rank[np.argsort(values)] = np.arange(values.size)
    return rank


def _times(trace: Trace, row: NDArray[np.int64]) -> tuple[NDArray, NDArray]:
    """Return submit times and ends at some rows, as int64 if all their times are whole."""
    times = [np.nan_to_num(trace.column(name)[row]) for name in ("submit", "wait", "run")]
    if all(((t == np.rint(t)) & (np.abs(t) <= MAX_TIME)).all() for t in times):
        times = [t.astype(np.int64) for t in times]
    submit, wait, run = times
    return submit, submit + wait + run


def _bounds(label: NDArray) -> NDArray[np.int64]:
    """Return where each run of equal labels begins, and finally where the last one ends."""
    changes = np.flatnonzero(label[1:] != label[:-1]) + 1
    return np.concatenate((np.zeros(min(label.size, 1), np.int64), changes, [label.size]))


def _latest(times: NDArray, first: NDArray[np.int64]) -> NDArray:
    """Return the latest time of each group, groups beginning at `first`."""
    return np.maximum.reduceat(times, first) if first.size else times


def _by_end(
    user: NDArray[np.int64], first_session: NDArray[np.int64], begin: NDArray, end: NDArray
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray]:
    """Return the place of each session by its end, how many it needs, and the time since these."""
    by_end = np.lexsort((begin, end, user))
    needed = _ended_before(user, begin, end)
    waits = np.flatnonzero(needed)
    latest = by_end[first_session[user[waits]] + needed[waits] - 1]
    since = np.full_like(begin, NONE)
    since[waits] = begin[waits] - end[latest]
    return np.argsort(by_end) - first_session[user], needed, since


def _ended_before(user: NDArray[np.int64], begin: NDArray, end: NDArray) -> NDArray[np.int64]:
    """Count the sessions of a user that ended before each began."""
    n = user.size
    is_end = np.repeat([False, True], n)
    # at equal times begins come first: a session that ends in that second has not ended before
    order = np.lexsort((is_end, np.concatenate((begin, end)), np.concatenate((user, user))))
    ended = np.empty(2 * n, np.int64)
    ended[order] = np.cumsum(is_end[order])
    return ended[:n] - np.searchsorted(user, user)  # subtract the sessions of preceding users
