"""Schedules over time and by class: queue, utilization, service."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib import dates as mdates
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.distributions.marginals import size_class
from workloadkit.analysis.formats import duration
from workloadkit.analysis.load.over_time import load_between
from workloadkit.clock import DAY, WEEK, Clock, equal_parts
from workloadkit.simulation import Schedule
from workloadkit.simulation.schedule.measures import OF_JOBS, of_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_STEPS = 2000  # of a drawn curve; more are averaged in intervals


def queue_length(schedule: Schedule) -> pd.DataFrame:
    """Count the waiting jobs over time.

    Returns
    -------
    DataFrame
        `time` [s] of each change, ascending; `waiting`, the number of waiting jobs from then on.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [4, 4, 4]})
    >>> queue_length(simulate(trace, "fcfs", procs=4)).to_numpy().tolist()
    [[0, 0], [1, 1], [2, 2], [10, 1], [20, 0]]
    """
    submit = schedule.workload.submit
    time, waiting = metrics.use_over_time(submit, schedule.start, np.ones(submit.size))
    return pd.DataFrame({"time": time, "waiting": waiting})


def queue_distribution(schedule: Schedule) -> pd.DataFrame:
    """Measure the distribution of the queue length over time.

    Returns
    -------
    DataFrame
        By `waiting`, from 0 to the longest queue: `share`, the share of the time with at least
        `waiting` jobs in the queue, from the first submission to the last end of a counted job.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> trace = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [4, 4, 4]})
    >>> queue_distribution(simulate(trace, "fcfs", procs=4))["share"].tolist()
    [1.0, 0.76, 0.32]
    """
    begin, until = schedule.span
    time, waiting = (queue_length(schedule)[name].to_numpy() for name in ("time", "waiting"))
    lasted = np.diff(np.clip(np.append(time, np.inf), begin, until))
    at = np.bincount(waiting, lasted)
    share = np.cumsum(at[::-1])[::-1] / (until - begin) if until > begin else at * np.nan
    longest = int(np.flatnonzero(at).max(initial=0))
    share = share[: longest + 1]
    return pd.DataFrame({"share": share}, index=pd.RangeIndex(share.size, name="waiting"))


def utilization_over_time(schedule: Schedule, *, edges: ArrayLike | None = None) -> pd.DataFrame:
    """Measure offered load and utilization in time intervals.

    Parameters
    ----------
    schedule : Schedule
    edges : array_like, shape (n_intervals + 1,), optional
        Edges of the intervals, ascending [s]. By default local midnights of days, or of weeks if
        there are more than 100 days; schedules below four days are split into 50 intervals.

    Returns
    -------
    DataFrame
        One row per interval: `begin` and `end` [s]; `offered_load`, the work of the jobs submitted
        in it, and `utilization`, the work done in it, divided by the machine's capacity.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> trace = Trace.from_columns({"submit": [0, 1], "run": [10, 10], "procs": [4, 2]})
    >>> schedule = simulate(trace, procs=4)
    >>> utilization_over_time(schedule, edges=[0, 10, 20])[["offered_load", "utilization"]]
       offered_load  utilization
    0           1.5          1.0
    1           0.0          0.5
    """
    w = schedule.workload
    if edges is None:
        edges = _intervals(schedule)
    return load_between(
        edges, w.submit, schedule.start, schedule.end, schedule.held, schedule.capacity
    )


def _intervals(schedule: Schedule) -> NDArray[np.float64]:
    """Choose the intervals for a whole schedule."""
    first, last = float(schedule.workload.submit[0]), window_of(schedule)[1]
    if last - first < 4 * DAY:
        return equal_parts(first, last, 50)
    days = 1 if last - first <= 100 * DAY else 7 * int(np.ceil((last - first) / (200 * WEEK)))
    return Clock.of(schedule.source).midnights(first, last, days=days)


def by_run_class(schedule: Schedule) -> pd.DataFrame:
    """Measure the service by class of run time: at most a minute, at most ten, longer.

    Returns
    -------
    DataFrame
        By `class`: `longest`, the upper bound of the run time (NaN: unbounded); `jobs`; `work`, the
        share of all processor-seconds; `mean_wait`, `median_wait`, `wait_p98`, `mean_slowdown`,
        `mean_bounded_slowdown`. Times in seconds; only counted jobs.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> log = Trace.from_columns({"submit": [0, 0, 0], "run": [30, 90, 900], "procs": [1, 1, 1]})
    >>> by_run_class(simulate(log, "fcfs", procs=1))["mean_wait"].to_dict()
    {'short': 0.0, 'medium': 30.0, 'long': 120.0}
    """
    jobs, bounds = schedule.served, metrics.RUN_CLASSES
    place = np.zeros(jobs.run.size, dtype=np.int64)
    for i, name in enumerate(bounds):
        place[of_class(jobs, name)] = i
    table = _served_by(schedule, place, np.arange(len(bounds)))
    longest = [bound if np.isfinite(bound) else np.nan for bound in bounds.values()]
    table.insert(0, "longest", longest)
    return table.set_axis(pd.Index(list(bounds), name="class"))


def by_size_class(schedule: Schedule) -> pd.DataFrame:
    """Measure the service by class of job size, in the classes of `size_classes`.

    Returns
    -------
    DataFrame
        One row per class: `low` and `high`, its smallest and largest size, and the columns of
        `by_run_class`.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> log = Trace.from_columns({"submit": [0, 0, 0], "run": [30, 90, 900], "procs": [1, 2, 4]})
    >>> by_size_class(simulate(log, "fcfs", procs=4))[["low", "high", "jobs"]].values.tolist()
    [[1, 1, 1], [2, 2, 1], [3, 4, 1]]
    """
    place = size_class(schedule.workload.procs[schedule.counted])
    classes = np.arange(place.max() + 1)
    table = _served_by(schedule, place, classes)
    table.insert(0, "low", np.where(classes > 0, 2 ** np.maximum(classes - 1, 0) + 1, 1))
    table.insert(1, "high", 2**classes)
    return table


def by_user(schedule: Schedule) -> pd.DataFrame:
    """Measure the service of each user.

    Returns
    -------
    DataFrame
        By `user`, ascending: the columns of `by_run_class`, and `throughput_per_hour`, see
        `Schedule.productivity`.

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> columns = {"submit": [0, 0, 0], "run": [30, 90, 900], "procs": [1, 1, 1], "user": [5, 5, 8]}
    >>> by_user(simulate(Trace.from_columns(columns), "fcfs", procs=1))["mean_wait"].to_dict()
    {5: 15.0, 8: 120.0}
    """
    users, place = np.unique(schedule.served.user, return_inverse=True)
    table = _served_by(schedule, place, np.arange(users.size))
    table = table.set_axis(pd.Index(users, name="user"))
    table.insert(1, "throughput_per_hour", schedule.productivity.users["throughput_per_hour"])
    return table


_SERVICE = ("mean_wait", "median_wait", "wait_p98", "mean_slowdown", "mean_bounded_slowdown")


def _served_by(
    schedule: Schedule, group: NDArray[np.integer], groups: NDArray[np.integer]
) -> pd.DataFrame:
    """Measure groups of counted jobs, from the group of each."""
    jobs = schedule.served
    work = jobs.run * schedule.workload.procs[schedule.counted]
    total = float(work.sum())
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.append(groups, groups[-1] + 1))
    rows = []
    for low, high in pairwise(bounds):
        members = jobs.take(order[low:high])
        share = float(work[order[low:high]].sum()) / total if total > 0 else np.nan
        row = {"jobs": int(high - low), "work": share}
        rows.append(row | {name: OF_JOBS[name](members) for name in _SERVICE})
    return pd.DataFrame(rows)


def busiest_week(schedule: Schedule) -> tuple[float, float]:
    """Return begin and end of the seven days around the longest queue, within the schedule. [s].

    Examples
    --------
    >>> from workloadkit import Trace, simulate
    >>> trace = Trace.from_columns({"submit": [0, 1], "run": [10, 10], "procs": [4, 4]})
    >>> busiest_week(simulate(trace, "fcfs", procs=4))
    (0.0, 20.0)
    """
    queue = queue_length(schedule)
    first, last = window_of(schedule)
    middle = float(queue["time"].iloc[int(queue["waiting"].argmax())])
    begin = max(first, min(middle - WEEK / 2, last - WEEK))
    return begin, min(begin + WEEK, last)


def plot_queue_length(
    schedule: Schedule,
    ax: "Axes | None" = None,
    *,
    begin: float | None = None,
    until: float | None = None,
) -> "Axes":
    """Draw the number of waiting jobs over time.

    If it changes too often for a figure, the mean and maximum of each interval are drawn.

    Parameters
    ----------
    schedule : Schedule
    begin, until : float, optional
        The interval to show; by default the whole schedule. [s]

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> schedule = simulate(log, "easy", procs=4)
    >>> ax = plot_queue_length(schedule, Figure().subplots())
    >>> ax.get_ylabel(), int(ax.lines[0].get_ydata().max())
    ('waiting jobs', 1)
    """
    ax = style.current_axes(ax)
    queue = queue_length(schedule)
    time, waiting = queue["time"].to_numpy(), queue["waiting"].to_numpy()
    begin, until = window_of(schedule, begin, until)
    first = max(int(np.searchsorted(time, begin, side="right")) - 1, 0)
    last = int(np.searchsorted(time, until, side="left")) + 1
    time, waiting = time[first:last], waiting[first:last]
    when = time_axis(ax, schedule, begin, until)
    if time.size <= _MOST_STEPS:
        ax.step(when(time), waiting, where="post", color=style.BLUE, label="waiting jobs")
    else:
        edges = equal_parts(time[0], time[-1], _MOST_STEPS // 4)
        mean, largest = _means_and_maxima(time, waiting, edges)
        width = duration(edges[1] - edges[0])
        ax.fill_between(
            when(edges), np.append(largest, largest[-1]), step="post", color=style.PALE,
            label=f"maximum over {width}",
        )  # fmt: skip
        ax.step(
            when(edges), np.append(mean, mean[-1]), where="post", color=style.BLUE,
            label=f"mean over {width}",
        )  # fmt: skip
        style.legend_above(ax)
    ax.set_ylim(0, None if waiting.any() else 1)
    ax.set_xlim(*when(np.array([begin, until])))
    if not waiting.any():
        ax.text(0.5, 0.5, "no waiting jobs", transform=ax.transAxes, ha="center", color=style.MUTED)
    ax.set_ylabel("waiting jobs")
    style.count_axis(ax.yaxis)
    return ax


def plot_queue_distribution(schedule: Schedule, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of the time with at least a given number of waiting jobs.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> schedule = simulate(log, "easy", procs=4)
    >>> ax = plot_queue_distribution(schedule, Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('minimum number of waiting jobs', 'share of the time')
    """
    ax = style.current_axes(ax)
    share = queue_distribution(schedule)["share"]
    ax.stairs(share, np.arange(share.size + 1) - 0.5, color=style.PALE, fill=True)
    ax.set_xlim(-0.5, share.size - 0.5)
    ax.set_ylim(0, 1)
    ax.set(xlabel="minimum number of waiting jobs", ylabel="share of the time")
    style.count_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    return ax


def plot_utilization(
    schedule: Schedule, ax: "Axes | None" = None, *, edges: ArrayLike | None = None
) -> "Axes":
    """Draw offered load and utilization over time, from `utilization_over_time`.

    Parameters
    ----------
    schedule : Schedule
    edges : array_like, optional
        Edges of the intervals. [s]

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> schedule = simulate(log, "easy", procs=4)
    >>> ax = plot_utilization(schedule, Figure().subplots(), edges=[0, 10, 20])
    >>> ax.get_ylabel(), [each.get_label() for each in ax.patches]
    ('share of the machine', ['in use', 'offered'])
    """
    ax = style.current_axes(ax)
    data = utilization_over_time(schedule, edges=edges)
    cuts = np.append(data["begin"], data["end"].iloc[-1])
    when = time_axis(ax, schedule, cuts[0], cuts[-1])
    ax.stairs(data["utilization"], when(cuts), color=style.PALE, fill=True, label="in use")
    ax.stairs(data["offered_load"], when(cuts), color=style.ORANGE, linewidth=1.2, label="offered")
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    ax.set_ylabel("share of the machine")
    style.share_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def window_of(
    schedule: Schedule, begin: float | None = None, until: float | None = None
) -> tuple[float, float]:
    """Return the limits, by default the first start and the last end (a second later or more)."""
    first = float(schedule.start.min())
    last = max(float(schedule.end.max()), first + 1)
    return first if begin is None else begin, last if until is None else until


def means_over_time(schedule: Schedule, edges: NDArray) -> NDArray[np.float64]:
    """Return the mean number of waiting jobs in intervals between `edges` [s]."""
    queue = queue_length(schedule)
    return _means(queue["time"].to_numpy(), queue["waiting"].to_numpy(), edges)


def _means(time: NDArray, value: NDArray, edges: NDArray) -> NDArray[np.float64]:
    """Return time averages of a step function between adjacent edges."""
    area = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time))])
    return np.diff(np.interp(edges, time, area)) / np.diff(edges)


def _means_and_maxima(time: NDArray, value: NDArray, edges: NDArray) -> tuple[NDArray, NDArray]:
    """Return time averages and maxima of a step function between adjacent edges."""
    mean = _means(time, value, edges)
    at = np.searchsorted(time, edges[:-1], side="right") - 1  # the step at each edge
    last = np.searchsorted(time, edges[1:], side="left") - 1  # the step just before it
    return mean, np.maximum(np.maximum.reduceat(value, at), value[last])


def time_axis(
    ax: "Axes", schedule: Schedule, begin: float, until: float
) -> Callable[[NDArray], NDArray]:
    """Label the x axis with time by the log's clock; return the conversion from seconds."""
    clock = Clock.of(schedule.source)
    if clock.known and until - begin > 2 * DAY:
        style.calendar_axis(ax.xaxis)
        ax.set_xlabel(f"local time ({clock.zone})")
        return lambda time: mdates.date2num(clock.dates(time).to_numpy())
    unit, seconds = next(
        (unit, seconds)
        for unit, seconds in (("days", DAY), ("hours", 3600), ("minutes", 60), ("seconds", 1))
        if until - begin > 2 * seconds or seconds == 1
    )
    ax.set_xlabel(f"time since second 0 of the log [{unit}]")
    return lambda time: np.asarray(time) / seconds
