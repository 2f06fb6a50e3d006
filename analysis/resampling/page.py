"""Report of a validation of resampling."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.formats import UNKNOWN, number, upper
from workloadkit.analysis.logs.distributions import (
    DISTRIBUTIONS,
    overlay,
    plot_measures,
    plot_overlaid,
)
from workloadkit.analysis.memory.hurst_parameter import logarithmic_axes
from workloadkit.analysis.page import Report
from workloadkit.analysis.resampling.measures import ESTIMATORS, FIGURE_4, FIGURE_5, MEASURES
from workloadkit.analysis.section import Figure, Section, Table, in_words_of, shown
from workloadkit.errors import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workloadkit.analysis.resampling.validation import ResamplingValidation

_CAPTIONS = {
    "jobs_by_user": "Jobs per user, users in ascending order.",
    "sessions_by_user": "Sessions per user (arrivals within an hour).",
    "session_length_by_user": "Mean session length per user.",
    "work_by_user": "Processor-seconds per user.",
    "first_arrivals": "Day of each user's first job, from the first job of the log.",
    "final_departures": "Day of each user's last job, from the first job of the log.",
    "activity": "Days from the first to the last job of each user.",
    "week": "Share of the jobs by hour of the week of their arrival.",
}


@dataclass(frozen=True, eq=False)
class ValidationReport(Report):
    """Comparison of resampled logs with their original.

    Parameters
    ----------
    source : Trace
        The original log.
    sections : tuple of Section
    parameters : mapping
        Parameters of the resampled logs.
    """

    kind: ClassVar[str] = "Validation of resampling"
    without_unit: ClassVar[frozenset[str]] = frozenset(
        ("load", "weeks", "temporary_users", "arrivals", "rare_per_week")
    )

    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def provenance(self) -> dict[str, Any]:
        """Provenance of the report, with the parameters of the resampled logs."""
        made = super().provenance
        return made | {"parameters": self.parameters | made["parameters"]}


def report(found: "ResamplingValidation") -> ValidationReport:
    """Return the report of a validation."""
    made = (_load(found), _distributions(found), _locality(found), _memory(found))
    sections = tuple(in_words_of(section, found.source) for section in made)
    parameters = {"count": found.count, "seed": found.seed, **found.how}
    return ValidationReport(found.source, sections, parameters)


def _load(found: "ResamplingValidation") -> Section:
    names = [name for name in MEASURES if name in ("jobs", "users", "jobs_per_week")]
    names += ["offered_load"]
    notes = [f"The original is compared with {_logs(found)}, drawn from its users."]
    if found.source.counting is not None:
        notes.append(str(found.source.counting))
    if found.left_out:
        jobs = plural(found.left_out, "job")
        notes.append(
            f"{jobs} that never ran, or of unknown users, are left out of the original and of the "
            "resampled logs."
        )
    factor = float(found.how.get("load", 1))
    if factor != 1:
        reached = found.table.loc["offered_load"]
        notes.append(
            f"The number of users was multiplied by {factor:g}; the offered load became "
            f"{reached['mean'] / reached['original']:.2f} times that of the original, the number "
            "of jobs "
            f"{found.table.loc['jobs', 'mean'] / found.table.loc['jobs', 'original']:.2f} times."
        )
    finding = (
        f"Jobs per week: {_compared(found, 'jobs_per_week')}; offered load: "
        f"{_compared(found, 'offered_load')}."
    )
    return Section(
        "throughput",
        "Throughput and load",
        finding,
        tuple(notes),
        tables=(_measures(found, names), _runs(found)),
        figures=(
            Figure(
                "measures",
                "All measures",
                "Measures of the resampled logs relative to the original.",
                _relative(found),
                plot_measures,
            ),
        ),
    )


def _distributions(found: "ResamplingValidation") -> Section:
    farthest = found.distributions.farthest
    of_users = farthest[farthest.index.isin(FIGURE_4)].sort_values("ks_mean", ascending=False)
    nearest, worst = of_users.index[-1], of_users.index[0]
    finding = (
        "The mean Kolmogorov-Smirnov distances of the distributions by user and by hour of the "
        f"week range from {number(of_users['ks_mean'].min())} ({DISTRIBUTIONS[nearest].title}) to "
        f"{number(of_users['ks_mean'].max())} ({DISTRIBUTIONS[worst].title})."
    )
    notes = (
        "Distances are the Kolmogorov-Smirnov distance (largest difference of cumulative shares) "
        "and the earth mover's distance, in standard deviations of the original.",
        f"{_long_term(found)}, each starting in a random week of the user's activity, so first "
        "and last jobs are redistributed.",
    )
    return Section(
        "distributions",
        "Distributions of users and weekly cycle",
        finding,
        notes,
        tables=(_distances(found),),
        figures=tuple(
            _overlaid(found, name) for name in FIGURE_4 if name in found.distributions.curves
        ),
    )


def _long_term(found: "ResamplingValidation") -> str:
    factor = float(found.how.get("load", 1))
    if "long_term_users" in found.how:
        return f"Each resampled log has {found.how['long_term_users']} long-term users"
    if factor == 1:
        return "Each resampled log has every long-term user once"
    return f"Each resampled log has {factor:g} times as many long-term users as the original"


def _locality(found: "ResamplingValidation") -> Section:
    names = [name for name in MEASURES if name.startswith(("stack_depth", "concentration"))]
    notes = [
        "Stack depth: mean depth of a repeated value on a stack with the latest value on top; "
        "times within 5 % are equal. A smaller depth means more locality.",
        "Daily concentration: share of a day's jobs in its fullest bin, of 16 bins with equal "
        "shares of the log's jobs; without locality it is little more than 1/16.",
    ]
    return Section(
        "locality",
        "Locality",
        f"Mean stack depth of run times: {_compared(found, 'stack_depth_run')}.",
        tuple(notes + _published_note(found)),
        tables=(_measures(found, names),),
        figures=tuple(
            _overlaid(found, name) for name in FIGURE_5 if name in found.distributions.curves
        ),
    )


def _memory(found: "ResamplingValidation") -> Section:
    names = [f"hurst_{name}" for name in ESTIMATORS]
    if found.table.loc[names, "original"].isna().all():
        note = "The log has too few hours with jobs to estimate long-range dependence."
        return Section("memory", "Long-range dependence", notes=(note,))
    notes = [
        "H of the hourly arrivals: 0.5 means none; the closer to 1, the less fluctuations "
        "average out. The source's estimator is the slope of the pox plot of R/S.",
    ]
    figures: tuple[Figure, ...] = ()
    if len(found.pox.columns):
        figures = (
            Figure(
                "pox",
                "Pox plots of R/S",
                "R/S by window size, from the fitted line of the pox plot; its slope is H. Dotted "
                "and dashed: slopes 1/2 and 1.",
                found.pox,
                plot_pox_lines,
            ),
        )
    return Section(
        "memory",
        "Long-range dependence",
        f"H by R/S: {_compared(found, 'hurst_rs')}; by local Whittle: "
        f"{_compared(found, 'hurst_local_whittle')}.",
        tuple(notes + _published_note(found)),
        tables=(_measures(found, names),),
        figures=figures,
    )


def plot_pox_lines(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the fitted lines of the pox plots of several logs, with the first highlighted.

    Parameters
    ----------
    data : DataFrame
        `ResamplingValidation.pox`.
    """
    ax = style.current_axes(ax)
    first = data.iloc[:, 0].dropna()
    for slope, dashes in ((0.5, ":"), (1.0, "--")):
        line = first.iloc[0] * (first.index.to_numpy() / first.index[0]) ** slope
        ax.plot(first.index, line, dashes, color=style.MUTED, lw=1)
    overlay(data, ax, others="resampled")
    logarithmic_axes(ax, times=True)
    ax.set(xlabel="window size", ylabel="R/S")
    return ax


def _overlaid(found: "ResamplingValidation", name: str) -> Figure:
    title = DISTRIBUTIONS[name].title
    caption = _CAPTIONS.get(
        name, "Cumulative share of the days by the share of jobs in their fullest bin."
    )
    plot = partial(plot_overlaid, distribution=name, others="resampled")
    return Figure(name, upper(title), caption, found.distributions.curves[name], plot)


def _measures(found: "ResamplingValidation", names: list[str]) -> Table:
    """Compare measures of the original with those of the resampled logs, and published ones."""
    data = found.table.loc[names]
    data = data[data["original"].notna()]
    text = {}
    for name, row in data.iterrows():
        title, written = MEASURES[str(name)]
        cells = {
            "original": written(row["original"]),
            "resampled": _mean_sd(row["mean"], row["sd"], written),
            "range": f"{written(row['low'])} to {written(row['high'])}",
            "original in range": "yes" if row["within"] else "no",
        }
        if found.version:
            known = not np.isnan(row["published"])
            cells["published original"] = written(row["published_original"]) if known else UNKNOWN
            pair = (row["published"], row["published_sd"])
            cells["published resampled"] = _mean_sd(*pair, written) if known else UNKNOWN
        text[title] = cells
    cells_shown = pd.DataFrame.from_dict(text, orient="index")
    if found.version and data["published"].isna().all():
        cells_shown = cells_shown.drop(columns=["published original", "published resampled"])
    caption = (
        f"The original, and mean ± standard deviation and range of {_logs(found)}; whether the "
        "original lies within this range (`within` in the JSON)."
    )
    return Table("measures", caption, data, cells_shown)


def _distances(found: "ResamplingValidation") -> Table:
    data = found.distributions.farthest
    columns = {
        "ks_mean": ("K–S, mean", number),
        "ks_max": ("K–S, maximum", number),
        "wasserstein_mean": ("earth mover's, mean", number),
        "wasserstein_max": ("earth mover's, maximum", number),
    }
    data = data[data["ks_mean"].notna()]
    text = shown(data, columns)
    text.index = pd.Index([DISTRIBUTIONS[str(name)].title for name in data.index])
    caption = "Distances between the distributions of the resampled logs and the original."
    return Table("distances", caption, data, text)


def _runs(found: "ResamplingValidation") -> Table:
    columns = {"seed": ("seed", str)} | {
        name: MEASURES[name] for name in ("jobs", "users", "jobs_per_week", "offered_load")
    }
    text = shown(found.runs, columns)
    text.index = pd.Index([f"run {name}" for name in text.index])
    caption = "Resampled logs; the seed of a run reproduces it."
    return Table("runs", caption, found.runs, text, folded=True)


def _relative(found: "ResamplingValidation") -> pd.DataFrame:
    """Return measures as rows by title, with a column per log."""
    data = found.runs.drop(columns="seed").T
    data.insert(0, "original", found.table["original"])
    data.index = pd.Index([MEASURES[str(name)].title for name in data.index], name="measure")
    return data


def _published_note(found: "ResamplingValidation") -> list[str]:
    if not found.version:
        return []
    return [
        f"Published for {found.version} and eight logs resampled from it: N. Zakay, D. G. "
        "Feitelson, 2014, Tables VI and VII."
    ]


def _compared(found: "ResamplingValidation", name: str) -> str:
    row, written = found.table.loc[name], MEASURES[name].written
    return f"{written(row['original'])}, resampled {_mean_sd(row['mean'], row['sd'], written)}"


def _mean_sd(mean: float, sd: float, written: Callable[[float], str]) -> str:
    return written(mean) if np.isnan(sd) else f"{written(mean)} ± {written(sd)}"


def _logs(found: "ResamplingValidation") -> str:
    return plural(found.count, "resampled log")
