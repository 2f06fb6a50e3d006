"""Comparison of users' productivity under several schedules and in the log."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.formats import is_time, metric_title
from workloadkit.analysis.load.cycles import mark_days, weekly_cycle
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.schedules.measures import queue_distribution
from workloadkit.analysis.section import AnalysisResult
from workloadkit.clock import Clock
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, quoted
from workloadkit.simulation import Schedule
from workloadkit.simulation.schedule.productivity import NAMES, Productivity, log_productivity
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Name of the log among the schedules.
LOG = "log"

_MOST_POINTS = 400  # of a drawn curve
_UNITS = (("days", 86400), ("hours", 3600), ("minutes", 60), ("s", 1))


@dataclass(frozen=True, eq=False)
class ProductivityComparison(AnalysisResult):
    """Productivity of users under several schedules and in the log, by name.

    Parameters
    ----------
    table : DataFrame
        By metric, one column per schedule: the aggregates of `Schedule.productivity`, and
        `throughput_per_hour`, the jobs that ended in the `Schedule.window`, per hour.
    users : mapping of str to DataFrame
        Table of users, see `Productivity.users`.
    weekly : DataFrame
        Arrivals by `hour` of the week, since Monday 0:00 of local time, one column per schedule.
        [1/h]
    queue : DataFrame
        Share of the time with at most `waiting` jobs in the queue, one column per schedule; a
        log with unknown waits has none.
    zone : str
        Time zone of the weekly cycle, empty if local time is unknown.
    """

    table: pd.DataFrame
    users: Mapping[str, pd.DataFrame]
    weekly: pd.DataFrame
    queue: pd.DataFrame
    zone: str

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the distribution of users' activity lengths."""
        return plot_activity_lengths(self, ax)


def compare_productivity(
    schedules: Mapping[str, Schedule], *, log: Trace | None = None
) -> ProductivityComparison:
    """Compare the productivity of users under several schedules [1]_.

    If all users submit the same jobs, a user with a longer activity got less done per time. The
    weekly cycle shows whether the users still work at their usual times.

    Parameters
    ----------
    schedules : mapping of str to Schedule
    log : Trace, optional
        The simulated log, to include its users, cycle and waits.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018: Figures
       5 to 10 of the chapter on feedback, Figures 4 to 6 of the chapter on user-oriented
       simulation.

    Examples
    --------
    >>> from workloadkit import simulate
    >>> jobs = {"submit": [0, 5, 9000], "run": [20, 10, 10], "procs": [1] * 3, "user": [3] * 3}
    >>> log = Trace.from_columns(jobs)
    >>> found = compare_productivity({"fcfs": simulate(log, "fcfs", procs=1)}, log=log)
    >>> found.table.loc[["sessions", "jobs_per_session", "mean_activity_length"]]
                            log    fcfs
    metric
    sessions                2.0     2.0
    jobs_per_session        1.5     1.5
    mean_activity_length  9000.0  9000.0
    >>> found.queue["fcfs"].round(4).tolist()
    [0.9983, 1.0]
    """
    if not isinstance(schedules, Mapping) or not schedules:
        raise ParameterError("schedules", "must be a mapping of names to Schedules")
    found: dict[str, Productivity] = {}
    weekly, at_least = {}, {}
    if log is not None:
        check_trace(log, "log")
        if LOG in schedules:
            raise ParameterError(f"a schedule cannot be named {quoted(LOG)}, the name of the log")
        ran = log.select(log.ran)
        found[LOG], weekly[LOG] = log_productivity(log), weekly_cycle(ran)["rate"]
        if waits_known(log):
            at_least[LOG] = _queue_of_log(ran)
    for name, schedule in schedules.items():
        if not isinstance(schedule, Schedule):
            raise ParameterError(f"{name} is {quoted(schedule)}; it must be a Schedule")
        found[name], weekly[name] = schedule.productivity, _arrivals(schedule)
        at_least[name] = queue_distribution(schedule)["share"].to_numpy()
    table = {
        name: {**one.summary, "throughput_per_hour": one.throughput_per_hour}
        for name, one in found.items()
    }
    first = log if log is not None else next(iter(schedules.values())).source
    return ProductivityComparison(
        pd.DataFrame(table, index=pd.Index((*NAMES, "throughput_per_hour"), name="metric")),
        {name: one.users for name, one in found.items()},
        pd.DataFrame(weekly),
        _at_most(at_least),
        Clock.of(first).zone,
    )


def _arrivals(schedule: Schedule) -> pd.Series:
    """Return the simulated arrival rate by hour of the week."""
    submit = schedule.workload.submit[schedule.counted]
    header = schedule.source.header
    return weekly_cycle(Trace.from_columns({"submit": submit}, header=header))["rate"]


def _queue_of_log(ran: Trace) -> NDArray[np.float64]:
    """Return the share of the time in which at least 0, 1, 2, ... jobs of a log waited."""
    submit, wait = ran.column("submit"), np.nan_to_num(ran.column("wait"))
    time, waiting = metrics.use_over_time(submit, submit + wait, np.ones(submit.size))
    begin, until = submit.min(), max(ran.end.max(), submit.max())
    lasted = np.diff(np.clip(np.append(time, np.inf), begin, until))
    at = np.bincount(np.maximum(waiting, 0), lasted)
    at = at[: int(np.flatnonzero(at).max(initial=0)) + 1]
    return np.asarray(np.cumsum(at[::-1])[::-1] / (until - begin) if until > begin else at * np.nan)


def _at_most(at_least: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Convert shares of "at least n" to shares of "at most n", for all lengths."""
    n = max(share.size for share in at_least.values())
    columns = {
        name: 1 - np.append(share, np.zeros(n + 1 - share.size))[1:]
        for name, share in at_least.items()
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(n, name="waiting"))


def plot_activity_lengths(comparison: ProductivityComparison, ax: "Axes | None" = None) -> "Axes":
    """Draw the distribution of activity lengths, from the first to the last submission.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import simulate
    >>> jobs = {"submit": [0, 5, 9000], "run": [20, 10, 10], "procs": [1] * 3, "user": [3] * 3}
    >>> log = Trace.from_columns(jobs)
    >>> found = compare_productivity({"fcfs": simulate(log, "fcfs", procs=1)}, log=log)
    >>> ax = plot_activity_lengths(found, Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('activity length [hours]', 'share of the users')
    """
    ax = style.current_axes(ax)
    for name, users, line in _lines(comparison.users):
        length = np.sort(users["activity_length"].to_numpy(dtype=np.float64))
        share = np.arange(length.size + 1) / length.size
        ax.step(np.append(0, length), share, where="post", label=name, **line)
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.02)
    ax.set_ylabel("share of the users")
    style.share_axis(ax.yaxis)
    _label(ax.xaxis, "activity_length")
    style.legend_above(ax)
    return ax


def plot_weekly_cycles(comparison: ProductivityComparison, ax: "Axes | None" = None) -> "Axes":
    """Draw the arrival rate by hour of the week.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import simulate
    >>> jobs = {"submit": [0, 5, 9000], "run": [20, 10, 10], "procs": [1] * 3, "user": [3] * 3}
    >>> log = Trace.from_columns(jobs)
    >>> found = compare_productivity({"fcfs": simulate(log, "fcfs", procs=1)}, log=log)
    >>> ax = plot_weekly_cycles(found, Figure().subplots())
    >>> ax.get_ylabel()
    'jobs per hour'
    """
    ax = style.current_axes(ax)
    for name, rate, line in _lines(comparison.weekly):
        ax.stairs(rate, np.arange(169), baseline=None, label=name, **line)
    mark_days(ax, zone=comparison.zone)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("jobs per hour")
    style.count_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def plot_queue_distributions(
    comparison: ProductivityComparison, ax: "Axes | None" = None
) -> "Axes":
    """Draw the share of the time with at most a given number of waiting jobs.

    The axis is linear from 0 to 1 and logarithmic above.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import simulate
    >>> jobs = {"submit": [0, 5, 9000], "run": [20, 10, 10], "procs": [1] * 3, "user": [3] * 3}
    >>> log = Trace.from_columns(jobs)
    >>> found = compare_productivity({"fcfs": simulate(log, "fcfs", procs=1)}, log=log)
    >>> ax = plot_queue_distributions(found, Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('maximum number of waiting jobs', 'share of the time')
    """
    ax = style.current_axes(ax)
    queue = comparison.queue
    longest = max(len(queue) - 1, 1)
    points = distinct(np.append(0, np.rint(np.geomspace(1, longest, _MOST_POINTS)))).astype(int)
    points = points[points < len(queue)]
    for name, share, line in _lines(queue):
        ax.step(points, share.to_numpy()[points], where="post", label=name, **line)
    ax.set_xscale("symlog", linthresh=1, linscale=0.3)
    ticks = [0, *(10.0 ** np.arange(np.floor(np.log10(longest)) + 1))]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.set_xlim(0, longest)
    ax.set_ylim(0, 1.02)
    ax.set(xlabel="maximum number of waiting jobs", ylabel="share of the time")
    style.share_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def plot_users(
    comparison: ProductivityComparison, quantity: str = "active_weeks", ax: "Axes | None" = None
) -> "Axes":
    """Draw a quantity of all users in ascending order.

    Parameters
    ----------
    comparison : ProductivityComparison
    quantity : str, default "active_weeks"
        A column of `Productivity.users`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import simulate
    >>> jobs = {"submit": [0, 5, 9000], "run": [20, 10, 10], "procs": [1] * 3, "user": [3] * 3}
    >>> log = Trace.from_columns(jobs)
    >>> found = compare_productivity({"fcfs": simulate(log, "fcfs", procs=1)}, log=log)
    >>> ax = plot_users(found, "sessions", Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('users, in ascending order', 'sessions')
    """
    ax = style.current_axes(ax)
    known = [name for name in next(iter(comparison.users.values())) if name != "first"]
    if quantity not in known:
        raise ParameterError(f"quantity is {quoted(quantity)}; known: {', '.join(known)}")
    for name, users, line in _lines(comparison.users):
        values = np.sort(users[quantity].to_numpy(dtype=np.float64))
        place = (np.arange(values.size) + 0.5) / values.size
        ax.plot(place, values, label=name, drawstyle="steps-mid", **line)
    ax.set_xlim(0, 1)
    ax.set_xlabel("users, in ascending order")
    style.share_axis(ax.xaxis)
    _label(ax.yaxis, quantity)
    style.legend_above(ax)
    return ax


def plot_runs(runs: Mapping[str, ArrayLike], metric: str, ax: "Axes | None" = None) -> "Axes":
    """Draw histograms of a metric over many runs, one per kind of simulation, with equal bins.

    Parameters
    ----------
    runs : mapping of str to array_like, shape (n_runs,)
        Values of the metric, by kind of simulation.
    metric : str
        A metric of `Schedule.describe`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> runs = {"fcfs": [7200, 9000], "easy": [3600, 5400]}
    >>> ax = plot_runs(runs, "mean_wait", Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('mean wait [hours]', 'runs')
    """
    ax = style.current_axes(ax)
    values = {name: np.asarray(of, dtype=np.float64) for name, of in runs.items()}
    known = {name: of[np.isfinite(of)] for name, of in values.items()}
    together = np.concatenate([np.zeros(0), *known.values()])
    if not together.size:
        raise ParameterError(f"{metric}: no run has a value")
    edges = np.histogram_bin_edges(together, bins=min(max(together.size // 8, 5), 25))
    for name, of, line in _lines(known):
        ax.stairs(np.histogram(of, edges)[0], edges, label=name, **line)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("runs")
    style.count_axis(ax.yaxis)
    _label(ax.xaxis, metric)
    style.legend_above(ax)
    return ax


def _lines(data: Mapping[str, Any] | pd.DataFrame) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Assign line styles; the log's dotted line is drawn on top so that others stay visible."""
    looks = cycle(style.LINES)
    for name, values in data.items():
        if name == LOG:
            yield LOG, values, {"color": style.INK, "linestyle": ":", "linewidth": 2, "zorder": 3}
        else:
            yield str(name), values, {"linewidth": 1.3, **next(looks)}


def _label(axis: Axis, quantity: str) -> None:
    """Label an axis with a quantity; times get a suitable unit."""
    title, seconds = metric_title(quantity), 1
    low, high = axis.get_view_interval()
    if is_time(quantity):
        unit, seconds = next(x for x in _UNITS if max(-low, high) > 2 * x[1] or x[1] == 1)
        title += f" [{unit}]"
    ticks = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(low / seconds, high / seconds)
    inside = [tick * seconds for tick in ticks if low <= tick * seconds <= high]
    axis.set_major_locator(FixedLocator(inside))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / seconds:,.10g}"))
    axis.set_label_text(title)
