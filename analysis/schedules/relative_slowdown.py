"""Slowdown ratio of Lawson and Smirni: a job-by-job comparison of two schedules."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.schedules.jackknife import (
    check_confidence,
    jackknifed,
    means_without_each,
)
from workloadkit.analysis.schedules.same_jobs import check_same_jobs, served_in_order
from workloadkit.clock import WEEK
from workloadkit.display import Displayed
from workloadkit.simulation import Schedule

_SHORT_RUN, _LONG_REQUEST = 10.0, 60.0  # jobs excluded in the source [s]


@dataclass(frozen=True, eq=False)
class SlowdownRatio(Displayed):
    """Lawson and Smirni's slowdown ratio of two schedules.

    Parameters
    ----------
    mean, low, high : float
        Mean over the jobs, and its interval; positive if the other schedule is better.
    weeks : DataFrame
        By `week`, from the first submission: `begin` [s], `jobs`, and the `mean` of the jobs
        submitted in it, NaN without jobs.
    left_out : int
        Jobs that ran less than 10 s and requested more than 60 s, which are excluded.
    """

    mean: float
    low: float
    high: float
    weeks: pd.DataFrame
    left_out: int

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the ratio of each week, with the mean over all jobs."""
        return plot_slowdown_ratio(self, ax)


def slowdown_ratio(first: Schedule, other: Schedule, *, confidence: float = 0.95) -> SlowdownRatio:
    """Compare how two schedules serve the same jobs, by Lawson and Smirni's ratio [1]_.

    For each job, R = (s1 - s) / min(s1, s) with s = 1 + wait / max(10 s, run); then the mean.

    Parameters
    ----------
    first, other : Schedule
        Schedules of the same jobs.
    confidence : float, default 0.95
        Confidence of the interval, computed as in `compare_schedules`: weeks are independent.

    Returns
    -------
    SlowdownRatio

    Notes
    -----
    The source takes snapshots by week. Here a week has the jobs submitted in it, which are the
    same under both schedules; the source does not specify submission or end.

    References
    ----------
    .. [1] B. Lawson, E. Smirni, "Self-adaptive scheduler parameterization", Technical Report
       TR-05-01, University of Richmond, 2005, section 2.2.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> jobs = {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]}
    >>> log = Trace.from_columns(jobs)
    >>> ratio = slowdown_ratio(*(simulate(log, name, procs=4) for name in ("fcfs", "easy")))
    >>> round(ratio.mean, 3)  # the last job waits 18 s or not at all
    0.6
    """
    check_confidence(confidence)
    check_same_jobs({"the first": first, "the other": other})
    one, two = served_in_order(first), served_in_order(other)
    ratio = metrics.slowdown_ratio(
        metrics.lawson_slowdown(one.wait, one.run), metrics.lawson_slowdown(two.wait, two.run)
    )
    left_out = (one.run < _SHORT_RUN) & (one.requested_time > _LONG_REQUEST)
    ratio, submit = ratio[~left_out], one.submit[~left_out]
    week = ((submit - one.submit[0]) // WEEK).astype(np.int64)
    n_weeks = int((one.submit[-1] - one.submit[0]) // WEEK) + 1
    jobs, total = np.bincount(week, minlength=n_weeks), np.bincount(week, ratio, n_weeks)
    weeks = pd.DataFrame(
        {
            "begin": one.submit[0] + WEEK * np.arange(n_weeks),
            "jobs": jobs,
            "mean": np.divide(total, jobs, out=np.full(n_weeks, np.nan), where=jobs > 0),
        },
        index=pd.RangeIndex(n_weeks, name="week"),
    )
    mean = float(ratio.mean()) if ratio.size else np.nan
    _, block = np.unique(week, return_inverse=True)
    half = jackknifed(means_without_each(ratio, block), confidence)
    return SlowdownRatio(mean, mean - half, mean + half, weeks, int(left_out.sum()))


def plot_slowdown_ratio(ratio: SlowdownRatio, ax: Axes | None = None) -> Axes:
    """Draw the mean slowdown ratio by week and over all jobs.

    Parameters
    ----------
    ratio : SlowdownRatio
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    ax.axhline(0, color=style.MUTED, linewidth=0.8)
    ax.plot(ratio.weeks.index + 1, ratio.weeks["mean"], color=style.BLUE, label="weekly mean")
    ax.axhline(ratio.mean, **style.LINES[5], label="mean over all jobs")
    ax.set_xlabel("week of submission")
    ax.set_ylabel("slowdown ratio R")
    style.count_axis(ax.xaxis)
    style.legend_above(ax)
    return ax
