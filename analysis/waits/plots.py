"""Figures of waits over time."""

import numpy as np
import pandas as pd
from matplotlib import dates as mdates
from matplotlib.axes import Axes

from workloadkit.analysis import style
from workloadkit.analysis.waits.measures import OTHERS, enough
from workloadkit.clock import DAY
from workloadkit.errors import ParameterError

_SHORTEST = 1.0  # a logarithmic axis has no 0 [s]


def plot_waits(data: pd.DataFrame, ax: Axes | None = None, *, percent: int = 90) -> Axes:
    """Draw a percentile of waits over time, one line per group.

    Periods in which too few waits exceed the percentile are left out, see `enough`.

    Parameters
    ----------
    data : DataFrame
        Result of `waits_over_time` with this percentile.
    ax : Axes, optional
        Default: the current Axes.
    percent : int, default 90

    Raises
    ------
    ParameterError
        If the data have no such percentile.
    """
    column = f"p{percent}"
    if column not in data:
        raise ParameterError(f"percent is {percent}, but the data have no {column}")
    ax = style.current_axes(ax)
    each = data.drop_duplicates("begin").set_index("begin").sort_index()
    half = (each["end"] - each.index).to_numpy() / 2 / DAY
    if "date" in each:
        place = mdates.date2num(each["date"].to_numpy()) + half
    else:
        place = each.index.to_numpy() / DAY + half
    names = data.groupby("name", sort=False)["jobs"].sum().sort_values(ascending=False)
    order = [name for name in names.index if name != OTHERS]
    order += [OTHERS] * (OTHERS in names.index)
    for name, line in zip(order, style.LINES, strict=False):
        of_it = data[(data["name"] == name) & enough(data["jobs"], percent)]
        waits = of_it.set_index("begin")[column].reindex(each.index)
        shown = np.maximum(waits.to_numpy(), _SHORTEST)
        ax.plot(
            place,
            shown,
            label=style.label(name),
            marker="o",
            markersize=2.5,
            clip_on=False,
            **{**line, "linewidth": 1.2},
        )
    style.time_axis(ax.yaxis)
    style.headroom(ax)
    ax.set_ylabel("median wait" if percent == 50 else f"wait, {percent}th percentile")
    ax.margins(x=0.02)
    style.date_axis(ax.xaxis, data)
    style.legend_above(ax)
    return ax
