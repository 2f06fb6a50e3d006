"""Rows of an export of `sacct`: split at the delimiter, and repaired where text contains it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import FormatError
from workloadkit.io.cells import Cells, Lines
from workloadkit.io.lines import Block
from workloadkit.io.records import Records
from workloadkit.io.slurm.columns import EXPORT, Columns, first_columns
from workloadkit.io.slurm.values import NO_VALUE, is_id

#: Maximum number of lines of a row.
_MOST_LINES = 50

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.{0,20}|\d{1,11}(?:\.\d{1,9})?")

_WRONG_COUNT = "wrong number of fields"
_DELIMITER_IN_TEXT = "delimiter in free text: joined by the number of fields"
_LINE_END_IN_TEXT = "end of line in free text: joined by the number of fields"


class Rows(NamedTuple):
    """Rows of an export, by the columns in `COLUMNS` that are present.

    Parameters
    ----------
    cells : Cells
    places : ndarray of int64, shape (n_rows,)
        First line of each row.
    submit_by : str, optional
        The column that replaces a missing Submit.
    """

    cells: Cells
    places: NDArray[np.int64]
    submit_by: str = ""

    def where(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Return the chosen rows."""
        if chosen.all():
            return self
        return Rows(self.cells.take(chosen), self.places[chosen], self.submit_by)


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
            self.finish()
            self.columns = None
        if self.columns is None:
            first = ""
            while start < n_lines and (not (first := lines.text(start)).strip() or first[0] == "#"):
                start += 1
            if start == n_lines:
                return
            number = block.first_line + start
            self.columns = first_columns(first, block.path, number, self.given)
            if self.columns.line == first:
                start += 1
            else:
                self.unnamed = self.columns
        # concatenated files repeat the names of columns
        for i in _lines_with(b"JobID", lines, start):
            line = lines.text(i)
            if Columns.of(line) is not None:
                yield self.split(lines, range(start, i), block.place)
                self.finish()
                if line != self.columns.line:
                    self.columns = first_columns(line, block.path, block.first_line + i)
                start = i + 1
        yield self.split(lines, range(start, n_lines), block.place)

    def split(self, lines: Lines, part: range, place: int) -> Rows:
        """Split some lines of a block into rows; `place` is that of its first line."""
        assert self.columns is not None
        usual, first, bounds = _fields(lines, part, self.columns)
        rows: list[list[str]] = []
        places: list[int] = []
        others = np.flatnonzero(~usual)
        i = -1
        while i + 1 < len(part) and (self.broken is not None or others.size):
            if self.broken is None:
                after = np.searchsorted(others, i, side="right")
                if after == others.size:
                    break
                i = int(others[after])
            else:  # the line may be the rest of it
                i += 1
            usual[i] = False
            self.split_broken([lines.text(part[i])], place + part[i], rows, places)
        self.records.rows += int(usual.sum())
        found = np.flatnonzero(usual)
        at = self.columns.place
        first = first[found]
        begin = {name: bounds[first + field] + 1 for name, field in at.items()}
        end = {name: bounds[first + field + 1] for name, field in at.items()}
        of_rows = np.append(place + part.start + found, np.array(places, np.int64))
        order = np.argsort(of_rows, kind="stable")
        texts = [[row[field] for field in at.values()] for row in rows]
        cells = Cells(lines.data, begin, end, found.size).with_texts(texts, list(at), order)
        return Rows(cells, of_rows[order], self.columns.submit_by)

    def split_broken(
        self, lines: list[str], place: int, rows: list[list[str]], places: list[int]
    ) -> None:
        """Split lines with too few or too many fields; append whole rows to the lists."""
        assert self.columns is not None
        delimiter, n_fields = self.columns.delimiter, self.columns.n_fields

        def accept(row: list[str], place: int) -> None:
            rows.append(row)
            places.append(place)
            self.records.rows += 1
            self.broken = None

        for begin, line in enumerate(lines, place):
            row = line.split(delimiter)
            if self.broken is not None:
                joined = [*self.broken[:-1], f"{self.broken[-1]} {row[0]}", *row[1:]]
                in_text = len(self.broken) - 1 in self.columns.free
                if in_text and not self.begins_a_row(row) and len(joined) <= n_fields:
                    self.broken_places.append(begin)
                    if len(joined) < n_fields and len(self.broken_places) < _MOST_LINES:
                        self.broken = joined
                        continue
                    if self.looks_like_a_row(joined):
                        self.records.note(_LINE_END_IN_TEXT, self.broken_places[0])
                        accept(joined, self.broken_places[0])
                        continue
                    self.broken_places.pop()
                self.finish()
            if len(row) == n_fields:
                accept(row, begin)
            elif len(row) > n_fields:
                if (put_together := self.put_together(row)) is not None:
                    self.records.note(_DELIMITER_IN_TEXT, begin)
                    accept(put_together, begin)
                else:
                    self.records.rows += 1
                    self.records.leave_out(_WRONG_COUNT, begin)
            elif row != [""]:
                self.broken, self.broken_places = row, [begin]

    def finish(self) -> None:
        """Count an incomplete row: each of its lines is a row with too few fields."""
        if self.broken is not None:
            self.records.rows += len(self.broken_places)
            self.records.leave_out(_WRONG_COUNT, self.broken_places[0], len(self.broken_places))
            self.broken = None

    def put_together(self, row: list[str]) -> list[str] | None:
        """Join surplus fields of a row into a free-text column.

        The result must be unambiguous: all other columns are the same for each possible choice.
        """
        assert self.columns is not None
        delimiter, free = self.columns.delimiter, self.columns.free
        more = len(row) - self.columns.n_fields + 1
        found = []
        for place in free:
            text = delimiter.join(row[place : place + more])
            joined = [*row[:place], text, *row[place + more :]]
            if self.looks_like_a_row(joined):
                found.append((place, joined))
        if len(found) == 1:
            return found[0][1]
        others = {
            tuple(field for i, field in enumerate(joined) if i not in free) for _, joined in found
        }
        return max(found)[1] if len(others) == 1 else None

    def begins_a_row(self, row: list[str]) -> bool:
        """Return whether a line is a new row rather than the rest of the previous one."""
        assert self.columns is not None
        place = self.columns.place["id"]
        return len(row) > max(place, 1) and is_id(row[place])

    def looks_like_a_row(self, row: list[str]) -> bool:
        """Return whether the id and the times are in the right columns."""
        columns = self.columns
        return (
            columns is not None
            and len(row) == columns.n_fields
            and is_id(row[columns.place["id"]])
            and all(row[i] in NO_VALUE or _TIME.fullmatch(row[i]) for i in columns.times)
        )


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
