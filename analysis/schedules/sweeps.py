"""Figures of sweeps over load."""

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from workloadkit.analysis import style
from workloadkit.analysis.formats import is_share, is_time, metric_title
from workloadkit.errors import ParameterError, quoted
from workloadkit.experiments.sweep import SweepResults

_SATURATED = "saturated"
_MOST_ON_LINEAR = 30  # ratio of the largest to the smallest value
_MOST_LABELS = 8  # that fit on an axis


def plot_sweep(sweep: SweepResults, metric: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw a metric over the load, one line per scheduler, with intervals.

    If runs saturate, the line is the mean of all runs; a hollow marker shows that of the others.
    The axis is logarithmic if all values are positive and differ by a factor of more than 30.

    Parameters
    ----------
    sweep : SweepResults
    metric : str, optional
        Default: the first; "saturated" is the share of the runs that saturate.
    ax : Axes, optional
        Default: the current Axes.

    Raises
    ------
    ParameterError
        If the sweep does not have the metric.
    """
    metric = sweep.metrics[0] if metric is None else metric
    if metric not in (*sweep.metrics, _SATURATED):
        known = ", ".join((*sweep.metrics, _SATURATED))
        raise ParameterError(f"the sweep has no metric {quoted(metric)}; known: {known}")
    ax = style.current_axes(ax)
    table = sweep.table.assign(saturated=sweep.table["saturated"] / sweep.table["runs"])
    others = f"{metric}_others" if metric != _SATURATED else metric
    shown = pd.concat([table[metric], table[others]])
    logarithmic = metric != _SATURATED and _spreads(shown)
    ascending = table.sort_values("load", kind="stable")
    names = list(dict.fromkeys(sweep.table["scheduler"]))
    for name, line in zip(names, cycle(style.LINES), strict=False):
        rows = ascending[ascending["scheduler"] == name]
        load = rows["load"].to_numpy(dtype=np.float64)
        ends = [metric, metric] if metric == _SATURATED else [f"{metric}_low", f"{metric}_high"]
        values = (
            rows[[metric, *ends]]
            .assign(others=rows[others].where(rows[_SATURATED] > 0))
            .to_numpy(dtype=np.float64)
        )
        if is_time(metric):
            values = values / 3600
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
        if sweep.table["runs"].min() > 1:
            ax.fill_between(load, low, high, color=line["color"], alpha=0.15, linewidth=0)
    by_users = sweep.load_by == "users"
    ax.set_xlabel("factor on the number of users" if by_users else "offered load")
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


def _spreads(values: pd.Series) -> bool:
    """Whether small values would be invisible on a linear axis."""
    least, most = values.min(), values.max()  # without NaN
    return bool(least > 0 and most > _MOST_ON_LINEAR * least)


def _set_logarithmic(ax: Axes, values: pd.Series) -> None:
    """Make the y axis logarithmic from below the least value; intervals may extend below it."""
    ax.set_yscale("log")
    ax.set_ylim(bottom=values.min() / 1.5)
    decades = np.log10(values.max() / values.min())
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 3 else (1,)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))


def plot_sweeps(sweep: SweepResults, ax: Axes | None = None) -> list[Axes]:
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
    """
    saturates = (sweep.table["saturated"] > 0).any()
    metrics = (*sweep.metrics, *((_SATURATED,) if saturates else ()))
    panels = style.panels(style.current_axes(ax), len(metrics))
    for i, (panel, metric) in enumerate(zip(panels, metrics, strict=True)):
        plot_sweep(sweep, metric, panel)
        if i and (legend := panel.get_legend()):
            legend.remove()
    return panels
