"""Figures that compare logs, with the first highlighted."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis import style
from workloadkit.analysis.logs.distributions import DISTRIBUTIONS, ComparedDistribution

_HOURS = 168
_FEW = 3  # up to this many other logs have separate colours


def plot_overlaid(
    data: pd.DataFrame,
    ax: Axes | None = None,
    *,
    distribution: str = "jobs_by_user",
    others: str = "others",
) -> Axes:
    """Draw a distribution in several logs, the first highlighted.

    Parameters
    ----------
    data : DataFrame
        One of `LogComparison.curves`.
    ax : Axes, optional
        Default: the current Axes.
    distribution : str, default "jobs_by_user"
        Name of the distribution.
    others : str, default "others"
        Label of the other logs if they share a colour.
    """
    ax = style.current_axes(ax)
    what = DISTRIBUTIONS[distribution]
    on_logarithms = what.over == "users" and what.unit != "days" and bool((data > 0).any(axis=None))
    if on_logarithms:
        data = data.where(data > 0)
    look = {"drawstyle": "steps-post"} if what.over == "values" else {}
    overlay(data, ax, others=others, **look)
    _label(ax, what, on_logarithms)
    return ax


def overlay(data: pd.DataFrame, ax: Axes, *, others: str = "others", **look: Any) -> None:
    """Draw one line per log, the first thick and on top; `look` styles all lines."""
    first, *names = data
    few = len(names) <= _FEW
    for i, name in enumerate(names):
        line = style.LINES[1 + i] if few else {"color": style.MUTED}
        label = name if few else (f"{len(names):,} {others}" if i == 0 else None)
        ax.plot(data.index, data[name], **{**line, **look}, linewidth=0.8, label=label)
    ax.plot(data.index, data[first], **look, color=style.BLUE, linewidth=2, label=first)
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) > 1:  # the first log first
        handles, labels = handles[-1:] + handles[:-1], labels[-1:] + labels[:-1]
        style.legend(ax, handles, labels, columns=2 if few else 4)


def plot_measures(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw measures of several logs relative to the first.

    Parameters
    ----------
    data : DataFrame
        Rows of `LogComparison.table`; measures that are 0 or unknown in the first log are left out.
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    first = data.iloc[:, 0]
    data = data[first.notna() & (first != 0)]
    relative = data.iloc[:, 1:].div(data.iloc[:, 0], axis=0)
    place = np.arange(len(data))[::-1]
    ax.axvline(1, color=style.BLUE, linewidth=1.5)
    for column in relative:
        ax.plot(
            relative[column], place, "o", color=style.MUTED, markersize=3.5, markerfacecolor="none"
        )
    names = [str(name).replace("_", " ").replace(".", ": ") for name in data.index]
    ax.set_yticks(place, names, fontsize=8)
    ax.set_ylim(-0.7, len(data) - 0.3)
    style.share_axis(ax.xaxis)
    ax.set_xlabel(f"relative to {data.columns[0]}" if len(data.columns) else "", parse_math=False)
    ax.set_ylabel("measure")
    return ax


def _label(ax: Axes, what: ComparedDistribution, on_logarithms: bool) -> None:
    """Scale and label the axes for a distribution."""
    is_time = what.unit == "time"
    if what.over == "week":
        ax.set_xlim(0, _HOURS)
        ax.set_xticks(range(0, _HOURS + 1, 24))
        ax.set_ylim(bottom=0)
        style.share_axis(ax.yaxis)
        ax.set_xlabel("hour of the week")
        ax.set_ylabel("share of arrivals")
    elif what.over == "users":
        style.count_axis(ax.xaxis)
        ax.set_xlabel("users, in ascending order")
        unit = f" [{what.unit}]" if what.unit in ("days", "processor-seconds") else ""
        ax.set_ylabel(what.title + unit)
        if on_logarithms:
            (style.time_axis if is_time else style.log_axis)(ax.yaxis)
        else:
            style.count_axis(ax.yaxis)
    else:
        if what.unit == "share":
            ax.set_xlim(0, 1.02)
            style.share_axis(ax.xaxis)
        else:
            (style.time_axis if is_time else style.log_axis)(ax.xaxis)
        ax.set_ylim(0, 1.02)
        style.share_axis(ax.yaxis)
        ax.set_xlabel(what.title)
        ax.set_ylabel("share at or below")
