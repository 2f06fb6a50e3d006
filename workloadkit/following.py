"""Other times of a log's jobs, and the fields that follow them."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.fields import NAMES
from workloadkit.record_fields import SIDECAR_FIELDS
from workloadkit.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

#: A CPU time may exceed the run time, which is rounded to seconds, by this. [s]
ROUNDING = 1.0


def executed_otherwise(trace: Trace, **columns: ArrayLike) -> Trace:
    """Return a log whose jobs have other times or sizes; the fields that a run bounds follow it.

    The CPU time changes in proportion to the run time. In the side-car, `RecordField.follows`
    states what each column follows; columns about the recorded execution are left out. So are
    bursts of checkpointed jobs.

    Parameters
    ----------
    trace : Trace
    **columns : array_like, shape (n_jobs,)
        New values, by the names of `workloadkit.fields`.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 0], "run": [100, 9], "cpu": [80, 10]})
    >>> executed_otherwise(log, run=[50, 9]).column("cpu").tolist()
    [40.0, 10.0]
    """
    if "run" in columns:
        run = trace.column("run"), np.asarray(columns["run"], np.float64)
        columns = {"cpu": follow_run(trace.column("cpu"), *run, most=ROUNDING), **columns}
    made = trace.with_columns(**columns)
    if trace.sidecar is None:
        return made
    tables: Any = {name: made.table(name) for name in ("jobs", "bursts", "utility")}
    return replace(made, **tables, sidecar=_sidecar(trace.sidecar, trace, made))


def follow_run(
    used: NDArray[np.float64],
    before: NDArray[np.float64],
    run: NDArray[np.float64],
    *,
    most: float = np.inf,
) -> NDArray[np.float64]:
    """Return what jobs used in other run times: in proportion, whole numbers if all are whole.

    Parameters
    ----------
    used : ndarray of float, shape (n_jobs,)
        What they used in their recorded run times; NaN for unknown.
    before, run : ndarray of float, shape (n_jobs,)
        Recorded and new run times. [s]
    most : float
        A time that exceeds the run time by no more than this is as long as the run: the excess is
        due to rounding. By default, `used` is no time, and not compared with the run time.
    """
    changed = (used >= 0) & (before > 0) & (run >= 0) & (run != before)  # False for NaN
    if not changed.any():
        return used
    old, new, of_old = before[changed], run[changed], used[changed]
    within = (of_old <= old + most) & np.isfinite(most)
    in_proportion = np.where(within, np.minimum(of_old, old), of_old) * (new / old)
    known = used[~np.isnan(used)]
    if (known == np.rint(known)).all() and (new == np.rint(new)).all():
        in_proportion = np.floor(in_proportion + 0.5)
    result = used.copy()
    result[changed] = np.where(within, np.minimum(in_proportion, new), in_proportion)
    return result


def _sidecar(table: "pd.DataFrame", trace: Trace, made: Trace) -> "pd.DataFrame | None":
    """Return the side-car of jobs that are executed otherwise; None if nothing of it is left."""
    columns: dict[str, Any] = {}
    left_out = []
    for field in SIDECAR_FIELDS:
        name = field.name
        if name not in table:
            continue
        if field.follows == "execution":
            left_out.append(name)
        elif field.follows == "run":
            used = table[name].to_numpy(np.float64)
            most = ROUNDING if name in NAMES else np.inf
            run = trace.column("run"), made.column("run")
            columns[name] = follow_run(used, *run, most=most)
        elif field.follows == "log":
            changed = trace.column(name) != made.column(name)
            changed &= ~(np.isnan(trace.column(name)) & np.isnan(made.column(name)))
            second_0 = (made.header.start or 0) if name == "submit" else 0
            new = made.column(name) + second_0
            columns[name] = np.where(changed, new, table[name].to_numpy(np.float64))
    table = table.drop(columns=left_out).assign(**columns)
    return table if len(table.columns) else None
