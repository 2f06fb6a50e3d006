"""Productivity of users: their sessions, activity and throughput."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.clock import WEEK, Clock
from workloadkit.metrics import submission_window
from workloadkit.sessions import THRESHOLDS
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd


#: Aggregates of `Productivity.summary`.
NAMES: tuple[str, ...] = (
    *("users", "sessions", "jobs_per_session", "sessions_per_user", "mean_session_length"),
    *("mean_activity_length", "median_activity_length"),
)


@dataclass(frozen=True, eq=False)
class Productivity:
    """The productivity of the users of a log or of a schedule.

    Parameters
    ----------
    sessions : DataFrame
        One row per session, by user, then in the order of time: `user`; `jobs`; `begin` and
        `length`, its first submission and the time from there to its last [s].
    users : DataFrame
        By `user`, ascending: `jobs`; `sessions`; `jobs_per_session`; `mean_session_length` [s];
        `active_weeks`, the number of weeks, from Monday 0:00 local time, with submissions; `first`,
        the first submission, and `activity_length`, the time from there to the last [s];
        `throughput_per_hour`, the user's jobs that ended in the period, divided by its hours.
    period : tuple of float
        Begin and end of the period that counts for throughput. [s]
    ended : int
        Jobs that ended in the period.
    """

    sessions: "pd.DataFrame"
    users: "pd.DataFrame"
    period: tuple[float, float]
    ended: int

    @property
    def throughput_per_hour(self) -> float:
        """Jobs of all users that ended in the period, divided by its hours; NaN if it is empty."""
        return float(_per_hour(self.ended, self.period))

    @cached_property
    def summary(self) -> dict[str, float]:
        """Aggregates over users and sessions, by the names in `NAMES`. Times in seconds."""
        users, sessions = self.users, self.sessions
        return {
            "users": len(users),
            "sessions": len(sessions),
            "jobs_per_session": float(sessions["jobs"].mean()),
            "sessions_per_user": float(users["sessions"].mean()),
            "mean_session_length": float(sessions["length"].mean()),
            "mean_activity_length": float(users["activity_length"].mean()),
            "median_activity_length": float(users["activity_length"].median()),
        }


def measure_productivity(
    submit: ArrayLike,
    end: ArrayLike,
    user: ArrayLike,
    *,
    session: ArrayLike | None = None,
    period: tuple[float, float] | None = None,
    clock: Clock | None = None,
) -> Productivity:
    """Measure the productivity of users.

    Parameters
    ----------
    submit, end : array_like, shape (n_jobs,)
        When each job was submitted, ascending, and when it ended. [s]
    user : array_like of int, shape (n_jobs,)
    session : array_like of int, shape (n_jobs,), optional
        Session of each job, if known; by default see `arrival_sessions`.
    period : tuple of float, optional
        The period that counts for throughput; by default the window of the submissions, see
        `workloadkit.metrics.submission_window`. [s]
    clock : Clock, optional
        Local time; by default second 0 is Monday 0:00.

    Examples
    --------
    >>> found = measure_productivity([0, 60, 7200], [100, 90, 7260], [5, 5, 5])
    >>> found.sessions["jobs"].tolist(), found.users["activity_length"].tolist()
    ([2, 1], [7200])
    >>> found.summary["jobs_per_session"], round(found.throughput_per_hour, 3)
    (1.5, 1.0)
    """
    import pandas as pd

    submit, end, user = (np.asarray(values) for values in (submit, end, user))
    session = arrival_sessions(submit, user) if session is None else np.asarray(session)
    if period is None:
        period = submission_window(submit, end)
    within = (end >= period[0]) & (end <= period[1])
    local = submit if clock is None else clock.local(submit)
    jobs = pd.DataFrame({"user": user, "session": session, "submit": submit, "ended": within})
    by_session = jobs.groupby(["user", "session"])["submit"].agg(["size", "min", "max"])
    by_session = by_session.reset_index("user").sort_values(["user", "min"], kind="stable")
    sessions = pd.DataFrame(
        {
            "user": by_session["user"],
            "jobs": by_session["size"],
            "begin": by_session["min"],
            "length": by_session["max"] - by_session["min"],
        }
    ).reset_index(drop=True)
    weeks = jobs.assign(week=np.floor(local / WEEK)).groupby("user")["week"].nunique()
    by_user = jobs.groupby("user")
    of_sessions = sessions.groupby("user")
    counts = {"jobs": by_user.size(), "sessions": of_sessions.size()}
    users = pd.DataFrame(
        counts
        | {
            "jobs_per_session": counts["jobs"] / counts["sessions"],
            "mean_session_length": of_sessions["length"].mean(),
            "active_weeks": weeks,
            "first": by_user["submit"].min(),
            "activity_length": by_user["submit"].max() - by_user["submit"].min(),
            "throughput_per_hour": _per_hour(by_user["ended"].sum(), period),
        }
    )
    return Productivity(sessions, users, period, int(within.sum()))


def log_productivity(trace: Trace) -> Productivity:
    """Measure the productivity of the users of a log, by its own times, from the jobs that ran.

    Parameters
    ----------
    trace : Trace
        An unknown wait counts as 0. Jobs of unknown user count as jobs of one user.

    Examples
    --------
    >>> log = {"submit": [0, 60, 7200], "run": [9, 9, 9], "procs": [1] * 3, "user": [5, 6, 5]}
    >>> log_productivity(Trace.from_columns(log)).users["sessions"].to_dict()
    {5: 2, 6: 1}
    """
    check_trace(trace)
    ran = trace.ran
    submit, end, user = trace.column("submit")[ran], trace.end[ran], trace.column("user")[ran]
    return measure_productivity(submit, end, user, clock=Clock.of(trace))


def arrival_sessions(submit: NDArray, user: NDArray) -> NDArray[np.int64]:
    """Label the sessions of users by the gaps between their submissions.

    They are those of `workloadkit.delimit_sessions` by arrival, with its threshold of an hour.

    Parameters
    ----------
    submit : ndarray, shape (n_jobs,)
        Ascending. [s]
    user : ndarray of int, shape (n_jobs,)

    Returns
    -------
    ndarray of int64, shape (n_jobs,)
        0, 1, 2, … in the order in which the sessions start.

    Examples
    --------
    >>> arrival_sessions(np.array([0, 9, 3600, 7201]), np.array([1, 2, 1, 1])).tolist()
    [0, 1, 0, 2]
    """
    from workloadkit._kernels.statistics import label_sessions

    users, code = np.unique(user, return_inverse=True)
    times = submit.astype(np.float64)
    threshold = THRESHOLDS["arrival"]
    return label_sessions(times, times, times, code, users.size, threshold, True)[0]


def _per_hour(jobs: Any, period: tuple[float, float]) -> Any:
    hours = (period[1] - period[0]) / 3600
    return jobs / hours if hours > 0 else jobs * np.nan
