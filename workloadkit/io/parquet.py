"""Parquet files with columns of jobs: what the log of this package and the side-car share."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.errors import FormatError
from workloadkit.record_fields import BY_NAME

if TYPE_CHECKING:
    import pandas as pd


#: Key of the metadata of a file that this package writes.
KEY = b"workloadkit"


def words_of(table: "pd.DataFrame") -> list[str]:
    """Return the columns of words that repeat, which are stored in dictionaries."""
    return [name for name, dtype in table.dtypes.items() if dtype == "category"]


def note_of(metadata: dict[bytes, bytes] | None, required: str) -> dict[str, Any] | None:
    """Return the metadata that this package writes; None without the required key."""
    note = json.loads((metadata or {}).get(KEY, b"null"))
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
            return column.astype(np.float64 if kind == "number" else np.int64)
        words = column.astype(object).where(column.notna(), "").map(str)
        return words.astype("category") if kind == "word" else words
    except (TypeError, ValueError, OverflowError):
        raise FormatError(name, "has the wrong type", field=str(column.name)) from None
