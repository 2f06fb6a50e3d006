"""Logs as Parquet files of this package, small and fast to read: ``.wkt.parquet``."""

import hashlib
import struct
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from workloadkit.checkpoints import burst_rows
from workloadkit.columns import Columns
from workloadkit.errors import FormatError, WorkloadError
from workloadkit.fields import FIELDS, NAMES, UNKNOWN, Field
from workloadkit.header import Header
from workloadkit.io.files import Source, log_name, source_path, text_chunks
from workloadkit.io.machine import from_dict
from workloadkit.io.sidecar import (
    check_types,
    frame_of,
    note_of,
    open_parquet,
    reading_parquet,
    rows_of,
    with_kinds,
)
from workloadkit.io.swf.writing import header_text
from workloadkit.io.wkt.writing import ASCENDING, LAYOUT, MAGIC, SIDECAR, seal, write_wkt
from workloadkit.trace import Trace
from workloadkit.utility import check

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["looks_like", "read_wkt", "write_wkt"]


_FOOTER = 8  # bytes after the metadata: their length, and the magic

# Row groups limit how much the files of this package shrink; a file of a few bytes that claims many
# jobs would exhaust the memory.
_MOST_JOBS_PER_BYTE = 1000

_INT64_MAX = 2**63 - 1


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
    try:
        header_text(trace.header)
        if "utility" in tables:
            check(trace)
        if "bursts" in tables:
            burst_rows(trace)
    except WorkloadError as error:
        raise FormatError(path, f"is not a log: {error}") from None
    return trace


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


def checked_note(path: str, parquet: Any, n_bytes: int) -> dict[str, Any]:
    """Return the metadata of this package in an open file of so many bytes."""
    note = note_of(path, parquet.metadata.metadata, "wkt")
    if note is None:
        raise FormatError(path, "is a Parquet file, but not a log that workloadkit has written")
    if note["wkt"] != LAYOUT:
        layout = note["wkt"][:60]
        raise FormatError(path, f"has layout {layout}; this version reads layout {LAYOUT}")
    lines = note.get("header")
    texts = [note.get("log_sha256"), note.get("seal"), *(lines if isinstance(lines, list) else [0])]
    if not all(isinstance(text, str) for text in texts):
        raise FormatError(path, "has incomplete metadata")
    n_jobs = parquet.metadata.num_rows
    if n_jobs == 0:
        raise FormatError(path, "contains no jobs")
    if n_jobs > _MOST_JOBS_PER_BYTE * n_bytes:
        raise FormatError(path, f"claims {n_jobs:,} jobs in {n_bytes:,} bytes")
    return note


def _rows(data: bytes) -> memoryview:
    """Return what stands before the metadata of a file."""
    return memoryview(data)[: -n_bytes_behind(data)]


def n_bytes_behind(end: bytes) -> int:
    """Return the length of what stands behind the rows of a file, from its last bytes."""
    (length,) = struct.unpack("<I", end[-_FOOTER : -_FOOTER + 4])
    return int(length) + _FOOTER


def jobs_of(path: str, arrow: Any, names: Collection[str] = NAMES) -> Columns:
    """Return the job table. Columns of a type share an array: a large one is provided sooner."""
    fields = [field for field in FIELDS if field.name in names]
    n_of = Counter(field.dtype for field in fields)
    room = {kind: iter(np.empty((n, arrow.num_rows), kind)) for kind, n in n_of.items()}
    jobs = Columns()
    for field in fields:
        jobs[field.name] = column = next(room[field.dtype])
        if field.name in arrow.column_names:
            column[:] = _values(path, field, arrow[field.name])
        elif field.name in ASCENDING:
            raise FormatError(path, "is missing", field=field.name)
        else:
            column.fill(np.nan if field.measured else UNKNOWN)
    return jobs


def _values(path: str, field: Field, column: Any) -> NDArray:
    """Return stored values, null as unknown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    is_float = pa.types.is_float32(kind) or pa.types.is_float64(kind)
    if not (pa.types.is_integer(kind) or (field.measured and is_float)):
        raise FormatError(path, f"has the type {str(kind)[:60]}", field=field.name)
    if not field.measured:
        most = pc.max(column).as_py()
        if most is not None and most > _INT64_MAX:
            raise FormatError(path, f"{most} is out of range", field=field.name)
        if pa.types.is_unsigned_integer(kind):
            column = column.cast(pa.int64())
        known = pc.fill_null(column, UNKNOWN) if column.null_count else column
        return known.to_numpy()
    values: NDArray = column.to_numpy(zero_copy_only=False)
    if column.type != pa.int32() or field.limit < 2**31:
        least, most = pc.min_max(column).as_py().values()
        if least is not None and not (-field.limit <= least <= most <= field.limit):
            values = values.astype(np.float64)
            _refuse(path, field, values, ~(np.abs(values) <= field.limit))
    if field.name == "submit":
        if np.isnan(values).any():
            _refuse(path, field, values, np.isnan(values))
    elif (values == UNKNOWN).any():
        values = np.where(values == UNKNOWN, np.nan, values)
    return values


def _refuse(path: str, field: Field, values: NDArray, wrong: NDArray[np.bool_]) -> NoReturn:
    row = int(np.argmax(wrong))
    raise FormatError(path, f"{values[row]:g} in row {row} is out of range", field=field.name)


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
        {f.name: _values(path, f, items.field(f.name))[order].astype(f.dtype) for f in FIELDS}
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
