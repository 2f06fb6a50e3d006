"""Logs as Parquet files of this package, small and fast to read: ``.wkt.parquet``."""

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.checkpoints import burst_rows
from workloadkit.columns import Columns
from workloadkit.errors import FormatError, ParameterError, WorkloadError
from workloadkit.fields import FIELDS
from workloadkit.header import Header
from workloadkit.io.files import Source, file_size, log_name, source_path, text_chunks
from workloadkit.io.machine import from_dict
from workloadkit.io.sidecar import (
    check_types,
    frame_of,
    open_parquet,
    reading_parquet,
    rows_of,
    with_kinds,
)
from workloadkit.io.swf.writing import header_text
from workloadkit.io.wkt.columns import checked_note, jobs_of, n_bytes_behind, values_of
from workloadkit.io.wkt.opened import open_log
from workloadkit.io.wkt.writing import MAGIC, SIDECAR, seal, write_wkt
from workloadkit.memory import is_long
from workloadkit.trace import Trace
from workloadkit.utility import check

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["looks_like", "read_wkt", "write_wkt"]


def read_wkt(source: Source) -> Trace:
    """Read a log that was written as ``.wkt.parquet``.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. It may be compressed.

    Returns
    -------
    Trace
        As it was written, with its side-car. Its digest is that of the text from which the log was
        read before it was written, or else that of the file.

    Raises
    ------
    FormatError
        If the file is missing, is not such a log, or has been changed to one that no log can be.

    Examples
    --------
    >>> import io
    >>> read_wkt(io.BytesIO(b"PAR1 and something else"))
    Traceback (most recent call last):
        ...
    workloadkit.errors.FormatError: <stream>: cannot be read: it is not a Parquet file, or is \
corrupt
    """
    path = source_path(source)
    if isinstance(source, str | os.PathLike) and (long := _long_log(path)) is not None:
        check_read(long, path)
        return long
    data = b"".join(text_chunks(source, binary=True))
    arrow, note = reading_parquet(path, lambda: _table(path, data))
    lines, digest = tuple(note["header"]), note["log_sha256"]
    if not digest or note["seal"] != seal(_rows(data), lines, digest):
        digest = hashlib.sha256(data).hexdigest()
    jobs = jobs_of(path, arrow)
    if (np.diff(jobs["submit"]) < 0).any():
        raise FormatError(path, "is not in order", field="submit")
    tables: dict[str, Any] = {
        name: read(path, arrow)
        for name, read in (("bursts", _bursts), ("utility", _utility))
        if name in arrow.column_names
    }
    trace = Trace(
        jobs,
        Header(lines),
        name=log_name(path),
        digest=digest,
        sidecar=_sidecar(path, arrow),
        machine=from_dict(note["machine"], path) if "machine" in note else None,
        **tables,
    )
    check_read(trace, path)
    return trace


def _long_log(path: str) -> Trace | None:
    """Return a log that would take too much memory, read in chunks; None for others.

    Those with lists or a side-car are read at once, and so are compressed ones.
    """
    if not is_long(file_size(path)):  # a job takes at least a byte
        return None
    with suppress(FormatError, ParameterError):  # what cannot be opened is reported by the reader
        log = open_log(path)
        if is_long(log.n_jobs) and not log.further:
            return log.read()
    return None


def check_read(trace: Trace, path: str) -> None:
    """Check that a log could have been written."""
    try:
        header_text(trace.header)
        if len(trace.table("utility")):
            check(trace)
        if trace.n_bursts:
            burst_rows(trace)
    except WorkloadError as error:
        raise FormatError(path, f"is not a log: {error}") from None


def looks_like(lines: list[str]) -> bool:
    """Whether the first lines of a file are those of a Parquet file."""
    return bool(lines) and lines[0].startswith(MAGIC.decode())


def _table(path: str, data: bytes) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a file and the metadata of this package."""
    import pyarrow as pa

    parquet = open_parquet(pa.BufferReader(data))
    note = checked_note(path, parquet, len(data))
    arrow = rows_of(parquet)
    if len(set(arrow.column_names)) < len(arrow.column_names):
        raise FormatError(path, "has two columns of one name")
    return arrow, note


def _rows(data: bytes) -> memoryview:
    """Return what stands before the metadata of a file."""
    return memoryview(data)[: -n_bytes_behind(data)]


def _lists(path: str, arrow: Any, name: str, parts: set[str]) -> tuple[NDArray[np.int64], Any]:
    """Return the jobs' rows of the items of a column of lists, and the items."""
    import pyarrow as pa

    column = arrow[name].combine_chunks()
    kind = column.type
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type):
        raise FormatError(path, f"has the type {str(kind)[:60]}", field=name)
    items = column.flatten()
    found = {part.name for part in items.type}
    numeric = all(
        pa.types.is_integer(part.type) or pa.types.is_floating(part.type) for part in items.type
    )
    if found != parts or items.null_count or not numeric:
        raise FormatError(
            path, f"its lists do not consist of numbers {', '.join(sorted(parts))}", field=name
        )
    lengths = column.value_lengths().fill_null(0).to_numpy()
    return np.repeat(np.arange(len(column)), lengths), items


def _bursts(path: str, arrow: Any) -> Columns:
    """Return the table of bursts, in their order."""
    names = [field.name for field in FIELDS]
    _, items = _lists(path, arrow, "bursts", {*names, "place"})
    order = np.argsort(items.field("place").to_numpy(zero_copy_only=False), kind="stable")
    return Columns(
        {f.name: values_of(path, f, items.field(f.name))[order].astype(f.dtype) for f in FIELDS}
    )


def _utility(path: str, arrow: Any) -> Columns:
    """Return the points of the utility functions."""
    rows, items = _lists(path, arrow, "utility", {"time", "value"})
    points = {name: items.field(name).to_numpy(zero_copy_only=False) for name in ("time", "value")}
    return Columns(row=rows, **{name: p.astype(np.float64) for name, p in points.items()})


def _sidecar(path: str, arrow: Any) -> "pd.DataFrame | None":
    """Return the side-car; None if the log has none."""
    names = [name for name in arrow.column_names if name.startswith(SIDECAR)]
    if not names:
        return None
    if SIDECAR + "job" in names:
        raise FormatError(path, "a side-car has no such column", field=SIDECAR + "job")
    chosen = arrow.select(names)
    check_types(path, chosen)
    table = reading_parquet(path, lambda: frame_of(chosen))
    table.columns = table.columns.str.removeprefix(SIDECAR)
    return with_kinds(path, table)
