"""Offered load and utilization of the machine over time."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.formats import count, day, duration, number, share, upper
from workloadkit.analysis.section import Columns, Figure, Section, Table, facts, shown
from workloadkit.clock import DAY, Clock, interval_of, span
from workloadkit.errors import WorkloadError, plural
from workloadkit.executions import executions_of
from workloadkit.provenance import moved_times
from workloadkit.trace import Trace, check_trace
from workloadkit.units import words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_INTERVALS = 1500  # in one figure
_LISTED = 10  # intervals on the page
_MOST_DRAWN = 400  # without needles, and for small pages

_ROWS: Columns = {
    "utilization": ("utilization", share),
    "offered_load": ("offered load", share),
    "jobs_per_day_mean": ("jobs per day, mean", number),
    "jobs_per_day_max": ("jobs per day, maximum", number),
}


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


def section(trace: Trace) -> Section:
    """Report load and utilization, over the whole log and over time."""
    clock = Clock.of(trace)
    values, notes, figures = summarize_load(trace), _what_is_unknown(trace), []
    notes += filter(None, [contradiction(trace, values.get("utilization"))])
    first, last = trace.window.begin, trace.window.until
    if last - first < DAY:
        notes.append("The log spans less than a day, so no time series are shown.")
    else:
        days = interval_days(first, last)
        figures.append(_jobs_figure(trace, clock, days))
        per_day = figures[0].data["jobs"] / days
        inside = trace.window.contains(trace.column("submit")).sum()
        mean = float(inside) / (last - first) * DAY  # the first and the last day are partial
        values |= {"jobs_per_day_mean": mean, "jobs_per_day_max": per_day.max()}
        if trace.ran.any():
            days = interval_days(first, last, shortest=7 if last - first >= 56 * DAY else 1)
            figures.insert(0, _load_figure(trace, clock, days))
            values |= {"interval_days": days} | _busiest(figures[0].data)
    return Section(
        "load",
        "Load and utilization",
        _finding(values),
        tuple(notes),
        values,
        (_table(values, words_of(trace).hour), *_over_time(values, figures)),
        tuple(figures),
    )


def _what_is_unknown(trace: Trace) -> list[str]:
    if not trace.ran.any():
        return ["No job of this log ran, so it has neither load nor utilization."]
    notes = []
    if trace.header.procs is None and trace.counting is not None:
        many = words_of(trace).many
        notes.append(
            f"How many {many} the machine has is unknown; load is given in {many}. --procs sets it."
        )
    elif trace.header.procs is None:
        notes.append(
            "The header has neither MaxProcs nor MaxNodes, so the size of the machine is unknown; "
            "load is given in processors."
        )
    elif not trace.header.number("MaxProcs"):
        notes.append("The header has no MaxProcs; MaxNodes is used as the number of processors.")
    if not waits_known(trace):
        notes.append(
            "No wait time is known, so utilization over time cannot be computed; only offered load "
            "is shown."
        )
    elif unknown := int(np.isnan(trace.column("wait")[trace.ran]).sum()):
        notes.append(f"The unknown wait of {plural(unknown, 'job')} that ran counts as 0.")
    if again := int(executions_of(trace).groupby("row")["attempt"].max().gt(0).sum()):
        jobs = plural(again, "requeued job")
        notes.append(
            f"The attempts of {jobs} count as one run, which begins at the first start."
            if trace.n_bursts
            else f"Of {jobs} the last attempt counts here; the profile operations counts all."
        )
    if larger := int((trace.used_procs[trace.ran] > (trace.header.procs or np.inf)).sum()):
        notes.append(
            f"The header specifies {plural(trace.header.procs or 0, 'processor')}, but "
            f"{plural(larger, 'job')} used more: one of the two is wrong."
        )
    return notes


def contradiction(trace: Trace, utilization: float | None = None) -> str:
    """Say that more processors are in use at once than the machine has; empty if not."""
    machine, most = trace.header.procs, 0.0
    if machine and waits_known(trace):
        most = _most_in_use(trace)
    if (utilization or 0) > 1:
        found = "Utilization exceeds 100 %"
    elif machine and most > machine:
        found = (
            f"By the record, up to {count(most)} of {count(machine)} processors are in use at once"
        )
    else:
        return ""
    if (changed := moved_times(trace.header)) and changed[-1] != "simulated":
        return (
            f"{found}: the log was changed ({changed[-1]}) and keeps the waits of its source, so "
            "its starts are no schedule; simulate it for waits and utilization."
        )
    return (
        f"{found}: the machine was larger (--procs N sets its size), or recorded starts and ends "
        "overlap. Utilization of such times is too high, single days can exceed 100 %."
    )


def _most_in_use(trace: Trace) -> float:
    """Return the largest number of processors in use at once; jobs end before others start."""
    ran = trace.ran & (trace.column("run") > 0)
    end, procs = trace.end[ran], trace.used_procs[ran].astype(np.float64)
    times = np.concatenate([end, end - trace.column("run")[ran]])
    change = np.concatenate([-procs, procs])
    order = np.argsort(times, kind="stable")
    return float(np.cumsum(change[order]).max(initial=0.0))


def _load_figure(trace: Trace, clock: Clock, days: int) -> Figure:
    machine, each = trace.header.procs, name_of_days(days)
    edges = clock.midnights(trace.window.begin, trace.window.until, days=days)
    data = load_over_time(trace, edges, machine=machine or 1)
    if not waits_known(trace):
        data = data.drop(columns="utilization")
    caption = (
        f"Per {each}: the work of the jobs submitted in it (offered)"
        + (" and the work done in it (in use)" if "utilization" in data else "")
        + (", as shares of the machine's capacity" if machine else ", as mean processors")
        + f". The log covers only a part of the first and the last {each}."
    )
    plot = partial(plot_load, machine=machine is not None)
    return Figure("load", "Load over time", caption, dated(data, clock), plot)


def _jobs_figure(trace: Trace, clock: Clock, days: int) -> Figure:
    edges = clock.midnights(trace.window.begin, trace.window.until, days=days)
    data = jobs_over_time(trace.within_window(), edges)
    caption = (
        f"Jobs submitted {'per day' if days == 1 else f'per {days} days'}, and the moving mean "
        "of seven such intervals. Jobs that never ran are included."
    )
    plot = partial(plot_jobs, days=days)
    return Figure("jobs", "Jobs submitted", caption, dated(data, clock), plot)


def _busiest(data: pd.DataFrame) -> dict[str, Any]:
    """Return the largest load and utilization of an interval, and the dates of their begins."""
    found: dict[str, Any] = {}
    for name in ("offered_load", "utilization"):
        if name in data:
            row = data.loc[data[name].idxmax()]
            found[f"busiest_{name}"] = float(row[name])
            if "date" in data:
                found[f"busiest_{name}_from"] = row["date"]
    return found


def _over_time(values: dict[str, Any], figures: list[Figure]) -> tuple[Table, ...]:
    """Return the load of each interval, the busiest first."""
    if not values["machine"] or "interval_days" not in values:
        return ()
    data = figures[0].data
    by = "utilization" if "utilization" in data else "offered_load"
    data = data.sort_values(by, ascending=False, kind="stable").reset_index(drop=True)
    columns = {"utilization": ("in use", share), "offered_load": ("offered", share)}
    first = data[(data.index < _LISTED) | (_rank(data["offered_load"]) <= _LISTED)]
    text = shown(first, {k: how for k, how in columns.items() if k in data})
    text.index = (
        [day(date) for date in first["date"]]
        if "date" in data
        else first["begin"].map(lambda second: f"second {count(second)}")
    )
    each = name_of_days(values["interval_days"])
    caption = f"Load by {each}, from its first day, the busiest first."
    if len(data) > len(first):
        most = f"the {_LISTED} with the most in use and the {_LISTED} with the most offered"
        most = f"{most}, {len(first)}" if by == "utilization" else str(_LISTED)
        caption = f"{caption[:-1]}; {most} of {count(len(data))} rows. --tables writes all rows."
    return (Table("over_time", caption, data, text, folded=True),)


def _rank(values: pd.Series) -> pd.Series:
    return values.rank(method="first", ascending=False)


def _at_most(values: dict[str, Any], name: str) -> str:
    """Return the largest value of an interval, and when that was."""
    if (most := values.get(f"busiest_{name}")) is None or not most > values[name]:
        return ""
    begin = values.get(f"busiest_{name}_from")
    since = "from " if values["interval_days"] > 1 else ""
    when = "" if begin is None else f" ({since}{day(begin)})"
    return f", and {share(most)} {_most_of(name, values)}{when}"


def _most_of(name: str, values: dict[str, Any]) -> str:
    most = {"utilization": "busiest", "offered_load": "heaviest"}[name]
    days = values["interval_days"]
    return f"{'on' if days == 1 else 'in'} the {most} {name_of_days(days)}"


def _finding(values: dict[str, Any]) -> str:
    used, offered = (values.get(name) for name in ("utilization", "offered_load"))
    loads, sentences = [], []
    if used is not None:
        loads.append(f"utilization was {share(used)}{_at_most(values, 'utilization')}")
    if offered is not None:
        loads.append(f"offered load was {share(offered)}{_at_most(values, 'offered_load')}")
    if loads:
        sentences.append(f"{upper('; '.join(loads))}.")
    if not sentences and values["work"] > 0:
        work = plural(values["work"] / 3600, "processor-hour")
        sentences.append(f"The jobs did {work} of work in {duration(values['makespan'])}.")
    if "jobs_per_day_mean" in values:
        mean = plural(values["jobs_per_day_mean"], "job")
        sentences.append(f"On average, {mean} arrived per day.")
    return " ".join(sentences)


def _table(values: dict[str, Any], hour: str) -> Table:
    rows = {"work": (values["work"], plural(values["work"] / 3600, hour))}
    for name, (title, form) in _ROWS.items():
        if values.get(name) is not None:
            rows[title] = (values[name], form(values[name]))
    if values["machine"] and "interval_days" in values:
        for name, (title, form) in list(_ROWS.items())[:2]:
            if (most := values.get(f"busiest_{name}")) is not None:
                rows[f"{title} {_most_of(name, values)}"] = (most, form(most))
    return facts("summary", "Load and utilization of the whole log.", rows)


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
