"""Accuracy of users' run-time estimates."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.formats import count, duration, share
from workloadkit.analysis.section import Columns, Figure, Section, Table, facts, shown
from workloadkit.distinct import distinct
from workloadkit.errors import plural
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = "Accuracy of the estimates"


_SUMMARY: Columns = {
    "jobs": ("n_jobs", count),
    "mean": ("mean", share),
    "median": ("median", share),
    "ran longer than estimated": ("above_estimate", share),
    "within 10 % of the estimate": ("within_10_percent", share),
    "used less than 10 % of the estimate": ("below_10_percent", share),
}
_POPULAR: Columns = {
    "estimate": ("estimate", duration),
    "jobs": ("jobs", count),
    "share": ("share", share),
}

_ROUNDING = 1e-12  # so that 110 s count as within 10 % of 100 s


def run_over_estimate(trace: Trace) -> NDArray[np.float64]:
    """Return run time divided by estimate, for jobs that ran with an estimate above 0 [1]_.

    Returns
    -------
    ndarray of float, shape (n,)

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 2001.

    Examples
    --------
    >>> log = {"submit": [0, 1], "run": [30, 60], "procs": [1, 1], "requested_time": [60, -1]}
    >>> run_over_estimate(Trace.from_columns(log)).tolist()
    [0.5]
    """
    check_trace(trace)
    estimate, run = trace.column("requested_time"), trace.column("run")
    chosen = trace.ran & (estimate > 0)
    return run[chosen] / estimate[chosen]


def accuracy_histogram(ratio: NDArray[np.float64], *, n_bins: int = 20) -> pd.DataFrame:
    """Count jobs by run time divided by estimate.

    Parameters
    ----------
    ratio : ndarray, shape (n_jobs,)
    n_bins : int, default 20
        Bins between 0 and 1; one more bin holds all values above 1.

    Returns
    -------
    DataFrame
        One row per bin: its edges `above` (exclusive, except for 0) and `to` (inclusive), and the
        `share` of the jobs.

    Examples
    --------
    >>> accuracy_histogram(np.array([0, 0.5, 1.0, 1.1]), n_bins=2)["share"].tolist()
    [0.5, 0.25, 0.25]
    """
    edges = np.linspace(0, 1, n_bins + 1)
    bins = np.maximum(np.searchsorted(edges, ratio, side="left") - 1, 0)
    share = np.bincount(bins, minlength=n_bins + 1) / max(ratio.size, 1)
    return pd.DataFrame({"above": edges, "to": np.append(edges[1:], np.inf), "share": share})


def popular_estimates(trace: Trace, *, n: int = 10) -> pd.DataFrame:
    """Return the most frequent estimates.

    Parameters
    ----------
    trace : Trace
    n : int, default 10
        Number of estimates; equally frequent ones are sorted by length.

    Returns
    -------
    DataFrame
        By descending frequency: `estimate` [s], `jobs` that ran with it, their `share`.

    Examples
    --------
    >>> log = {"submit": [0, 1, 2], "run": [1] * 3, "procs": [1] * 3}
    >>> popular_estimates(Trace.from_columns(log | {"requested_time": [60, 90, 60]}))
       estimate  jobs     share
    0      60.0     2  0.666667
    1      90.0     1  0.333333
    """
    estimate = trace.column("requested_time")
    value, jobs = np.unique(estimate[trace.ran & (estimate > 0)], return_counts=True)
    first = np.argsort(-jobs, kind="stable")[:n]
    table = {"estimate": value[first], "jobs": jobs[first], "share": jobs[first] / jobs.sum()}
    return pd.DataFrame(table)


def plot_accuracy(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of jobs by used part of the estimate, from `accuracy_histogram`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = accuracy_histogram(np.array([0, 0.5, 1.0, 1.1]), n_bins=2)
    >>> ax = plot_accuracy(data, Figure().subplots())
    >>> ax.get_xlabel(), len(ax.patches)
    ('run time / estimate', 3)
    """
    ax = style.current_axes(ax)
    width = data["above"].iloc[1]
    within, beyond = data.iloc[:-1], data.iloc[-1]
    ax.bar(within["above"], within["share"], 0.9 * width, align="edge", color=style.BLUE)
    ax.bar(1 + 2 * width, beyond["share"], 0.9 * width, align="edge", color=style.ORANGE)
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    ax.set_xticks([*ticks, 1 + 2.45 * width], [*(f"{100 * x:.0f} %" for x in ticks), "more"])
    ax.grid(visible=False, axis="x")
    ax.set(xlabel="run time / estimate", ylabel="share of jobs")
    style.share_axis(ax.yaxis)
    return ax


def section(trace: Trace) -> Section:
    """Report the accuracy and the most frequent estimates."""
    if not trace.ran.any():
        note = "No job of this log ran, so accuracy is unknown."
        return Section("accuracy", _TITLE, notes=(note,))
    ratio = run_over_estimate(trace)
    if not ratio.size:
        note = "The log has no estimates (requested times)."
        return Section("accuracy", _TITLE, notes=(note,))
    estimate = trace.column("requested_time")[trace.ran]
    popular = popular_estimates(trace)
    values = {
        "n_jobs": ratio.size,
        "above_estimate": float(np.mean(ratio > 1)),
        "within_10_percent": float(np.mean(np.abs(ratio - 1) <= 0.1 + _ROUNDING)),
        "below_10_percent": float(np.mean(ratio < 0.1)),
        "mean": float(ratio.mean()),
        "median": float(np.median(ratio)),
        "n_estimates": int(distinct(estimate[estimate > 0]).size),
        "popular_share": float(popular["share"].sum()),
    }
    notes = []
    if without := int(trace.ran.sum()) - ratio.size:
        notes.append(f"Left out: {plural(without, 'job')} that ran without an estimate.")
    caption = "Run time / estimate of the jobs that ran with an estimate."
    rows = {title: (values[name], form(values[name])) for title, (name, form) in _SUMMARY.items()}
    text = shown(popular, _POPULAR)
    text.index = pd.RangeIndex(1, len(text) + 1)
    figure = Figure(
        "histogram",
        "Run time / estimate",
        "Share of the jobs by run time / estimate; the last bar counts all jobs that ran longer "
        "than estimated.",
        accuracy_histogram(ratio),
        plot_accuracy,
    )
    finding = (
        f"The median job uses {share(values['median'])} of its estimate; "
        f"{share(values['above_estimate'])} run longer than estimated. "
    )
    if len(popular) == 1:
        finding += "All estimates are the same."
    else:
        finding += (
            f"The most popular {plural(len(popular), 'estimate')} cover "
            f"{share(values['popular_share'])} of the jobs."
        )
    tables = (
        facts("summary", caption, rows),
        Table("popular", "The most popular estimates.", popular, text),
    )
    return Section("accuracy", _TITLE, finding, tuple(notes), values, tables, (figure,))
