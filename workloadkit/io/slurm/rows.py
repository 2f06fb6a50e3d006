"""Rows of an export of `sacct`: split at the delimiter, and repaired where text contains it."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import FormatError
from workloadkit.io.cells import Cells
from workloadkit.io.lines import PAD, Block, Fields, Lines
from workloadkit.io.records import Records
from workloadkit.io.slurm.columns import EXPORT, ExportColumns, checked_columns, columns_at, fits
from workloadkit.io.slurm.splitting import (
    FixedColumns,
    Row,
    fixed_rows,
    has_bare_quotes,
    lines_with,
    put_together,
    split_quoted,
    with_widths,
    without_returns,
)
from workloadkit.io.slurm.values import is_id

#: Maximum number of lines of a row, and before the names of columns.
_MOST_LINES = 50

# Columns that are empty for steps, and the names of steps without a number.
_OF_JOBS = ("user", "partition")
_NAMED_STEPS = {"batch": "batch", "extern": "extern"}

_WRONG_COUNT = "wrong number of fields"
_STRAY = "lines before the names of the columns"
_DELIMITER_IN_TEXT = "delimiter in free text: joined by the number of fields"
_DOUBTFUL_TEXT = "free text next to an incomplete row, which may be a part of it: taken as unknown"
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
    given : ExportColumns, optional
        Columns of files without names.
    """

    def __init__(self, records: Records, given: ExportColumns | None = None) -> None:
        self.records, self.given = records, given
        self.unnamed: ExportColumns | None = None  # of a file without names
        self._columns: ExportColumns | None = None
        self.ids_are_floats: bool | None = None  # of these columns, when known
        self.last_job = 0  # number of the last job without an id
        self.bare = False  # whether the quotes of the file are characters of its text
        self.held: list[tuple[str, int]] = []  # lines of a row with an open quote, and their places
        self.broken: str | None = None  # an incomplete row, and where line ends were in it
        self.breaks: list[int] = []
        self.broken_places: list[int] = []

    @property
    def columns(self) -> ExportColumns:
        """The columns of the file that is read."""
        assert self._columns is not None
        return self._columns

    def check_read(self, path: str) -> None:
        """Check that a file is not empty."""
        if self._columns is None:
            raise FormatError(path, f"is empty; export with: {EXPORT}")

    def read(self, block: Block) -> Iterator[Rows]:
        """Yield the rows of a block, separately where the columns change.

        Raises
        ------
        FormatError
            If a file does not start with the names of its columns.
        """
        lines = Lines(without_returns(block.text), block.n_lines)
        start = 0
        if block.first_line == 1:
            yield from self.finish()
            self._columns, self.bare = None, False
        if self._columns is None:
            start = self.find_columns(lines, block)
            if self._columns is None:
                return
        for i in lines_with(self.columns.mark, lines, start):  # files joined repeat the names
            line = lines.text(i)
            if (columns := ExportColumns.of(line)) is not None:
                yield self.split(lines.part(start, i), block.place + start)
                yield from self.finish()
                if line != self.columns.line:
                    columns = with_widths(columns, lines, i)
                    self._columns = checked_columns(columns, line, block.path, block.first_line + i)
                start = i + 1
        yield self.split(lines.part(start, lines.n_lines), block.place + start)

    def find_columns(self, lines: Lines, block: Block) -> int:
        """Find the columns of a file, count stray lines before them, and return the next line."""
        first: list[tuple[int, str]] = []

        def texts() -> Iterator[str]:
            for i in range(lines.n_lines):
                if (text := lines.text(i)).strip() and text[0] != "#":
                    first.append((i, text))
                    yield text

        n_stray, columns = columns_at(islice(texts(), _MOST_LINES), self.given)
        if not first:
            return lines.n_lines
        at, line = first[n_stray]
        if columns is not None and columns.line == line and at + 1 < lines.n_lines:
            columns = with_widths(columns.of_rows_as(lines.text(at + 1)), lines, at)
        self._columns = checked_columns(columns, line, block.path, block.first_line + at)
        self.ids_are_floats = None
        if n_stray:
            self.records.leave_out_row(_STRAY, block.place + first[0][0], n_stray)
        if self.columns.line == line:
            return at + 1
        self.unnamed = self.columns
        return at

    def split(self, lines: Lines, place: int) -> Rows:
        """Split lines into rows; `place` is that of the first line."""
        if isinstance(self.columns, FixedColumns):
            found = fixed_rows(lines, place, self.columns, self.records)
            return self.as_rows(Cells.none(), np.empty(0, np.int64), found)
        if not (self.columns.quotes or self.bare or self.held):
            self.bare = b'"' in lines.data and has_bare_quotes(
                lines.data[PAD:-PAD], self.columns.delimiter
            )
        mark = self.columns.delimiter.encode()
        fields = lines.fields(mark[:1])
        usual = self.are_usual(fields, lines) & (len(mark) == 1)
        found = []
        others = np.flatnonzero(~usual)
        i = -1
        while i + 1 < usual.size and (self.is_incomplete or others.size):
            if not self.is_incomplete:
                after = np.searchsorted(others, i, side="right")
                if after == others.size:
                    break
                i = int(others[after])
            else:  # the line may be the rest of it
                i += 1
            usual[i] = False
            self.split_line(lines.text(i), place + i, found)
        self.records.rows += int(usual.sum())
        whole = np.flatnonzero(usual)
        at = self.columns.place
        cells = Cells.of_lines(lines, at, *fields.pick(whole, at.values()))
        return self.as_rows(cells, place + whole, found)

    def are_usual(self, fields: Fields, lines: Lines) -> NDArray[np.bool_]:
        """Return which lines have the right number of fields, without quotes or odd characters."""
        usual = (fields.n_fields == self.columns.n_fields) & ~fields.odd
        usual &= self.bare | (fields.n_quotes == 0)
        # the row before a part of one may be its beginning
        is_part = (fields.n_fields < self.columns.n_fields) & (lines.end > lines.begin)
        usual[:-1] &= ~is_part[1:]
        return usual

    def as_rows(self, cells: Cells, of_cells: NDArray[np.int64], found: list[Row]) -> Rows:
        """Return cells found together, and rows split one by one, in the order of their places."""
        at, of_rows = self.columns.place, of_cells
        if found:
            of_rows = np.append(of_cells, np.array([row.place for row in found], np.int64))
            order = np.argsort(of_rows, kind="stable")
            texts = [[row.cells[field] for field in at.values()] for row in found]
            cells, of_rows = cells.with_texts(texts, list(at), order), of_rows[order]
        if "id" not in at:
            cells = cells.with_column("id", self.numbers(cells, of_rows))
        elif self.has_float_ids(cells):
            cells = cells.without_suffix("id", b".0")
        return Rows(cells, of_rows, self.columns.missing)

    def numbers(self, cells: Cells, places: NDArray[np.int64]) -> list[str]:
        """Return ids for rows without them: their lines; those of steps begin with their job's."""
        names = [name for name in _OF_JOBS if name in cells.begin]
        of_step = np.full(places.size, bool(names))
        for name in names:
            of_step &= cells.lengths(name) == 0
        if of_step.all() or not of_step.any():
            return [*map(str, places.tolist())]
        ids = []
        steps = cells.texts("executable") if "executable" in cells.begin else [""] * places.size
        for place, is_step, step in zip(places.tolist(), of_step.tolist(), steps, strict=True):
            if not is_step:
                self.last_job = place
            ids.append(f"{self.last_job}.{_NAMED_STEPS.get(step, 0)}" if is_step else str(place))
        return ids

    def has_float_ids(self, cells: Cells) -> bool:
        """Whether the ids are numbers as ``800.0``, as pandas writes them, rather than steps."""
        if self.ids_are_floats is None and cells.n_records:
            all_are = bool((cells.has_suffix("id", b".0") | (cells.lengths("id") == 0)).all())
            names = [name for name in _OF_JOBS if name in cells.begin]
            of_jobs = not names or any((cells.lengths(name) > 0).any() for name in names)
            self.ids_are_floats = all_are and of_jobs
        return bool(self.ids_are_floats)

    @property
    def is_incomplete(self) -> bool:
        """Whether the next line may belong to a row that is not complete."""
        return self.broken is not None or bool(self.held)

    def split_line(self, line: str, place: int, found: list[Row]) -> None:
        """Split a line of unusual form; append whole rows to those found."""
        if self.held:
            is_row = self.whole_row(self.held[0][0]) is not None  # if the quote is of its text
            if not (is_row and self.whole_row(line, checked=True)):
                self.held.append((line, place))
                self.close_quote(found)
                return
            self.settle(found)
        if '"' in line and not self.bare and self.quoted(line)[1]:
            self.held = [(line, place)]
        else:
            self.split_plain(line, place, found)

    def close_quote(self, found: list[Row]) -> None:
        """Accept the lines with an open quote as a row, if the last one closes it."""
        cells, is_open = self.quoted("\n".join(line for line, _ in self.held))
        begins = self.whole_row(self.held[-1][0], checked=True) is not None
        if is_open and not begins and len(self.held) < _MOST_LINES:
            return
        whole = not is_open and self.is_row(cells)
        if whole and (self.columns.quotes or not self.holds_rows(cells)):
            self.records.rows += 1
            self.records.note(_LINE_END_IN_TEXT, self.held[0][1])
            found.append(Row([cell.replace("\n", " ") for cell in cells], self.held[0][1]))
            self.held = []
        else:
            self.settle(found)

    def holds_rows(self, cells: list[str]) -> bool:
        """Return whether a cell has as many delimiters as a row, and so has other rows in it."""
        delimiter, most = self.columns.delimiter, self.columns.n_fields - 1
        return any(cell.count(delimiter) >= most for cell in cells)

    def settle(self, found: list[Row]) -> None:
        """Read lines with an open quote as if it were a character of the text."""
        held, self.held = self.held, []
        for line, place in held:
            self.split_plain(line, place, found)

    def split_plain(self, line: str, place: int, found: list[Row]) -> None:
        """Split a line in which all quotes are closed; join it with an incomplete row before it."""
        delimiter, n_fields = self.columns.delimiter, self.columns.n_fields

        def accept(row: list[str], place: int) -> None:
            found.append(Row(row, place))
            self.records.rows += 1
            self.broken = None

        row = line.split(delimiter)
        new = self.begins_a_row(row)
        if self.broken is not None and len(row) == n_fields:  # or by chance, and it is the rest
            new = new and self.is_row(row)
        if not new and 1 < len(row) < n_fields and self.broken is None:
            self.reopen(line, place, found)
        if self.broken is not None and self.may_end_in(row, new=new):
            text, self.breaks = f"{self.broken} {line}", [*self.breaks, len(self.broken)]
            self.broken_places.append(place)
            if (joined := self.joined(text)) is not None:
                self.records.note(_LINE_END_IN_TEXT, self.broken_places[0])
                accept(joined, self.broken_places[0])
                return
            if not new and len(row) < n_fields and self.may_go_on(text):
                self.broken = text
                return
            self.broken_places.pop()
        after_part = self.finish_broken() == place - 1
        if (whole := self.whole_row(line)) is not None:
            accept(whole, place)
            if after_part:
                self.doubt(found[-1], 0)
        elif len(row) > n_fields and (whole := put_together(row, self.columns.names, delimiter)):
            self.records.note(_DELIMITER_IN_TEXT, place)
            accept(whole, place)
        elif row != [""]:
            self.broken, self.breaks, self.broken_places = line, [], [place]
            if found and found[-1].place == place - 1 and not new and len(row) < n_fields:
                self.doubt(found[-1], n_fields - 1)

    def doubt(self, row: Row, column: int) -> None:
        """Leave out free text at the edge of a row that may go on in a line next to it."""
        if column in self.columns.free and row.cells[column]:
            row.cells[column] = ""
            self.records.note(_DOUBTFUL_TEXT, row.place)

    def reopen(self, line: str, place: int, found: list[Row]) -> None:
        """Take back the row before a part of a row, if the part may be its rest."""
        if not found or found[-1].place != place - 1:
            return
        row, text = found[-1], self.columns.delimiter.join(found[-1].cells)
        self.breaks = [len(text)]
        in_text = self.columns.n_fields - 1 not in self.columns.free  # else it may be of any line
        if not self.is_row(row.cells) or (in_text and self.joined(f"{text} {line}")):
            found.pop()
            self.broken, self.breaks, self.broken_places = text, [], [row.place]
            self.records.rows -= 1

    def may_end_in(self, row: list[str], *, new: bool) -> bool:
        """Return whether a line may be the rest of the incomplete row, or of a name before it."""
        assert self.broken is not None
        before = self.broken.split(self.columns.delimiter)
        if min(len(before), len(row)) >= self.columns.n_fields:
            return False
        in_first = 0 in self.columns.free and len(before) > 1 and not self.begins_a_row(before)
        return not new or in_first

    def joined(self, text: str) -> list[str] | None:
        """Return the cells of lines that are one row, if the line ends are in free text."""
        names, delimiter = self.columns.names, self.columns.delimiter
        row = text.split(delimiter)
        cells = row if self.is_row(row) else None
        if len(row) > len(names):
            cells = put_together(row, names, delimiter)
        if cells is None or self.holds_rows(cells):
            return None
        ends = np.cumsum([len(cell) + len(delimiter) for cell in cells])
        within = np.searchsorted(ends, self.breaks, side="right")
        return cells if np.isin(within, self.columns.free).all() else None

    def may_go_on(self, text: str) -> bool:
        """Return whether a row with a line end in its text may have further lines."""
        n_before = text.count(self.columns.delimiter, 0, self.breaks[-1])
        in_text = any(place <= n_before for place in self.columns.free)
        few = text.count(self.columns.delimiter) < 2 * self.columns.n_fields
        return in_text and few and len(self.broken_places) < _MOST_LINES

    def finish(self) -> Iterator[Rows]:
        """Yield the rows that an open quote held back, and count an incomplete row."""
        found: list[Row] = []
        self.settle(found)
        self.finish_broken()
        if found:
            yield self.as_rows(Cells.none(), np.empty(0, np.int64), found)

    def finish_broken(self) -> int:
        """Count an incomplete row, each of its lines as one with too few fields.

        Return the place of its last line if it is no row's beginning, else -1.
        """
        if self.broken is None or self._columns is None:
            return -1
        self.records.leave_out_row(_WRONG_COUNT, self.broken_places[0], len(self.broken_places))
        row, self.broken = self.broken.split(self.columns.delimiter), None
        whole = len(row) >= self.columns.n_fields or self.begins_a_row(row)
        return -1 if whole else self.broken_places[-1]

    def quoted(self, text: str) -> tuple[list[str], bool]:
        """Split a row, some cells of which may be quoted; return whether the last one is open."""
        return split_quoted(text, self.columns.delimiter, always=self.columns.quotes)

    def whole_row(self, line: str, *, checked: bool = False) -> list[str] | None:
        """Return the cells of a line if their number is right; None if it is not.

        `checked` requires cells that may be of their columns.
        """
        plain = line.split(self.columns.delimiter)
        ways = [plain]
        if '"' in line and not self.bare and not (quoted := self.quoted(line))[1]:
            ways = [quoted[0], plain]
        ways = [cells for cells in ways if len(cells) == self.columns.n_fields]
        if len(ways) == 1 and not checked:
            return ways[0]
        fitting = (cells for cells in ways if self.is_row(cells))
        return next(fitting, ways[0] if ways and not checked else None)

    def begins_a_row(self, row: list[str]) -> bool:
        """Return whether a line is a new row rather than the rest of the previous one."""
        place = self.columns.place.get("id")
        return self.is_row(row) if place is None else len(row) > max(place, 1) and is_id(row[place])

    def is_row(self, row: list[str]) -> bool:
        """Return whether each cell may be one of its column."""
        return len(row) == self.columns.n_fields and all(map(fits, self.columns.names, row))
