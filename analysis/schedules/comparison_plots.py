"""Figures that compare schedules of the same jobs, and figures of sweeps over load."""

from collections.abc import Mapping
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from workloadkit.analysis import style
from workloadkit.analysis.distributions.marginals import cumulative_shares, plot_cumulative
from workloadkit.analysis.formats import is_share, is_time, metric_title
from workloadkit.analysis.result_page import ResultPage, page_of
from workloadkit.analysis.schedules.gantt_charts import plot_gantt, plot_schedule
from workloadkit.analysis.schedules.measures import (
    busiest_week,
    means_over_time,
    time_axis,
    utilization_over_time,
)
from workloadkit.clock import equal_parts
from workloadkit.errors import ParameterError, quoted
from workloadkit.experiments.results import Results
from workloadkit.experiments.sweep import SweepResults
from workloadkit.metasystem import MetaSchedule
from workloadkit.simulation import Schedule, simulate
from workloadkit.simulation.schedule.measures import QUANTITIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workloadkit.analysis.schedules.comparison import Comparison


_MOST_POINTS = 500  # of a drawn curve


def plot_distributions(
    comparison: "Comparison", quantity: str = "wait", ax: "Axes | None" = None
) -> "Axes":
    """Draw the cumulative distribution of a quantity of jobs under each schedule.

    Parameters
    ----------
    comparison : Comparison
    quantity : {"wait", "response", "slowdown", "bounded_slowdown", "expansion_factor"}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> from workloadkit.analysis.schedules import compare_schedules
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> both = [simulate(log, name, procs=4) for name in ("fcfs", "easy")]
    >>> ax = plot_distributions(compare_schedules(*both), ax=Figure().subplots())
    >>> ax.get_xlabel(), [line.get_label() for line in ax.lines]
    ('wait', ['fcfs', 'easy'])
    """
    if quantity not in QUANTITIES:
        raise ParameterError(f"quantity is {quoted(quantity)}; known: {', '.join(QUANTITIES)}")
    values = {name: QUANTITIES[quantity](s.served) for name, s in comparison.schedules.items()}
    label = quantity.replace("_", " ")
    times = is_time(quantity)
    return plot_cumulative(cumulative_shares(values), ax, times=times, label=label)


def plot_queue_lengths(
    comparison: "Comparison | Mapping[str, Schedule]", ax: "Axes | None" = None
) -> "Axes":
    """Draw the number of waiting jobs over time under each schedule, as means of intervals.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> from workloadkit.analysis.schedules import compare_schedules
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> both = [simulate(log, name, procs=4) for name in ("fcfs", "easy")]
    >>> ax = plot_queue_lengths(compare_schedules(*both), Figure().subplots())
    >>> ax.get_ylabel(), ax.get_legend_handles_labels()[1]
    ('waiting jobs', ['fcfs', 'easy'])
    """
    ax = style.current_axes(ax)
    named = comparison if isinstance(comparison, Mapping) else comparison.schedules
    schedules = list(named.values())
    begin = min(float(s.workload.submit[0]) for s in schedules)
    until = max(max(float(s.end.max()) for s in schedules), begin + 1)
    edges = equal_parts(begin, until, _MOST_POINTS)
    when = time_axis(ax, schedules[0], begin, until)
    for (name, schedule), line in zip(named.items(), cycle(style.LINES), strict=False):
        ax.stairs(means_over_time(schedule, edges), when(edges), baseline=None, label=name, **line)
    ax.set_xlim(*when(edges[[0, -1]]))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("waiting jobs")
    style.count_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def plot_gantts(
    comparison: "Comparison",
    ax: "Axes | None" = None,
    *,
    begin: float | None = None,
    until: float | None = None,
) -> "list[Axes]":
    """Draw the Gantt charts of the schedules side by side.

    Parameters
    ----------
    comparison : Comparison
    ax : Axes, optional
        Axes to replace by the panels. Default: the current Axes.
    begin, until : float, optional
        The interval to show; by default the week around the longest queue of the reference. [s]

    Returns
    -------
    list of Axes
        One per schedule.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> from workloadkit.analysis.schedules import compare_schedules
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> both = [simulate(log, name, procs=4) for name in ("fcfs", "easy")]
    >>> panels = plot_gantts(compare_schedules(*both), Figure().subplots())
    >>> [panel.get_title("right") for panel in panels]
    ['fcfs', 'easy']
    """
    week = busiest_week(comparison.schedules[comparison.reference])
    begin, until = week[0] if begin is None else begin, week[1] if until is None else until
    panels = style.panels(style.current_axes(ax), len(comparison.schedules), share_y=True)
    for i, (panel, name) in enumerate(zip(panels, comparison.schedules, strict=True)):
        plot_gantt(comparison.schedules[name], panel, begin=begin, until=until)
        panel.set_title(name, loc="right", fontsize=10, parse_math=False)
        if i:
            panel.set_ylabel("")
            panel.legend_ = None
    return panels


def plot_differences(comparison: "Comparison", ax: "Axes | None" = None) -> "Axes":
    """Draw the relative differences from the reference, with their intervals.

    Metrics that are 0 for the reference are left out.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> from workloadkit.analysis.schedules import compare_schedules
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> both = [simulate(log, name, procs=4) for name in ("fcfs", "easy")]
    >>> ax = plot_differences(compare_schedules(*both), Figure().subplots())
    >>> ax.get_xlabel()
    'difference from fcfs'
    """
    ax = style.current_axes(ax)
    table = comparison.differences
    table = table[table["relative"].notna()]  # relative differences to 0 are undefined
    names = [name for name in comparison.schedules if name != comparison.reference]
    shown = list(dict.fromkeys(table["metric"]))
    for i, (name, line) in enumerate(zip(names, cycle(style.LINES), strict=False)):
        rows = table[table["schedule"] == name]
        ends = [rows["relative"] - rows["relative_low"], rows["relative_high"] - rows["relative"]]
        at = np.arange(len(rows)) + 0.6 * ((i + 0.5) / len(names) - 0.5)
        ax.errorbar(
            rows["relative"], at, xerr=np.array(ends), fmt="o", markersize=4,
            color=line["color"], label=name, elinewidth=1.2, capsize=2,
        )  # fmt: skip
    ax.axvline(0, color=style.MUTED, linewidth=0.8)
    ax.set_yticks(range(len(shown)), [metric_title(metric) for metric in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"difference from {comparison.reference}")
    style.share_axis(ax.xaxis)
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0.2)
    return ax


def plot_objective(comparison: "Comparison", ax: "Axes | None" = None) -> "Axes":
    """Draw the weighted objective of each schedule, and the contributions of the metrics.

    Parameters
    ----------
    comparison : Comparison
        A comparison with weights.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, simulate
    >>> from workloadkit.analysis.schedules import compare_schedules
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> both = [simulate(log, name, procs=4) for name in ("fcfs", "easy")]
    >>> found = compare_schedules(*both, weights={"mean_wait": 1})
    >>> ax = plot_objective(found, Figure().subplots())
    >>> ax.get_xlabel()
    'objective, fcfs = 1; less is better'
    """
    parts = comparison.contributions
    ax = style.current_axes(ax)
    at, left = np.arange(parts.shape[1]), np.zeros(parts.shape[1])
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.PALE, style.MUTED)
    for i, (metric, values) in enumerate(parts.iterrows()):
        colour = colours[i % len(colours)]
        ax.barh(at, values, 0.6, left, color=colour, label=metric_title(str(metric)))
        left += values.to_numpy()
    ax.axvline(1, color=style.INK, linewidth=0.8, linestyle=":")
    ax.set_yticks(at, list(parts))
    ax.set_ylim(parts.shape[1] - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"objective, {comparison.reference} = 1; less is better")
    style.legend_above(ax)
    return ax


def comparison_page(comparison: "Comparison") -> ResultPage:
    """Return the page of a comparison: differences, waits, queues, and Gantt charts of a week."""
    reference = comparison.reference
    begin, until = busiest_week(comparison.schedules[reference])
    plots: dict[str, Any] = {
        f"Differences from {reference}": comparison.plot,
        "Wait times": partial(plot_distributions, comparison, "wait"),
        "Waiting jobs": partial(plot_queue_lengths, comparison),
    }
    for name, schedule in comparison.schedules.items():
        title = f"{name}: the week with the longest queue of {reference}"
        plots[title] = partial(plot_schedule, schedule, begin=begin, until=until)
    tables = {
        "Metrics; times in seconds.": comparison.table,
        "Differences.": comparison.differences,
    }
    return page_of(plots, " and ".join(comparison.schedules), tables)


# Figures of sweeps over load.

_SATURATED = "saturated"
_MOST_ON_LINEAR = 30  # ratio of the largest to the smallest value
_MOST_LABELS = 8  # that fit on an axis


_BAND: dict[str, Any] = {"alpha": 0.15, "linewidth": 0}


def plot_sweep(sweep: SweepResults, metric: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw a metric over the load, one line per scheduler, with intervals.

    If runs saturate, the line is the mean of all runs; a hollow marker shows that of the others.
    The axis is logarithmic if all values are positive and differ by a factor of more than 30.

    Parameters
    ----------
    sweep : SweepResults
    metric : str, optional
        Default: the first; "saturated" is the share of the runs that saturate.

    Raises
    ------
    ParameterError
        If the sweep does not have the metric.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, sweep
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> found = sweep(log, ["fcfs", "easy"], [0.5, 0.8], procs=4, metrics=["mean_wait", "makespan"])
    >>> ax = plot_sweep(found, "mean_wait", Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel(), ax.get_legend_handles_labels()[1]
    ('offered load', 'mean wait [h]', ['fcfs', 'easy'])
    """
    metric = sweep.metrics[0] if metric is None else metric
    if metric not in (*sweep.metrics, _SATURATED):
        known = ", ".join((*sweep.metrics, _SATURATED))
        raise ParameterError(f"the sweep has no metric {quoted(metric)}; known: {known}")
    ax = style.current_axes(ax)
    table = sweep.table.assign(saturated=sweep.table["saturated"] / sweep.table["runs"])
    shown = pd.concat([table[metric], table[_of_others(metric)]])
    logarithmic = metric != _SATURATED and _spreads(shown)
    ascending = table.sort_values("load", kind="stable")
    names = list(dict.fromkeys(sweep.table["scheduler"]))
    least, most = sweep.table["runs"].min(), sweep.table["runs"].max()
    has_bands = metric != _SATURATED and least > 1
    for name, line in zip(names, cycle(style.LINES), strict=False):
        rows = ascending[ascending["scheduler"] == name]
        _draw_scheduler(ax, rows, metric, name, line, has_bands=has_bands)
    if has_bands:
        bands = f"95 % interval, {'' if least == most else f'{least:,} to '}{most:,} runs"
        ax.fill_between([], [], [], color=style.MUTED, label=bands, **_BAND)
    by_users = sweep.load_by == "users"
    ax.set_xlabel(sweep.load_title)
    title = "runs that saturate" if metric == _SATURATED else metric_title(metric)
    ax.set_ylabel(title + (" [h]" if is_time(metric) else ""))
    loads = ascending["load"].unique()
    if loads.size <= 8 and (np.diff(np.sort(loads)) * _MOST_LABELS >= np.ptp(loads)).all():
        ax.set_xticks(loads)
    if by_users:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    else:
        style.share_axis(ax.xaxis)
    if logarithmic:
        _set_logarithmic(ax, shown / (3600 if is_time(metric) else 1))
    else:
        shares = is_share(metric) or metric == _SATURATED
        (style.share_axis if shares else style.count_axis)(ax.yaxis)
        if not shares:
            ax.set_ylim(bottom=0)
        if metric == _SATURATED:
            ax.set_ylim(-0.04, 1.04)
    style.legend_above(ax)
    return ax


def _of_others(metric: str) -> str:
    """Return the column of the mean of runs that do not saturate."""
    return metric if metric == _SATURATED else f"{metric}_others"


def _draw_scheduler(
    ax: "Axes", rows: pd.DataFrame, metric: str, name: str, line: dict[str, Any], *, has_bands: bool
) -> None:
    """Draw the line of one scheduler, its band, and markers of the runs that do not saturate."""
    load, others = rows["load"].to_numpy(dtype=np.float64), _of_others(metric)
    ends = [metric, metric] if metric == _SATURATED else [f"{metric}_low", f"{metric}_high"]
    columns = rows[[metric, *ends]].assign(others=rows[others].where(rows[_SATURATED] > 0))
    values = columns.to_numpy(dtype=np.float64) / (3600 if is_time(metric) else 1)
    mean, low, high, of_others = values.T
    ax.plot(load, mean, marker="o", markersize=3.5, label=name, **line)
    if others != metric and np.isfinite(of_others).any():
        ax.plot(
            *(load, of_others, "o"),
            markersize=3.5,
            markerfacecolor="none",
            color=line["color"],
            label=f"{name}, runs that do not saturate",
        )
    if has_bands:
        ax.fill_between(load, low, high, color=line["color"], **_BAND)


def _spreads(values: pd.Series) -> bool:
    """Whether small values would be invisible on a linear axis."""
    least, most = values.min(), values.max()  # without NaN
    return bool(least > 0 and most > _MOST_ON_LINEAR * least)


def _set_logarithmic(ax: "Axes", values: pd.Series) -> None:
    """Make the y axis logarithmic from below the least value; intervals may extend below it."""
    ax.set_yscale("log")
    ax.set_ylim(bottom=values.min() / 1.5)
    decades = np.log10(values.max() / values.min())
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 3 else (1,)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))


def plot_sweeps(sweep: SweepResults, ax: "Axes | None" = None) -> "list[Axes]":
    """Draw all metrics of a sweep side by side, and the share of saturated runs, if any.

    Parameters
    ----------
    sweep : SweepResults
    ax : Axes, optional
        Axes to replace by the panels. Default: the current Axes.

    Returns
    -------
    list of Axes
        One per metric.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, sweep
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> found = sweep(log, ["fcfs", "easy"], [0.5, 0.8], procs=4, metrics=["mean_wait", "makespan"])
    >>> [ax.get_ylabel() for ax in plot_sweeps(found, Figure().subplots())]
    ['mean wait [h]', 'makespan [h]']
    """
    saturates = (sweep.table["saturated"] > 0).any()
    metrics = (*sweep.metrics, *((_SATURATED,) if saturates else ()))
    panels = style.panels(style.current_axes(ax), len(metrics))
    for i, (panel, metric) in enumerate(zip(panels, metrics, strict=True)):
        plot_sweep(sweep, metric, panel)
        if i and (legend := panel.get_legend()):
            legend.remove()
    return panels


_MOST_IN_A_ROW = 3  # panels


def plot_results(results: Results, ax: "Axes | None" = None) -> "list[Axes]":
    """Draw the means of all metrics of an experiment, with their intervals.

    Parameters
    ----------
    results : Results
    ax : Axes, optional
        Axes to replace by the panels. Default: the current Axes.

    Returns
    -------
    list of Axes
        One per metric.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, sweep
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]})
    >>> found = sweep(log, ["fcfs", "easy"], [0.5, 0.8], procs=4, metrics=["mean_wait", "makespan"])
    >>> [ax.get_ylabel() for ax in plot_results(found, Figure().subplots())]
    ['mean wait [s]', 'makespan [s]']
    """
    rows = -(-len(results.metrics) // _MOST_IN_A_ROW)
    panels = style.panels(style.current_axes(ax), len(results.metrics), rows=rows)
    for panel, metric in zip(panels, results.metrics, strict=True):
        results.plot(panel, metric=metric)
        (style.share_axis if is_share(metric) else style.count_axis)(panel.yaxis)
        if legend := panel.get_legend():
            legend.remove()
    style.legend_above(panels[0])
    return panels


def schedules_of_sites(found: MetaSchedule) -> dict[str, Schedule]:
    """Return the schedule of each site of a metasystem that ran jobs, by its name."""
    logs = {site.site.name: found.trace(site.site.name) for site in found.prepared.sites}
    return {name: simulate(log, "recorded") for name, log in logs.items() if log.n_jobs}


def plot_metasystem(found: MetaSchedule, ax: "Axes | None" = None) -> "list[Axes]":
    """Draw queue and utilization of each site of a metasystem, one above the other.

    Parameters
    ----------
    found : MetaSchedule
    ax : Axes, optional
        Axes to replace by the panels. Default: the current Axes.

    Returns
    -------
    list of Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, metasystem as meta
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [1, 1, 1]})
    >>> sites = [meta.Site("a", procs=1), meta.Site("b", procs=1)]
    >>> grid = meta.MetaScheduler("grid", "least-work", [meta.JobSource(log=log)])
    >>> system = meta.Metasystem(sites=sites, meta_schedulers=[grid])
    >>> queue, load = plot_metasystem(meta.simulate_metasystem(system), Figure().subplots())
    >>> queue.get_ylabel(), load.get_ylabel(), len(load.patches)
    ('waiting jobs', 'utilization', 2)
    """
    sites = schedules_of_sites(found)
    queue, load = style.panels(style.current_axes(ax), 2, rows=2)
    plot_queue_lengths(sites, queue)
    for schedule, line in zip(sites.values(), cycle(style.LINES), strict=False):
        data = utilization_over_time(schedule)
        edges = np.append(data["begin"], data["end"].iloc[-1])
        when = time_axis(load, schedule, edges[0], edges[-1])
        load.stairs(data["utilization"], when(edges), baseline=None, **line)
    load.set_xlim(queue.get_xlim())
    load.set_ylim(bottom=0)
    load.set_ylabel("utilization")
    style.share_axis(load.yaxis)
    return [queue, load]
