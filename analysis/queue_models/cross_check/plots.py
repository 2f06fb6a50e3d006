"""How a cross-check is drawn."""

import re
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from analysis import style
from workloadkit.errors import ParameterError

if TYPE_CHECKING:
    from analysis.queue_models.cross_check.result import CrossCheck

_LINEAR = 3.0  # times what is allowed: what lies farther out is drawn at a logarithmic distance

_POINTS: dict[str, Any] = {"fmt": "o", "markersize": 3.5, "capsize": 2}

_WORDS = {
    "X": "throughput",
    "R": "response time",
    "Q": "number in the system",
    "U": "utilisation of a server",
    "jobs_per_user": "jobs of a user",
}


def plot_differences(check: "CrossCheck", ax: Axes | None = None) -> Axes:
    """Draw each difference between simulation and theory as a part of what is allowed.

    Parameters
    ----------
    check : CrossCheck
    ax : Axes, optional
        By default the current ones.
    """
    ax = style.current_axes(ax)
    table = check.table[check.table["holds"].notna()]
    measures = list(dict.fromkeys(table["measure"]))
    part = ((table["simulation"] - table["theory"]) / table["allowed"]).to_numpy(dtype=np.float64)
    # points of one measure side by side, in their order
    aside = 0.6 * ((table["point"].to_numpy() + 0.5) / len(check.points) - 0.5)
    place = table["measure"].map(measures.index).to_numpy(dtype=np.float64) + aside
    held = table["holds"].to_numpy(dtype=np.bool_)
    for these, colour, label in (
        (held, style.BLUE, "within what is allowed"),
        (~held, style.ORANGE, "beyond it"),
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


def plot_measure(check: "CrossCheck", measure: str, ax: Axes | None = None) -> Axes:
    """Draw a measure over the parameter that varies: theory as lines, simulation as points.

    Bars are the 95 % intervals. Of several parameters that vary, it is the number that has most
    values; a line is for each combination of the others.

    Parameters
    ----------
    check : CrossCheck
    measure : str
    ax : Axes, optional
        By default the current ones.

    Raises
    ------
    ParameterError
        For a measure that is not there, or if no parameter varies that is a number.
    """
    ax = style.current_axes(ax)
    rows = check.table[check.table["measure"] == measure]
    if rows.empty:
        known = ", ".join(dict.fromkeys(check.table["measure"]))
        raise ParameterError(f"the cross-check has no {measure!r}; it has {known}")
    along = varying_number(check)
    if along is None:
        raise ParameterError("no parameter varies that is a number: there is nothing to draw along")
    others = [name for name in check.varying if name != along]
    groups: list[tuple[Any, pd.DataFrame]] = (
        list(rows.groupby(others, sort=False)) if others else [((), rows)]
    )
    for (key, group), line in zip(groups, cycle(style.LINES), strict=False):
        group = group.sort_values(along)
        x, value = group[along].to_numpy(dtype=np.float64), group["simulation"]
        ends = np.abs(group[["low", "high"]].to_numpy().T - value.to_numpy())
        told = ", ".join(f"{k} = {v}" for k, v in zip(others, key, strict=True))
        ax.plot(x, group["theory"], label=told or "theory", **line)
        colour = line["color"] if told else style.ORANGE
        ax.errorbar(x, value, yerr=ends, color=colour, **_POINTS)
    of_all = style.MUTED if others else style.ORANGE
    ax.errorbar([], [], yerr=[], color=of_all, label="simulation, 95 % interval", **_POINTS)
    ax.set_xlabel(along)
    ax.set_ylabel(_in_words(measure))
    if rows["theory"].max() > 30 * rows["theory"].min() > 0:
        style.log_axis(ax.yaxis)
    else:
        ax.set_ylim(bottom=0)
    style.legend_above(ax)
    return ax


def plot_crosscheck(check: "CrossCheck", ax: Axes | None = None) -> list[Axes]:
    """Draw all differences; before them, if a number varies, mean response times over it.

    Parameters
    ----------
    check : CrossCheck
    ax : Axes, optional
        The Axes in whose place they stand; by default the current ones.

    Returns
    -------
    list of Axes
    """
    means = responses(check)
    axes = style.panels(style.current_axes(ax), len(means) + 1)
    for measure, panel in zip(means, axes, strict=False):
        plot_measure(check, measure, panel)
        if panel is not axes[0]:
            panel.get_legend().remove()  # type: ignore[union-attr]  # it is that of the first
        elif len(check.varying) > 1:  # lines with long names, and a panel has part of the width
            panel.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    plot_differences(check, axes[-1])
    return axes


def responses(check: "CrossCheck") -> list[str]:
    """Return the mean response times that are drawn over the parameter that varies."""
    if varying_number(check) is None:
        return []
    return [name for name in ("R", "Rc", "Ro") if (check.table["measure"] == name).any()]


def varying_number(check: "CrossCheck") -> str | None:
    """Return the parameter to draw along: the number that has most values."""
    numbers = [name for name in check.varying if pd.api.types.is_numeric_dtype(check.points[name])]
    return max(numbers, key=lambda name: check.points[name].nunique(), default=None)


def _in_words(measure: str) -> str:
    """Write what a measure is, of jobs of all users if it is not said of which."""
    if measure in _WORDS:
        return f"{_WORDS[measure]} ({measure})" if len(measure) == 1 else _WORDS[measure]
    name, _, percent = measure.partition("_p")
    words = _WORDS[name[0]]
    whose = {"c": "closed users", "o": "open users"}.get(name[1:2], "")
    if name.endswith("_first"):
        whose = "first jobs"
    if percent:
        words += f", {percent}th percentile"
    return f"{words}, {whose} ({name})" if whose else f"{words} ({name})"
