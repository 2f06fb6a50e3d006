"""How much the jobs asked of the machine over time, and how much of it they used."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from analysis import style
from analysis.clock import DAY, Clock, end, span
from analysis.formats import count, duration, number, plural, share
from analysis.section import Figure, Section, facts
from workloadkit import metrics
from workloadkit.trace import Trace

_MOST_INTERVALS = 1500  # as many as a figure can show


def machine_size(trace: Trace) -> int | None:
    """Return the processors of the machine: MaxProcs, else MaxNodes; None if neither is known.

    Examples
    --------
    >>> from workloadkit import Header
    >>> machine_size(Trace.from_columns({"submit": [0]}, header=Header(("; MaxProcs: 128",))))
    128
    """
    return trace.header.number("MaxProcs") or trace.header.number("MaxNodes") or None


def waits_known(trace: Trace) -> bool:
    """Whether the wait of any job that ran is known, and so when the machine was busy."""
    return not np.isnan(trace.column("wait")[trace.ran]).all()


def summarize_load(trace: Trace) -> dict[str, Any]:
    """Return the load and utilization of a whole log.

    Parameters
    ----------
    trace : Trace

    Returns
    -------
    dict
        `work` [processor-seconds] of the jobs that ran; `submit_span` [s]; `machine` and
        `offered_load`, the work over what the machine could do in the submit span; `makespan` [s]
        and `utilization`, the share of the machine that was busy from the first submission to the
        last end. None is what the log does not tell.

    Examples
    --------
    >>> from workloadkit import Header
    >>> log = {"submit": [0, 100], "wait": [0, 0], "run": [100, 50], "procs": [4, 2]}
    >>> load = summarize_load(Trace.from_columns(log, header=Header(("; MaxProcs: 4",))))
    >>> load["work"], load["offered_load"], round(load["utilization"], 3)
    (500.0, 1.25, 0.833)
    """
    ran, machine = trace.ran, machine_size(trace)
    submit, procs = trace.column("submit"), trace.used_procs[ran]
    run, ends = trace.column("run")[ran], end(trace)[ran]
    work = float(np.dot(run, procs))
    submit_span = float(np.ptp(submit))
    first, last = span(trace)
    offered = work / (machine * submit_span) if machine and submit_span > 0 else None
    busy = None
    if machine and waits_known(trace) and last > first:
        busy = metrics.utilization(ends - run, ends, procs, machine, first, last)
    return {
        "machine": machine,
        "work": work,
        "submit_span": submit_span,
        "makespan": last - first,
        "offered_load": offered,
        "utilization": busy,
    }


def load_over_time(trace: Trace, edges: ArrayLike, *, machine: float = 1) -> pd.DataFrame:
    """Measure load and utilization in intervals.

    Parameters
    ----------
    trace : Trace
    edges : array_like, shape (n_intervals + 1,)
        The intervals' ends, ascending; each includes its beginning only. [s]
    machine : int, default 1
        Processors to measure by; with 1 the result is in processors.

    Returns
    -------
    DataFrame
        One row an interval: `begin` and `end` [s]; `offered_load`, the work of the jobs submitted
        in it, wherever it is done; `utilization`, the work done in it. Both as shares of what the
        machine could do in the interval. A wait that is not known counts as 0.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 50], "run": [100, 50], "procs": [2, 4]})
    >>> load_over_time(trace, [0, 50, 100, 150], machine=8)[["offered_load", "utilization"]]
       offered_load  utilization
    0           0.5         0.25
    1           0.5         0.75
    2           0.0         0.00
    """
    edges = np.asarray(edges, dtype=np.float64)
    ran = trace.ran
    submit, run, procs = (
        trace.column("submit")[ran],
        trace.column("run")[ran],
        trace.used_procs[ran],
    )
    ends = end(trace)[ran]
    capacity = machine * np.diff(edges)
    offered = np.diff(
        np.append(0, np.cumsum((run * procs)[_order(submit)]))[_before(submit, edges)]
    )
    used = np.diff(_held(ends - run, procs, edges) - _held(ends, procs, edges))
    return pd.DataFrame(
        {
            "begin": edges[:-1],
            "end": edges[1:],
            "offered_load": offered / capacity,
            "utilization": used / capacity,
        }
    )


def jobs_over_time(trace: Trace, edges: ArrayLike) -> pd.DataFrame:
    """Count the jobs submitted in intervals.

    Parameters
    ----------
    trace : Trace
    edges : array_like, shape (n_intervals + 1,)
        The intervals' ends, ascending; each includes its beginning only. [s]

    Returns
    -------
    DataFrame
        One row an interval: `begin` and `end` [s], `jobs`, and `mean`, the mean of the seven
        intervals around it (fewer at the ends).

    Examples
    --------
    >>> jobs_over_time(Trace.from_columns({"submit": [0, 5, 20]}), [0, 10, 20, 30])["jobs"].tolist()
    [2, 0, 1]
    """
    edges = np.asarray(edges, dtype=np.float64)
    jobs = pd.Series(np.diff(_before(trace.column("submit"), edges)))
    mean = jobs.rolling(7, center=True, min_periods=1).mean()
    return pd.DataFrame({"begin": edges[:-1], "end": edges[1:], "jobs": jobs, "mean": mean})


def plot_load(data: pd.DataFrame, ax: Axes | None = None, *, machine: bool = True) -> Axes:
    """Draw load and utilization over time, as `load_over_time` measures them.

    Parameters
    ----------
    data : DataFrame
        With `date`, the local time of each beginning, the axis shows dates.
    ax : Axes, optional
        Default: the current Axes.
    machine : bool, default True
        Whether the numbers are shares of a machine; else they are processors.
    """
    ax = style.current_axes(ax)
    edges = style.date_edges(data)
    if "utilization" in data:
        ax.stairs(data["utilization"], edges, color=style.PALE, fill=True, label="used")
    ax.stairs(data["offered_load"], edges, color=style.ORANGE, linewidth=1.2, label="offered")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("share of the machine" if machine else "processors")
    (style.share_axis if machine else style.count_axis)(ax.yaxis)
    ax.margins(x=0)
    style.date_axis(ax.xaxis, data)
    style.legend_above(ax)
    return ax


def plot_jobs(data: pd.DataFrame, ax: Axes | None = None, *, days: int = 1) -> Axes:
    """Draw the numbers of jobs over time, as `jobs_over_time` counts them.

    Parameters
    ----------
    data : DataFrame
        With `date`, the local time of each beginning, the axis shows dates.
    ax : Axes, optional
        Default: the current Axes.
    days : int, default 1
        Length of the intervals, for the label.
    """
    ax = style.current_axes(ax)
    edges = style.date_edges(data)
    each = "each day" if days == 1 else f"every {days} days"
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
    clock, machine, ran = Clock.of(trace), machine_size(trace), trace.ran
    values = summarize_load(trace)
    first, last = span(trace)
    submit = trace.column("submit")
    notes = []
    if machine is None:
        notes.append(
            "The header names neither MaxProcs nor MaxNodes, so the size of the machine is "
            "unknown; load is given in processors."
        )
    elif not trace.header.number("MaxProcs"):
        notes.append("The header has no MaxProcs; MaxNodes is taken as the number of processors.")

    days = _days(first, submit.max(), most=_MOST_INTERVALS)
    jobs = _dated(jobs_over_time(trace, clock.midnights(first, submit.max(), days=days)), clock)
    figures = [
        Figure(
            "jobs",
            "Jobs submitted",
            f"Jobs submitted {'each day' if days == 1 else f'every {days} days'}, and the moving "
            "mean of seven such intervals. Jobs that never ran count too.",
            jobs,
            partial(plot_jobs, days=days),
        )
    ]
    per_day = jobs["jobs"] / days
    values |= {"jobs_per_day_mean": per_day.mean(), "jobs_per_day_max": per_day.max()}
    rows = {
        "work": (values["work"], f"{count(values['work'] / 3600)} processor-hours"),
        "jobs a day, mean": (values["jobs_per_day_mean"], number(values["jobs_per_day_mean"])),
        "jobs a day, most": (values["jobs_per_day_max"], number(values["jobs_per_day_max"])),
    }
    finding = f"{number(per_day.mean())} jobs arrive on an average day."
    if not ran.any():
        notes.append("No job of this log ran, so it has neither load nor utilization.")
    else:
        load_figure, busiest = _load_figure(trace, clock, machine, values["submit_span"])
        figures.insert(0, load_figure)
        finding, more = _load_finding(values, busiest, per_day.mean())
        rows |= more
        if not waits_known(trace):
            notes.append(
                "No wait time is known, so nobody knows when the machine was busy: offered load "
                "is shown, utilization is not."
            )
        elif unknown := int(np.isnan(trace.column("wait")[ran]).sum()):
            notes.append(f"The unknown wait of {plural(unknown, 'job')} that ran counts as 0.")
    values["makespan"] = last - first
    table = facts("summary", "Load and utilization of the whole log.", rows)
    return Section(
        "load",
        "Load and utilization",
        finding,
        tuple(notes),
        values,
        (table,),
        tuple(figures),
    )


def _load_figure(
    trace: Trace, clock: Clock, machine: int | None, submit_span: float
) -> tuple[Figure, dict[str, Any]]:
    """Return the figure of load over time, and its busiest interval."""
    first, last = span(trace)
    shortest = 7 if last - first >= 56 * DAY else 1
    days = _days(first, last, most=_MOST_INTERVALS, shortest=shortest)
    edges = clock.midnights(first, last, days=days)
    data = _dated(load_over_time(trace, edges, machine=machine or 1), clock)
    if not waits_known(trace):
        data = data.drop(columns="utilization")
    each = {1: "day", 7: "week"}.get(days, f"{days} days")
    caption = (
        f"By {each}: the work of the jobs submitted in it (offered)"
        + (" and the work done in it (used)" if "utilization" in data else "")
        + (", as shares of what the machine could do" if machine else ", as a mean of processors")
        + f". The log covers only a part of the first and the last {each}."
    )
    top = data.loc[data["offered_load"].idxmax()]
    busiest = {"each": each, "offered_load": float(top["offered_load"])}
    plot = partial(plot_load, machine=machine is not None)
    return Figure("load", "Load over time", caption, data, plot), busiest


def _load_finding(
    values: dict[str, Any], busiest: dict[str, Any], per_day: float
) -> tuple[str, dict[str, tuple[Any, str]]]:
    """Return the finding in words, and more rows of the table."""
    rows: dict[str, tuple[Any, str]] = {}
    sentences = []
    if values["utilization"] is not None:
        rows["utilization"] = (values["utilization"], share(values["utilization"]))
        sentences.append(f"The machine was {share(values['utilization'])} utilized")
    if values["offered_load"] is not None:
        rows["offered load"] = (values["offered_load"], share(values["offered_load"]))
        whole = "it" if sentences else "the machine"
        sentences.append(
            f"the jobs asked for {share(values['offered_load'])} of {whole}, and for "
            f"{share(busiest['offered_load'])} in the busiest {busiest['each']}"
        )
        name = f"offered load in the busiest {busiest['each']}"
        rows[name] = (busiest["offered_load"], share(busiest["offered_load"]))
    arrivals = f"{number(per_day)} jobs arrive on an average day."
    if not sentences:
        work = f"{count(values['work'] / 3600)} processor-hours"
        return f"The jobs did {work} of work in {duration(values['makespan'])}; {arrivals}", rows
    text = "; ".join(sentences)
    return f"{text[0].upper()}{text[1:]}. {arrivals}", rows


def _days(first: float, last: float, *, most: int, shortest: int = 1) -> int:
    """Choose the days of an interval: a multiple of the shortest that gives at most `most`."""
    return shortest * max(1, int(np.ceil((last - first) / (shortest * DAY * most))))


def _dated(data: pd.DataFrame, clock: Clock) -> pd.DataFrame:
    return data.assign(date=clock.dates(data["begin"])) if clock.known else data


def _order(times: NDArray) -> NDArray[np.intp]:
    return np.argsort(times, kind="stable")


def _before(times: NDArray, edges: NDArray) -> NDArray[np.intp]:
    """Count the times before each edge."""
    return np.searchsorted(np.sort(times), edges, side="left")


def _held(since: NDArray, procs: NDArray, until: NDArray) -> NDArray[np.float64]:
    """Return the processor-seconds held until each time, if every job held on for ever."""
    order = _order(since)
    n = _before(since, until)
    total = np.append(0, np.cumsum(procs[order]))
    moment = np.append(0, np.cumsum((procs * since)[order]))
    return total[n] * until - moment[n]
