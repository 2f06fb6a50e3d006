"""Rows of text that the engine left out: why, and where."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from workloadkit.io.files import text_chunks
from workloadkit.io.records import FILE_AT, Records
from workloadkit.io.tables.declared import Table
from workloadkit.io.tables.parts import Part
from workloadkit.io.tables.rows import count_rows, lines_before, read_together

_KINDS = {
    "MISSING COLUMNS": "too few columns",
    "TOO MANY COLUMNS": "too many columns",
    "UNQUOTED VALUE": "a quote that is never closed",
    "INVALID ENCODING": "not text in {encoding} (encoding, in [source])",
    "LINE SIZE OVER MAXIMUM": "a line of more than 2 MB",
}
_HIDING = "UNQUOTED VALUE"  # one such row may contain all that follow it


def count_rejects(con: Any, table: Table, parts: Sequence[Part], records: Records) -> None:
    """Count the rows of the parts that were left out, by reason; let the records know the lines."""
    in_own_part = records.line_of = _in_own_part(con, table, parts)
    if not any(part.format == "csv" for part in parts):
        return
    number = {part.path: i for i, part in enumerate(parts)}
    found = con.execute(
        """SELECT file_path, line, min(error_type) FROM reject_errors
           JOIN reject_scans USING (scan_id, file_id) GROUP BY ALL"""
    ).fetchall()
    rejects = sorted((number[p] * FILE_AT + line, kind) for p, line, kind in found if p in number)
    # the engine numbers neither rows that it leaves out nor blank lines
    places = [place for place, _ in rejects]
    blank = cache(lambda part: _blank_lines(parts[part], part))  # only if a row is odd

    def line_of(place: int) -> int:
        place = in_own_part(place)
        return _line_of(sorted([*places, *blank(place // FILE_AT)]), place)

    records.line_of = line_of
    for place, kind in rejects:
        records.reject(_KINDS.get(kind, kind.lower()).format(encoding=table.encoding), place)
        hidden = _lines(parts[place // FILE_AT].path) - place % FILE_AT if kind == _HIDING else 0
        if hidden > 0:
            records.reject("lines after a quote that is never closed", place + 1, hidden)


def _in_own_part(con: Any, table: Table, parts: Sequence[Part]) -> Callable[[int], int]:
    """Return what gives the place in its part of a row numbered among those of several parts."""
    groups = dict(read_together(parts))
    rows_of = cache(lambda first: count_rows(con, table, groups[first]))  # only if a row is odd

    def place_of(place: int) -> int:
        first, row = divmod(place, FILE_AT)
        group = groups.get(first, ())
        if len(group) < 2 or group[0].format == "parquet":
            return place
        before, number = lines_before(group[0], table), 0
        while number < len(group) - 1 and row - before > rows_of(first)[number]:
            row -= rows_of(first)[number]
            number += 1
        return (first + number) * FILE_AT + row

    return place_of


def _line_of(rejects: Sequence[int], place: int) -> int:
    """Return the place of a row, given those of the rows that were left out, in order."""
    for reject in rejects:
        if reject <= place and reject // FILE_AT == place // FILE_AT:
            place += 1
    return place


def _blank_lines(part: Part, number: int) -> list[int]:
    """Return the places of the blank lines of a part: it has more columns, so none is a row."""
    if part.format != "csv" or len(part.columns) == 1:
        return []
    places, line, begun = [], 1, False  # whether the line has text
    for chunk in text_chunks(part.path, size=1 << 20, binary=True):
        for text in chunk.splitlines(keepends=True):
            begun = begun or bool(text.strip(b"\r\n"))
            if text.endswith(b"\n"):
                places += [] if begun else [number * FILE_AT + line]
                line, begun = line + 1, False
    return places


def _lines(path: str) -> int:
    """Return the number of lines of a file."""
    n_lines, last = 0, b""
    for chunk in text_chunks(path, size=1 << 20, binary=True):
        n_lines += chunk.count(b"\n")
        last = chunk[-1:]
    return n_lines + (last not in (b"\n", b""))
