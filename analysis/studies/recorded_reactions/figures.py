"""Recorded and predicted activity by hours from an outage."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.analysis.reproduction import Drawing, Log
from workloadkit.analysis.studies.recorded_reactions.forecasting import (
    BIN,
    N_AFTER,
    N_BEFORE,
    N_DURING,
    QUANTITIES,
    SCORED,
)
from workloadkit.analysis.studies.recorded_reactions.scores import Played, change_of, forecast
from workloadkit.analysis.studies.recorded_reactions.users import BEHAVIOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Reference of the hours, and the midpoints of the bins. [h]
_HOURS = BIN / 3600
SIDES = {
    "start": _HOURS * (np.arange(-N_BEFORE, N_DURING) + 0.5),
    "end": _HOURS * (np.arange(N_AFTER) + 0.5),
}

#: Lines of the figure; users in the order of the theme's styles.
LINES = ("recorded", "fluid", "adjusted", "distribution", "open", "p(r)")


def draw_log(log: Log, found: Sequence[Played], *, pooled: bool) -> Drawing:
    """Draw the recorded and the predicted activity around the outages of a log, as means."""
    title = f"{log.name}: means of {len(found)} outages, recorded and predicted"
    name = f"after-outages-{log.name.lower()}"
    return Drawing(name, title, table_of(found, pooled=pooled), plot_hours, (10.0, 7.5))


def table_of(found: Sequence[Played], *, pooled: bool = True) -> pd.DataFrame:
    """Return means over outages.

    Parameters
    ----------
    found : sequence of Played
        At least one.
    pooled : bool, default True
        See `scores.gains`.

    Returns
    -------
    DataFrame
        A row for each `side` ("start" or "end" of the outage), bin (`hour`, its middle), `quantity`
        and `line`: `mean`. Bins that begin by the start count only outages that last as long.
    """
    cases = [each.outage for each in found]
    lines = {"recorded": [case.observed for case in cases]}
    for users in BEHAVIOURS:
        change = change_of(found, users) if pooled else None
        lines[users] = [forecast(case, users, change) for case in cases]
    whole = np.array([case.whole for case in cases])[:, None, :]
    n_whole = np.where(whole.any(axis=0), whole.sum(axis=0), np.nan)
    rows = []
    for line, values in lines.items():
        mean = (np.array(values) * whole).sum(axis=0) / n_whole
        for quantity, of_quantity in zip(QUANTITIES, mean, strict=True):
            parts = (of_quantity[: SCORED.start], of_quantity[SCORED])
            for (side, hours), part in zip(SIDES.items(), parts, strict=True):
                rows += [(side, hour, quantity, line, value)
                         for hour, value in zip(hours, part, strict=True)]  # fmt: skip
    return pd.DataFrame(rows, columns=["side", "hour", "quantity", "line", "mean"])


def plot_hours(data: pd.DataFrame, ax: "Axes | None" = None) -> "list[Axes]":
    """Plot each quantity in a row: relative to the start (left) and to the end (right).

    Parameters
    ----------
    data : DataFrame
        Result of `table_of`.
    ax : Axes, optional
        Default: the current Axes.
    """
    from workloadkit.analysis import style

    axes = style.panels(style.current_axes(ax), 2 * len(QUANTITIES), rows=len(QUANTITIES))
    for row, quantity in enumerate(QUANTITIES):
        pair = axes[2 * row : 2 * row + 2]
        top = 1.05 * data.loc[data["quantity"] == quantity, "mean"].max()
        for panel, side in zip(pair, SIDES, strict=True):
            its = data[(data["quantity"] == quantity) & (data["side"] == side)]
            for place, line in enumerate(LINES):
                points = its[its["line"] == line]
                look: dict[str, Any] = {"color": style.INK, "marker": "o", "zorder": 3}
                if place:
                    look = {**style.LINES[place - 1], "linewidth": 1.2}
                panel.plot(points["hour"], points["mean"], label=line, **look)
            panel.set_ylim(0, top)
            panel.set_xticks(SIDES[side][::2] - _HOURS / 2)
            if side == "start":
                panel.axvspan(0, SIDES["start"][-1] + _HOURS / 2, color=style.MUTED, alpha=0.12)
                panel.set_ylabel(quantity if row == 2 else f"{quantity} in 3 h")
            else:
                panel.tick_params(labelleft=False)
            if row == len(QUANTITIES) - 1:
                panel.set_xlabel(f"hours since the {side} of the outage")
    style.legend_above(axes[0])
    return axes
