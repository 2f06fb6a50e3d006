"""Figures that compare schedules of the same jobs."""

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from workloadkit.analysis import style
from workloadkit.analysis.distributions.marginals import cumulative_shares, plot_cumulative
from workloadkit.analysis.formats import is_time, metric_title
from workloadkit.analysis.schedules.measures import (
    busiest_week,
    means_over_time,
    plot_gantt,
    time_axis,
)
from workloadkit.clock import equal_parts
from workloadkit.errors import ParameterError, quoted
from workloadkit.simulation.measures import QUANTITIES

if TYPE_CHECKING:
    from workloadkit.analysis.schedules.comparison import Comparison

_MOST_POINTS = 500  # of a drawn curve


def plot_distributions(
    comparison: "Comparison", quantity: str = "wait", ax: Axes | None = None
) -> Axes:
    """Draw the cumulative distribution of a quantity of jobs under each schedule.

    Parameters
    ----------
    comparison : Comparison
    quantity : {"wait", "response", "slowdown", "bounded_slowdown", "expansion_factor"}
    ax : Axes, optional
        Default: the current Axes.
    """
    if quantity not in QUANTITIES:
        raise ParameterError(f"quantity is {quoted(quantity)}; known: {', '.join(QUANTITIES)}")
    values = {name: QUANTITIES[quantity](s.served) for name, s in comparison.schedules.items()}
    label = quantity.replace("_", " ")
    times = is_time(quantity)
    return plot_cumulative(cumulative_shares(values), ax, times=times, label=label)


def plot_queue_lengths(comparison: "Comparison", ax: Axes | None = None) -> Axes:
    """Draw the number of waiting jobs over time under each schedule, as means of intervals.

    Parameters
    ----------
    comparison : Comparison
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    schedules = list(comparison.schedules.values())
    begin = min(float(s.workload.submit[0]) for s in schedules)
    until = max(max(float(s.end.max()) for s in schedules), begin + 1)
    edges = equal_parts(begin, until, _MOST_POINTS)
    when = time_axis(ax, schedules[0], begin, until)
    for (name, schedule), line in zip(
        comparison.schedules.items(), cycle(style.LINES), strict=False
    ):
        ax.stairs(means_over_time(schedule, edges), when(edges), baseline=None, label=name, **line)
    ax.set_xlim(*when(edges[[0, -1]]))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("waiting jobs")
    style.count_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def plot_gantts(
    comparison: "Comparison",
    ax: Axes | None = None,
    *,
    begin: float | None = None,
    until: float | None = None,
) -> list[Axes]:
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


def plot_differences(comparison: "Comparison", ax: Axes | None = None) -> Axes:
    """Draw the relative differences from the reference, with their intervals.

    Metrics that are 0 for the reference are left out.

    Parameters
    ----------
    comparison : Comparison
    ax : Axes, optional
        Default: the current Axes.
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


def plot_objective(comparison: "Comparison", ax: Axes | None = None) -> Axes:
    """Draw the weighted objective of each schedule, and the contributions of the metrics.

    Parameters
    ----------
    comparison : Comparison
        A comparison with weights.
    ax : Axes, optional
        Default: the current Axes.
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
