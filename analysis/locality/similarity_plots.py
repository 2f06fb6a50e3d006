"""Figures of the similarity of a user's jobs."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis import style


def side_by_side(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Combine the `mean`, `low` and `high` of several tables, by name, into one."""
    columns = {
        f"{name}{' ' * bool(part)}{part}": table[part or "mean"]
        for name, table in tables.items()
        for part in ("", "low", "high")
    }
    return pd.DataFrame(columns)


def plot_by_distance(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw similarities by distance in sessions, with their intervals.

    Parameters
    ----------
    data : DataFrame
        By distance, three columns per quantity, from `side_by_side`.
    """
    ax = style.current_axes(ax)
    names = data.columns[::3]
    for name, colour in zip(names, (style.BLUE, style.ORANGE, style.GREEN), strict=False):
        low, high = data[f"{name} low"], data[f"{name} high"]
        ax.fill_between(data.index, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(data.index, data[name], color=colour, marker="o", markersize=3.5, label=name)
    ax.set_ylim(0, 1.02)
    style.count_axis(ax.xaxis)
    ax.set_xlabel("distance in sessions")
    ax.set_ylabel("mean similarity over users")
    style.legend_above(ax)
    return ax


def plot_shuffled(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the values of a log (line) and their distributions over shuffled logs.

    Parameters
    ----------
    data : DataFrame
        One column per quantity; the first row is the log, the others are shuffled logs.
    """
    ax = style.current_axes(ax)
    for i, name in enumerate(data):
        values = data[name].dropna().to_numpy()[1:]
        if not values.size:  # no user has two jobs in a session
            continue
        middle, width = values.mean(), max(np.ptp(values), 1e-3)  # also if all values are equal
        counts, edges = np.histogram(values, 20, (middle - 0.7 * width, middle + 0.7 * width))
        label = "shuffled" if i == 0 else "_"  # an underscore excludes it from the legend
        heights = 0.75 * counts / counts.max()
        ax.stairs(i + heights, edges, baseline=i, fill=True, color=style.BLUE, label=label)
        label = "log" if i == 0 else "_"
        ax.vlines(data[name].iloc[0], i, i + 0.75, color=style.ORANGE, linewidth=2, label=label)
    ax.set_yticks(np.arange(data.shape[1]) + 0.35, list(data))
    ax.set_ylim(-0.15, data.shape[1] - 0.05)
    ax.grid(visible=False, axis="y")
    ax.set_ylabel("attribute")
    ax.set_xlabel("similarity of the jobs of a session")
    style.legend_above(ax)
    return ax


def plot_shares_of_users(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the shares of users with more similar jobs at either distance, as stacked bars.

    Parameters
    ----------
    data : DataFrame
        Result of `NearerIsMoreAlike.bars`.
    """
    ax = style.current_axes(ax)
    y = np.arange(len(data))
    parts = {
        "nearer_larger": ("nearer", style.BLUE),
        "equal": ("equal", style.PALE),
        "farther_larger": ("farther", style.ORANGE),
    }
    left = np.zeros(len(data))
    for part, (label, colour) in parts.items():
        ax.barh(y, data[part], left=left, height=0.7, color=colour, label=label)
        left += data[part]
    ax.hlines(y, data["low"], data["high"], color=style.INK, linewidth=1)
    ax.set_yticks(y, list(data.index))
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, 1)
    style.share_axis(ax.xaxis)
    ax.set_xlabel("share of users with higher similarity at this distance")
    ax.set_ylabel("distance in sessions")
    style.legend_above(ax)
    return ax
