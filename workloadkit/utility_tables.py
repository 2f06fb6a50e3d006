"""Tables of utility functions: functions of single jobs, or shapes for many jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, WorkloadError, quoted
from workloadkit.io.delimited import read_delimited
from workloadkit.parameters import read_float
from workloadkit.trace import Trace
from workloadkit.utility import Utilities, first_fault, pack

_KEYS = ("queue", "user")
_NUMBERS = ("job", *_KEYS)
_POINT = ("time", "value")
_KNOWN = (*_NUMBERS, "shape", *_POINT)
_LARGEST = 2**53  # of numbers that are exact as floats


class UtilityShapes(NamedTuple):
    """Shapes of utility functions, and the shapes available to each job.

    Parameters
    ----------
    functions : Utilities
        Times in units of the deadline, values in units of the start value.
    first : ndarray of int64, shape (n_jobs,)
        The first shape of each job; the others follow it.
    n_shapes : ndarray of int64, shape (n_jobs,)
        Number of shapes of each job; may be 0.
    """

    functions: Utilities
    first: NDArray[np.int64]
    n_shapes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class UtilityTable:
    """Points of utility functions, with the jobs that they apply to.

    Parameters
    ----------
    name : str
        Name used in errors.
    data : DataFrame
        Columns `time` and `value`, and `job` or any of `queue`, `user` and `shape`; the points of
        a function in order.
    """

    name: str
    data: pd.DataFrame

    @property
    def of_jobs(self) -> bool:
        """Whether the table contains functions of single jobs rather than shapes."""
        return "job" in self.data

    def functions(self, trace: Trace) -> tuple[Utilities, int]:
        """Return the functions of a log's jobs, by job number.

        Returns
        -------
        functions : Utilities
        n_others : int
            Number of functions for jobs that are not in the log.

        Raises
        ------
        WorkloadError
            If points are not a utility function.
        """
        labels, functions = self._packed(["job"])
        number = pd.Index(labels["job"])
        place = number.get_indexer(trace.column("job"))
        n_others = len(number) - distinct(place[place >= 0]).size
        return functions.take(np.where(place >= 0, place, len(number))), n_others

    def shapes(self, trace: Trace) -> UtilityShapes:
        """Return the shapes available to each job of a log.

        Raises
        ------
        WorkloadError
            If points are not a utility function, or cannot be scaled.
        """
        keys = [name for name in _KEYS if name in self.data]
        by = [*keys, *(["shape"] if "shape" in self.data else [])]
        labels, functions = self._packed(by)
        functions = functions.take(range(len(labels)))
        last, start = functions.time[functions.first[1:] - 1], functions.value[functions.first[:-1]]
        for fault, wrong in (("ends at time 0", last == 0), ("has the start value 0", start == 0)):
            if wrong.any():
                who = _called(labels.iloc[int(np.argmax(wrong))])
                raise WorkloadError(f"{self.name}: the shape{who} {fault}; it cannot be scaled")
        n_points = np.diff(functions.first)
        time, value = (
            functions.time / np.repeat(last, n_points),
            functions.value / np.repeat(start, n_points),
        )
        relative = Utilities(functions.first, time, value)
        if not keys:
            all_shapes = np.full(trace.n_jobs, len(labels))
            return UtilityShapes(relative, np.zeros_like(all_shapes), all_shapes)
        group = labels.groupby(keys, sort=False).ngroup().to_numpy()
        n_shapes = np.bincount(group)
        groups = labels[keys].drop_duplicates().assign(group=np.arange(n_shapes.size))
        of_job = trace.jobs[keys].merge(groups, on=keys, how="left")["group"].to_numpy()
        known = ~np.isnan(of_job)
        of_job = np.where(known, of_job, 0).astype(np.int64)
        return UtilityShapes(
            relative.take(np.argsort(group, kind="stable")),
            (np.cumsum(n_shapes) - n_shapes)[of_job],
            np.where(known, n_shapes[of_job], 0),
        )

    def _packed(self, by: list[str]) -> tuple[pd.DataFrame, Utilities]:
        """Return the labels of the functions and their points, with one empty function appended."""
        code = np.zeros(len(self.data), np.int64)
        if by:
            code = self.data.groupby(by, sort=False).ngroup().to_numpy()
        labels = self.data.loc[~pd.Series(code).duplicated().to_numpy(), by]
        functions = pack(self.data[[*_POINT]].assign(row=code), len(labels) + 1)
        if found := first_fault(functions):
            which, what = found
            raise WorkloadError(
                f"{self.name}: utility function{_called(labels.iloc[which])}: {what}"
            )
        return labels, functions


def read_table(table: pd.DataFrame | str | PathLike[str]) -> UtilityTable:
    """Check a table of utility functions, or read it from a CSV file.

    Raises
    ------
    ParameterError
        If the argument is not a table, or has other columns.
    WorkloadError
        If a value is not a number; for a file a FormatError with its line.
    """
    name, lines = "table", None
    wrong: type[WorkloadError] = ParameterError
    if isinstance(table, str | PathLike):
        name = Path(table).name
        titles, rows, lines = read_delimited(table)
        data = pd.DataFrame(rows, columns=titles, dtype=object)
        wrong = WorkloadError
    elif isinstance(table, pd.DataFrame):
        data = table
    else:
        raise ParameterError(
            "table", f"is of type {type(table).__name__}; it must be a DataFrame or a path"
        )
    unknown = [str(column) for column in data.columns if column not in _KNOWN]
    missing = [column for column in _POINT if column not in data]
    if unknown or missing:
        what = f"no column {missing[0]}" if missing else f"a column {quoted(unknown[0])}"
        raise wrong(f"{name} has {what}; known: {', '.join(_KNOWN)}")
    if not data.columns.is_unique:
        raise wrong(f"{name} has two columns of one name")
    if "job" in data and len(data.columns) > 3:
        raise wrong(f"{name} has the column job and others; functions by job have no other keys")
    if data.empty:
        raise WorkloadError(f"{name} has no points")
    return UtilityTable(name, _as_numbers(name, data, lines))


def _as_numbers(name: str, data: pd.DataFrame, lines: Sequence[int] | None) -> pd.DataFrame:
    """Return the table with its columns converted to numbers."""
    found = {}
    for column in data.columns:
        given = data[column]
        values: NDArray = given.to_numpy(dtype=object)
        if column == "shape":
            wrong, due = np.array([x is None or x != x or x == "" for x in values]), ""
        else:
            values = np.array([_number(x) for x in values])
            wrong, due = ~np.isfinite(values), ", not a number"
        if column in _NUMBERS:
            wrong |= (values != np.round(values)) | (np.abs(values) > _LARGEST)
            due = f", not a whole number up to {_LARGEST:,}"
        if wrong.any():
            row = int(np.argmax(wrong))
            place = f"row {row + 1}" if lines is None else f"line {lines[row]}"
            raise WorkloadError(f"{name}, {place}: {column} is {quoted(given.iloc[row])}{due}")
        found[column] = values.astype(np.int64) if column in _NUMBERS else values
    return pd.DataFrame(found, index=data.index)


def _number(value: object) -> float:
    """Return a number, also as text; NaN for what is none."""
    try:
        return nan if isinstance(value, bool) else read_float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return nan


def _called(label: pd.Series) -> str:
    """Describe what a function applies to."""
    words = ", ".join(f"{name} {str(value)[:60]}" for name, value in label.items())
    return f" of {words}" if words else ""
