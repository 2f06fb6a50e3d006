"""Marginal distributions of job sizes, times and slowdowns."""

from collections.abc import Collection, Mapping
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.formats import count, duration, number, ordinal, share
from workloadkit.analysis.section import Figure, Section, Table
from workloadkit.errors import plural
from workloadkit.trace import Trace, check_trace
from workloadkit.units import UnitWords, words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)

_TITLES = {
    "procs": "processors",
    "run": "run time",
    "estimate": "estimate",
    "wait": "wait",
    "bounded_slowdown": "bounded slowdown",
}
_TIMES = ("run", "estimate", "wait")
_STATISTICS = {
    "count": "jobs with a known value",
    "known": "share of the jobs that ran",
    "mean": "mean",
    "sd": "standard deviation",
    "cv": "coefficient of variation",
    "min": "minimum",
    **{f"p{p}": f"{ordinal(p)} percentile" for p in PERCENTILES},
    "p50": "median",
    "max": "maximum",
}


def quantities(trace: Trace) -> dict[str, NDArray[np.float64]]:
    """Return the measured quantities of the jobs that ran.

    Returns
    -------
    dict of str to ndarray, shape (n_ran,)
        `procs`, `run` [s], `estimate` (the requested time) [s], `wait` [s], `bounded_slowdown`. NaN
        is an unknown value.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 9], "run": [5, -1], "procs": [2, 2]})
    >>> quantities(trace)["run"].tolist()
    [5.0]
    """
    check_trace(trace)
    ran = trace.ran
    wait, run = trace.column("wait")[ran], trace.column("run")[ran]
    return {
        "procs": trace.used_procs[ran],
        "run": run,
        "estimate": trace.column("requested_time")[ran],
        "wait": wait,
        "bounded_slowdown": metrics.bounded_slowdown(wait, run),
    }


def describe(values: ArrayLike) -> dict[str, float]:
    """Describe a distribution by its moments and percentiles.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN is left out.

    Returns
    -------
    dict
        `count` of the known values and their share, `known`; `mean`, `sd` (of a sample), `cv`
        (sd over mean), `min`, percentiles `p1` to `p99` (`workloadkit.metrics.percentile`), `max`.
        NaN is an undefined value.

    Examples
    --------
    >>> numbers = describe([1, 2, 3, float("nan")])
    >>> numbers["count"], numbers["known"], numbers["mean"], numbers["cv"], numbers["p75"]
    (3, 0.75, 2.0, 0.5, 3.0)
    """
    values = np.asarray(values, dtype=np.float64)
    known = values[~np.isnan(values)]
    result = dict.fromkeys(_STATISTICS, np.nan)
    result["count"] = known.size
    if values.size:
        result["known"] = known.size / values.size
    if not known.size:
        return result
    mean = float(known.mean())
    sd = float(known.std(ddof=1)) if known.size > 1 else np.nan
    result |= {"mean": mean, "sd": sd, "cv": sd / mean if mean else np.nan}
    result |= {"min": float(known.min()), "max": float(known.max())}
    percentiles = metrics.percentiles(known, PERCENTILES)
    return result | {f"p{p}": x for p, x in zip(PERCENTILES, percentiles, strict=True)}


def cumulative_shares(samples: Mapping[str, ArrayLike], *, n_points: int = 300) -> pd.DataFrame:
    """Compute cumulative distributions at values evenly spaced on a logarithmic axis.

    Parameters
    ----------
    samples : mapping of str to array_like
        Samples by name. NaN is left out.
    n_points : int, default 300

    Returns
    -------
    DataFrame
        By `value`, from 1 (or less if samples lie between 0 and 1) to the largest, or to 10 times
        a single value: for each sample, the share of values that are at most `value`.

    Examples
    --------
    >>> cumulative_shares({"run": [0, 1, 10, 100]}, n_points=3)["run"].tolist()
    [0.5, 0.75, 1.0]
    """
    known = {name: np.sort(np.asarray(v, dtype=np.float64)) for name, v in samples.items()}
    known = {name: v[: np.searchsorted(v, np.nan)] for name, v in known.items()}
    known = {name: v for name, v in known.items() if v.size}
    positive = [v[np.searchsorted(v, 0, side="right") :] for v in known.values() if v[-1] > 0]
    if not positive:
        value = np.ones(1)
    else:
        low, high = min(v[0] for v in positive), max(v[-1] for v in positive)
        n_small = sum(np.searchsorted(v, 10) for v in positive)
        mostly_large = 2 * n_small <= sum(v.size for v in positive)
        low = 1.0 if mostly_large or low >= 1 else max(low, 1e-3)
        high = high if high > low else 10 * low
        value = np.geomspace(low, high, n_points)
        value[-1] = high  # without a rounding error
    table = {name: np.searchsorted(v, value, side="right") / v.size for name, v in known.items()}
    return pd.DataFrame(table, index=pd.Index(value, name="value"))


def size_class(procs: ArrayLike) -> NDArray[np.int64]:
    """Return the size class of each number of processors: classes end at powers of two.

    Parameters
    ----------
    procs : array_like, shape (n_jobs,)
        Processors, more than 0.

    Returns
    -------
    ndarray of int64, shape (n_jobs,)
        Exponent of the power of two that ends the class; 0 is the first class.

    Examples
    --------
    >>> size_class([1, 2, 3, 4, 5, 8]).tolist()
    [0, 1, 2, 2, 3, 3]
    """
    return np.ceil(np.log2(np.maximum(procs, 1))).astype(np.int64)


def size_classes(procs: ArrayLike, work: ArrayLike) -> pd.DataFrame:
    """Count jobs by number of processors, in classes that end at powers of two.

    Parameters
    ----------
    procs : array_like, shape (n_jobs,)
        Processors, more than 0.
    work : array_like, shape (n_jobs,)
        Processor-seconds.

    Returns
    -------
    DataFrame
        One row per class: `low` and `high`, its smallest and largest size; `power_of_two` and
        `other`, the shares of all jobs with size `high` and with another size of the class; `work`,
        the share of all work.

    Examples
    --------
    >>> size_classes([1, 3, 4, 8], [1, 3, 4, 8]).to_numpy().tolist()
    [[1.0, 1.0, 0.25, 0.0, 0.0625], [2.0, 2.0, 0.0, 0.0, 0.0], [3.0, 4.0, 0.25, 0.25, 0.4375],
     [5.0, 8.0, 0.25, 0.0, 0.5]]
    """
    procs, work = np.asarray(procs, dtype=np.float64), np.asarray(work, dtype=np.float64)
    exponent = size_class(procs)
    high = 2 ** np.arange(exponent.max() + 1)
    exact = procs == high[exponent]
    n = high.size
    total = work.sum()
    return pd.DataFrame(
        {
            "low": np.append(1, high[:-1] + 1),
            "high": high,
            "power_of_two": np.bincount(exponent[exact], minlength=n) / procs.size,
            "other": np.bincount(exponent[~exact], minlength=n) / procs.size,
            "work": np.bincount(exponent, work, minlength=n) / (total if total > 0 else 1),
        }
    )


def plot_cumulative(
    data: pd.DataFrame, ax: "Axes | None" = None, *, times: bool = True, label: str = "time"
) -> "Axes":
    """Draw cumulative distributions on a logarithmic axis from `cumulative_shares`.

    Parameters
    ----------
    data : DataFrame
    times : bool, default True
        Whether the values are times [s]; otherwise plain numbers.
    label : str, default "time"
        Label of the x axis.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = cumulative_shares({"log": [0, 1, 10, 100], "model": [1, 9]})
    >>> ax = plot_cumulative(data, Figure().subplots(), label="run time")
    >>> ax.get_xlabel(), [line.get_label() for line in ax.lines]
    ('run time', ['log', 'model'])
    """
    ax = style.current_axes(ax)
    for name, line in zip(data, cycle(style.LINES), strict=False):
        ax.plot(data.index, data[name], **line, drawstyle="steps-post", label=name)
    (style.time_axis if times else style.log_axis)(ax.xaxis)
    ax.set_ylim(0, 1.02)
    style.share_axis(ax.yaxis)
    ax.set(xlabel=label, ylabel="share at or below")
    style.legend_above(ax)
    return ax


def plot_size_classes(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the job size classes from `size_classes`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = size_classes([1, 3, 4, 8], [1, 3, 4, 8])
    >>> ax = plot_size_classes(data, Figure().subplots())
    >>> [bars.get_label() for bars in ax.containers]
    ['jobs, 2ⁿ', 'jobs, other sizes', 'work']
    """
    ax = style.current_axes(ax)
    at, width = np.arange(len(data)), 0.4
    ax.bar(at, data["power_of_two"], -width, align="edge", color=style.BLUE, label="jobs, 2ⁿ")
    ax.bar(
        at,
        data["other"],
        -width,
        align="edge",
        bottom=data["power_of_two"],
        color=style.PALE,
        label="jobs, other sizes",
    )
    ax.bar(at, data["work"], width, align="edge", color=style.ORANGE, label="work")
    names = [f"{high:,}" for high in data["high"]]
    every = 1 + len(data) // 11
    ax.set_xticks(at[::every], names[::every])
    ax.grid(visible=False, axis="x")
    highest = max((data["power_of_two"] + data["other"]).max(), data["work"].max())
    ax.set_ylim(0, 1.05 * highest)
    ax.set(xlabel="processors, in classes up to a power of two", ylabel="share")
    style.share_axis(ax.yaxis)
    style.legend_above(ax)
    return ax


def section(trace: Trace) -> Section:
    """Report the distributions of processors, run time, estimate, wait and bounded slowdown."""
    title = "Sizes, times and slowdowns"
    if not trace.ran.any():
        note = "No job of this log ran; there are no distributions to show."
        return Section("marginals", title, notes=(note,))
    samples = quantities(trace)
    numbers = {name: describe(values) for name, values in samples.items()}
    notes = [
        f"No {_TITLES[name]} is known."
        for name in ("estimate", "wait")
        if not numbers[name]["count"]
    ]
    if not numbers["bounded_slowdown"]["count"]:
        notes.append("Bounded slowdown is unknown, because the wait is.")

    if parts := int((samples["procs"] % 1 > 0).sum()):
        notes.append(f"{plural(parts, 'job')} held a part of a {words_of(trace).one}.")
    work = samples["procs"] * samples["run"]
    sizes = size_classes(samples["procs"], work)
    figures = [
        Figure(
            "processors",
            "Processors",
            "Share of the jobs by number of processors used, split into exact powers of two and "
            "other sizes, and share of the work (processor-seconds).",
            sizes,
            plot_size_classes,
        )
    ]
    times = cumulative_shares({_TITLES[name]: samples[name] for name in _TIMES})
    figures.append(
        Figure(
            "times",
            f"Distribution of {listed([name + 's' for name in times])}",
            "Share of the jobs with a time of at most the value on the x axis. The axis is "
            "logarithmic; shorter times count at its left end.",
            times,
            plot_cumulative,
        )
    )
    if numbers["bounded_slowdown"]["count"]:
        figures.append(_slowdowns(samples["bounded_slowdown"]))
    serial = float(np.mean(samples["procs"] == 1))
    powers = float(sizes["power_of_two"].sum())
    caption = "Distributions over the jobs that ran."
    return Section(
        "marginals",
        title,
        _finding(numbers, serial, powers, words_of(trace)),
        tuple(notes),
        {**numbers, "serial_share": serial, "power_of_two_share": powers},
        (summary_table(numbers, caption, titles=_TITLES, times=_TIMES),),
        tuple(figures),
        {"slowdown_bound": metrics.SLOWDOWN_BOUND},
    )


def _slowdowns(sample: NDArray[np.float64]) -> Figure:
    return Figure(
        "bounded_slowdown",
        "Distribution of bounded slowdowns",
        "Share of the jobs with a bounded slowdown, max(1, (wait + run) / max(run, "
        f"{metrics.SLOWDOWN_BOUND:g} s)), of at most the value on the x axis. The axis is "
        "logarithmic.",
        cumulative_shares({"bounded slowdown": sample}),
        partial(plot_cumulative, times=False, label="bounded slowdown"),
    )


def _finding(
    numbers: dict[str, dict[str, float]], serial: float, powers: float, unit: UnitWords
) -> str:
    text = (
        f"The median job ran {duration(numbers['run']['p50'])} on "
        f"{plural(numbers['procs']['p50'], unit.one)}; {share(serial)} of the jobs "
        f"{'are serial' if unit.one == 'processor' else f'hold one {unit.one}'} and "
        f"{share(powers)} use a power of two."
    )
    if numbers["wait"]["count"]:
        median, long = numbers["wait"]["p50"], numbers["wait"]["p95"]
        half = (
            f"The median wait is {duration(median)}"
            if median > 0
            else "Half of the jobs did not wait (median wait 0 s)"
        )
        waits = f"{half}; 5 % of the jobs waited {duration(long)} or more"
        if long == 0:
            waits = "At least 95 % of the jobs did not wait"
        slowdown = number(numbers["bounded_slowdown"]["mean"])
        text += f" {waits}. The mean bounded slowdown is {slowdown}."
    return text


def summary_table(
    numbers: dict[str, dict[str, float]],
    caption: str,
    *,
    titles: Mapping[str, str],
    times: Collection[str],
    statistics: Mapping[str, str] = _STATISTICS,
) -> Table:
    """Arrange descriptions of several quantities side by side.

    Parameters
    ----------
    numbers : dict
        What `describe` returns, by quantity.
    caption : str
        What the table shows.
    titles : mapping of str to str
        Title of each quantity.
    times : collection of str
        The quantities that are times. [s]
    statistics : mapping of str to str, optional
        The statistics to show, and their titles; by default all.
    """

    def cell(quantity: str, statistic: str, value: float) -> str:
        if statistic == "count":
            return count(value)
        if statistic == "known":
            return share(value)
        return duration(value) if quantity in times and statistic != "cv" else number(value)

    data = pd.DataFrame(numbers).loc[list(statistics)].rename_axis("statistic")
    cells = {titles[q]: [cell(q, s, x) for s, x in data[q].items()] for q in data}
    text = pd.DataFrame(cells, index=list(statistics.values()))
    return Table("summary", caption, data, text)


def listed(words: list[str]) -> str:
    """Join words as in a sentence.

    Examples
    --------
    >>> listed(["run times", "estimates", "waits"])
    'run times, estimates and waits'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
