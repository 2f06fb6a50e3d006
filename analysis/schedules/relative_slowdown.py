"""Slowdown ratio of Lawson and Smirni, job by job, with jackknife intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.clock import WEEK
from workloadkit.display import Displayed
from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.experiments.intervals import student_t
from workloadkit.simulation import Schedule
from workloadkit.simulation.schedule.measures import ServedJobs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Jackknife intervals: leave out one block of jobs after another (Quenouille, 1949).


def means_without_each(values: NDArray, block: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the mean of the values without each block; NaN values do not count."""
    known = ~np.isnan(np.asarray(values, dtype=np.float64))
    total, number = np.bincount(block, np.where(known, values, 0)), np.bincount(block, known)
    rest = number.sum() - number
    return np.divide(total.sum() - total, rest, out=np.full(rest.size, np.nan), where=rest > 0)


def percentiles_without_each(
    values: NDArray, block: NDArray[np.integer], percent: int
) -> NDArray[np.float64]:
    """Return the percentile of the values without each block."""
    ascending = np.argsort(values, kind="stable")
    result = []
    for places in _members(block[ascending]):
        place = np.array(metrics.ranks(values.size - places.size, percent)) - 1
        # number of the block's values below, by which the others move down
        below = np.searchsorted(places - np.arange(places.size), place, side="right")
        lower, upper = values[ascending[place + below]].tolist()
        result.append(float((lower + upper) / 2))
    return np.array(result)


def _members(block: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """Return the ascending positions of each block's members."""
    order = np.argsort(block, kind="stable")
    return np.split(order, np.cumsum(np.bincount(block))[:-1])


def check_confidence(confidence: float) -> None:
    """Check that a confidence level lies between 0 and 1."""
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence is {confidence:g}; it must lie between 0 and 1")


def jackknifed(values: NDArray[np.float64], confidence: float) -> float:
    """Return the half-width of the jackknife interval from leave-one-block-out values."""
    n = values.size
    if n < 2:
        return np.nan
    error = np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())
    return student_t(confidence, n - 1) * float(error)


# Pairing of the jobs of several schedules in one common order.


def same_order(schedule: Schedule) -> NDArray[np.intp]:
    """Order the jobs by (submit, job number, row in the log), equal in every schedule."""
    w = schedule.workload
    return np.lexsort((w.row, w.job, w.submit))


def served_in_order(schedule: Schedule) -> ServedJobs:
    """Return the counted jobs in that order."""
    order = same_order(schedule)
    place = np.cumsum(schedule.counted) - 1  # index among the counted jobs
    return schedule.served.take(place[order[schedule.counted[order]]])


def check_same_jobs(named: Mapping[str, Schedule]) -> None:
    """Check that schedules have the same jobs and count the same ones."""
    (name, first), *others = named.items()
    mine = same_order(first)
    for other_name, other in others:
        theirs = same_order(other)
        who = f"{name} and {other_name} have different jobs: "
        if mine.size != theirs.size:
            raise WorkloadError(f"{who}{mine.size:,} and {theirs.size:,}")
        for what, unit in (("job", ""), ("submit", " s"), ("procs", "")):
            one, two = getattr(first.workload, what)[mine], getattr(other.workload, what)[theirs]
            if (differs := one != two).any():
                i = int(np.argmax(differs))
                job = "" if what == "job" else f", of job {first.workload.job[mine[i]]}"
                raise WorkloadError(f"{who}{what} {one[i]}{unit} and {two[i]}{unit}{job}")
        if (first.counted[mine] != other.counted[theirs]).any():
            raise WorkloadError(
                f"{name} and {other_name} count different jobs: warm-up or cool-down differ"
            )


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

    def plot(self, ax: "Axes | None" = None) -> "Axes":
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


def plot_slowdown_ratio(ratio: SlowdownRatio, ax: "Axes | None" = None) -> "Axes":
    """Draw the mean slowdown ratio by week and over all jobs.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> both = [simulate(log, name, procs=4) for name in ("fcfs", "easy")]
    >>> ax = plot_slowdown_ratio(slowdown_ratio(*both), Figure().subplots())
    >>> ax.get_ylabel(), [line.get_label() for line in ax.lines[1:]]
    ('slowdown ratio R', ['weekly mean', 'mean over all jobs'])
    """
    ax = style.current_axes(ax)
    ax.axhline(0, color=style.MUTED, linewidth=0.8)
    ax.plot(ratio.weeks.index + 1, ratio.weeks["mean"], color=style.BLUE, label="weekly mean")
    ax.axhline(ratio.mean, **style.LINES[5], label="mean over all jobs")
    ax.set(xlabel="week of submission", ylabel="slowdown ratio R")
    style.count_axis(ax.xaxis)
    style.legend_above(ax)
    return ax
