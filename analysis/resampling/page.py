"""The report of a validation of resampling."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis import style
from analysis.formats import UNKNOWN, number, plural
from analysis.logs.distributions import DISTRIBUTIONS
from analysis.logs.plots import overlay, plot_measures, plot_overlaid
from analysis.memory.hurst_parameter import logarithmic_axes
from analysis.page import Report
from analysis.resampling.measures import ESTIMATORS, MEASURES
from analysis.section import Figure, Section, Table, shown

if TYPE_CHECKING:
    from analysis.resampling.validation import ResamplingValidation

_CAPTIONS = {
    "jobs_by_user": "Jobs of each user, the users in the order of these numbers.",
    "sessions_by_user": "Sessions of each user, by arrivals within an hour.",
    "session_length_by_user": "Mean length of the sessions of each user.",
    "work_by_user": "Processors × seconds of each user.",
    "first_arrivals": "Day of each user's first job since the log's first.",
    "final_departures": "Day of each user's last job since the log's first.",
    "activity": "Days from each user's first job to the last.",
    "week": "Share of the jobs that arrive in each hour of the week.",
}


@dataclass(frozen=True, eq=False)
class ValidationReport(Report):
    """Whether resampled logs are like their original.

    Parameters
    ----------
    source : Trace
        The original.
    sections : tuple of Section
    parameters : mapping
        What made the resampled logs.
    """

    kind: ClassVar[str] = "Resampled logs beside their original"

    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def provenance(self) -> dict[str, Any]:
        """What made it."""
        made = super().provenance
        return made | {"parameters": self.parameters | made["parameters"]}


def report(found: "ResamplingValidation") -> ValidationReport:
    """Make the report of a validation."""
    sections = (_load(found), _distributions(found), _locality(found), _memory(found))
    parameters = {"count": found.count, "seed": found.seed, **found.how}
    return ValidationReport(found.source, sections, parameters)


def _load(found: "ResamplingValidation") -> Section:
    names = [name for name in MEASURES if name in ("jobs", "users", "jobs_per_week")]
    names += ["offered_load"]
    notes = [f"The original is compared with {_logs(found)}, made of its users."]
    if found.left_out:
        jobs = plural(found.left_out, "job")
        notes.append(
            "Left out of the original, as of the resampled logs, for want of a run or of a known "
            f"user: {jobs}."
        )
    finding = (
        f"Jobs a week: {_beside(found, 'jobs_per_week')}; load asked for: "
        f"{_beside(found, 'offered_load')}."
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
                "Each measure of the resampled logs, relative to that of the original.",
                _relative(found),
                plot_measures,
            ),
        ),
    )


def _distributions(found: "ResamplingValidation") -> Section:
    from analysis.resampling.validation import FIGURE_4

    farthest = found.distributions.farthest
    of_users = farthest[farthest.index.isin(FIGURE_4)].sort_values("ks_mean", ascending=False)
    nearest, worst = of_users.index[-1], of_users.index[0]
    finding = (
        "The distributions by users and over the week are apart by "
        f"{number(of_users['ks_mean'].min())} ({DISTRIBUTIONS[nearest].title}) to "
        f"{number(of_users['ks_mean'].max())} ({DISTRIBUTIONS[worst].title}), in the mean of the "
        "resampled logs."
    )
    notes = (
        "Distances are Kolmogorov and Smirnov's, the largest difference of the shares at or below "
        "any value, and the earth mover's, in standard deviations of the original.",
        "Long-term users are there once in each resampled log, and begin in any week of their "
        "activity: their first and last jobs are spread anew.",
    )
    return Section(
        "distributions",
        "Users and the week",
        finding,
        notes,
        tables=(_distances(found),),
        figures=tuple(
            _overlaid(found, name) for name in FIGURE_4 if name in found.distributions.curves
        ),
    )


def _locality(found: "ResamplingValidation") -> Section:
    from analysis.resampling.validation import FIGURE_5

    names = [name for name in MEASURES if name.startswith(("stack_depth", "concentration"))]
    notes = [
        "A value that came before lies so deep, on average, on a stack that keeps the latest on "
        "top; times are the same within 5 %. The shallower, the more locality.",
        "The jobs of a day are of one kind if many fall into one of 16 bins that divide the log's "
        "jobs equally; without locality the fullest would have little more than 1/16 of them.",
    ]
    return Section(
        "locality",
        "Locality",
        f"Mean stack depth of run times: {_beside(found, 'stack_depth_run')}.",
        tuple(notes + _published_note(found)),
        tables=(_measures(found, names),),
        figures=tuple(
            _overlaid(found, name) for name in FIGURE_5 if name in found.distributions.curves
        ),
    )


def _memory(found: "ResamplingValidation") -> Section:
    names = [f"hurst_{name}" for name in ESTIMATORS]
    if found.table.loc[names, "original"].isna().all():
        note = "The log has too few hours, or jobs in too few of them, to tell of long memory."
        return Section("memory", "Long memory", notes=(note,))
    notes = [
        "H of the hourly arrivals: 0.5 is no memory; the nearer to 1, the less do fluctuations "
        "average out. The source's estimator is the slope of the pox plot of R/S.",
    ]
    figures: tuple[Figure, ...] = ()
    if len(found.pox.columns):
        figures = (
            Figure(
                "pox",
                "Lines of the pox plots",
                "R/S by the size of the window, as the line through the pox plot has it; its slope "
                "is H. Dotted and dashed: slopes 1/2 and 1.",
                found.pox,
                plot_pox_lines,
            ),
        )
    return Section(
        "memory",
        "Long memory",
        f"H by R/S: {_beside(found, 'hurst_rs')}; by local Whittle: "
        f"{_beside(found, 'hurst_local_whittle')}.",
        tuple(notes + _published_note(found)),
        tables=(_measures(found, names),),
        figures=figures,
    )


def plot_pox_lines(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the lines through the pox plots of several logs, the first highlighted.

    Parameters
    ----------
    data : DataFrame
        As `ResamplingValidation.pox`.
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    first = data.iloc[:, 0].dropna()
    for slope, dashes in ((0.5, ":"), (1.0, "--")):
        line = first.iloc[0] * (first.index.to_numpy() / first.index[0]) ** slope
        ax.plot(first.index, line, dashes, color=style.MUTED, lw=1)
    overlay(data, ax, others="resampled")
    logarithmic_axes(ax, times=True)
    ax.set_xlabel("window size")
    ax.set_ylabel("R/S")
    return ax


def _overlaid(found: "ResamplingValidation", name: str) -> Figure:
    title = DISTRIBUTIONS[name].title
    caption = _CAPTIONS.get(
        name, "Share of the days whose fullest bin has at most so many of the day's jobs."
    )
    plot = partial(plot_overlaid, distribution=name, others="resampled")
    return Figure(
        name, title[0].upper() + title[1:], caption, found.distributions.curves[name], plot
    )


def _measures(found: "ResamplingValidation", names: list[str]) -> Table:
    """Set measures of the original beside those of the resampled logs, ours and published."""
    data = found.table.loc[names]
    data = data[data["original"].notna()]
    text = {}
    for name, row in data.iterrows():
        title, written = MEASURES[str(name)]
        cells = {
            "original": written(row["original"]),
            "resampled": _mean_sd(row["mean"], row["sd"], written),
            "range": f"{written(row['low'])} to {written(row['high'])}",
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
    caption = f"The original; mean ± standard deviation of {_logs(found)}, and their range."
    return Table("measures", caption, data, cells_shown)


def _distances(found: "ResamplingValidation") -> Table:
    data = found.distributions.farthest
    columns = {
        "ks_mean": ("K–S, mean", number),
        "ks_max": ("K–S, largest", number),
        "wasserstein_mean": ("earth mover's, mean", number),
        "wasserstein_max": ("earth mover's, largest", number),
    }
    data = data[data["ks_mean"].notna()]
    text = shown(data, columns)
    text.index = pd.Index([DISTRIBUTIONS[str(name)].title for name in data.index])
    caption = "Distances of the distributions of the resampled logs from those of the original."
    return Table("distances", caption, data, text)


def _runs(found: "ResamplingValidation") -> Table:
    columns = {"seed": ("own seed", str)} | {
        name: MEASURES[name] for name in ("jobs", "users", "jobs_per_week", "offered_load")
    }
    text = shown(found.runs, columns)
    text.index = pd.Index([f"run {name}" for name in text.index])
    caption = "Each resampled log; its own seed makes it again."
    return Table("runs", caption, found.runs, text, folded=True)


def _relative(found: "ResamplingValidation") -> pd.DataFrame:
    """Measures as rows under their titles, a column for each log."""
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


def _beside(found: "ResamplingValidation", name: str) -> str:
    row, written = found.table.loc[name], MEASURES[name].written
    return f"{written(row['original'])}, resampled {_mean_sd(row['mean'], row['sd'], written)}"


def _mean_sd(mean: float, sd: float, written: Any) -> str:
    return written(mean) if np.isnan(sd) else f"{written(mean)} ± {written(sd)}"


def _logs(found: "ResamplingValidation") -> str:
    return plural(found.count, "resampled log")
