"""Rows of an export of `sacct`: split at the delimiter, and repaired where text contains it."""

import re
from collections.abc import Iterator
from itertools import compress, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import FormatError
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
    cells : dict of str to list of str, each of shape (n_rows,)
    places : ndarray of int64, shape (n_rows,)
        First line of each row.
    submit_by : str, optional
        The column that replaces a missing Submit.
    """

    cells: dict[str, list[str]]
    places: NDArray[np.int64]
    submit_by: str = ""

    def where(self, chosen: NDArray[np.bool_]) -> "Rows":
        """Return the chosen rows."""
        if chosen.all():
            return self
        choice = chosen.tolist()
        cells = {name: list(compress(cells, choice)) for name, cells in self.cells.items()}
        return Rows(cells, self.places[chosen], self.submit_by)


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
        lines = block.lines
        start = 0
        if block.first_line == 1:
            self.finish()
            self.columns = None
        if self.columns is None:
            while start < len(lines) and (not lines[start].strip() or lines[start][0] == "#"):
                start += 1
            if start == len(lines):
                return
            first, number = lines[start], block.first_line + start
            self.columns = first_columns(first, block.path, number, self.given)
            if self.columns.line == first:
                start += 1
            else:
                self.unnamed = self.columns
        # concatenated files repeat the names of columns
        again = [i for i in range(start, len(lines)) if "JobID" in lines[i]]
        for i in again:
            if Columns.of(lines[i]) is not None:
                yield self.split(lines[start:i], block.place + start)
                self.finish()
                if lines[i] != self.columns.line:
                    self.columns = first_columns(lines[i], block.path, block.first_line + i)
                start = i + 1
        yield self.split(lines[start:], block.place + start)

    def split(self, lines: list[str], place: int) -> Rows:
        """Split lines into rows."""
        assert self.columns is not None
        delimiter, n_fields = self.columns.delimiter, self.columns.n_fields
        counts = set(map(str.count, lines, repeat(delimiter)))
        if self.broken is None and counts <= {n_fields - 1}:
            self.records.rows += len(lines)
            # one list of all fields is much faster than one per row
            fields = delimiter.join(lines).split(delimiter) if lines else []
            cells = {name: fields[at::n_fields] for name, at in self.columns.place.items()}
            return Rows(cells, np.arange(place, place + len(lines)), self.columns.submit_by)
        rows: list[list[str]] = []
        places: list[int] = []
        self.split_broken(lines, place, rows, places)
        cells = {name: [row[at] for row in rows] for name, at in self.columns.place.items()}
        return Rows(cells, np.array(places, np.int64), self.columns.submit_by)

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


def check_read(reader: RowReader, path: str) -> None:
    """Check that a file is not empty.

    Raises
    ------
    FormatError
    """
    if reader.columns is None:
        raise FormatError(path, f"is empty; export with: {EXPORT}")
