"""Figures of think times and of the probability to continue a session."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis import style
from workloadkit.analysis.reactions.followed import CONTINUE_WITHIN, RESPONSE_BINS, SLOWDOWN_BINS

_LABELS = dict(
    zip(
        (*RESPONSE_BINS, *SLOWDOWN_BINS),
        ("≤5 min", "≤15", "≤45", "≤135", "more", "≤1.41", "≤2", "≤4", "≤16", "more"),
        strict=True,
    )
)


def plot_medians(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the median think times by bin of response time and of slowdown.

    Parameters
    ----------
    data : DataFrame
        `Reactions.medians`.
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    for (metric, bins), colour, shift in zip(
        data.groupby(level="metric"), (style.BLUE, style.ORANGE), (-0.05, 0.05), strict=True
    ):
        middle = bins["median_think_time"].clip(lower=1.0)  # a logarithmic axis has no 0
        limits = [
            (middle - bins["think_time_low"].clip(lower=1.0)).clip(lower=0).fillna(0),
            (bins["think_time_high"] - middle).clip(lower=0).fillna(0),
        ]
        place = np.arange(1, 6) + shift
        line: dict[str, Any] = {
            "color": colour,
            "marker": "o",
            "markersize": 4,
            "elinewidth": 1,
            "capsize": 2,
        }
        ax.errorbar(place, middle, limits, label=metric, **line)
    low, high = ax.yaxis.get_data_interval()
    ax.update_datalim([(1, low / 1.4), (1, high * 1.4)])
    style.time_axis(ax.yaxis)
    ax.set_xlim(0.6, 5.4)
    ax.set_xticks(
        range(1, 6), [f"{r}, {s}" for r, s in zip(RESPONSE_BINS, SLOWDOWN_BINS, strict=True)]
    )
    ax.set_xlabel("bin of response time (R) or slowdown (S)")
    ax.set_ylabel("median think time")
    style.legend_above(ax)
    return ax


def plot_think_time_bins(
    data: pd.DataFrame, ax: Axes | None = None, *, bins: Sequence[str] = RESPONSE_BINS
) -> Axes:
    """Draw the distributions of think times after the jobs of each bin.

    Parameters
    ----------
    data : DataFrame
        `Reactions.think_times`.
    ax : Axes, optional
        Default: the current Axes.
    bins : sequence of str
        Bins to draw; by default those of response time.
    """
    ax = style.current_axes(ax)
    for name, line in zip(bins, style.LINES, strict=False):
        if data[name].notna().any():
            ax.plot(data.index, data[name], **line, label=_LABELS[name])
            ax.fill_between(
                data.index,
                data[f"{name}_low"],
                data[f"{name}_high"],
                color=line["color"],
                alpha=0.15,
                linewidth=0,
            )
    ax.axvline(CONTINUE_WITHIN, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    style.time_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    ax.set_ylim(0, 1)
    ax.set_xlabel("think time")
    ax.set_ylabel("share at or below")
    style.legend_above(ax)
    return ax


def plot_expectations(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the probability of continuing after jobs with short waits and short run times.

    Parameters
    ----------
    data : DataFrame
        `analysis.reactions.Reactions.expectations`.
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    titles = {"W": "waited up to 5 min", "E": "ran up to 5 min"}
    for (kind, title), colour in zip(titles.items(), (style.BLUE, style.ORANGE), strict=True):
        points = data[data["kind"] == kind]
        if len(points):
            plot_points(points, ax, colour)
            at = points["median_response"].clip(lower=1.0)
            ax.plot(at, points["probability"], color=colour, label=title)
    return probability_axes(ax)


def probability_axes(ax: Axes) -> Axes:
    """Label the axes of a probability of continuing against a response time."""
    low, high = ax.xaxis.get_data_interval()
    ax.update_datalim([(low / 1.4, 0), (high * 1.4, 0)])
    style.time_axis(ax.xaxis)
    style.share_axis(ax.yaxis)
    ax.set_ylim(0, 1)
    ax.set_xlabel("median response time")
    ax.set_ylabel("continue within 20 min")
    style.legend_above(ax)
    return ax


def plot_points(points: pd.DataFrame, ax: Axes, colour: str) -> None:
    """Draw probabilities with their intervals against median response times."""
    at, p = points["median_response"].clip(lower=1.0), points["probability"]
    # Far in the tails, a percentile interval need not contain the value itself.
    below, above = p - points["probability_low"], points["probability_high"] - p
    bars = np.nan_to_num([below.clip(lower=0), above.clip(lower=0)])
    ax.errorbar(at, p, bars, color=colour, fmt="o", markersize=4, elinewidth=1, capsize=2)
