"""Figures that several studies draw."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def plot_by_group(
    data: "pd.DataFrame", ax: "Axes | None" = None, *, label: str, log: bool = False
) -> "Axes":
    """Plot values with their intervals: a line for each row, a color for each group.

    Parameters
    ----------
    data : DataFrame
        With columns row, group, value, low and high.
    ax : Axes, optional
        Default: the current Axes.
    label : str
        Of the values, with their unit.
    log : bool
        Whether their axis is logarithmic.
    """
    from workloadkit.analysis import style

    ax = style.current_axes(ax)
    rows, groups = list(dict.fromkeys(data["row"])), data.groupby("group", sort=False)
    for i, (line, (group, of)) in enumerate(zip(style.LINES, groups, strict=False)):
        at = [rows.index(row) + 0.15 * (i - (len(groups) - 1) / 2) for row in of["row"]]
        errors = [of["value"] - of["low"], of["high"] - of["value"]]
        ax.errorbar(of["value"], at, xerr=errors, fmt="o", color=line["color"], label=group)
    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    if log:
        style.log_axis(ax.xaxis)
        ends = data[["value", "low", "high"]]
        ax.set_xlim(ends.min(axis=None) / 1.05, ends.max(axis=None) * 1.05)
    ax.set_xlabel(label)
    style.legend_above(ax)
    return ax
