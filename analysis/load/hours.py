"""Shares of jobs submitted during the day and on weekdays."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import (
    N_RESAMPLES,
    interval,
    resample_users,
    resampled_ratios,
    totals_by_user,
)
from workloadkit.analysis.section import AnalysisResult
from workloadkit.clock import DAY, WEEK, Clock
from workloadkit.errors import WorkloadWarning, takes_rng
from workloadkit.trace import Trace, list_of_logs

#: Daytime, from 7:30 to 17:30 (Shmueli 2008, section 5.3.2.3). [s]
DAY_BEGINS, DAY_ENDS = 7.5 * 3600, 17.5 * 3600

#: Published shares of jobs during the day and on Monday to Friday, of five logs (Shmueli 2008,
#: Figure 5.8).
PUBLISHED_DAY, PUBLISHED_WEEKDAYS = 0.70, 0.80


@dataclass(frozen=True, eq=False)
class WorkingHours(AnalysisResult):
    """Shares of jobs submitted during the day and on weekdays, in local time.

    Parameters
    ----------
    jobs : int
        Number of jobs in logs with a known local time.
    day : float
        Share submitted from 7:30 to 17:30. NaN if there are no jobs.
    day_interval : tuple of float
    weekdays : float
        Share submitted from Monday to Friday.
    weekdays_interval : tuple of float
    """

    jobs: int
    day: float
    day_interval: tuple[float, float]
    weekdays: float
    weekdays_interval: tuple[float, float]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the two shares with their intervals, and the published ones."""
        ax = style.current_axes(ax)
        share = np.array([self.day, self.weekdays])
        low, high = np.array([self.day_interval, self.weekdays_interval]).T
        bars = np.nan_to_num([share - low, high - share]).clip(min=0)
        place = np.array([1.0, 0.0])
        error = {"ecolor": style.INK, "elinewidth": 1, "capsize": 2}
        ax.barh(place, share, 0.5, xerr=bars, color=style.BLUE, error_kw=error, label="this log")
        published = [PUBLISHED_DAY, PUBLISHED_WEEKDAYS]
        ax.plot(published, place, "D", color=style.ORANGE, markersize=6, label="published")
        ax.set_yticks(place, ["7:30 to 17:30", "Monday to Friday"])
        ax.set_xlim(0, 1)
        style.share_axis(ax.xaxis)
        ax.set_xlabel("share of the jobs")
        ax.grid(visible=False, axis="y")
        style.legend_above(ax)
        return ax


@takes_rng
def working_hours(
    traces: Trace | Sequence[Trace],
    *,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> WorkingHours:
    """Measure the shares of jobs submitted by day (7:30 to 17:30) and on weekdays [1]_.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        One log, or several combined; users of different logs are different users. Times are local.
        All submitted jobs count.
    n_resamples : int, default 500
        Number of bootstrap resamples of users, for 95 % percentile intervals; jobs of unknown user
        count as one user.
    rng : int or Generator, optional

    Raises
    ------
    ParameterError
        If no log is given, or an item is not a Trace.

    Warns
    -----
    WorkloadWarning
        For logs without a known local time, which are left out.

    References
    ----------
    .. [1] E. Shmueli, "The importance of feedback in evaluating and designing parallel
       systems schedulers", PhD thesis, Hebrew University, 2008, section 5.3.2.3.

    Examples
    --------
    Thursday, 1 January 1970, at 7:30 and at 17:30, and the Saturday after at noon.

    >>> from workloadkit import Header
    >>> header = Header(("; UnixStartTime: 1", "; TimeZone: 0"))
    >>> log = {"submit": [27000 - 1, 63000 - 1, 216000], "user": [1, 2, 2]}
    >>> hours = working_hours(Trace.from_columns(log, header=header))
    >>> round(hours.day, 3), round(hours.weekdays, 3)
    (0.667, 0.667)
    """
    rng = np.random.default_rng(rng)
    counts, weights = [np.empty((0, 3))], []
    for trace in list_of_logs(traces):
        if not trace.n_jobs:
            continue
        clock = Clock.of(trace)
        if not clock.known:
            warnings.warn(
                f"{trace.name}: local time is unknown; left out of the working hours",
                WorkloadWarning,
                stacklevel=3,
            )
            continue
        local = clock.local(trace.column("submit"))
        hour = local % DAY
        user, users = pd.factorize(trace.column("user"))
        chosen = (hour >= DAY_BEGINS) & (hour < DAY_ENDS), local % WEEK < 5 * DAY, user >= 0
        counts.append(np.column_stack([totals_by_user(x, user, users.size) for x in chosen]))
        weights.append(resample_users(users.size, n_resamples, rng=rng))
    of_users = np.vstack(counts)
    jobs = of_users[:, 2].sum()
    if not jobs:
        return WorkingHours(0, np.nan, (np.nan, np.nan), np.nan, (np.nan, np.nan))
    draws = resampled_ratios(of_users[:, :2], of_users[:, [2, 2]], np.hstack(weights))
    day, weekdays = (of_users[:, :2].sum(axis=0) / jobs).tolist()
    day_interval, weekdays_interval = (tuple(limits) for limits in interval(draws).T.tolist())
    return WorkingHours(int(jobs), day, day_interval, weekdays, weekdays_interval)
