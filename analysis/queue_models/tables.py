"""Formatted parameters and predictions of queueing models for a log."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from workloadkit.analysis import style
from workloadkit.analysis.formats import count, duration, number, share, with_interval
from workloadkit.analysis.queue_models.going_on import GoingOn
from workloadkit.analysis.queue_models.predictions import COLUMNS, SERVERS
from workloadkit.analysis.queue_models.users_of_log import Parameters
from workloadkit.analysis.reactions.followed import RESPONSE_BINS, RESPONSE_TITLES
from workloadkit.analysis.section import Table, facts, shown_intervals

_HOUR = 3600.0

_TITLES = {
    "throughput": "jobs per hour",
    "response": "mean response",
    "wait": "mean wait",
    "utilization": "utilization",
    "queue": "waiting jobs",
}
_SERVERS = {"jobs": "one server per job", "machine": "one server per machine"}


def table_of_parameters(of: Parameters) -> Table:
    """Return the table of measured parameters."""

    def hourly(rate: float) -> str:
        return f"{number(rate * _HOUR)} / h"

    rows = {
        "jobs": (of.jobs, count(of.jobs)),
        "users": (of.users, f"{count(of.users)}, {count(of.long_term_users)} of them long-term"),
        "period": (of.period, duration(of.period)),
        "λ, mixed: jobs of other users": (of.lam, hourly(of.lam)),
        "λ, re-open: sessions of all users": (of.lam_sessions, hourly(of.lam_sessions)),
        "N: active long-term users, mean": (of.N, number(of.N)),
        "X of their jobs": (of.X_closed, hourly(of.X_closed)),
        "R of their jobs": (of.R_closed, duration(of.R_closed)),
        "Z: from the end of a job to the next submission": (of.Z, duration(of.Z)),
        "Z, non-negative ones": (of.Z_awaited, duration(of.Z_awaited)),
        "next jobs before the end": (of.not_awaited, share(of.not_awaited)),
        "Z within a session, all users": (of.Z_session, duration(of.Z_session)),
        "p: jobs followed in the session": (of.p, share(of.p)),
        "S, one server per job: run time": (of.run, duration(of.run)),
        "servers": (of.servers, count(of.servers)),
        "processors of the machine": (of.procs, count(of.procs)),
        "processors of a job": (of.procs_per_job, number(of.procs_per_job)),
        "processors of a job, weighted by run time": (of.procs_at_work, number(of.procs_at_work)),
        "S, one server per machine: work / machine": (of.work, duration(of.work)),
        "offered load": (of.load, share(of.load)),
        "SCV of run times": (of.scv_run, number(of.scv_run)),
        "SCV of work": (of.scv_work, number(of.scv_work)),
        "SCV of inter-arrival times": (of.scv_interarrival, number(of.scv_interarrival)),
        "SCV, open arrivals": (of.scv_open_interarrival, number(of.scv_open_interarrival)),
        "SCV of non-negative Z": (of.scv_think, number(of.scv_think)),
    }
    caption = (
        "Parameters of queueing models in the log. SCV: squared coefficient of variation, 1 for an "
        "exponential distribution."
    )
    return facts("parameters", caption, rows)


def table_of_going_on(found: GoingOn) -> Table:
    """Return p(r) by bin of response times, with the fitted curves."""
    data = found.points
    titles = dict(zip(RESPONSE_BINS, RESPONSE_TITLES, strict=True))
    shown = pd.DataFrame(
        {
            "jobs": data["jobs"].map(count),
            "median response": data["median_response"].map(duration),
            "followed": shown_intervals(data, "probability"),
            "if awaited": data["awaited"].map(share),
            "hyperbola": data["hyperbola"].map(share),
            "exponential": data["exponential"].map(share),
            "published": data["published"].map(share),
        },
        dtype=object,
    )
    shown.index = pd.Index([f"{bin_}: {titles[bin_]}" for bin_ in data["bin"]])
    a = with_interval(found.a, *found.a_interval, number)
    b = with_interval(found.b, *found.b_interval, number)
    theta = with_interval(found.theta, *found.theta_interval, number)
    fits = (
        f"Hyperbola a / (b r + 1): a = {a}, b = {b}; exponential e^(−θ r): θ = {theta}; published: "
        "0.8 / (0.05 r + 1); r in minutes."
    )
    if np.isnan(found.a):
        fits = "There are too few bins to fit a curve."
    caption = (
        "Jobs followed by another job of the user in the session, by response time; if awaited: "
        f"without jobs followed before their end. {fits}"
    )
    return Table("going_on", caption, data, shown)


def table_of_predictions(data: pd.DataFrame) -> Table:
    """Return the predictions with the log and TBUOS."""
    forms = (lambda x: number(x * _HOUR), _time, _time, share, _few)
    cells = {
        _TITLES[name]: _cells(data, name, form) for name, form in zip(COLUMNS, forms, strict=True)
    }
    names = [f"{model}, {_SERVERS[servers]}" if servers else model for model, servers in data.index]
    ways = "; ".join(f"{_SERVERS[name]}: {words}" for name, words in SERVERS.items())
    caption = f"Log, simulated users (TBUOS), and models. {ways[0].upper()}{ways[1:]}."
    return Table("predictions", caption, data, pd.DataFrame(cells, names, dtype=object))


def plot_predictions(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw mean waits and throughputs of log, TBUOS and models.

    Parameters
    ----------
    data : DataFrame
        `QueueingOfLog.predictions`.
    ax : Axes, optional
        Axes to replace by two panels. Default: the current Axes.

    Returns
    -------
    Axes
        The first panel.
    """
    ax = style.current_axes(ax)
    axes = style.panels(ax, 2, share_y=True)
    names = table_of_predictions(data).shown.index
    place = np.arange(len(names))[::-1]
    looks = {"": style.MUTED, "jobs": style.BLUE, "machine": style.ORANGE}
    colours = [looks[servers] for _, servers in data.index]
    for panel, (name, scale, label) in zip(
        axes,
        (("wait", _HOUR, "mean wait [h]"), ("throughput", 1 / _HOUR, "jobs per hour")),
        strict=True,
    ):
        value = data[name].to_numpy(dtype=np.float64) / scale
        panel.barh(place, np.nan_to_num(value), color=colours, height=0.7)
        for y, x in zip(place, value, strict=True):
            if not np.isfinite(x):
                panel.annotate(" no solution", (0, y), va="center", fontsize=8, color=style.MUTED)
        if f"{name}_low" in data:
            low, high = (data[f"{name}_{end}"].to_numpy() / scale for end in ("low", "high"))
            panel.hlines(place, low, high, color=style.INK, linewidth=1.5)
        panel.axvline(value[0], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
        panel.set_xlabel(label)
        panel.set_yticks(place, names)
        panel.grid(visible=False, axis="y")
    return axes[0]


def describe_waits(data: pd.DataFrame) -> str:
    """Describe the mean waits of log, TBUOS and models in a sentence."""
    words = []
    for model, rows in data["wait"].groupby(level="model", sort=False):
        known = rows.dropna()
        ends = dict.fromkeys(map(_time, (known.min(), known.max()))) if len(known) else ["unknown"]
        words.append(f"{model} {' to '.join(ends)}")
    return f"Mean waits: {'; '.join(words)}."


def _time(seconds: float) -> str:
    return "< 1 s" if 0 < seconds < 1 else duration(seconds)


def _few(value: float) -> str:
    return "< 0.01" if 0 < value < 0.01 else number(value)


def _cells(data: pd.DataFrame, name: str, form: Callable[[float], str]) -> list[str]:
    ends = [f"{name}_{end}" for end in ("low", "high")]
    if not set(ends) <= set(data.columns):
        return [form(value) for value in data[name]]
    return shown_intervals(data, name, form)
