"""Offered load and utilization of the machine over time."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.clock import DAY, Clock, interval_of, span
from workloadkit.errors import WorkloadError
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_INTERVALS = 1500  # in one figure
_MOST_DRAWN = 400  # without needles, and for small pages


def waits_known(trace: Trace) -> bool:
    """Whether the wait of any job that ran is known."""
    return not np.isnan(trace.column("wait")[trace.ran]).all()


def summarize_load(trace: Trace) -> dict[str, Any]:
    """Return the load and utilization of a whole log.

    Returns
    -------
    dict
        `work` [processor-seconds] of the jobs that ran; `submit_span` [s]; `makespan` [s], from the
        first submission to the last end; `window` [s], the length of the period in which the log is
        complete (`Trace.window`); `machine`, its processors; `offered_load`, the work of the jobs
        submitted in the window, divided by the machine's capacity in it; and `utilization`, the
        share of that capacity in use. Unknown values are None.

    Raises
    ------
    WorkloadError
        If the log has no jobs.

    Examples
    --------
    >>> from workloadkit import Header
    >>> log = {"submit": [0, 100], "wait": [0, 0], "run": [100, 50], "procs": [4, 2]}
    >>> load = summarize_load(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    >>> load["work"], load["offered_load"], round(load["utilization"], 3)
    (500.0, 1.25, 1.0)
    """
    check_trace(trace)
    if not trace.n_jobs:
        raise WorkloadError(f"{trace.name} has no jobs")
    ran, machine, window = trace.ran, trace.header.procs, trace.window
    submit, procs = trace.column("submit"), trace.used_procs[ran]
    run, ends = trace.column("run")[ran], trace.end[ran]
    work = run * procs
    inside = window.contains(submit[ran])
    first, last = span(trace)
    offered = busy = None
    if machine and window.length > 0:
        offered = float(work[inside].sum()) / (machine * window.length)
        if waits_known(trace):
            busy = metrics.utilization(ends - run, ends, procs, machine, window.begin, window.until)
    return {
        "machine": machine,
        "work": float(work.sum()),
        "submit_span": float(np.ptp(submit)),
        "makespan": last - first,
        "window": window.length,
        "offered_load": offered,
        "utilization": busy,
    }


def load_over_time(trace: Trace, edges: ArrayLike, *, machine: float = 1) -> pd.DataFrame:
    """Measure load and utilization in time intervals.

    Parameters
    ----------
    trace : Trace
    edges : array_like, shape (n_intervals + 1,)
        Edges of the intervals, ascending; intervals are half-open, [begin, end). [s]
    machine : int, default 1
        Number of processors; with 1 the results are in processors.

    Returns
    -------
    DataFrame
        One row per interval: `begin` and `end` [s]; `offered_load`, the work of the jobs submitted
        in the interval, whenever it is done; `utilization`, the work done in the interval. Both are
        divided by the capacity of the machine in the interval. An unknown wait counts as 0.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 50], "run": [100, 50], "procs": [2, 4]})
    >>> load_over_time(trace, [0, 50, 100, 150], machine=8)[["offered_load", "utilization"]]
       offered_load  utilization
    0           0.5         0.25
    1           0.5         0.75
    2           0.0         0.00
    """
    ran = trace.ran
    submit, run, end = trace.column("submit")[ran], trace.column("run")[ran], trace.end[ran]
    return load_between(edges, submit, end - run, end, trace.used_procs[ran], machine)


def load_between(
    edges: ArrayLike,
    submit: NDArray,
    start: NDArray,
    end: NDArray,
    procs: NDArray,
    machine: float,
) -> pd.DataFrame:
    """Return load and utilization in intervals, as `load_over_time` does, for arrays of jobs."""
    edges = np.asarray(edges, dtype=np.float64)
    capacity = machine * np.diff(edges)
    work = (end - start) * procs
    place = interval_of(edges, submit)
    inside = place >= 0
    offered = np.bincount(place[inside], work[inside], edges.size - 1)
    used = held_between(edges, start, end, procs)
    return pd.DataFrame(
        {
            "begin": edges[:-1],
            "end": edges[1:],
            "offered_load": offered / capacity,
            "utilization": used / capacity,
        }
    )


def held_between(
    edges: NDArray, start: NDArray, end: NDArray, held: NDArray
) -> NDArray[np.float64]:
    """Return how much was held in each interval, of `held` from `start` to `end`. [s x held]."""
    return np.diff(_held(start, held, edges) - _held(end, held, edges))


def jobs_over_time(trace: Trace, edges: ArrayLike) -> pd.DataFrame:
    """Count the jobs submitted in time intervals.

    Parameters
    ----------
    trace : Trace
    edges : array_like, shape (n_intervals + 1,)
        Edges of the intervals, ascending; intervals are half-open, [begin, end). [s]

    Returns
    -------
    DataFrame
        One row per interval: `begin` and `end` [s], `jobs`, and `mean`, the moving mean over seven
        intervals centred on this one (fewer at the ends).

    Examples
    --------
    >>> jobs_over_time(Trace.from_columns({"submit": [0, 5, 20]}), [0, 10, 20, 30])["jobs"].tolist()
    [2, 0, 1]
    """
    edges = np.asarray(edges, dtype=np.float64)
    place = interval_of(edges, trace.column("submit"))
    jobs = pd.Series(np.bincount(place[place >= 0], minlength=edges.size - 1))
    mean = jobs.rolling(7, center=True, min_periods=1).mean()
    return pd.DataFrame({"begin": edges[:-1], "end": edges[1:], "jobs": jobs, "mean": mean})


def plot_load(data: pd.DataFrame, ax: "Axes | None" = None, *, machine: bool = True) -> "Axes":
    """Draw load and utilization over time from `load_over_time`.

    Parameters
    ----------
    data : DataFrame
        If a column `date` holds the local time of each `begin`, the axis shows dates.
    machine : bool, default True
        Whether values are shares of a machine; otherwise they are processors.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> trace = Trace.from_columns({"submit": [0, 50], "run": [100, 50], "procs": [2, 4]})
    >>> data = load_over_time(trace, [0, 50, 100, 150], machine=8)
    >>> ax = plot_load(data, Figure().subplots())
    >>> ax.get_ylabel()
    'share of the machine'
    """
    ax = style.current_axes(ax)
    edges = style.date_edges(data)
    if "utilization" in data:
        ax.stairs(data["utilization"], edges, color=style.PALE, fill=True, label="in use")
    ax.stairs(data["offered_load"], edges, color=style.ORANGE, linewidth=1.2, label="offered")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("share of the machine" if machine else "processors")
    (style.share_axis if machine else style.count_axis)(ax.yaxis)
    ax.margins(x=0)
    style.date_axis(ax.xaxis, data)
    style.legend_above(ax)
    return ax


def plot_jobs(data: pd.DataFrame, ax: "Axes | None" = None, *, days: int = 1) -> "Axes":
    """Draw the number of jobs over time, from `jobs_over_time`.

    Parameters
    ----------
    data : DataFrame
        If a column `date` holds the local time of each `begin`, the axis shows dates.
    days : int, default 1
        Length of the intervals, for the label.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> trace = Trace.from_columns({"submit": [0, 5, 90000]})
    >>> data = jobs_over_time(trace, [0, 86400, 2 * 86400])
    >>> ax = plot_jobs(data, Figure().subplots())
    >>> ax.get_ylabel(), ax.lines[0].get_label()
    ('jobs submitted', 'mean of 7 days')
    """
    ax = style.current_axes(ax)
    edges = style.date_edges(data)
    each = "per day" if days == 1 else f"per {days} days"
    ax.stairs(data["jobs"], edges, color=style.PALE, fill=True, label=each)
    middle = (edges[1:] + edges[:-1]) / 2
    ax.plot(middle, data["mean"], color=style.BLUE, label=f"mean of 7{' days' * (days == 1)}")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("jobs submitted")
    style.count_axis(ax.yaxis)
    ax.margins(x=0)
    style.date_axis(ax.xaxis, data)
    style.legend_above(ax)
    return ax


def interval_days(
    first: float, last: float, *, shortest: int = 1, most: int = _MOST_INTERVALS
) -> int:
    """Return the days per interval: a multiple of `shortest` with few enough intervals."""
    return shortest * max(1, int(np.ceil((last - first) / (shortest * DAY * most))))


def drawn_days(first: float, last: float) -> int:
    """Return the days per interval of a figure with a few hundred: one, or whole weeks."""
    shortest = 7 if last - first > DAY * _MOST_DRAWN else 1
    return interval_days(first, last, shortest=shortest, most=_MOST_DRAWN)


def name_of_days(days: int) -> str:
    """Return the words for so many days: day, week, or 14 days."""
    return {1: "day", 7: "week"}.get(days, f"{days} days")


def dated(data: pd.DataFrame, clock: Clock) -> pd.DataFrame:
    """Return a table with the local `date` of each `begin`, if local time is known."""
    return data.assign(date=clock.dates(data["begin"])) if clock.known else data


def _held(since: NDArray, procs: NDArray, until: NDArray) -> NDArray[np.float64]:
    """Return the processor-seconds held until each time by jobs that never end."""
    order = np.argsort(since, kind="stable")
    n = np.searchsorted(since[order], until, side="left")  # before each time
    total = np.append(0, np.cumsum(procs[order]))
    moment = np.append(0, np.cumsum((procs * since)[order]))
    return total[n] * until - moment[n]
