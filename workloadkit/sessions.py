"""Sessions, batches and think times: how users work with the machine."""

import warnings

import numpy as np
import pandas as pd

from workloadkit.errors import ParameterError, WorkloadWarning, among
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace, check_ascending, check_trace

#: The threshold of each method where none is given. [s]
THRESHOLDS = {"arrival": 3600.0, "last": 1200.0, "max": 1200.0}


def delimit_sessions(
    trace: Trace,
    *,
    method: str = "arrival",
    threshold: float | None = None,
    cut: float | None = None,
) -> pd.DataFrame:
    """Find the sessions and batches of every user.

    A session is a period of continuous work of one user; its batches are sets of overlapping
    jobs, with the user's think times between them [1]_. A job opens a new session when it arrives
    more than `threshold` after the point that its user's work so far reached:

    - "arrival": the previous arrival;
    - "last": the end of the job submitted before;
    - "max": the latest end in the session.

    With a `cut`, jobs that respond later than that count as if they had ended `cut` after their
    arrival; so a long job does not hold a session open while its user is away. With a cut of 0,
    "last" and "max" give the sessions of "arrival" for the same threshold.

    A job opens a new batch when it arrives later than the latest end so far in its session, by
    "last" later than the end of the job submitted before; a job that arrives in that very second
    still belongs to the batch. These ends are never cut.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran (`Trace.ran`) are left out. An unknown wait counts as 0.
    method : {"arrival", "last", "max"}, default "arrival"
    threshold : float, optional
        Longest silence in a session; by default 60 min by "arrival", 20 min by "last" and "max".
        [s]
    cut : float, optional
        How long after its arrival a job can hold a session open, for "last" and "max"; by default
        until it ends. [s]

    Returns
    -------
    sessions : DataFrame
        One row for each job that ran, under its row label in `trace.jobs`: `session` and `batch`
        (int: 0, 1, 2, … in the order in which they start, unique in the whole log) and
        `think_time` (float: for the first job of a batch, the time since the end that it came
        later than; NaN for the first batch of a session and for all other jobs). [s]

    Raises
    ------
    ParameterError
        If the method is not known, the threshold or the cut is negative, or there is a cut by
        "arrival".

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they are taken for the jobs of one user.

    See Also
    --------
    think_times : all times between jobs, also those that are negative or long.

    Notes
    -----
    The source's two inequalities with a cut speak of batches, but decide sessions.

    A later definition by the same author (N. Zakay's thesis, 2018, Definition 2) lets a job join
    a batch only if it arrives *before* an end, no longer at it. KTH-SP2-1996-2 then has 16,492
    batches; the definition here gives the published 16,488.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012, sections 2 and 6.

    Examples
    --------
    User 5 submits again as the first job ends, then after thinking for 30 s, then 2 h later.

    >>> trace = Trace.from_columns(
    ...     {
    ...         "submit": [0, 60, 90, 120, 7320],
    ...         "run": [60, 30, 10, 10, 10],
    ...         "procs": [1, 1, 1, 1, 1],
    ...         "user": [5, 5, 8, 5, 5],
    ...     }
    ... )
    >>> delimit_sessions(trace)
       session  batch  think_time
    0        0      0         NaN
    1        0      0         NaN
    2        1      1         NaN
    3        0      2        30.0
    4        2      3         NaN
    """
    from workloadkit._kernels.sessions import label_sessions

    check_trace(trace)
    if method not in THRESHOLDS:
        raise ParameterError(
            f"no method {method!r} to delimit sessions; {among(method, THRESHOLDS)}"
        )
    if threshold is None:
        threshold = THRESHOLDS[method]
    if not threshold >= 0:  # written so that NaN is refused
        raise ParameterError(f"threshold must be 0 s or more, not {threshold:g}")
    if cut is not None:
        if method == "arrival":
            raise ParameterError("a cut goes with last and max; by arrival no end holds a session")
        if not cut >= 0:
            raise ParameterError(f"cut must be 0 s or more, not {cut:g}")

    submit, end, user, n_users, index = _work_of_users(trace)
    reach = submit if method == "arrival" else end
    if cut is not None:
        reach = np.minimum(end, submit + cut)
    session, batch, think_time = label_sessions(
        submit, reach, end, user, n_users, float(threshold), method != "last"
    )
    columns = {"session": session, "batch": batch, "think_time": think_time}
    return pd.DataFrame(columns, index=index)


def think_times(trace: Trace, *, method: str = "last") -> pd.DataFrame:
    """Return the time between each job and its user's work before it.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out. An unknown wait counts as 0.
    method : {"last", "max"}, default "last"
        Whether from the end of the job submitted before, or from the latest end of all jobs
        submitted before [1]_.

    Returns
    -------
    DataFrame
        One row for each job that ran and is not its user's first, under its row label in
        `trace.jobs`: `previous`, the row label of the user's job submitted before; `think_time`
        (float) [s]; `negative`, whether the job arrived before that end.

    Raises
    ------
    ParameterError
        If the method is not known.

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they are taken for the jobs of one user.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012, section 2.1.

    Examples
    --------
    >>> log = {"submit": [0, 10, 50], "run": [40, 5, 1], "procs": [1] * 3, "user": [5] * 3}
    >>> think_times(Trace.from_columns(log))
       previous  think_time  negative
    1         0       -30.0      True
    2         1        35.0     False
    """
    check_trace(trace)
    if method not in ("last", "max"):
        raise ParameterError(f"no method {method!r} to measure think times; known: last, max")
    submit, end, user, _, index = _work_of_users(trace)
    order = np.argsort(user, kind="stable")
    of_user = pd.Series(end[order]).groupby(user[order])
    until = end[order] if method == "last" else of_user.cummax().to_numpy()
    same = np.flatnonzero(user[order][1:] == user[order][:-1])
    rows = pd.DataFrame(
        {
            "previous": index.to_numpy()[order[same]],
            "think_time": submit[order[same + 1]] - until[same],
        },
        index=index[order[same + 1]],
    ).sort_index()
    rows["negative"] = rows["think_time"] < 0
    return rows


def _work_of_users(trace: Trace) -> tuple:
    """Submit, end, user from 0 of the jobs that ran, number of users, and row labels."""
    jobs = trace.jobs.loc[trace.ran, ["submit", "user"]]
    unknown = int((jobs["user"] == UNKNOWN).sum())
    if unknown:
        warnings.warn(
            f"{trace.name}: jobs of unknown user ({unknown:,}) are taken for the jobs of one",
            WorkloadWarning,
            stacklevel=3,
        )
    submit, end = jobs["submit"].to_numpy(), trace.end[trace.ran]
    check_ascending(submit)
    user, users = pd.factorize(jobs["user"])
    return submit, end, user, users.size, jobs.index
