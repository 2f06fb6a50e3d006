"""Write a log as one table in CSV, and next to it a mapping that reads it again."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import FormatError, WorkloadWarning, plural
from workloadkit.fields import FIELDS, UNKNOWN
from workloadkit.io.csv_table.mapping import MARK, mapping_text, named
from workloadkit.io.files import text_chunks, write_text, writing
from workloadkit.io.sidecar import Companion, check_replaceable
from workloadkit.io.swf.writing import check_writable, header_text
from workloadkit.job_columns import NUMBERED, TIMES
from workloadkit.record_fields import BY_NAME
from workloadkit.trace import Trace, check_trace

# The columns of the table.
#
# First the fields of `workloadkit.fields`, then the columns of the side-car, each with its unit at
# the end: ``submit_s``, ``memory_kb``, ``energy_j``. Times are seconds of the log. A column of the
# side-car that only repeats a field is left out; another one with the name of a field is
# ``user_name`` if it has words, and ``recorded_memory_kb`` if it has numbers. Unknown is empty.
# Numbers are the shortest that read back equal.

_ROWS_AT_A_TIME = 1 << 16  # limits the memory for text


def mapping_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the mapping of a table.

    Examples
    --------
    >>> mapping_path("logs/site.csv.gz").name
    'site.csv.gz.toml'
    """
    return Path(f"{os.fspath(path)}.toml")


def _log_of(path: Path) -> str:
    """Return the mark of a mapping that this package wrote."""
    head = next(text_chunks(path), b"").decode(errors="replace")
    if not head.startswith(MARK):
        raise FormatError(os.fspath(path), "is not the mapping of a table")
    return MARK


MAPPING = Companion("the mapping", mapping_path, _log_of)


def write_csv_table(trace: Trace, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write a trace as a table in CSV with all its columns, whole or not at all.

    Next to it, in a file with the whole name plus ``.toml``, stands the mapping with which
    `workloadkit.io.tables.read_table` reads the jobs again; it has the header's lines as notes, and
    the size and nodes of the machine.

    Parameters
    ----------
    trace : Trace
    path : str or path
        ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.

    Returns
    -------
    tuple of Path
        The path of the mapping.

    Raises
    ------
    WorkloadError
        If a file cannot be written, the trace contains values that a log cannot hold, or the
        mapping would replace another file.

    Warns
    -----
    WorkloadWarning
        With the names of what the table or the mapping cannot hold.

    Examples
    --------
    >>> import tempfile
    >>> trace = Trace.from_columns({"submit": [0, 60], "run": [2.5, -1], "procs": [4, 1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [mapping] = write_csv_table(trace, f"{folder}/log.csv")
    ...     table = pd.read_csv(f"{folder}/log.csv")
    >>> table[["job", "submit_s", "run_s", "procs"]].to_numpy().tolist()
    [[1.0, 0.0, 2.5, 4.0], [2.0, 60.0, nan, 1.0]]
    """
    check_trace(trace)
    header_text(trace.header)  # checks the header
    check_replaceable(MAPPING, path)
    columns = columns_of(trace)
    text, lost = mapping_text(trace, columns, Path(path).name)
    for place, names in (("the CSV", _not_held(trace)), ("the mapping", lost)):
        if names:
            warn(f"{trace.name}: not in {place}: {', '.join(names)}", WorkloadWarning, stacklevel=2)
    mapping = mapping_path(path)
    with writing(path, companion=lambda: write_text(mapping, text)) as stream:
        stream.write((",".join(columns) + "\n").encode())
        for first in range(0, trace.n_jobs, _ROWS_AT_A_TIME):
            rows = slice(first, first + _ROWS_AT_A_TIME)
            part = pd.DataFrame({name: column[rows] for name, column in columns.items()})
            part = part.to_csv(header=False, index=False, lineterminator="\n")
            stream.write(part.encode(errors="replace"))
    return (mapping,)


def columns_of(trace: Trace) -> dict[str, Any]:
    """Return the columns of the table by name, each with its unit.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0], "user": [3]})
    >>> log = log.replaced(sidecar=pd.DataFrame({"user": ["ann"], "energy": [2.5]}))
    >>> [*columns_of(log)][-2:]
    ['user_name', 'energy_j']
    """
    columns: dict[str, Any] = {}
    for field in FIELDS:
        values = trace.column(field.name)
        check_writable(field, values)
        unknown = _is_unknown(values) & (field.name not in ("job", "submit"))  # always known
        columns[named(field.name, field.unit)] = _cells(values, unknown)
    columns |= dict(_further(trace))
    return columns


def _further(trace: Trace) -> Iterator[tuple[str, Any]]:
    """Yield the columns of the side-car."""
    if trace.sidecar is None:
        return
    second_0 = trace.header.start or 0
    of_log = {field.name for field in FIELDS}
    for name, column in trace.sidecar.items():
        name = str(name)
        field = BY_NAME.get(name)
        unit = field.unit if field else ""
        if column.dtype.kind in "biuf":
            values = column.to_numpy()
            if name in TIMES:
                values = values - second_0
            if name in of_log and _repeats(trace.column(name), values):
                continue
            place = f"recorded_{name}" if name in of_log else name
            yield named(place, unit), _cells(values, _is_unknown(values))
        else:
            words = column.astype(object).fillna("").astype(str)
            yield f"{name}_name" if name in NUMBERED else name, words.to_numpy()


def _repeats(of_log: NDArray, values: NDArray) -> bool:
    known = np.where(_is_unknown(values), np.nan, values)
    return np.array_equal(np.where(_is_unknown(of_log), np.nan, of_log), known, equal_nan=True)


def _is_unknown(values: NDArray) -> NDArray[np.bool_]:
    return np.isnan(values) if values.dtype.kind == "f" else values == UNKNOWN


def _cells(values: NDArray, unknown: NDArray[np.bool_]) -> Any:
    """Return a column whose unknown values are empty, of integers if all values are whole."""
    if values.dtype.kind == "f":
        known = values[~unknown]
        if not (known == np.trunc(known)).all() or (np.abs(known) >= 2**53).any():
            return values
        values = np.where(unknown, 0, values).astype(np.int64)
    if not unknown.any():
        return values
    return pd.arrays.IntegerArray(values.astype(np.int64), unknown)


def _not_held(trace: Trace) -> list[str]:
    """Return what a table cannot hold, by name."""
    names = []
    if trace.n_bursts:
        names.append(f"{plural(trace.n_bursts, 'burst')} of checkpointed jobs")
    if len(trace.table("utility")):
        names.append("utility functions")
    return names
