"""Find jobs that are clipped by the window of an export."""

from datetime import datetime, tzinfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Number of jobs with times at the edge from which these count as clipped.
_AT_THE_EDGE = 3

_MINUTE = 60


def cut_by_window(table: pd.DataFrame, zone: tzinfo) -> tuple[NDArray[np.object_], float | None]:
    """Return which jobs are clipped at the begin or end of the export's window, and its begin.

    `sacct` reports jobs that were running in its window, so no job ended before the window opened.
    The opening is taken as a midnight: the last one before the first end. Jobs that started before
    it are clipped at the begin, because only the long ones of their kind are reported. With
    ``--truncate``, times outside the window are moved to its edges: if at least three jobs with
    different submissions start at the first start of all, on a full minute, they are clipped at
    the begin; if as many with different starts end at the last end of all, at the end.

    Parameters
    ----------
    table : DataFrame
        Records of jobs.
    zone : tzinfo
        Time zone of the midnights.

    Returns
    -------
    cut : ndarray of str, shape (n_jobs,)
        "begin", "end", "both" or "".
    opened : float or None
        Opening of the window, if a job is clipped at its begin. [s since 1970]
    """
    submit, start, end = (table[name].to_numpy() for name in ("submit", "start", "end"))
    ran = (end >= start) & (end > 0)
    if not ran.any():
        return np.full(len(table), "", object), None
    first = datetime.fromtimestamp(float(end[ran].min()), zone)
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
    """Return which times at an edge were moved there, given other times of these jobs."""
    there = times == edge
    moved = edge % _MINUTE == 0 and np.unique(others[there]).size >= _AT_THE_EDGE
    return there & moved
