"""The columns of a log in a Parquet file, and the metadata of this package."""

import struct
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from workloadkit.columns import Columns
from workloadkit.errors import FormatError
from workloadkit.fields import FIELDS, NAMES, UNKNOWN, Field
from workloadkit.io.sidecar import note_of
from workloadkit.io.wkt.writing import ASCENDING, LAYOUT
from workloadkit.memory import room_for

_FOOTER = 8  # bytes after the metadata: their length, and the magic

# Row groups limit how much the files of this package shrink; a file of a few bytes that claims many
# jobs would exhaust the memory.
_MOST_JOBS_PER_BYTE = 1000

_INT64_MAX = 2**63 - 1


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


def n_bytes_behind(end: bytes) -> int:
    """Return the length of what stands behind the rows of a file, from its last bytes."""
    (length,) = struct.unpack("<I", end[-_FOOTER : -_FOOTER + 4])
    return int(length) + _FOOTER


def jobs_of(path: str, arrow: Any, names: Collection[str] = NAMES) -> Columns:
    """Return the job table."""
    fields = [field for field in FIELDS if field.name in names]
    jobs = Columns(room_for({field.name: field.dtype for field in fields}, arrow.num_rows))
    for field in fields:
        column = jobs[field.name]
        if field.name in arrow.column_names:
            column[:] = values_of(path, field, arrow[field.name])
        elif field.name in ASCENDING:
            raise FormatError(path, "is missing", field=field.name)
        else:
            column.fill(np.nan if field.measured else UNKNOWN)
    return jobs


def values_of(path: str, field: Field, column: Any) -> NDArray:
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
