"""Figures of long-term and temporary users, from `workloadkit.classify_users`."""

import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis import style
from workloadkit.clock import WEEK
from workloadkit.user_classes import EDGE


def plot_users_seen(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the cumulative number of distinct users by week, from `UserClasses.seen`.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    ax.axvline(EDGE / WEEK, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    ax.plot(data.index, data["users"], color=style.BLUE)
    ax.set_xlim(0, max(data.index[-1], 1))
    ax.set_ylim(0, 1.05 * max(data["users"].iloc[-1], 1))
    style.count_axis(ax.xaxis)
    style.count_axis(ax.yaxis)
    ax.set_xlabel("weeks since the first job")
    ax.set_ylabel("distinct users")
    return ax


def plot_periods(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the distribution of activity periods, from `UserClasses.periods`.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    width = data.index[1] - data.index[0]
    total = data.sum(axis=1)
    bar = {"width": 0.9 * width, "align": "edge"}
    ax.bar(data.index, data["other"], **bar, color=style.ORANGE, label="up to 12 weeks")
    ax.bar(
        data.index, data["long_term"], **bar, bottom=data["other"], color=style.BLUE, label="longer"
    )
    ax.set_xlim(0, data.index[-1] + width)
    ax.set_ylim(0, 1.05 * max(total.max(), 1))
    ax.grid(visible=False, axis="x")
    style.count_axis(ax.xaxis)
    style.count_axis(ax.yaxis)
    ax.set_xlabel("weeks from the first to the last job")
    ax.set_ylabel("users")
    style.legend_above(ax)
    return ax
