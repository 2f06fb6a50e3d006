"""Utility functions that somebody has as a table: of single jobs, or shapes for many."""

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError
from workloadkit.trace import Trace
from workloadkit.utility import Utilities, first_fault, pack

_KEYS = ("queue", "user")
_NUMBERS = ("job", *_KEYS)
_POINT = ("time", "value")
_KNOWN = (*_NUMBERS, "shape", *_POINT)


class Shapes(NamedTuple):
    """Shapes of utility functions, and which of them are for which job.

    Parameters
    ----------
    functions : Utilities
        Times in units of the deadline, values in units of the start value.
    first : ndarray of int64, shape (n_jobs,)
        The first shape for each job; the others follow.
    n_shapes : ndarray of int64, shape (n_jobs,)
        How many there are; 0 is none.
    """

    functions: Utilities
    first: NDArray[np.int64]
    n_shapes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class UtilityTable:
    """Points of functions, and whom they are for.

    Parameters
    ----------
    name : str
        What errors call it.
    data : DataFrame
        Columns `time` and `value`, and `job` or any of `queue`, `user` and `shape`; the points of
        a function in order.
    """

    name: str
    data: pd.DataFrame

    @property
    def of_jobs(self) -> bool:
        """Whether it holds the functions of single jobs, not shapes."""
        return "job" in self.data

    def functions(self, trace: Trace) -> tuple[Utilities, int]:
        """Return the functions of a log's jobs, by their numbers.

        Returns
        -------
        functions : Utilities
        n_others : int
            Functions of jobs that the log does not have.

        Raises
        ------
        WorkloadError
            If points are no utility function.
        """
        labels, functions = self._packed(["job"])
        number = pd.Index(labels["job"])
        place = number.get_indexer(trace.column("job"))
        n_others = len(number) - np.unique(place[place >= 0]).size
        return functions.take(np.where(place >= 0, place, len(number))), n_others

    def shapes(self, trace: Trace) -> Shapes:
        """Return which shapes are for which of a log's jobs.

        Raises
        ------
        WorkloadError
            If points are no utility function that can be stretched.
        """
        keys = [name for name in _KEYS if name in self.data]
        by = [*keys, *(["shape"] if "shape" in self.data else [])]
        labels, functions = self._packed(by)
        functions = functions.take(range(len(labels)))
        last, start = functions.time[functions.first[1:] - 1], functions.value[functions.first[:-1]]
        for fault, wrong in (("ends at time 0", last == 0), ("is worth nothing", start == 0)):
            if wrong.any():
                who = _called(labels.iloc[int(np.argmax(wrong))])
                raise WorkloadError(f"{self.name}: the shape{who} {fault}; it cannot be stretched")
        n_points = np.diff(functions.first)
        time, value = (
            functions.time / np.repeat(last, n_points),
            functions.value / np.repeat(start, n_points),
        )
        relative = Utilities(functions.first, time, value)
        if not keys:
            everybody = np.full(trace.n_jobs, len(labels))
            return Shapes(relative, np.zeros_like(everybody), everybody)
        group = labels.groupby(keys, sort=False).ngroup().to_numpy()
        n_shapes = np.bincount(group)
        groups = labels[keys].drop_duplicates().assign(group=np.arange(n_shapes.size))
        of_job = trace.jobs[keys].merge(groups, on=keys, how="left")["group"].to_numpy()
        known = ~np.isnan(of_job)
        of_job = np.where(known, of_job, 0).astype(np.int64)
        return Shapes(
            relative.take(np.argsort(group, kind="stable")),
            (np.cumsum(n_shapes) - n_shapes)[of_job],
            np.where(known, n_shapes[of_job], 0),
        )

    def _packed(self, by: list[str]) -> tuple[pd.DataFrame, Utilities]:
        """Return what the functions are called, and their points; one more function has none."""
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
    """Take a table of utility functions, or read it from a CSV file.

    Raises
    ------
    ParameterError
        If it is no table, or its columns are not those of one.
    WorkloadError
        If a file cannot be read, or what should be a number is none.
    """
    name = "table"
    if isinstance(table, str | PathLike):
        path = fspath(table)
        name = Path(path).name
        try:
            data = pd.read_csv(path)
        except OSError as error:
            raise WorkloadError(f"{path}: cannot be read: {error.strerror or error}") from None
        except ValueError as error:  # of the parser, or text that is no UTF-8
            raise WorkloadError(f"{path}: no table: {' '.join(str(error).split())}") from None
    elif isinstance(table, pd.DataFrame):
        data = table
    else:
        raise ParameterError(f"table is of type {type(table).__name__}; give a DataFrame or a path")
    unknown = [str(column) for column in data.columns if column not in _KNOWN]
    missing = [column for column in _POINT if column not in data]
    if unknown or missing:
        what = f"no column {missing[0]}" if missing else f"a column {unknown[0]!r}"
        raise ParameterError(f"{name} has {what}; known: {', '.join(_KNOWN)}")
    if "job" in data and len(data.columns) > 3:
        raise ParameterError(f"{name} is by job and by more; it is by job, or it holds shapes")
    if data.empty:
        raise WorkloadError(f"{name} has no points")
    return UtilityTable(name, _as_numbers(name, data))


def _as_numbers(name: str, data: pd.DataFrame) -> pd.DataFrame:
    """Return the table with numbers where these are due, and nothing left open."""
    for column in data.columns:
        values = data[column]
        if column != "shape":
            values = pd.to_numeric(values, errors="coerce")
        wrong = values.isna()
        if column in _NUMBERS:
            wrong |= values != values.round()
        if wrong.any():
            row = int(np.argmax(wrong))
            due = "a whole number" if column in _NUMBERS else "a number"
            raise WorkloadError(
                f"{name}, row {row + 1}: {column} is {data[column].iloc[row]!r}"
                + (f", not {due}" if column != "shape" else "")
            )
        if column != "shape":
            dtype = np.int64 if column in _NUMBERS else np.float64
            data = data.assign(**{column: values.astype(dtype)})
    return data


def _called(label: pd.Series) -> str:
    """Name a function by what it is for."""
    words = ", ".join(f"{name} {value}" for name, value in label.items())
    return f" of {words}" if words else ""
