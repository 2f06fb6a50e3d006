"""Parquet files with columns of jobs: what the log of this package and the side-car share."""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.errors import FormatError
from workloadkit.io.strict_json import read_json
from workloadkit.record_fields import BY_NAME

if TYPE_CHECKING:
    import pandas as pd


#: Key of the metadata of a file that this package writes.
KEY = b"workloadkit"


def words_of(table: "pd.DataFrame") -> list[str]:
    """Return the columns of words that repeat, which are stored in dictionaries."""
    return [name for name, dtype in table.dtypes.items() if dtype == "category"]


def note_of(name: str, metadata: dict[bytes, bytes] | None, required: str) -> dict[str, Any] | None:
    """Return the metadata that this package writes; None without the required key."""
    note = read_json((metadata or {}).get(KEY, b"null"), name)
    return note if isinstance(note, dict) and isinstance(note.get(required), str) else None


def reading_parquet(name: str, read: Callable[[], Any]) -> Any:
    """Return the result of a function that reads a Parquet file.

    Raises
    ------
    FormatError
        If the file cannot be read.
    """
    import pyarrow as pa

    try:
        return read()
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "it is not a Parquet file, or is corrupt"
        raise FormatError(name, f"cannot be read: {reason}") from error


def table_in(data: bytes, name: str) -> Any:
    """Return the Arrow table in the bytes of a Parquet file, all of it checked.

    Raises
    ------
    FormatError
        With the name of the file.
    """
    return reading_parquet(name, lambda: rows_of(open_parquet(io.BytesIO(data))))


# Arrow's threads may abort a process that ends soon after they have read, so all is read in ours.
def open_parquet(source: Any) -> Any:
    """Open a Parquet file."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(source, pre_buffer=False)


def rows_of(parquet: Any) -> Any:
    """Return the Arrow table in an open file, all of it checked: texts are valid UTF-8, too."""
    table = parquet.read(use_threads=False)
    table.validate(full=True)
    return table


def frame_of(table: Any) -> "pd.DataFrame":
    """Return the columns of an Arrow table for pandas."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, use_threads=False)
    return frame


def check_types(name: str, arrow: Any) -> None:
    """Check that columns hold numbers, words or times.

    Raises
    ------
    FormatError
    """
    for column in arrow.schema:
        if not _is_plain(column.type):
            kind = str(column.type)[:60]
            raise FormatError(name, f"has the type {kind}, which is not read", field=column.name)


def _is_plain(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return types.is_string(kind.value_type) or types.is_large_string(kind.value_type)
    checks = (types.is_integer, types.is_float32, types.is_float64, types.is_boolean)
    others = (types.is_string, types.is_large_string, types.is_null, types.is_temporal)
    return any(check(kind) for check in (*checks, *others))


def with_kinds(name: str, table: "pd.DataFrame") -> "pd.DataFrame":
    """Convert the columns that `workloadkit.record_fields` defines to their types.

    Raises
    ------
    FormatError
        If a column cannot be converted.
    """
    for field in table:
        if field in BY_NAME:
            table[field] = _as_kind(name, table[field], BY_NAME[field].kind)
    return table


def _as_kind(name: str, column: "pd.Series", kind: str) -> "pd.Series":
    try:
        if kind in ("number", "whole"):
            values = column.astype(np.float64 if kind == "number" else np.int64)
            if np.isinf(values).any() or (kind == "whole" and (values != column).any()):
                raise ValueError(kind)
            return values
        words = column.astype(object).where(column.notna(), "").map(str)
        return words.astype("category") if kind == "word" else words
    except (TypeError, ValueError, OverflowError):
        raise FormatError(name, "has the wrong type", field=str(column.name)) from None
