"""Session lengths under each method: survival functions and histograms."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from workloadkit.analysis import style
from workloadkit.analysis.sessions.choice import OVERLONG
from workloadkit.analysis.sessions.ways import CUTS, WAYS
from workloadkit.sessions import THRESHOLDS

_SHORTEST = 60.0  # shortest drawn length [s]
_PER_DOUBLING = 8

# Max+Cut is not drawn: it coincides with Last+Cut.
_LINES: dict[str, dict[str, Any]] = {
    "Last": {"color": style.BLUE, "linestyle": "-"},
    "Max": {"color": style.BLUE, "linestyle": "--"},
    "Arrival": {"color": style.GREEN, "linestyle": "-"},
}
_LINES |= {
    way.name: {"color": style.ORANGE, "linestyle": dashes}
    for way, dashes in zip(
        (way for way in WAYS if way.kind == "Last+Cut"), (":", "--", "-"), strict=True
    )
}


def survival(lengths: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Return the shares of sessions longer than times evenly spaced on a logarithmic axis.

    Parameters
    ----------
    lengths : mapping of str to ndarray
        Sorted session lengths by method. [s]

    Examples
    --------
    >>> survival({"Max": np.array([30.0, 60.0, 600.0, 6000.0])})["Max"].iloc[[0, -1]].tolist()
    [0.5, 0.0]
    """
    longest = max((float(x[-1]) for x in lengths.values() if x.size), default=0.0)
    value = np.geomspace(_SHORTEST, max(longest, 2 * _SHORTEST), 250)
    table = {
        name: 1 - np.searchsorted(x, value, side="right") / max(x.size, 1)
        for name, x in lengths.items()
    }
    return pd.DataFrame(table, index=pd.Index(value, name="value"))


def histogram(lengths: Mapping[str, NDArray[np.float64]]) -> pd.DataFrame:
    """Count sessions in bins, eight per doubling of the length; each cut is the centre of a bin.

    Parameters
    ----------
    lengths : mapping of str to ndarray
        Sorted session lengths by method. [s]

    Examples
    --------
    >>> bins = histogram({"Max+Cut 1 h": np.array([600.0, 3600.0, 3600.0])})
    >>> bins["Max+Cut 1 h"][3600.0].item()
    2
    """
    longest = max((float(x[-1]) for x in lengths.values() if x.size), default=0.0)
    first = np.ceil(_PER_DOUBLING * np.log2(_SHORTEST / CUTS[0]))
    last = np.ceil(_PER_DOUBLING * np.log2(max(longest, CUTS[0]) / CUTS[0]))
    at = np.arange(first, last + 1)
    edges = CUTS[0] * 2 ** (np.append(at, last + 1) / _PER_DOUBLING - 0.5 / _PER_DOUBLING)
    table = {name: np.diff(np.searchsorted(x, edges, side="right")) for name, x in lengths.items()}
    value = CUTS[0] * 2 ** (at / _PER_DOUBLING)
    return pd.DataFrame(table, index=pd.Index(value, name="value"))


def plot_session_survival(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw survival functions of the session lengths on logarithmic axes.

    Parameters
    ----------
    data : DataFrame
        `SessionMethods.survival`. Max+Cut is not drawn: it coincides with Last+Cut.
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    for name, line in _LINES.items():
        if name in data:
            seen = data[name][data[name] > 0]
            ax.plot(seen.index, seen, **line, label=name.removeprefix("Last+"))
    ax.update_datalim([(OVERLONG, 1)])
    ax.axvline(OVERLONG, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    style.time_axis(ax.xaxis)
    style.log_axis(ax.yaxis, percent=True)
    ax.set_xlabel("session length")
    ax.set_ylabel("share of longer sessions")
    style.legend_above(ax)
    return ax


def plot_session_lengths(data: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw histograms of the session lengths.

    Parameters
    ----------
    data : DataFrame
        `SessionMethods.lengths`; Last, Arrival and the cut of 1 h are drawn.
    ax : Axes, optional
        Default: the current Axes.
    """
    ax = style.current_axes(ax)
    for name in ("Last+Cut 1 h", "Last", "Arrival"):
        if name in data:
            seen = data[name][data[name] > 0]
            line = _LINES[name] | {"linestyle": "-", "linewidth": 1}
            label = name.removeprefix("Last+")
            ax.plot(seen.index, seen, **line, marker=".", markersize=3.5, label=label)
    ax.axvline(THRESHOLDS["arrival"], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    style.time_axis(ax.xaxis)
    style.log_axis(ax.yaxis)
    ax.set_xlabel("session length")
    ax.set_ylabel("sessions")
    style.legend_above(ax)
    return ax
