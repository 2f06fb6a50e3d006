"""What is known of jobs beyond the standard, in a workload of Batsim."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.fields import UNKNOWN
from workloadkit.record_fields import BY_NAME
from workloadkit.trace import Trace

#: Key of a job for its row of the side-car, without what is unknown.
KEY_OF_SIDECAR = "sidecar"

_UNKNOWN = {"number": np.nan, "whole": UNKNOWN}


def known_beyond(trace: Trace, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return what is known of the jobs at some rows beyond the standard.

    Examples
    --------
    >>> table = pd.DataFrame({"account": ["bio", ""], "gpus": [2.0, np.nan]})
    >>> known_beyond(Trace.from_columns({"submit": [0, 5]}).replaced(sidecar=table), [0, 1])
    [{'account': 'bio', 'gpus': 2}, {}]
    """
    known: list[dict[str, Any]] = [{} for _ in rows]
    for name, column in () if trace.sidecar is None else trace.sidecar.items():
        unknown: Any = UNKNOWN if column.dtype.kind in "iu" else ""
        for of_job, value in zip(known, column.iloc[rows].astype(object), strict=True):
            if value is None or value != value or value == unknown:
                continue
            is_whole = isinstance(value, float) and value.is_integer()
            of_job[str(name)] = int(value) if is_whole else value
    return known


def sidecar_of(
    jobs: list[dict[str, Any]], order: NDArray[np.intp], refuse: Callable[..., NoReturn]
) -> pd.DataFrame | None:
    """Return what jobs state beyond the standard, in another order; None if they state nothing."""
    stated = [job.get(KEY_OF_SIDECAR, {}) for job in jobs]
    for i, one in enumerate(stated):
        where = f"jobs[{i}].{KEY_OF_SIDECAR}"
        if not isinstance(one, dict):
            refuse("not an object", where, one)
        for name, value in one.items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                refuse("neither a number nor a string", f"{where}.{name[:40]}", value)
    names = dict.fromkeys(name for one in stated for name in one)
    columns = {}
    for name in names:
        found = [one.get(name) for one in stated]
        is_words = any(isinstance(value, str) for value in found)
        kind = BY_NAME[name].kind if name in BY_NAME else "word" if is_words else "number"
        unknown = _UNKNOWN.get(kind, "")
        column = pd.Series([unknown if v is None else v for v in found], dtype=object)
        columns[name] = column.infer_objects().iloc[order].reset_index(drop=True)
    return pd.DataFrame(columns) if names else None
