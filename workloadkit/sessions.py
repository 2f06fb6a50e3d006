"""Sessions and batches: how users work with the machine."""

import warnings

import pandas as pd

from workloadkit.errors import ParameterError, WorkloadWarning
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace, check_ascending

#: The threshold of each method where none is given. [s]
THRESHOLDS = {"arrival": 3600.0}


def delimit_sessions(
    trace: Trace, *, method: str = "arrival", threshold: float | None = None
) -> pd.DataFrame:
    """Find the sessions and batches of every user.

    A session is a period of continuous work of one user; its batches are sets of overlapping
    jobs, with the user's think times between them [1]_. By the method "arrival", a job opens a
    new session when it arrives more than `threshold` after the same user's previous arrival, and
    a new batch when it arrives later than the latest end so far in its session; a job that
    arrives in that very second still belongs to the batch.

    Parameters
    ----------
    trace : Trace
        Jobs that never ran (`Trace.ran`) are left out. An unknown wait counts as 0.
    method : {"arrival"}, default "arrival"
    threshold : float, optional
        Longest time between two arrivals in one session; by default 60 min. [s]

    Returns
    -------
    sessions : DataFrame
        One row for each job that ran, under its row label in `trace.jobs`: `session` and `batch`
        (int: 0, 1, 2, … in the order in which they start, unique in the whole log) and
        `think_time` (float: for the first job of a batch, the time since the latest end in the
        session; NaN for the first batch of a session and for all other jobs). [s]

    Raises
    ------
    ParameterError
        If the method is not known or the threshold is negative.

    Warns
    -----
    WorkloadWarning
        If jobs have no known user; they are taken for the jobs of one user.

    Notes
    -----
    A later definition by the same author (N. Zakay's thesis, 2018, Definition 2) lets a job join
    a batch only if it arrives *before* an end, no longer at it. KTH-SP2-1996-2 then has 16,492
    batches; the definition here gives the published 16,488.

    References
    ----------
    .. [1] N. Zakay, D. G. Feitelson, "On identifying user session boundaries in parallel
       workload logs", JSSPP 2012, section 2.

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
    from workloadkit._kernels.sessions import label_by_arrival

    if method not in THRESHOLDS:
        raise ParameterError(
            f"no method {method!r} to delimit sessions; known: {', '.join(THRESHOLDS)}"
        )
    if threshold is None:
        threshold = THRESHOLDS[method]
    if not threshold >= 0:  # written so that NaN is refused
        raise ParameterError(f"threshold must be 0 s or more, not {threshold:g}")

    jobs = trace.jobs.loc[trace.ran, ["submit", "user"]]
    unknown = int((jobs["user"] == UNKNOWN).sum())
    if unknown:
        warnings.warn(
            f"{trace.name}: jobs of unknown user ({unknown:,}) are taken for the jobs of one",
            WorkloadWarning,
            stacklevel=2,
        )
    submit, end = jobs["submit"].to_numpy(), trace.end[trace.ran]
    check_ascending(submit)
    user, users = pd.factorize(jobs["user"])
    session, batch, think_time = label_by_arrival(submit, end, user, users.size, float(threshold))
    columns = {"session": session, "batch": batch, "think_time": think_time}
    return pd.DataFrame(columns, index=jobs.index)
