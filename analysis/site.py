"""Report section on the distributions for a model of the site, and their figures."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.distributions.marginals import describe, summary_table
from workloadkit.analysis.formats import duration
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.section import Figure, Section, unknown_users, why_no_users
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, plural, quoted
from workloadkit.site import Empirical, SiteDistributions, site_distributions
from workloadkit.site.distributions import CYCLES, DISTRIBUTIONS, LONGEST_BREAK, SESSION
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Figures of the distributions of a site.

_N_POINTS = 400
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
COUNTS = ("batch_width", "size", "repetition")  # counts; the others are times
_RANGES = {
    "think_time": (0.0, SESSION),
    "break_time": (SESSION, LONGEST_BREAK),
    "since_end": (-LONGEST_BREAK / 2, LONGEST_BREAK),
}


def plot_site(
    site: SiteDistributions, ax: "Axes | None" = None, *, what: str = "batch_width"
) -> "Axes":
    """Draw a distribution of a site: a curve per log, and one for all logs combined.

    Parameters
    ----------
    site : SiteDistributions
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


def plot_site_curves(data: pd.DataFrame, ax: "Axes | None" = None, *, what: str) -> "Axes":
    """Draw a distribution of a site.

    Parameters
    ----------
    data : DataFrame
        Result of `site_curves`.
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
    ax.set(xlabel=DISTRIBUTIONS[what], ylabel="share at or below")
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
        points = distinct(np.round(points)) if what in COUNTS else points
    each = {name: getattr(of, what) for name, of in site.each().items()}
    curves = {name: of.share_at_most(points) for name, of in each.items() if of.n}
    return pd.DataFrame(curves, index=pd.Index(points, name=what))


def site_cycle(site: SiteDistributions, what: str) -> pd.DataFrame:
    """Return shares of jobs by "hour" or "weekday", for logs with known local time."""
    shares = {name: getattr(of, what) for name, of in site.each().items()}
    shares = {name: of for name, of in shares.items() if not np.isnan(of).any()}
    return pd.DataFrame(shares, index=pd.RangeIndex(CYCLES[what], name=what))


def plot_site_cycle(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw shares of jobs by hour or weekday from `site_cycle`."""
    ax = style.current_axes(ax)
    for name, shares in data.items():
        edges = np.arange(len(shares) + 1)
        ax.stairs(shares, edges, baseline=None, **_line(ax, str(name)), label=name)
    ax.set_xlim(0, len(data))
    if len(data) == CYCLES["hour"]:
        ax.set_xticks(range(0, 25, 3))
        ax.xaxis.set_major_formatter(lambda hour, _: f"{hour:.0f}:00")
        ax.set_xlabel("local time")
    else:
        ax.set_xticks(np.arange(7) + 0.5, _DAYS)
    ax.set_ylim(bottom=0)
    style.share_axis(ax.yaxis)
    ax.set_ylabel("share of jobs")
    _legend(ax)
    return ax


def plot_empirical(of: Empirical, ax: "Axes | None" = None) -> "Axes":
    """Draw a cumulative distribution.

    Parameters
    ----------
    of : Empirical
    """
    ax = style.current_axes(ax)
    ax.plot(of.values, of.share_at_most(of.values), color=style.BLUE, drawstyle="steps-post")
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.yaxis)
    ax.set(xlabel="value", ylabel="share at or below")
    return ax


def _line(ax: "Axes", name: str) -> dict[str, Any]:
    if name == "combined":
        return {"color": style.INK, "linewidth": 2.2}
    drawn = len(ax.get_legend_handles_labels()[0])
    return {**style.LINES[drawn % len(style.LINES)], "linewidth": 1.2}


def _hours(ax: "Axes", low: float, high: float) -> None:
    """Label a linear axis of times in minutes or hours."""
    from matplotlib.ticker import MultipleLocator

    unit, step, name = (60, 300, "min") if high <= 3600 else (3600, 7200, "h")
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x / unit:g} {name}".replace("-", "−"))


def _legend(ax: "Axes") -> None:
    """Arrange the names of logs in two columns above the Axes."""
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) > 1:
        short = [label.split(".swf")[0] for label in labels]
        ax.legend(
            handles, short, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2
        )


_TITLE = "Distributions for a site model"
#: Short titles for tables.
_TITLES = DISTRIBUTIONS | {
    "gap": "gap in a batch",
    "repetition": "run of equal sizes",
    "since_end": "time since previous end",
}
_TIMES = [name for name in DISTRIBUTIONS if name not in COUNTS]
_STATISTICS = {
    "count": "count",
    "mean": "mean",
    "cv": "coefficient of variation",
    "p25": "25th percentile",
    "p50": "median",
    "p75": "75th percentile",
    "p95": "95th percentile",
    "max": "maximum",
}

#: Sizes, run times and cycles are drawn in other sections.
_DRAWN = {
    "batch_width": ("Batch widths", "Cumulative share of batches by their number of jobs."),
    "gap": (
        "Gaps within batches",
        "Cumulative share of the times between successive submissions of a batch.",
    ),
    "think_time": (
        "Think times",
        "Cumulative share of the think times within sessions, of up to 20 min.",
    ),
    "break_time": (
        "Breaks",
        "Cumulative share of the breaks between a user's sessions, of up to 8 h.",
    ),
    "repetition": (
        "Runs of equal size",
        "Cumulative share of the runs of jobs of equal size, submitted by a user in succession, by "
        "their length.",
    ),
}


def section(trace: Trace) -> Section:
    """Report the distributions for a model of the site's users and jobs."""
    if reason := why_no_users(trace):
        return Section("site", _TITLE, notes=(f"{reason}, so users cannot be modelled.",))
    found = site_distributions(trace)
    notes = [
        "Sessions are delimited by Last: a session ends if the user submits no job for 20 min "
        "after the end of the last submitted job. Think times and breaks start at this end. "
        "workloadkit.site.site_distributions saves the distributions for a simulation.",
        *unknown_users(trace),
    ]
    if not waits_known(trace):
        notes.append(
            "No wait time is known; batches, think times and breaks assume that jobs end their run "
            "time after submission, and are only approximate."
        )
    numbers = {name: describe(_sample(getattr(found, name))) for name in DISTRIBUTIONS}
    table = summary_table(
        numbers,
        "Distributions of batches, pauses and jobs for simulated users.",
        titles=_TITLES,
        times=_TIMES,
        statistics=_STATISTICS,
    )
    return Section(
        "site",
        _TITLE,
        _finding(numbers),
        tuple(notes),
        values={"n_users": found.n_users, "n_jobs": found.n_jobs, **numbers},
        tables=(table,),
        figures=tuple(_figures(found)),
        parameters={"site_session_threshold": SESSION, "site_longest_break": LONGEST_BREAK},
    )


def _finding(numbers: dict[str, dict[str, float]]) -> str:
    """Describe the size of batches and the length of pauses."""
    job = plural(numbers["batch_width"]["mean"], "job")
    sentences = [f"By Last, a batch has {job} on average."]
    for name, what in (
        ("think_time", "think time within sessions"),
        ("break_time", "break between sessions (up to 8 h)"),
    ):
        if numbers[name]["count"]:
            sentences.append(f"The median {what} is {duration(numbers[name]['p50'])}.")
    return " ".join(sentences)


def _sample(of: Empirical) -> np.ndarray:
    return np.repeat(of.values, of.counts)


def _figures(found: SiteDistributions) -> list[Figure]:
    return [
        Figure(name, title, caption, site_curves(found, name), partial(plot_site_curves, what=name))
        for name, (title, caption) in _DRAWN.items()
        if getattr(found, name).n
    ]
