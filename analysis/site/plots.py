"""Figures of the distributions of a site."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MultipleLocator

from workloadkit.analysis import style
from workloadkit.errors import ParameterError, quoted
from workloadkit.site import Empirical, SiteDistributions
from workloadkit.site.distributions import CYCLES, DISTRIBUTIONS, LONGEST_BREAK, SESSION

_N_POINTS = 400
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
COUNTS = ("batch_width", "size", "repetition")  # counts; the others are times
_RANGES = {
    "think_time": (0.0, SESSION),
    "break_time": (SESSION, LONGEST_BREAK),
    "since_end": (-LONGEST_BREAK / 2, LONGEST_BREAK),
}


def plot_site(
    site: SiteDistributions, ax: Axes | None = None, *, what: str = "batch_width"
) -> Axes:
    """Draw a distribution of a site: a curve per log, and one for all logs combined.

    Parameters
    ----------
    site : SiteDistributions
    ax : Axes, optional
        Default: the current Axes.
    what : str, default "batch_width"
        A distribution (cumulative shares), "hour" or "weekday".

    Raises
    ------
    ParameterError
        If the distribution is unknown.
    """
    if what in CYCLES:
        return plot_site_cycle(site_cycle(site, what), ax)
    if what not in DISTRIBUTIONS:
        known = ", ".join([*DISTRIBUTIONS, *CYCLES])
        raise ParameterError(f"unknown distribution {quoted(what)} of a site; known: {known}")
    return plot_site_curves(site_curves(site, what), ax, what=what)


def plot_site_curves(data: pd.DataFrame, ax: Axes | None = None, *, what: str) -> Axes:
    """Draw a distribution of a site.

    Parameters
    ----------
    data : DataFrame
        Result of `site_curves`.
    ax : Axes, optional
        Default: the current Axes.
    what : str
        Name of the distribution.
    """
    ax = style.current_axes(ax)
    for name, column in data.items():
        line = _line(ax, str(name))
        ax.plot(column.index, column, **line, drawstyle="steps-post", label=name)
    if data.empty:
        ax.text(0.5, 0.5, "none in the log", ha="center", transform=ax.transAxes)
    elif what in _RANGES:
        _hours(ax, *_RANGES[what])
    elif what in COUNTS:
        style.log_axis(ax.xaxis)
    else:
        style.time_axis(ax.xaxis)
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.yaxis)
    ax.set_xlabel(DISTRIBUTIONS[what])
    ax.set_ylabel("share at or below")
    _legend(ax)
    return ax


def site_curves(site: SiteDistributions, what: str) -> pd.DataFrame:
    """Return cumulative shares of a distribution, by log and combined.

    Points are whole numbers for counts, evenly spaced if the source's figure has a linear axis, and
    otherwise evenly spaced on a logarithmic axis from 1 s.
    """
    whole: Empirical = getattr(site, what)
    largest = max(float(whole.values.max(initial=1)), 1.0)
    if what in _RANGES:
        points = np.linspace(*_RANGES[what], _N_POINTS)
    else:
        points = np.geomspace(1, max(largest, 10), _N_POINTS)
        points = np.unique(np.round(points)) if what in COUNTS else points
    each = {name: getattr(of, what) for name, of in site.each().items()}
    curves = {name: of.share_at_most(points) for name, of in each.items() if of.n}
    return pd.DataFrame(curves, index=pd.Index(points, name=what))


def site_cycle(site: SiteDistributions, what: str) -> pd.DataFrame:
    """Return shares of jobs by "hour" or "weekday", for logs with known local time."""
    shares = {name: getattr(of, what) for name, of in site.each().items()}
    shares = {name: of for name, of in shares.items() if not np.isnan(of).any()}
    return pd.DataFrame(shares, index=pd.RangeIndex(CYCLES[what], name=what))


def plot_site_cycle(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw shares of jobs by hour or weekday from `site_cycle`.

    Parameters
    ----------
    data : DataFrame
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    for name, shares in data.items():
        edges = np.arange(len(shares) + 1)
        ax.stairs(shares, edges, baseline=None, **_line(ax, str(name)), label=name)
    ax.set_xlim(0, len(data))
    if len(data) == CYCLES["hour"]:
        ax.xaxis.set_major_locator(MultipleLocator(3))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda hour, _: f"{hour:.0f}:00"))
        ax.set_xlabel("local time")
    else:
        ax.set_xticks(np.arange(7) + 0.5, _DAYS)
    ax.set_ylim(bottom=0)
    style.share_axis(ax.yaxis)
    ax.set_ylabel("share of jobs")
    _legend(ax)
    return ax


def plot_empirical(of: Empirical, ax: Axes | None = None) -> Axes:
    """Draw a cumulative distribution.

    Parameters
    ----------
    of : Empirical
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    ax.plot(of.values, of.share_at_most(of.values), color=style.BLUE, drawstyle="steps-post")
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.yaxis)
    ax.set_xlabel("value")
    ax.set_ylabel("share at or below")
    return ax


def _line(ax: Axes, name: str) -> dict[str, Any]:
    if name == "combined":
        return {"color": style.INK, "linewidth": 2.2}
    drawn = len(ax.get_legend_handles_labels()[0])
    return {**style.LINES[drawn % len(style.LINES)], "linewidth": 1.2}


def _hours(ax: Axes, low: float, high: float) -> None:
    """Label a linear axis of times in minutes or hours."""
    unit, step, name = (60, 300, "min") if high <= 3600 else (3600, 7200, "h")
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: f"{x / unit:g} {name}".replace("-", "−"))
    )


def _legend(ax: Axes) -> None:
    """Arrange the names of logs in two columns above the Axes."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) > 1:
        short = [label.split(".swf")[0] for label in labels]
        ax.legend(
            handles, short, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2
        )
