"""Figure of the anomalies of a log over its jobs per day."""

from typing import TYPE_CHECKING

import numpy as np

from workloadkit.analysis import style
from workloadkit.cleaning.anomalies import Anomalies
from workloadkit.cleaning.anomaly import CHANGE, DEAD_PERIOD, FLURRY, START_UP, WIND_DOWN
from workloadkit.errors import WorkloadError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Minimum width of a shaded period, as a share of the log, so that it is visible.
_NARROWEST = 0.004

_COLOURS = {START_UP: style.GREEN, WIND_DOWN: style.GREEN, DEAD_PERIOD: style.MUTED}


def plot_anomalies(found: Anomalies, ax: "Axes | None" = None) -> "Axes":
    """Draw the jobs of each day, the jobs of flurries among them, and other periods shaded.

    Parameters
    ----------
    found : Anomalies
        Result of `workloadkit.find_anomalies`. Flurries are shown if they are more than slight;
        slight anomalies of other kinds are shaded lighter.

    Raises
    ------
    WorkloadError
        If the log has no days to draw.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from workloadkit import Trace, find_anomalies
    >>> found = find_anomalies(Trace.from_columns({"submit": range(0, 86400 * 30, 3600)}))
    >>> ax = plot_anomalies(found, Figure().subplots())
    >>> ax.get_ylabel()
    'jobs per day'
    """
    data = found.daily
    if data.empty:
        raise WorkloadError(
            f"{found.name}: there are no days to draw. {' '.join(found.notes)}".strip()
        )
    ax = style.current_axes(ax)
    edges = style.date_edges(data)
    seconds = np.append(data["begin"], data["end"].iloc[-1])
    ax.stairs(data["jobs"], edges, fill=True, color=style.PALE, label="jobs per day")
    ax.stairs(data["jobs"], edges, color=style.BLUE, linewidth=0.6, baseline=None)
    if data["flurries"].any():
        ax.stairs(
            data["flurries"].where(data["flurries"] > 0),
            edges,
            fill=True,
            color=style.ORANGE,
            edgecolor=style.ORANGE,
            linewidth=0.8,  # so that a single day of a long log is visible
            zorder=3,
            label="in flurries",
        )
    named: set[str] = set()
    for one in found.items:
        if one.kind == FLURRY:
            continue
        begin, end = np.interp(one.span, seconds, edges)
        label = one.kind if one.kind not in named else None
        named.add(one.kind)
        slight = one.strength == "slight"
        if one.kind == CHANGE:
            ax.axvline(
                begin,
                color=style.INK,
                linewidth=1.0,
                linestyle=":" if slight else "--",
                label=label,
            )
        else:
            middle, half = (begin + end) / 2, _NARROWEST / 2 * (edges[-1] - edges[0])
            ax.axvspan(
                min(begin, middle - half),
                max(end, middle + half),
                color=_COLOURS[one.kind],
                alpha=0.4 if slight else 0.65,
                linewidth=0,
                zorder=0.5,
                label=label,
            )
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(bottom=0)
    style.date_axis(ax.xaxis, data)
    style.count_axis(ax.yaxis)
    ax.set_ylabel("jobs per day")
    style.legend_above(ax)
    return ax
