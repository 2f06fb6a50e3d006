"""The first rows of a table: its delimiter, columns and values."""

import csv
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from workloadkit.errors import FormatError, WorkloadError
from workloadkit.io.files import text_chunks
from workloadkit.io.strict_json import read_json_file
from workloadkit.io.tables.guess.columns import Column, column_of
from workloadkit.io.tables.guess.parts_of_values import expanded
from workloadkit.io.tables.mapping import Source, TableMapping
from workloadkit.io.tables.parts import Part, parts_of

#: Rows that are looked at.
ROWS = 5000

_NONE = "\x1f"  # a delimiter that no text has
_DELIMITERS = (",", ";", "\t", "|")
_LARGEST = 1 << 28  # of a JSON document [bytes]
_SEEN = 1 << 23  # of a text [bytes]


@dataclass(frozen=True)
class Sample:
    """The first rows of a table.

    Parameters
    ----------
    name : str
        Of the first file.
    delimiter : str
        Of CSV; empty for other formats.
    records : str
        Path to the records of a JSON document.
    columns : tuple of Column
    n_rows : int
    names : tuple of str
        Names by position, of a text without a line of names.
    """

    name: str
    delimiter: str
    records: str
    columns: tuple[Column, ...]
    n_rows: int
    names: tuple[str, ...] = ()


def read_sample(files: Sequence[str]) -> Sample:
    """Read the first rows of a table.

    Raises
    ------
    FormatError
        If there is no table with named columns.
    """
    try:
        return _sample(files)
    except (csv.Error, ValueError, OverflowError) as error:  # as of dates after the year 9999
        raise FormatError(files[0], f"cannot be read as a table: {error}") from None


def _sample(files: Sequence[str]) -> Sample:
    with tempfile.TemporaryDirectory(prefix="workloadkit-") as folder:
        part = _first_part(files, Source(delimiter=_NONE), Path(folder))
        delimiter, records = "", ""
        by_position: tuple[str, ...] = ()
        if part.format == "csv":
            delimiter = _delimiter(part)
            rows: list[list[Any]] = list(islice(_csv_rows(part, delimiter), ROWS + 1))
            if has_names(rows[:1], rows[1:]):
                source, rows = Source(delimiter=delimiter), rows[1:]
            else:
                by_position = tuple(f"column{i + 1}" for i in range(len(rows[0])))
                source = Source(delimiter=delimiter, names=by_position)
            names = list(_first_part(files, source, Path(folder)).columns)
            rows = [row for row in rows if len(row) == len(names)]
        elif part.format == "json":
            records, found = _json_rows(part)
            names = list(dict.fromkeys(key for record in found for key in record))
            rows = [[record.get(name) for name in names] for record in found]
        else:
            names, rows = _parquet_rows(part)
        cells = zip(*rows, strict=True) if rows else ([] for _ in names)
        within = (expanded(*each) for each in zip(names, map(list, cells), strict=True))
        columns = tuple(chain.from_iterable(within))
        return Sample(part.name, delimiter, records, columns, len(rows), by_position)


def _first_part(files: Sequence[str], source: Source, folder: Path) -> Part:
    return parts_of(files, TableMapping("", "", {}, source=source), folder)[0][0]


def has_names(first: Sequence[list[str]], others: Sequence[list[str]]) -> bool:
    """Whether the first row of a text has names: no number or time above numbers or times.

    Examples
    --------
    >>> has_names([["id", "2024"]], [["7", "x"]]), has_names([["7", "x"]], [["8", "y"]])
    (True, False)
    """
    values = ("number", "time", "clock")
    return not any(
        column_of("", [cell]).kind in values and column_of("", [*below]).kind in values
        for row in first
        for cell, *below in zip(row, *(r for r in others if len(r) == len(row)), strict=True)
    )


def _lines(part: Part) -> Iterator[str]:
    """Yield the first whole lines of a text."""
    text = b""
    for chunk in text_chunks(part.path, size=1 << 20, binary=True):
        text += chunk
        if len(text) > _SEEN:
            text = text[: text.rfind(b"\n") + 1]
            break
    yield from text.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()


def _delimiter(part: Part) -> str:
    """Return the delimiter that gives the most columns in the first lines."""
    head = list(islice(_lines(part), 20))

    def columns(delimiter: str) -> int:
        counts = {len(row) for row in csv.reader(head, delimiter=delimiter)}
        return counts.pop() if len(counts) == 1 else 0

    return max(_DELIMITERS, key=lambda d: (columns(d), head[0].count(d) if head else 0))


def _csv_rows(part: Part, delimiter: str) -> Iterator[list[str]]:
    return (row for row in csv.reader(_lines(part), delimiter=delimiter) if row)


def _json_rows(part: Part) -> tuple[str, list[dict[str, Any]]]:
    """Return the path to the records of a JSON file, and the first records."""
    if part.is_lines:
        try:
            lines = [json.loads(line) for line in islice(_lines(part), ROWS) if line.strip()]
        except (ValueError, RecursionError):
            lines = []
        if lines and all(isinstance(line, dict) for line in lines):
            path, found = _records(lines[0], "") if len(lines) == 1 else ("", [])
            return (path, found) if found else ("", lines)
    path, found = _records(read_json_file(part.path, most=_LARGEST), "")
    if not found:
        raise FormatError(part.name, "contains no list of records")
    return path, found[:ROWS]


def _records(value: Any, path: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the path to the first list of records, and the records."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return path, value
    for key, inner in value.items() if isinstance(value, dict) and path.count(".") < 2 else ():
        below, found = _records(inner, f"{path}.{key}".strip("."))
        if found:
            return below, found
    return "", []


def _parquet_rows(part: Part) -> tuple[list[str], list[list[Any]]]:
    import pyarrow as pa

    from workloadkit.io.sidecar import open_parquet, reading_parquet

    def head() -> Any:
        batches = open_parquet(part.path).iter_batches(batch_size=ROWS)
        return next(batches, None)

    batch = reading_parquet(part.name, head)
    if batch is None:
        raise WorkloadError(f"{part.name}: has no rows")
    columns = []
    for column in batch.columns:
        if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
            unit = pa.timestamp("us", column.type.tz) if pa.types.is_timestamp(column.type) else (
                pa.duration("us"))  # fmt: skip
            column = column.cast(unit, safe=False)
        columns.append(column.to_pylist())
    return list(batch.schema.names), [list(row) for row in zip(*columns, strict=True)]
