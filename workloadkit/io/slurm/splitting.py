"""Split the bytes of an export of `sacct` into lines and fields, with quotes or odd text."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from workloadkit.io.lines import Lines
from workloadkit.io.records import Records
from workloadkit.io.slurm.columns import ExportColumns, fits, goes_on, is_free, may_contain


class Row(NamedTuple):
    """A row that was split on its own: its cells and its first line."""

    cells: list[str]
    place: int


# Exports of `sacct` in columns of fixed width: the line of dashes shows where they are.


_DASHES = re.compile(rb"-+(?: +-+)*+ *+")

# Cells that are used although their end is cut; the rest of a list would be lost.
_KEPT = frozenset(
    ("jobid", "jobidraw", "state", "user", "group", "account", "cluster", "partition", "qos")
)

_CUT = "text cut at the width of its column (+)"
_SHIFTED = "wider than the columns"


class FixedColumns(ExportColumns):
    """ExportColumns of fixed width.

    Parameters
    ----------
    line : str
        The names of the columns.
    dashes : bytes
        The line below it.

    Attributes
    ----------
    spans : list of slice
        The bytes of each column in a line.
    """

    def __init__(self, line: str, dashes: bytes) -> None:
        self.spans = [slice(*match.span()) for match in re.finditer(rb"-+", dashes)]
        text = line.encode()
        titles = (text[span].decode(errors="replace").strip() for span in self.spans)
        super().__init__("|".join(titles), "|")
        self.line = line  # to recognize it, if files are joined


def are_dashes(line: bytes) -> bool:
    """Return whether a line consists of the dashes below the names of columns.

    Examples
    --------
    >>> are_dashes(b"------------ ---------- "), are_dashes(b"-- a")
    (True, False)
    """
    return _DASHES.fullmatch(line.rstrip(b"\r")) is not None


def with_widths(columns: ExportColumns, lines: Lines, at: int) -> ExportColumns:
    """Return columns of fixed width, if dashes follow the line of their names."""
    below = lines.data[lines.begin[at + 1] : lines.end[at + 1]] if at + 1 < lines.n_lines else b""
    return FixedColumns(columns.line, below) if are_dashes(below) else columns


def fixed_rows(lines: Lines, first: int, columns: FixedColumns, records: Records) -> list[Row]:
    """Split lines, the first one at a place; count those that do not fit, and cut text.

    Blank lines and those of dashes are no rows.
    """
    found = []
    for place, (begin, end) in enumerate(zip(lines.begin, lines.end, strict=True), first):
        line = lines.data[begin:end]
        if not line.strip() or are_dashes(line):
            continue
        records.rows += 1
        parts = _cells(line.rstrip(b"\r"), columns)
        if parts is None:
            records.leave_out(_SHIFTED, place)
            continue
        cut = [len(part) == _width(span) and part.endswith(b"+") for part, span in parts]
        cells = [_decoded(part) for part, _ in parts]
        if any(cut):
            records.note(_CUT, place)
            for i, name in enumerate(columns.names):
                if cut[i] and name not in _KEPT and not is_free(name):
                    cells[i] = ""
        found.append(Row(cells, place))
    return found


def _cells(line: bytes, columns: FixedColumns) -> list[tuple[bytes, slice]] | None:
    """Return the cells of a line and their columns; None if they are not below the names."""
    between = [line[span.stop : span.stop + 1] for span in columns.spans]
    if all(char in (b" ", b"") for char in between):
        return [(line[span].strip(), span) for span in columns.spans]
    words = line.split()  # a number that is too wide moves all others
    if len(words) != len(columns.spans):
        return None
    return list(zip(words, columns.spans, strict=True))


def _width(span: slice) -> int:
    return int(span.stop - span.start)


def _decoded(text: bytes) -> str:
    """Decode a cell; a character may be cut at its end."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


# Split the bytes of an export of `sacct` into lines and fields, with quotes or odd text.


_MOST_SURPLUS = 1000  # fields that are joined
_MOST_READINGS = 100


@lru_cache
def _quoted_cell(delimiter: str) -> re.Pattern[str]:
    """Return a pattern of a quoted cell, whole or up to the end of the text."""
    return re.compile(rf'"((?:[^"]|"")*+)(?:"(?={re.escape(delimiter)}|\Z)|(\Z))')


@lru_cache
def _csv(delimiter: bytes) -> re.Pattern[bytes]:
    """Return a pattern of as many whole cells as RFC 4180 allows, and of an open one at the end."""
    mark = re.escape(delimiter)
    closed, plain = rb'"(?:[^"]|"")*+"', rb'[^"\n' + mark + rb"]*+"
    return re.compile(
        rb"(?:(?:" + closed + rb"|" + plain + rb")(?:" + mark + rb"|\n))*+"
        rb'(?:"(?:[^"]|"")*+\Z)?+'
    )


def has_bare_quotes(text: bytes, delimiter: str) -> bool:
    r"""Return whether lines contain quotes as no writer of CSV files writes them.

    A quote is the first character of a cell, the last one, or doubled between them (RFC 4180);
    `sacct` writes them as they are.

    Examples
    --------
    >>> has_bare_quotes(b'7|5" disk\n', "|"), has_bare_quotes(b'7|"5"" disk"\n', "|")
    (True, False)
    """
    begin = text.rfind(b"\n", 0, text.index(b'"')) + 1
    match = _csv(delimiter.encode()).match(text, begin)
    return match is not None and b'"' in text[match.end() :]


def split_quoted(text: str, delimiter: str, *, always: bool) -> tuple[list[str], bool]:
    r"""Split a row at its delimiters, except in cells in quotes (RFC 4180).

    Parameters
    ----------
    text : str
    delimiter : str
    always : bool
        Whether all cells that begin and end with a quote are quoted. Else only those in which a
        delimiter, a quote (as two) or a line end makes quotes necessary; the others contain them.

    Returns
    -------
    cells : list of str
    open : bool
        Whether the last cell is quoted and does not end.

    Examples
    --------
    >>> split_quoted('7,"a, ""b"" c",d', ",", always=True)
    (['7', 'a, "b" c', 'd'], False)
    >>> split_quoted('7|"a"|"b|c"|say "hi"|"d', "|", always=False)
    (['7', '"a"', 'b|c', 'say "hi"', '"d'], True)
    """
    cells: list[str] = []
    at = 0
    while True:
        match = _quoted_cell(delimiter).match(text, at) if text.startswith('"', at) else None
        if match is not None and match[2] is not None:
            return [*cells, text[at:]], True
        if match is not None and (always or _needs_quotes(match[1], delimiter)):
            cells.append(match[1].replace('""', '"'))
            end = match.end()
        else:
            end = text.find(delimiter, at)
            end = len(text) if end < 0 else end
            cells.append(text[at:end])
        if end == len(text):
            return cells, False
        at = end + len(delimiter)


def _needs_quotes(inside: str, delimiter: str) -> bool:
    return delimiter in inside or '"' in inside or "\n" in inside


def put_together(cells: Sequence[str], names: Sequence[str], delimiter: str) -> list[str] | None:
    """Join surplus cells of a row in columns that may contain the delimiter.

    The result must be unambiguous: each cell may be one of its column, and all columns but free
    text are the same in each way to join the cells.

    Examples
    --------
    >>> names = ["jobid", "alloctres", "jobname", "state"]
    >>> put_together("7,cpu=4,node=1,a,b,COMPLETED".split(","), names, ",")
    ['7', 'cpu=4,node=1', 'a,b', 'COMPLETED']
    """
    if len(cells) - len(names) > _MOST_SURPLUS:
        return None
    found: list[str] | None = None
    for n_found, row in enumerate(_readings(cells, names, delimiter)):
        if found is None:
            found = row
        differs = any(
            one != other
            for one, other, name in zip(found, row, names, strict=True)
            if not is_free(name)
        )
        if differs or n_found == _MOST_READINGS:
            return None
    return found


def _readings(cells: Sequence[str], names: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the ways to join the cells of a row, those with text in the last column first."""
    dead: set[tuple[int, int]] = set()  # columns and cells from which no row ends

    def from_here(column: int, at: int) -> Iterator[list[str]]:
        if column == len(names):
            if at == len(cells):
                yield []
            return
        name, surplus = names[column], len(cells) - at - (len(names) - column)
        next_name = names[column + 1] if column + 1 < len(names) else ""
        ended = False
        for more in range(surplus + 1) if may_contain(name, delimiter) else (0,):
            after = at + more + 1
            if (column + 1, after) in dead:
                continue
            text = delimiter.join(cells[at:after])
            if not fits(name, text):
                continue
            if (
                delimiter == ","
                and after < len(cells)
                and (
                    goes_on(name, cells[after], next_name)
                    or goes_on(next_name, cells[after - 1], name)
                )
            ):
                continue
            for rest in from_here(column + 1, after):
                ended = True
                yield [text, *rest]
        if not ended:
            dead.add((column, at))

    yield from from_here(0, 0)


# The bytes of an export of `sacct`.


def without_returns(text: bytes) -> bytes:
    """Return lines without the carriage return before each line feed, if each has at most one."""
    if b"\r" not in text or b"\r\r" in text:
        return text
    return text.replace(b"\r\n", b"\n")


def lines_with(word: bytes, lines: Lines, start: int) -> Iterator[int]:
    """Yield the lines from one on that contain a word."""
    at = 0 if start == 0 else lines.begin[start] if start < lines.n_lines else len(lines.data)
    while (at := lines.data.find(word, at)) >= 0:
        line = int(np.searchsorted(lines.end, at))
        yield line
        at = int(lines.end[line])
