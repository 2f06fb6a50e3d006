"""Result of a cross-check, with its figures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter

from workloadkit.analysis import style
from workloadkit.analysis.section import AnalysisResult
from workloadkit.errors import ParameterError, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Columns of the table of points that are not parameters.
OF_RUNS = ("exactness", "warmup", "settled", "independent")


@dataclass(frozen=True, eq=False)
class CrossCheck(AnalysisResult):
    """Comparison of a queueing model with its simulation.

    Parameters
    ----------
    model : str
    table : DataFrame
        One row per point and measure: the number of the `point` and its parameters; the `measure`
        as named in `queueing`, percentiles as R_p90; its value by `theory` and by `simulation`, the
        `error` (standard error) of the latter and its 95 % interval, `low` to `high`; `z`, the
        difference as a standard normal deviate; `stated`, the relative error stated by the theory
        (0 if exact, NaN if none); the `allowed` difference; and whether it `holds`, None if there
        is no stated error.
    points : DataFrame
        One row per point: parameters, `exactness` of the theory, the `warmup` [jobs], whether it is
        `settled` (the runs are long enough for it), and the number of `independent` responses that
        the mean of a run is worth.
    simulation : mapping of str to object
        `runs`, `jobs` per run, `seed` and `quantiles`.
    """

    model: str
    table: pd.DataFrame
    points: pd.DataFrame
    simulation: Mapping[str, Any]

    def __str__(self) -> str:
        """Return the table of each point, and whether the comparison holds."""
        columns = ["measure", "theory", "simulation", "low", "high", "z", "allowed", "holds"]
        lines = [repr(self)]
        for place, point in self.points.iterrows():
            given = (f"{name} {point[name]}" for name in self.points if name not in OF_RUNS)
            rows = self.table.loc[self.table["point"] == place, columns]
            lines += [", ".join(given), rows.to_string(index=False, float_format="{:.5g}".format)]
        return "\n".join([*lines, f"holds: {self.holds}"])

    @property
    def failed(self) -> pd.DataFrame:
        """Rows with a difference larger than allowed."""
        return self.table[self.table["holds"] == False]  # noqa: E712  # None is not

    @property
    def holds(self) -> bool:
        """Whether all differences are within the allowed ones."""
        return self.failed.empty

    @property
    def varying(self) -> list[str]:
        """Names of the parameters that vary over the points."""
        return [
            name
            for name in self.points
            if name not in OF_RUNS and self.points[name].nunique(dropna=False) > 1
        ]

    def plot(self, ax: "Axes | None" = None, measure: str | None = None) -> "Axes":
        """Draw the differences of all measures, or one measure over the varying parameter.

        Parameters
        ----------
        measure : str, optional
            A measure of the table; by default all differences relative to the allowed ones.

        Raises
        ------
        ParameterError
            For an unknown measure, or if no numeric parameter varies.
        """
        if measure is None:
            return plot_differences(self, ax)
        return plot_measure(self, measure, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as plain Python values, and whether the comparison holds."""
        return {**super().to_dict(), "holds": self.holds}


# Figures of a cross-check.

_LINEAR = 3.0  # in allowed differences; larger ones are drawn on a logarithmic scale

_POINTS: dict[str, Any] = {"fmt": "o", "markersize": 3.5, "capsize": 2}

_WORDS = {
    "X": "throughput",
    "R": "response time",
    "Q": "number in the system",
    "U": "utilization of a server",
    "jobs_per_user": "jobs per user",
}


def plot_differences(check: "CrossCheck", ax: "Axes | None" = None) -> "Axes":
    """Draw the differences between simulation and theory, relative to the allowed difference."""
    ax = style.current_axes(ax)
    table = check.table[check.table["holds"].notna()]
    measures = list(dict.fromkeys(table["measure"]))
    part = ((table["simulation"] - table["theory"]) / table["allowed"]).to_numpy(dtype=np.float64)
    # points of one measure are drawn next to each other
    aside = 0.6 * ((table["point"].to_numpy() + 0.5) / len(check.points) - 0.5)
    place = table["measure"].map(measures.index).to_numpy(dtype=np.float64) + aside
    held = table["holds"].to_numpy(dtype=np.bool_)
    for these, colour, label in (
        (held, style.BLUE, "within the allowed difference"),
        (~held, style.ORANGE, "outside"),
    ):
        if these.any():
            ax.plot(part[these], place[these], "o", markersize=3.5, color=colour, label=label)
    for end in (-1, 1):
        ax.axvline(end, color=style.MUTED, linewidth=0.9, linestyle="--")
    far = 1.15 * max(np.abs(part).max(initial=0.0), 1.0)
    if far > _LINEAR:
        ax.set_xscale("symlog", linthresh=1.0)
        ends = np.outer(10.0 ** np.arange(np.log10(far) + 1), [1, 3]).ravel()
        ends = ends[ends <= far][:: 1 + int(np.log10(far)) // 3]
        ax.set_xticks([*-ends[::-1], 0, *ends], minor=False)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}".replace("-", "−")))
    ax.set_xlim(-far, far)
    ax.set_yticks(
        range(len(measures)), [re.sub(r"_p(?=\d)", ", p", measure) for measure in measures]
    )
    ax.set_ylim(len(measures) - 0.5, -0.5)
    ax.set_xlabel("(simulation − theory) / allowed difference")
    style.legend_above(ax)
    return ax


def plot_measure(check: "CrossCheck", measure: str, ax: "Axes | None" = None) -> "Axes":
    """Draw a measure over the varying parameter: theory as lines, simulation as points.

    Bars are 95 % intervals. Of several varying parameters, the x axis has the number with the most
    values; there is one line per combination of the others.

    Raises
    ------
    ParameterError
        For an unknown measure, or if no numeric parameter varies.
    """
    ax = style.current_axes(ax)
    rows = check.table[check.table["measure"] == measure]
    if rows.empty:
        known = ", ".join(dict.fromkeys(check.table["measure"]))
        raise ParameterError(f"the cross-check has no measure {quoted(measure)}; known: {known}")
    along = varying_number(check)
    if along is None:
        raise ParameterError("no numeric parameter varies, so there is no x axis")
    others = [name for name in check.varying if name != along]
    groups: list[tuple[Any, pd.DataFrame]] = (
        list(rows.groupby(others, sort=False)) if others else [((), rows)]
    )
    for (key, group), line in zip(groups, cycle(style.LINES), strict=False):
        group = group.sort_values(along)
        x, value = group[along].to_numpy(dtype=np.float64), group["simulation"]
        ends = np.abs(group[["low", "high"]].to_numpy().T - value.to_numpy())
        title = ", ".join(f"{k} = {v}" for k, v in zip(others, key, strict=True))
        ax.plot(x, group["theory"], label=title or "theory", **line)
        colour = line["color"] if title else style.ORANGE
        ax.errorbar(x, value, yerr=ends, color=colour, **_POINTS)
    of_all = style.MUTED if others else style.ORANGE
    ax.errorbar([], [], yerr=[], color=of_all, label="simulation, 95 % interval", **_POINTS)
    ax.set(xlabel=along, ylabel=_in_words(measure))
    if rows["theory"].max() > 30 * rows["theory"].min() > 0:
        style.log_axis(ax.yaxis)
    else:
        ax.set_ylim(bottom=0)
    style.legend_above(ax)
    return ax


def plot_crosscheck(check: "CrossCheck", ax: "Axes | None" = None) -> "list[Axes]":
    """Draw all differences and, if a number varies, mean response times over it.

    Parameters
    ----------
    ax : Axes, optional
        Axes to replace by the panels. Default: the current Axes.
    """
    means = responses(check)
    axes = style.panels(style.current_axes(ax), len(means) + 1)
    for measure, panel in zip(means, axes, strict=False):
        plot_measure(check, measure, panel)
        if panel is not axes[0]:
            panel.get_legend().remove()  # type: ignore[union-attr]  # equal to the first
        elif len(check.varying) > 1:  # long labels do not fit side by side in a panel
            panel.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    plot_differences(check, axes[-1])
    return axes


def responses(check: "CrossCheck") -> list[str]:
    """Return the mean response times that are drawn over the varying parameter."""
    if varying_number(check) is None:
        return []
    return [name for name in ("R", "Rc", "Ro") if (check.table["measure"] == name).any()]


def varying_number(check: "CrossCheck") -> str | None:
    """Return the parameter of the x axis: the number with the most values."""
    numbers = [name for name in check.varying if pd.api.types.is_numeric_dtype(check.points[name])]
    return max(numbers, key=lambda name: check.points[name].nunique(), default=None)


def _in_words(measure: str) -> str:
    """Return the title of a measure, of all jobs unless a group is named."""
    if measure in _WORDS:
        return f"{_WORDS[measure]} ({measure})" if len(measure) == 1 else _WORDS[measure]
    name, _, percent = measure.partition("_p")
    words = _WORDS[name[0]]
    group = {"c": "closed users", "o": "open users"}.get(name[1:2], "")
    if name.endswith("_first"):
        group = "first jobs"
    if percent:
        words += f", {percent}th percentile"
    return f"{words}, {group} ({name})" if group else f"{words} ({name})"
