"""Correlations between job properties: size, run time, estimate, wait, memory, arrivals."""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.bootstrap import interval, resample_users, resampled_ratios
from workloadkit.analysis.distributions.marginals import quantities, size_class
from workloadkit.analysis.distributions.rank_correlation import (
    CLASSES,
    LEAST_JOBS,
    Coded,
    correlate,
)
from workloadkit.analysis.formats import coefficient, count, duration, with_interval
from workloadkit.analysis.section import (
    SEED,
    AnalysisResult,
    Columns,
    Figure,
    Section,
    Table,
    joined,
    part,
    shown,
    shown_intervals,
)
from workloadkit.distinct import coded
from workloadkit.errors import takes_rng
from workloadkit.fields import UNKNOWN
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Correlated properties, in the order of tables and figures.
PROPERTIES = {
    "procs": "processors",
    "run": "run time",
    "estimate": "estimate",
    "wait": "wait",
    "memory": "memory",
    "inter_arrival": "inter-arrival time",
}

_TITLE = "Correlations"
_NOTABLE = 0.1  # least correlation reported if there is no interval
_SHORT = {"inter_arrival": "gap before"}
_KINDS = {"spearman": "Spearman", "kendall": "Kendall", "pearson_log": "Pearson, of logarithms"}


@dataclass(frozen=True, eq=False)
class Correlations(AnalysisResult):
    """Correlations between job properties, as returned by `correlations`.

    Parameters
    ----------
    table : DataFrame
        One row per pair: `first` and `second`; `n`, the jobs with both known; correlations
        `spearman`, `kendall` (tau-b) and `pearson_log` (of the logarithms, of the `n_log` jobs
        with both above 0), and their intervals, `spearman_low` to `spearman_high` etc.
    sizes : DataFrame
        By class of sizes, up to a power of two, that has jobs: `low` and `high`, `jobs`, the `mean`
        run time with its interval `mean_low` to `mean_high`, and the `median` [s].
    left_out : dict of str to str
        Reason for the exclusion of a property, by its name.
    """

    table: pd.DataFrame
    sizes: pd.DataFrame
    left_out: dict[str, str]

    def matrix(self, kind: str = "spearman") -> pd.DataFrame:
        """Return the correlations of one kind as a symmetric matrix with 1 on the diagonal."""
        names = [name for name in PROPERTIES if name not in self.left_out]
        square = pd.DataFrame(np.nan, index=names, columns=names)
        for name in names:
            square.loc[name, name] = 1.0
        for row in self.table.to_dict("records"):
            square.loc[row["first"], row["second"]] = row[kind]
            square.loc[row["second"], row["first"]] = row[kind]
        return square

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw Spearman's correlations as a matrix."""
        return plot_correlations(self.matrix(), ax)


@takes_rng
def correlations(trace: Trace, *, rng: np.random.Generator | int | None = None) -> Correlations:
    """Measure correlations between properties of jobs.

    Properties are the processors, run time, estimate, wait, memory and inter-arrival time of the
    jobs that ran. Correlations are the rank correlations of Spearman (1904) and Kendall (tau-b,
    1945), and Pearson's correlation of the logarithms.

    Parameters
    ----------
    trace : Trace
    rng : Generator or int, optional
        For the 95 % intervals: users are resampled with replacement 500 times. Jobs of unknown user
        are left out of them.

    Notes
    -----
    The correlations are exact. For the intervals of the two rank correlations, values are grouped
    into 32 classes of about equal size, with equal values in one class; the limits are corrected by
    the small bias that this causes in the whole log.

    Examples
    --------
    >>> log = {"submit": range(20), "run": np.arange(20) ** 2 + 1, "procs": np.arange(1, 21)}
    >>> found = correlations(Trace.from_columns(log), rng=1)
    >>> found.table.loc[0, ["spearman", "kendall"]].astype(float).tolist()
    [1.0, 1.0]
    """
    check_trace(trace)
    ran = trace.ran
    values = quantities(trace)
    values["memory"] = trace.column("memory")[ran]
    values["inter_arrival"] = np.diff(trace.column("submit")[ran], prepend=np.nan)[: ran.sum()]
    left_out = {}
    for name in PROPERTIES:
        seen = values[name][np.isfinite(values[name])]
        if seen.size < LEAST_JOBS:
            left_out[name] = "it is known for too few jobs" if seen.size else "it is unknown"
        elif seen.min() == seen.max():
            left_out[name] = "it is the same for all jobs"
    user, weights = _draws(trace.column("user")[ran], rng)
    coded = {name: Coded.of(values[name]) for name in PROPERTIES if name not in left_out}
    rows = [
        {"first": first, "second": second, **correlate(coded[first], coded[second], user, weights)}
        for first, second in combinations(coded, 2)
    ]
    table = pd.DataFrame(rows, columns=["first", "second", *_COLUMNS])
    return Correlations(table, _sizes(values["procs"], values["run"], user, weights), left_out)


def plot_correlations(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw a correlation matrix from `Correlations.matrix`.

    The area of a circle shows the strength of the correlation, so no colour scale is needed.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> data = pd.DataFrame({"procs": [1, 0.5], "run": [0.5, 1]})
    >>> ax = plot_correlations(data, Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['0.50']
    """
    ax = style.current_axes(ax)
    names = list(data)
    pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if i > j]
    for colour, sign, label in ((style.BLUE, 1, "positive"), (style.ORANGE, -1, "negative")):
        chosen = [
            (j, i, value)
            for i, j in pairs
            if (value := data.iloc[i, j]) * sign > 0  # NaN is neither
        ]
        at = np.array(chosen).reshape(-1, 3)
        ax.scatter(at[:, 0], at[:, 1], 420 * np.abs(at[:, 2]), color=colour, label=label)
        for x, y, value in chosen:
            ax.annotate(
                coefficient(value), (x, y), (19, 0), textcoords="offset points", va="center", size=9
            )
    titles = [_SHORT.get(name, PROPERTIES[name]) for name in names]
    n = max(len(names), 2)
    ax.set_xticks(range(len(names) - 1), titles[:-1], size=9)
    ax.set_yticks(range(1, len(names)), titles[1:], size=9)
    ax.set_xlim(-0.5, n - 1.2)
    ax.set_ylim(n - 0.5, 0.5)
    ax.grid(visible=False)
    ax.set_ylabel("correlation with")
    legend = [
        ax.plot([], [], "o", color=colour, label=label)[0]
        for colour, label in ((style.BLUE, "positive"), (style.ORANGE, "negative"))
    ]
    ax.legend(handles=legend, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return ax


def plot_sizes(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw run times by job size, from `Correlations.sizes`."""
    ax = style.current_axes(ax)
    at = np.arange(len(data))
    known = data["mean_low"] > 0
    ax.vlines(
        at[known],
        data["mean_low"][known],
        data["mean_high"][known],
        color=style.PALE,
        linewidth=4,
    )
    for name, marker, colour in (("mean", "o", style.BLUE), ("median", "s", style.ORANGE)):
        some = data[name] > 0
        ax.plot(
            at[some], data[name][some], marker, color=colour, markersize=5, label=f"{name} run time"
        )
    if (data["mean"] > 0).any():
        style.time_axis(ax.yaxis)
        low, high = ax.get_ylim()
        ax.set_ylim(low / 1.3, high * 1.3)
    every = 1 + len(data) // 11
    ax.set_xticks(at[::every], [f"{high:,}" for high in data["high"]][::every])
    ax.grid(visible=False, axis="x")
    ax.set(xlabel="processors, in classes up to a power of two", ylabel="run time")
    style.legend_above(ax)
    return ax


def section(trace: Trace) -> Section:
    """Report correlations between properties of jobs."""
    n = int(trace.ran.sum())
    if n < LEAST_JOBS:
        note = f"Fewer than {LEAST_JOBS} jobs of this log ran: too few for correlations."
        return Section("correlations", _TITLE, notes=(note,))
    found = correlations(trace, rng=SEED)
    notes = [
        f"No correlation with {PROPERTIES[name]}: {reason}."
        for name, reason in found.left_out.items()
    ]
    if (trace.column("user")[trace.ran] == UNKNOWN).all():
        notes.append("No user is known; intervals need users.")
    parameters = {"correlation_classes": CLASSES, "seed": SEED}
    return joined(
        Section("correlations", _TITLE, notes=tuple(notes), parameters=parameters),
        *([_of_pairs(found)] if len(found.table) else []),
        _of_sizes(found.sizes),
    )


def _of_pairs(found: Correlations) -> Section:
    """Describe the correlations."""
    pairs = list(zip(found.table["first"], found.table["second"], strict=True))
    rows = found.table.assign(pair=[f"{PROPERTIES[a]}, {PROPERTIES[b]}" for a, b in pairs])
    text = shown(rows, {"pair": ("pair", str), "n": ("jobs", count)}).set_index("pair")
    for kind, title in _KINDS.items():
        text[title] = shown_intervals(rows, kind, coefficient)
    caption = "Correlations between properties of jobs, with 95 % intervals."
    figure = Figure(
        "map",
        "Rank correlations",
        "Spearman's rank correlation between properties of jobs. Larger circles mean stronger "
        "correlations.",
        found.matrix(),
        plot_correlations,
    )
    numbers = found.table[list(_COLUMNS)].to_dict("records")
    values = {f"{a}_{b}": row for (a, b), row in zip(pairs, numbers, strict=True)}
    tables = (Table("pairs", caption, found.table, text.rename_axis(None)),)
    return part(_finding(found.table), values=values, tables=tables, figures=(figure,))


def _of_sizes(sizes: pd.DataFrame) -> Section:
    """Describe the run times by size."""
    text = shown(sizes, _SIZES)
    text["mean run time"] = shown_intervals(sizes, "mean", duration)
    table = Table(
        "sizes",
        "Run time by number of processors, in classes up to a power of two, with 95 % intervals "
        "(bootstrap over users).",
        sizes,
        text.set_index("processors").rename_axis(None),
    )
    figure = Figure(
        "sizes",
        "Run time by size",
        "Mean and median run time by number of processors; bars are 95 % intervals of the means "
        "(bootstrap over users).",
        sizes,
        plot_sizes,
    )
    return part(tables=(table,), figures=(figure,))


_COLUMNS = ("n", *(f"{kind}{end}" for kind in _KINDS for end in ("", "_low", "_high")), "n_log")

_SIZES: Columns = {
    "high": ("processors", count),
    "jobs": ("jobs", count),
    "median": ("median run time", duration),
}


def _draws(
    user: NDArray[np.int64], rng: np.random.Generator | int | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each job's user index (-1 is unknown) and the users' weights in each draw."""
    known = user != UNKNOWN
    users, who = coded(user[known])
    place = np.full(user.size, -1)
    place[known] = who
    if not users.size:
        return place, np.full((1, 1), np.nan)
    return place, resample_users(users.size, rng=rng)


def _sizes(
    procs: NDArray[np.float64],
    run: NDArray[np.float64],
    user: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> pd.DataFrame:
    """Describe run times by size class."""
    kind = size_class(procs)
    n_classes = int(kind.max(initial=0)) + 1
    high = 2 ** np.arange(n_classes)
    groups = pd.Series(run).groupby(kind)
    sizes = pd.DataFrame({"low": np.append(1, high[:-1] + 1), "high": high})
    sizes["jobs"] = np.bincount(kind, minlength=n_classes)
    sizes["mean"], sizes["median"] = groups.mean(), groups.median()
    known, n_users = user >= 0, weights.shape[1]
    place = user[known] * n_classes + kind[known]
    shape, n_cells = (n_users, n_classes), n_users * n_classes
    total = np.bincount(place, run[known], minlength=n_cells).reshape(shape)
    jobs = np.bincount(place, np.ones(place.size), n_cells).reshape(shape).astype(np.float64)
    limits = interval(resampled_ratios(total.astype(np.float64), jobs, weights))
    sizes = sizes.assign(mean_low=limits[0], mean_high=limits[1])
    return sizes[sizes["jobs"] > 0].reset_index(drop=True)


def _spearman(row: dict[str, float]) -> str:
    value, low, high = (row[f"spearman{end}"] for end in ("", "_low", "_high"))
    return with_interval(value, low, high, coefficient)


def _finding(table: pd.DataFrame) -> str:
    known = table[table["spearman"].notna()]
    sentences = []
    for row in known.to_dict("records"):
        if (row["first"], row["second"]) == ("procs", "run"):
            no_interval = np.isnan(row["spearman_low"])
            strong = no_interval and abs(row["spearman"]) > _NOTABLE
            if row["spearman_low"] > 0 or (strong and row["spearman"] > 0):
                text = "Larger jobs run longer"
            elif row["spearman_high"] < 0 or (strong and row["spearman"] < 0):
                text = "Larger jobs run shorter"
            else:
                text = "No significant correlation between size and run time"
            sentences.append(f"{text}: rank correlation {_spearman(row)}.")
    others = known[~((known["first"] == "procs") & (known["second"] == "run"))]
    sure = (others["spearman_low"] > 0) | (others["spearman_high"] < 0)
    sure |= others["spearman_low"].isna() & (others["spearman"].abs() > _NOTABLE)
    if sure.any():
        row = others.loc[others["spearman"][sure].abs().idxmax()].to_dict()
        sign = "positive" if row["spearman"] > 0 else "negative"
        sentences.append(
            f"The strongest {'other ' if sentences else ''}correlation is {sign}, between "
            f"{PROPERTIES[row['first']]} and {PROPERTIES[row['second']]}: rank correlation "
            f"{_spearman(row)}."
        )
    return " ".join(sentences)
