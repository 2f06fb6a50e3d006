"""Sessions, batches and think times of users."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import order_by
from workloadkit.errors import ParameterError, WorkloadWarning, among, quoted
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace, check_ascending, check_trace

if TYPE_CHECKING:
    import pandas as pd


#: Default threshold of each method. [s]
THRESHOLDS = {"arrival": 3600.0, "last": 1200.0, "max": 1200.0}


def delimit_sessions(
    trace: Trace,
    *,
    method: str = "arrival",
    threshold: float | None = None,
    cut: float | None = None,
) -> "pd.DataFrame":
    """Find the sessions and batches of every user.

    A session is a period of continuous work of one user; its batches are sets of overlapping
    jobs, separated by the user's think times [1]_. A job starts a new session if it arrives more
    than `threshold` after the reference point of the method:

    - "arrival": the previous arrival;
    - "last": the end of the previously submitted job;
    - "max": the latest end in the session.

    With a `cut`, a job with a longer response time counts as ending `cut` after its arrival, so a
    long job does not extend a session while its user is away. With a cut of 0, "last" and "max"
    give the sessions of "arrival" for the same threshold.

    A job starts a new batch if it arrives after the latest end so far in its session; for "last",
    after the end of the previously submitted job. A job that arrives exactly at that end belongs to
    the batch. Batches always use real ends, without a cut.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran (`Trace.ran`) are left out. An unknown wait counts as 0.
    method : {"arrival", "last", "max"}, default "arrival"
    threshold : float, optional
        Longest gap within a session; by default 60 min for "arrival", 20 min for "last" and "max".
        [s]
    cut : float, optional
        Longest time after its arrival for which a job extends its session, for "last" and "max";
        by default until its end. [s]

    Returns
    -------
    sessions : DataFrame
        One row per job that ran, with its row label in `trace.jobs`: `session` and `batch` (int:
        0, 1, 2, … in order of their starts, unique in the whole log) and `think_time` (float: for
        the first job of a batch, the time since the reference end of the previous batch; NaN for
        the first batch of a session and for all other jobs). [s]

    Raises
    ------
    ParameterError
        If the method is unknown, the threshold or the cut is negative, or a cut is given for
        "arrival".

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they count as jobs of one user.

    See Also
    --------
    think_times : all times between jobs, including negative and long ones.

    Notes
    -----
    The source states the two inequalities with a cut for batches; they define sessions.

    A later definition by the same author (N. Zakay's thesis, 2018, Definition 2) lets a job join
    a batch only if it arrives *before* an end, not exactly at it. KTH-SP2-1996-2 then has 16,492
    batches; the definition used here gives the published 16,488.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012, sections 2 and 6.

    Examples
    --------
    User 5 submits again when the first job ends, then after a think time of 30 s, then 2 h later.

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
    import pandas as pd

    rows, columns = label_jobs(trace, method=method, threshold=threshold, cut=cut)
    return pd.DataFrame(columns, index=trace.jobs.index[rows])


def label_jobs(
    trace: Trace,
    *,
    method: str = "arrival",
    threshold: float | None = None,
    cut: float | None = None,
) -> tuple[NDArray[np.int64], dict[str, NDArray]]:
    """Return the rows of the jobs that ran, and the columns of `delimit_sessions`."""
    from workloadkit._kernels.statistics import label_sessions

    check_trace(trace)
    if method not in THRESHOLDS:
        raise ParameterError(
            f"unknown method {quoted(method)} to delimit sessions; {among(method, THRESHOLDS)}"
        )
    if threshold is None:
        threshold = THRESHOLDS[method]
    check_threshold(threshold)
    if cut is not None:
        if method == "arrival":
            raise ParameterError("a cut requires the method last or max; arrival does not use ends")
        if not cut >= 0:
            raise ParameterError("cut", f"must be 0 s or more, not {cut:g}")

    rows, submit, end, user, n_users = _work_of_users(trace)
    reach = submit if method == "arrival" else end
    if cut is not None:
        reach = np.minimum(end, submit + cut)
    session, batch, think_time = label_sessions(
        submit, reach, end, user, n_users, float(threshold), method != "last"
    )
    return rows, {"session": session, "batch": batch, "think_time": think_time}


def check_threshold(threshold: float) -> None:
    """Check the longest gap within a session."""
    if not threshold >= 0:  # rejects NaN, too
        raise ParameterError("threshold", f"must be 0 s or more, not {threshold:g}")


def think_times(trace: Trace, *, method: str = "last") -> "pd.DataFrame":
    """Return the think time before each job, since the end of its user's earlier work.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran are left out. An unknown wait counts as 0.
    method : {"last", "max"}, default "last"
        Whether to measure from the end of the previously submitted job, or from the latest end of
        all jobs submitted before [1]_.

    Returns
    -------
    DataFrame
        One row per job that ran and is not its user's first, with its row label in `trace.jobs`:
        `previous`, the row label of the user's previously submitted job; `think_time` (float) [s];
        `negative`, whether the job arrived before that end.

    Raises
    ------
    ParameterError
        If the method is unknown.

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they count as jobs of one user.

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
    import pandas as pd

    check_trace(trace)
    if method not in ("last", "max"):
        raise ParameterError(
            f"unknown method {quoted(method)} to measure think times; known: last, max"
        )
    rows, submit, end, user, _ = _work_of_users(trace)
    index = trace.jobs.index[rows]
    until = end if method == "last" else pd.Series(end).groupby(user).cummax().to_numpy()
    order = order_by(user)
    same = np.diff(user[order]) == 0
    previous = np.full(user.size, -1)
    previous[order[1:][same]] = order[:-1][same]
    follows = np.flatnonzero(previous >= 0)
    previous = previous[follows]
    think_time = submit[follows] - until[previous]
    return pd.DataFrame(
        {
            "previous": index.to_numpy()[previous],
            "think_time": think_time,
            "negative": think_time < 0,
        },
        index=index[follows],
    )


def _work_of_users(trace: Trace) -> tuple[NDArray, NDArray, NDArray, NDArray, int]:
    """Return rows, submit, end and user code of the jobs that ran, and the number of codes."""
    rows = np.flatnonzero(trace.ran)
    submit, end, user = trace.column("submit")[rows], trace.end[rows], trace.column("user")[rows]
    unknown = int((user == UNKNOWN).sum())
    if unknown:
        warnings.warn(
            f"{trace.name}: jobs of unknown user ({unknown:,}) count as jobs of one user",
            WorkloadWarning,
            stacklevel=3,
        )
    check_ascending(submit)
    if user.size and int(user.max()) - int(user.min()) < 2 * user.size:
        code = user - user.min()
    else:
        code = np.unique(user, return_inverse=True)[1]
    return rows, submit, end, code, int(code.max(initial=-1)) + 1
