"""Rows of text that the engine left out: why, and where."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from workloadkit.io.files import text_chunks
from workloadkit.io.records import FILE_AT, Records
from workloadkit.io.tables.parts import Part

_KINDS = {
    "MISSING COLUMNS": "too few columns",
    "TOO MANY COLUMNS": "too many columns",
    "UNQUOTED VALUE": "a quote that is never closed",
    "INVALID ENCODING": "not text in the encoding of the table",
    "LINE SIZE OVER MAXIMUM": "a line of more than 2 MB",
}
_HIDING = "UNQUOTED VALUE"  # one such row may contain all that follow it


def count_rejects(con: Any, parts: Sequence[Part], records: Records) -> None:
    """Count the rows of the parts that were left out, by reason."""
    if not any(part.format == "csv" for part in parts):
        return
    number = {part.path: i for i, part in enumerate(parts)}
    found = con.execute(
        """SELECT file_path, line, min(error_type) FROM reject_errors
           JOIN reject_scans USING (scan_id, file_id) GROUP BY ALL"""
    ).fetchall()
    rejects = sorted((number[p] * FILE_AT + line, kind) for p, line, kind in found if p in number)
    # the engine does not number rows that it leaves out
    places = [place for place, _ in rejects]
    records.line_of = partial(_line_of, places)
    for place, kind in rejects:
        records.reject(_KINDS.get(kind, kind.lower()), place)
        hidden = _lines(parts[place // FILE_AT].path) - place % FILE_AT if kind == _HIDING else 0
        if hidden > 0:
            records.reject("lines after a quote that is never closed", place + 1, hidden)


def _line_of(rejects: Sequence[int], place: int) -> int:
    """Return the place of a row, given those of the rows that were left out, in order."""
    for reject in rejects:
        if reject <= place and reject // FILE_AT == place // FILE_AT:
            place += 1
    return place


def _lines(path: str) -> int:
    """Return the number of lines of a file."""
    n_lines, last = 0, b""
    for chunk in text_chunks(path, size=1 << 20, binary=True):
        n_lines += chunk.count(b"\n")
        last = chunk[-1:]
    return n_lines + (last not in (b"\n", b""))
