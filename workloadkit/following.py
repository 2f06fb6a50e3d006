"""Other times and sizes of a log's jobs, and what follows them."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.record_fields import BY_NAME, RecordField

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.trace import Trace

#: A CPU time may exceed the run time, which is rounded to seconds, by this. [s]
ROUNDING = 1.0


def executed_otherwise(trace: "Trace", **columns: ArrayLike) -> "Trace":
    """Return a log whose jobs have other times or sizes; the fields that a run bounds follow it.

    The CPU time changes in proportion to the run time; the rest is as in `Trace.with_columns`.

    Parameters
    ----------
    trace : Trace
    **columns : array_like, shape (n_jobs,)
        New values, by the names of `workloadkit.fields`.

    Examples
    --------
    >>> from workloadkit import Trace
    >>> log = Trace.from_columns({"submit": [0, 0], "run": [100, 9], "cpu": [80, 10]})
    >>> executed_otherwise(log, run=[50, 9]).column("cpu").tolist()
    [40.0, 10.0]
    """
    if "run" in columns:
        run = trace.column("run"), np.asarray(columns["run"], np.float64)
        columns = {"cpu": follow_run(trace.column("cpu"), *run, most=ROUNDING), **columns}
    return trace.with_columns(**columns)


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


Table = Mapping[str, NDArray]


def untrue_columns(sidecar: "pd.DataFrame | None", given: Collection[str]) -> tuple[str, ...]:
    """Return the columns of a side-car that other values of some fields make untrue.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"node_list": ["n1"], "state": ["TIMEOUT"], "account": ["bio"]})
    >>> untrue_columns(table, ["submit"]), untrue_columns(table, ["submit", "wait"])
    (('node_list',), ('node_list', 'state'))
    """
    names = () if sidecar is None else map(str, sidecar.columns)
    otherwise = not {"wait", "run"}.isdisjoint(given)
    moved = otherwise or "submit" in given
    gone = {"place": moved, "instant": otherwise, "execution": otherwise}
    return tuple(n for n in names if n in BY_NAME and gone.get(BY_NAME[n].follows, False))


def follow(
    sidecar: "pd.DataFrame | None", before: Table, after: Table, given: Collection[str]
) -> "tuple[pd.DataFrame | None, tuple[str, ...]]":
    """Return the side-car of jobs with other values in some fields, and what it leaves out.

    Parameters
    ----------
    sidecar : DataFrame, optional
        One row per job.
    before, after : mapping of str to ndarray, shape (n_jobs,)
        The fields of the jobs, as in `Trace.jobs`.
    given : collection of str
        The fields with other values.

    Returns
    -------
    sidecar : DataFrame or None
        None if nothing of it is left.
    untrue : tuple of str
        Names of the columns left out.
    """
    if sidecar is None:
        return None, ()
    untrue = untrue_columns(sidecar, given)
    columns = {
        name: _followed(BY_NAME[name], _numbers(sidecar[name]), before, after)
        for name in map(str, sidecar.columns)
        if name in BY_NAME and name not in untrue and _is_touched(BY_NAME[name], given)
    }
    if not (untrue or columns):
        return sidecar, ()
    table = sidecar.drop(columns=list(untrue)).assign(**columns)
    return (table if len(table.columns) else None), untrue


def _numbers(column: "pd.Series") -> NDArray:
    """Return a column of the side-car, numbers that are not whole as floats."""
    whole = BY_NAME[str(column.name)].kind == "whole"
    return column.to_numpy() if whole else column.to_numpy(np.float64)


#: The fields of a job that change a value.
_TOUCHING = {"run": ("run",), "work": ("run", "procs"), "instant": ("submit",)}


def _is_touched(field: RecordField, given: Collection[str]) -> bool:
    """Whether a value can be another if these fields are."""
    if field.follows == "procs":
        return not {"procs", "requested_procs"}.isdisjoint(given)
    touching = (field.name,) if field.follows == "log" else _TOUCHING.get(field.follows, ())
    return not set(touching).isdisjoint(given)


def _followed(field: RecordField, values: NDArray, before: Table, after: Table) -> NDArray:
    """Return the values of a column for the jobs as they are after a change."""

    def both(name: str) -> tuple[NDArray, NDArray]:
        return np.asarray(before[name]), np.asarray(after[name])

    if field.follows == "instant" or field.name == "submit":
        old, new = both("submit")
        return values + (new - old)
    if field.follows == "log":
        old, new = both(field.name)
        changed = (old != new) & ~((old != old) & (new != new))  # both unknown are equal
        return np.where(changed, new, values).astype(values.dtype)
    if field.follows == "procs":
        asked = field.name.startswith("requested") and (np.asarray(before["requested_procs"]) > 0)
        pairs = zip(both("requested_procs"), both("procs"), strict=True)
        return _in_proportion(values, *(np.where(asked, *pair) for pair in pairs))
    run = both("run")
    used = follow_run(values, *run, most=ROUNDING if field.name == "cpu" else np.inf)
    if field.follows == "run":
        return used
    old, new = both("procs")
    return used * np.where((old > 0) & (new != old), new / np.where(old > 0, old, 1), 1.0)


def _in_proportion(values: NDArray, old: NDArray, new: NDArray) -> NDArray:
    """Scale counts with the processors, rounded half up to at least 1; unknown sizes scale none."""
    scaled = (values > 0) & (old > 0) & (new > 0) & (new != old)
    factor = np.divide(new, old, out=np.ones_like(new), where=scaled)
    return np.where(scaled, np.maximum(np.floor(values * factor + 0.5), 1), values)
