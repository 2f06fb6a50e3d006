"""Figures of the first screen of a report: load and queue, a few jobs, places in the archive."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.formats import duration, number
from workloadkit.analysis.load.cycles import daily_cycle, weekly_cycle
from workloadkit.analysis.load.over_time import (
    dated,
    held_between,
    interval_days,
    load_over_time,
    name_of_days,
    summarize_load,
    waits_known,
)
from workloadkit.analysis.logs import archive
from workloadkit.analysis.section import Figure, why_no_users
from workloadkit.analysis.users import concentration, user_shares
from workloadkit.clock import DAY, Clock, enclosing
from workloadkit.errors import plural
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HOUR = 3600


def load_figure(seen: Trace) -> Figure:
    """Return the figure of load and queue over the whole window."""
    window, clock, machine = seen.window, Clock.of(seen), seen.header.procs
    shortest = 7 if window.length >= 56 * DAY else 1
    days = interval_days(window.begin, window.until, shortest=shortest)
    edges, each = clock.midnights(window.begin, window.until, days=days), name_of_days(days)
    if window.length < 3 * DAY:
        edges, each = enclosing(window.begin, window.until, _HOUR), "hour"
    # the first and last of them are as long as the log is then
    until = max(window.until, float(seen.column("submit").max()) + 1)
    edges = np.clip(edges, window.begin, until)
    data = load_over_time(seen, edges, machine=machine or 1)
    wait = np.nan_to_num(seen.column("wait"))
    known, submit = waits_known(seen), seen.column("submit")
    if known:
        ones = np.ones(seen.n_jobs)
        data["waiting"] = held_between(edges, submit, submit + np.maximum(wait, 0), ones)
        data["waiting"] /= np.diff(edges)
    else:
        data = data.drop(columns="utilization")
    in_use = "share of the machine in use" if machine else "processors in use"
    caption = f"Means of each {each}" + (f": {in_use}, and jobs waiting" if known else "")
    what = "in use" if known else "requested"
    peak = data["utilization" if known else "offered_load"]
    return Figure(
        "load",
        "Load and queue" if known else "Load",
        f"{caption}. Offered is the work of the jobs submitted then.",
        dated(data, clock),
        plot_load_and_queue if machine else plot_unscaled_load_and_queue,
        alt=f"Mean {what} by {each}: {number(float(peak.mean()))}, at most "
        f"{number(float(peak.max()))}" + (" of the machine." if machine else " processors."),
        wide=True,
    )


def plot_load_and_queue(
    data: pd.DataFrame, ax: "Axes | None" = None, *, machine: bool = True
) -> "Axes":
    """Draw load and number of waiting jobs over time, in two panels.

    Parameters
    ----------
    data : DataFrame
        `load_over_time`, with `waiting` [jobs] if known, and `date` if known.
    machine : bool, default True
        Whether load is a share of the machine; otherwise it is in processors.
    """
    ax = style.current_axes(ax)
    axes = style.panels(ax, 2, rows=2) if "waiting" in data else [ax]
    edges = style.date_edges(data)
    if "utilization" in data:
        axes[0].stairs(data["utilization"], edges, fill=True, color=style.PALE, label="in use")
    axes[0].stairs(data["offered_load"], edges, color=style.ORANGE, label="offered", baseline=None)
    axes[0].set_ylabel("load" if machine else "processors")
    (style.share_axis if machine else style.count_axis)(axes[0].yaxis)
    if "waiting" in data:
        axes[1].stairs(data["waiting"], edges, fill=True, color=style.BLUE, label="waiting")
        axes[1].set_ylabel("jobs waiting")
        style.count_axis(axes[1].yaxis)
    for each in axes:
        each.margins(x=0)
        each.set_ylim(bottom=0)
        style.date_axis(each.xaxis, data)
    style.legend_above(axes[0])
    return axes[0]


def plot_unscaled_load_and_queue(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw `plot_load_and_queue` of a machine of unknown size."""
    return plot_load_and_queue(data, ax, machine=False)


def jobs_figure(trace: Trace) -> Figure:
    """Return the figure of a few jobs, one a row."""
    submit = trace.column("submit")
    wait = np.nan_to_num(trace.column("wait"))
    begin = float(submit.min())
    data = pd.DataFrame(
        {
            "submit": submit - begin,
            "start": submit + np.maximum(wait, 0) - begin,
            "end": trace.end - begin,
            "procs": trace.used_procs,
        },
        pd.Index(trace.column("job"), name="job"),
    )
    caption = "Each job from its submission to its start, and to its end. Unknown waits count as 0."
    return Figure("jobs", "The jobs", caption, data, plot_jobs)


def plot_jobs(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw when each of a few jobs waited and ran.

    Parameters
    ----------
    data : DataFrame
        By job: `submit`, `start`, `end` [s] and `procs`.
    """
    ax = style.current_axes(ax)
    place = np.arange(len(data))
    last = data["end"].max()
    scale = _HOUR if last > 2 * _HOUR else 60
    begin, start, end = (data[name].to_numpy() / scale for name in ("submit", "start", "end"))
    ax.barh(place, start - begin, 0.6, begin, color=style.PALE, label="waits")
    ax.barh(place, end - start, 0.6, start, color=style.BLUE, label="runs")
    ax.set_yticks(place, [f"job {job:g}" for job in data.index])
    ax.set_ylim(len(data) - 0.4, -0.6)
    ax.set_xlabel(f"{'hours' if scale == _HOUR else 'minutes'} since the first submission")
    ax.set_xlim(0, 1.02 * last / scale if last > 0 else 1)
    ax.grid(visible=False, axis="y")
    style.legend_above(ax)
    return ax


class Place(NamedTuple):
    """The place of a log among those of the archive, in one measure.

    Parameters
    ----------
    text, words : str
        The measure with the rank of the log; and the values of all.
    own : float
        Place of the log, as a share from the least to the greatest value.
    dots : tuple of (float, str)
        Places of the others, with name and value.
    """

    text: str
    words: str
    own: float
    dots: tuple[tuple[float, str], ...]


def places_of(trace: Trace, titles: Sequence[str]) -> dict[str, Place]:
    """Place a log among those of the archive, in a measure of each part that has one, by title."""
    if trace.n_jobs < archive.FEWEST_JOBS:
        return {}
    inside = trace.within_window()
    found = {}
    for title in titles:
        measure, value = "", None
        if title.startswith("Load"):
            measure, value = "load.utilization", summarize_load(trace)["utilization"]
        elif title == "The week" and Clock.of(trace).known:
            day = daily_cycle(weekly_cycle(inside), weekend=True)[["weekend", "weekdays"]].sum()
            measure, value = "cycles.weekend_to_weekday", day["weekend"] / day["weekdays"]
        elif title == "Waits":
            wait = inside.column("wait")[inside.ran]
            measure, value = "marginals.wait.p50", metrics.percentile(wait[wait >= 0], 50)
        elif title.startswith("Who used it") and not why_no_users(inside):
            work = concentration(user_shares(inside)["work"])
            measure, value = "users.work_share_of_first_10", work[min(10, len(work) - 1)]
        if value is not None:
            place = archive.place_among_archive(trace, {measure: float(value)})
            if measure in place.table.index:
                found[title] = _place(place.strip_of(measure), archive.MEASURES[measure][1])
    return found


def _place(strip: archive.Strip, form: Callable[[float], str]) -> Place:
    """Describe the place of a log; places of times are logarithmic."""
    values = np.append(strip.values, strip.value)
    scaled = np.log1p(values) if form is duration else values
    ends = scaled.min(), scaled.max()
    *others, own = ((scaled - ends[0]) / ((ends[1] - ends[0]) or 1.0)).round(3).tolist()
    named = [f"{name}: {form(x)}" for name, x in zip(strip.names, strip.values, strict=True)]
    n = plural(len(named), "log")
    text = (
        f"{strip.title} {form(strip.value)}: rank {strip.rank} of {len(named) + 1} in the archive"
    )
    words = f"{strip.title}: this log {form(strip.value)}; {n} of the archive: {', '.join(named)}."
    return Place(text, words, own, tuple(zip(others, named, strict=True)))
