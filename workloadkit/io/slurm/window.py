"""Jobs that the window of an export cut, as far as the export itself shows it."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: So many jobs that start, or end, at the very edge were cut there.
_AT_THE_EDGE = 3

_MINUTE = 60


def cut_by_window(table: pd.DataFrame, zone: str) -> tuple[NDArray[np.object_], float | None]:
    """Tell which jobs the window of the export cut, at its begin, its end, or both; and its begin.

    `sacct` shows what was running in its window, so no job of an export ended before the window
    opened, which is taken to be at a midnight: the last one before the first job ended. Jobs that
    started before it are cut at the begin: of those like them, only the long ones are shown. With
    ``--truncate``, times beyond the window are moved to its edges: where three jobs or more, of
    different submissions, start at the first start of all, on a full minute, they are cut at the
    begin; where as many of different starts end at the last end of all, at the end.

    Parameters
    ----------
    table : DataFrame
        Records of jobs.
    zone : str
        Time zone of the midnights.

    Returns
    -------
    cut : ndarray of str, shape (n_jobs,)
        "begin", "end", "both" or "".
    opened : float or None
        When the window opened, if any job was cut at its begin. [s since 1970]
    """
    submit, start, end = (table[name].to_numpy() for name in ("submit", "start", "end"))
    ran = (end >= start) & (end > 0)
    if not ran.any():
        return np.full(len(table), "", object), None
    first = datetime.fromtimestamp(float(end[ran].min()), ZoneInfo(zone))
    opened = first.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    at_begin = (start < opened) & ran
    at_begin |= _piled_up(start, start[ran].min(), submit)
    at_end = _piled_up(end, end[ran].max(), start) & ran
    cut = np.where(at_begin, "begin", np.where(at_end, "end", "")).astype(object)
    cut[at_begin & at_end] = "both"
    return cut, max(opened, start[ran].min()) if at_begin.any() else None


def _piled_up(
    times: NDArray[np.float64], edge: float, others: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Tell which of many times at an edge were moved there; other times of these jobs differ."""
    there = times == edge
    moved = edge % _MINUTE == 0 and np.unique(others[there]).size >= _AT_THE_EDGE
    return there & moved
