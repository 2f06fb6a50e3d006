"""Rows of an export of `sacct`: split at the delimiter, and repaired where text contains it."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import FormatError
from workloadkit.io.cells import Cells, Lines
from workloadkit.io.lines import Block
from workloadkit.io.records import Records
from workloadkit.io.slurm.columns import EXPORT, Columns, checked_columns, columns_at
from workloadkit.io.slurm.patterns import fits
from workloadkit.io.slurm.splitting import put_together, split_quoted
from workloadkit.io.slurm.values import is_id

#: Maximum number of lines of a row, and before the names of columns.
_MOST_LINES = 50

_WRONG_COUNT = "wrong number of fields"
_STRAY = "lines before the names of the columns"
_DELIMITER_IN_TEXT = "delimiter in free text: joined by the number of fields"
_LINE_END_IN_TEXT = "end of line in free text: joined by the number of fields"


class Rows(NamedTuple):
    """Rows of an export, by the columns in `COLUMNS` that are present.

    Parameters
    ----------
    cells : Cells
    places : ndarray of int64, shape (n_rows,)
        First line of each row.
    missing : tuple of (str, str)
        Columns without which a log is poorer, and what becomes of it.
    """

    cells: Cells
    places: NDArray[np.int64]
    missing: tuple[tuple[str, str], ...] = ()

    def where(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Return the chosen rows."""
        if chosen.all():
            return self
        return Rows(self.cells.take(chosen), self.places[chosen], self.missing)


class RowReader:
    """Splits blocks of lines into rows, and counts invalid ones.

    Parameters
    ----------
    records : Records
        Counts the rows.
    given : Columns, optional
        Columns of files without names.
    """

    def __init__(self, records: Records, given: Columns | None = None) -> None:
        self.records, self.given = records, given
        self.unnamed: Columns | None = None  # of a file without names
        self.columns: Columns | None = None
        self.ids_are_floats: bool | None = None  # of these columns, when known
        self.held: list[tuple[str, int]] = []  # lines of a row with an open quote, and their places
        self.broken: list[str] | None = None  # fields of an incomplete row
        self.broken_places: list[int] = []

    def read(self, block: Block) -> Iterator[Rows]:
        """Yield the rows of a block, separately where the columns change.

        Raises
        ------
        FormatError
            If a file does not start with the names of its columns.
        """
        lines = Lines(_without_returns(block.text))
        start, n_lines = 0, lines.end.size
        if block.first_line == 1:
            yield from self.finish()
            self.columns = None
        if self.columns is None:
            start = self.find_columns(lines, block)
            if self.columns is None:
                return
        # concatenated files repeat the names of columns
        for i in _lines_with(self.columns.mark, lines, start):
            line = lines.text(i)
            if (columns := Columns.of(line)) is not None:
                yield self.split(lines, range(start, i), block.place)
                yield from self.finish()
                if line != self.columns.line:
                    number = block.first_line + i
                    self.columns = checked_columns(columns, line, block.path, number)
                start = i + 1
        yield self.split(lines, range(start, n_lines), block.place)

    def find_columns(self, lines: Lines, block: Block) -> int:
        """Find the columns of a file, count stray lines before them, and return the next line."""
        first: list[tuple[int, str]] = []

        def texts() -> Iterator[str]:
            for i in range(lines.end.size):
                if (text := lines.text(i)).strip() and text[0] != "#":
                    first.append((i, text))
                    yield text

        n_stray, columns = columns_at(islice(texts(), _MOST_LINES), self.given)
        if not first:
            return lines.end.size
        at, line = first[n_stray]
        if columns is not None and columns.line == line and at + 1 < lines.end.size:
            columns = columns.of_rows_as(lines.text(at + 1))
        self.columns = checked_columns(columns, line, block.path, block.first_line + at)
        self.ids_are_floats = None
        if n_stray:
            self.records.leave_out_row(_STRAY, block.place + first[0][0], n_stray)
        if self.columns.line == line:
            return at + 1
        self.unnamed = self.columns
        return at

    def split(self, lines: Lines, part: range, place: int) -> Rows:
        """Split some lines of a block into rows; `place` is that of its first line."""
        assert self.columns is not None
        usual, first, bounds = _fields(lines, part, self.columns)
        rows: list[list[str]] = []
        places: list[int] = []
        others = np.flatnonzero(~usual)
        i = -1
        while i + 1 < len(part) and (self.is_incomplete or others.size):
            if not self.is_incomplete:
                after = np.searchsorted(others, i, side="right")
                if after == others.size:
                    break
                i = int(others[after])
            else:  # the line may be the rest of it
                i += 1
            usual[i] = False
            self.split_line(lines.text(part[i]), place + part[i], rows, places)
        self.records.rows += int(usual.sum())
        found = np.flatnonzero(usual)
        at = self.columns.place
        first = first[found]
        begin = {name: bounds[first + field] + 1 for name, field in at.items()}
        end = {name: bounds[first + field + 1] for name, field in at.items()}
        cells = Cells(lines.data, begin, end, found.size)
        return self.as_rows(cells, place + part.start + found, rows, places)

    def as_rows(
        self, cells: Cells, of_cells: NDArray[np.int64], rows: list[list[str]], places: list[int]
    ) -> Rows:
        """Return cells found together, and rows split one by one, in the order of their places."""
        assert self.columns is not None
        at = self.columns.place
        of_rows = np.append(of_cells, np.array(places, np.int64))
        order = np.argsort(of_rows, kind="stable")
        texts = [[row[field] for field in at.values()] for row in rows]
        cells = cells.with_texts(texts, list(at), order)
        of_rows = of_rows[order]
        if "id" not in at:
            cells = cells.with_column("id", [*map(str, of_rows.tolist())])
        elif self.has_float_ids(cells):
            cells = cells.without_suffix("id", b".0")
        return Rows(cells, of_rows, self.columns.missing)

    def has_float_ids(self, cells: Cells) -> bool:
        """Whether the ids are numbers as ``800.0``, as pandas writes them, rather than steps."""
        if self.ids_are_floats is None and cells.n_records:
            all_are = bool((cells.has_suffix("id", b".0") | (cells.lengths("id") == 0)).all())
            # Slurm prints neither for steps
            names = [name for name in ("user", "partition") if name in cells.begin]
            of_jobs = not names or any((cells.lengths(name) > 0).any() for name in names)
            self.ids_are_floats = all_are and of_jobs
        return bool(self.ids_are_floats)

    @property
    def is_incomplete(self) -> bool:
        """Whether the next line may belong to a row that is not complete."""
        return self.broken is not None or bool(self.held)

    def split_line(self, line: str, place: int, rows: list[list[str]], places: list[int]) -> None:
        """Split a line of unusual form; append whole rows to the lists."""
        if self.held:
            is_row = self.whole_row(self.held[0][0]) is not None  # if the quote is of its text
            if not (is_row and self.whole_row(line, checked=True)):
                self.held.append((line, place))
                self.close_quote(rows, places)
                return
            self.settle(rows, places)
        if '"' in line and self.quoted(line)[1]:
            self.held = [(line, place)]
        else:
            self.split_plain(line, place, rows, places)

    def close_quote(self, rows: list[list[str]], places: list[int]) -> None:
        """Accept the lines with an open quote as a row, if the last one closes it."""
        assert self.columns is not None
        cells, is_open = self.quoted("\n".join(line for line, _ in self.held))
        begins = self.whole_row(self.held[-1][0], checked=True) is not None
        if is_open and not begins and len(self.held) < _MOST_LINES:
            return
        if not is_open and self.is_row(cells):
            self.records.rows += 1
            self.records.note(_LINE_END_IN_TEXT, self.held[0][1])
            rows.append([cell.replace("\n", " ") for cell in cells])
            places.append(self.held[0][1])
            self.held = []
        else:
            self.settle(rows, places)

    def settle(self, rows: list[list[str]], places: list[int]) -> None:
        """Read lines with an open quote as if it were a character of the text."""
        held, self.held = self.held, []
        for line, place in held:
            self.split_plain(line, place, rows, places)

    def split_plain(self, line: str, place: int, rows: list[list[str]], places: list[int]) -> None:
        """Split a line in which all quotes are closed; join it with an incomplete row before it."""
        assert self.columns is not None
        delimiter, n_fields = self.columns.delimiter, self.columns.n_fields

        def accept(row: list[str], place: int) -> None:
            rows.append(row)
            places.append(place)
            self.records.rows += 1
            self.broken = None

        row = line.split(delimiter)
        if self.broken is not None:
            joined = [*self.broken[:-1], f"{self.broken[-1]} {row[0]}", *row[1:]]
            in_text = len(self.broken) - 1 in self.columns.free
            if in_text and not self.begins_a_row(row) and len(joined) <= n_fields:
                self.broken_places.append(place)
                if len(joined) < n_fields and len(self.broken_places) < _MOST_LINES:
                    self.broken = joined
                    return
                if self.is_row(joined):
                    self.records.note(_LINE_END_IN_TEXT, self.broken_places[0])
                    accept(joined, self.broken_places[0])
                    return
                self.broken_places.pop()
            self.finish_broken()
        if (whole := self.whole_row(line)) is not None:
            accept(whole, place)
        elif len(row) > n_fields:
            joined_cells = put_together(row, self.columns.names, delimiter)
            if joined_cells is not None:
                self.records.note(_DELIMITER_IN_TEXT, place)
                accept(joined_cells, place)
            else:
                self.records.leave_out_row(_WRONG_COUNT, place)
        elif row != [""]:
            self.broken, self.broken_places = row, [place]

    def finish(self) -> Iterator[Rows]:
        """Yield the rows that an open quote held back, and count an incomplete row."""
        rows: list[list[str]] = []
        places: list[int] = []
        self.settle(rows, places)
        self.finish_broken()
        if rows:
            yield self.as_rows(Cells.none(), np.empty(0, np.int64), rows, places)

    def finish_broken(self) -> None:
        """Count an incomplete row: each of its lines is a row with too few fields."""
        if self.broken is not None:
            self.records.leave_out_row(_WRONG_COUNT, self.broken_places[0], len(self.broken_places))
            self.broken = None

    def quoted(self, text: str) -> tuple[list[str], bool]:
        """Split a row, some cells of which may be quoted; return whether the last one is open."""
        assert self.columns is not None
        return split_quoted(text, self.columns.delimiter, always=self.columns.quotes)

    def whole_row(self, line: str, *, checked: bool = False) -> list[str] | None:
        """Return the cells of a line if their number is right; None if it is not.

        `checked` requires cells that may be of their columns.
        """
        assert self.columns is not None
        plain = line.split(self.columns.delimiter)
        ways = [plain]
        if '"' in line and not (quoted := self.quoted(line))[1]:
            ways = [quoted[0], plain]
        ways = [cells for cells in ways if len(cells) == self.columns.n_fields]
        if len(ways) == 1 and not checked:
            return ways[0]
        fitting = (cells for cells in ways if self.is_row(cells))
        return next(fitting, ways[0] if ways and not checked else None)

    def begins_a_row(self, row: list[str]) -> bool:
        """Return whether a line is a new row rather than the rest of the previous one."""
        assert self.columns is not None
        place = self.columns.place.get("id")
        if place is None:
            return self.is_row(row)
        return len(row) > max(place, 1) and is_id(row[place])

    def is_row(self, row: list[str]) -> bool:
        """Return whether each cell may be one of its column."""
        assert self.columns is not None
        names = self.columns.names
        return len(row) == len(names) and all(map(fits, names, row))


def _fields(
    lines: Lines, part: range, columns: Columns
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Return which lines have the right number of fields, and where the fields are.

    Returns
    -------
    usual : ndarray of bool, shape (n_lines,)
        Lines with characters outside ASCII are left to the caller, too.
    first : ndarray of int64, shape (n_lines,)
        Place in `bounds` of what precedes each line.
    bounds : ndarray of int64
        The places before the first line, of delimiters, and of line ends.
    """
    mark = columns.delimiter.encode()
    if len(mark) > 1 or not len(part):
        nothing = np.zeros(len(part), np.int64)
        return nothing > 0, nothing, nothing
    begin, end = lines.begin[part.start : part.stop], lines.end[part.start : part.stop]
    chars = lines.chars[begin[0] : end[-1] + 1]
    bounds = np.flatnonzero((chars == mark[0]) | (chars == ord("\n"))) + begin[0]
    bounds = np.append(begin[0] - 1, bounds)
    last = np.searchsorted(bounds, end)
    first = np.append(0, last[:-1])
    usual = (last - first == columns.n_fields) & ~lines.odd()[part.start : part.stop]
    if b'"' in lines.data:  # a cell that begins with a quote may be quoted
        quoted = bounds[:-1][lines.chars[bounds[:-1] + 1] == ord('"')]
        usual[np.searchsorted(end, quoted, side="right")] = False
    return usual, first, bounds


def _without_returns(text: bytes) -> bytes:
    """Return lines without the carriage return before each line feed, if each has at most one."""
    if b"\r" not in text or b"\r\r" in text:
        return text
    return text.replace(b"\r\n", b"\n")


def _lines_with(word: bytes, lines: Lines, start: int) -> Iterator[int]:
    """Yield the lines from one on that contain a word."""
    at = lines.begin[start] if start < lines.end.size else len(lines.data)
    while (at := lines.data.find(word, at)) >= 0:
        line = int(np.searchsorted(lines.end, at))
        yield line
        at = int(lines.end[line])


def check_read(reader: RowReader, path: str) -> None:
    """Check that a file is not empty.

    Raises
    ------
    FormatError
    """
    if reader.columns is None:
        raise FormatError(path, f"is empty; export with: {EXPORT}")
