"""Collect accounting records while files are read."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError, parameter, plural, quoted
from workloadkit.intake import Repair
from workloadkit.io.cells import Words
from workloadkit.io.lines import Block, Sources, line_blocks
from workloadkit.record_fields import RECORD_FIELDS, RecordField

if TYPE_CHECKING:
    from datetime import tzinfo

    import pandas as pd


@dataclass(frozen=True)
class ImportOptions:
    """Options for reading accounting.

    Parameters
    ----------
    tz : str, optional
        Time zone of times without an offset, and of the log. By default the log has the offset of
        its times, and times without one are UTC.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job, and each part of a suspended one, becomes one of its
        partial executions.
    anonymize : bool, default False
        Whether to leave out all names and job ids.
    key : bytes, optional
        Secret from which numbers for names are derived, the same in every log; requires
        `anonymize`.
    """

    tz: str | None = None
    procs: int | None = None
    attempts: bool = False
    anonymize: bool = False
    key: bytes | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        from zoneinfo import ZoneInfo

        try:
            ZoneInfo(self.zone)
        except (KeyError, ValueError, OSError, TypeError):
            raise ParameterError(
                "tz",
                f"is {quoted(self.tz)}; it must be a time zone such as UTC or Europe/Stockholm",
            ) from None
        if self.procs is not None and (not isinstance(self.procs, int) or self.procs < 1):
            raise ParameterError(
                "procs", f"is {quoted(self.procs)}; it must be a whole number, 1 or more"
            )
        if self.key is not None and (not isinstance(self.key, bytes) or not self.key):
            raise ParameterError("key", "must be non-empty bytes")
        if self.key is not None and not self.anonymize:
            raise ParameterError("key", f"requires {parameter('anonymize')}")

    @property
    def zone(self) -> str:
        """Time zone of times without an offset."""
        return "UTC" if self.tz is None else self.tz


class Records:
    """Records of jobs in compact form, and counts of the other rows.

    Parameters
    ----------
    fields : sequence of RecordField, default RECORD_FIELDS
        Fields of the records.

    Attributes
    ----------
    rows : int
        Rows read so far, counted by the reader.
    digest : hash
        Of the whole text.
    suspends : bool
        Whether the records state that jobs were suspended.
    opened : float or None
        Start of the window of the export, if known. [s since 1970]
    zone : tzinfo or None
        Time zone of the log; by default that of the options.
    line_of : callable
        Returns the line of a place, for reports; by default they are the same.
    unit : str
        What places count: lines, or records in formats without lines.
    files : sequence of str
        Names of the files of a table in several files.

    Examples
    --------
    >>> records = Records()
    >>> records.extend(2, place=[2, 3], submit=[0.0, 60.0], user=["al", "bo"])
    >>> records.frame()[["submit", "user", "start"]].to_numpy().tolist()
    [[0.0, 'al', nan], [60.0, 'bo', nan]]
    """

    def __init__(self, fields: Sequence[RecordField] = RECORD_FIELDS) -> None:
        self.rows = 0
        self.digest = hashlib.sha256()
        self.suspends = False
        self.opened: float | None = None
        self.zone: tzinfo | None = None
        self.line_of: Callable[[int], int] = int
        self.unit = "line"
        self.files: Sequence[str] = ()
        self._n_records = 0
        self._table: pd.DataFrame | None = None
        self._fields = fields
        self._parts: dict[str, list[NDArray | int]] = {f.name: [] for f in fields}
        self._words = {f.name: _Words([""]) for f in fields if f.kind == "word"}
        self._left_out: dict[str, Repair] = {}
        self._rejected: dict[str, Repair] = {}
        self._noted: dict[str, Repair] = {}
        self._arrays = 0, 0, 0  # rows for several tasks, these tasks, the first row
        self._noted_at: dict[str, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        """Return the number of records."""
        return self._n_records

    def extend(self, n_records: int, **columns: ArrayLike | Words) -> None:
        """Add records; missing fields are unknown.

        Parameters
        ----------
        n_records : int
        **columns : array_like or Words, shape (n_records,)
            By the names of `RECORD_FIELDS`; NaN, a status of -1, and empty strings are unknown.
        """
        for field in self._fields:
            given = columns.pop(field.name, None)
            self._parts[field.name].append(
                n_records if given is None else self._compact(field, given, n_records)
            )
        if columns:
            raise ParameterError(f"not a field of a record: {', '.join(columns)}")
        self._n_records += n_records

    def line_blocks(self, sources: Sources) -> Iterator[Block]:
        """Yield the lines of files in blocks; digest and count what `lines.line_blocks` does."""
        yield from line_blocks(sources, self.digest, note=self.note, leave_out=self.leave_out_row)

    def leave_out_row(self, kind: str, line: int, count: int = 1) -> None:
        """Count rows that are not jobs of the log, and that the reader has not counted as read."""
        self.rows += count
        self.leave_out(kind, line, count)

    def leave_out(self, kind: str, line: int, count: int = 1, example: str = "") -> None:
        """Count rows that are not jobs of the log; `example` stands on this line."""
        _count(self._left_out, kind, line, count, example)

    def leave_out_where(
        self, kind: str, which: NDArray[np.bool_], places: NDArray[np.int64]
    ) -> None:
        """Count the rows where `which` is true, which are not jobs of the log."""
        if which.any():
            self.leave_out(kind, int(places[np.argmax(which)]), int(which.sum()))

    def leave_out_records(self, kind: str, places: NDArray[np.int64]) -> None:
        """Count records that are not jobs of the log; what `note_where` counted of them is not."""
        if places.size:
            self.leave_out(kind, int(places.min()), places.size)
            for noted, at in self._noted_at.items():
                self._noted_at[noted] = at[~np.isin(at, places)]

    def note(self, kind: str, line: int, count: int = 1, example: str = "") -> None:
        """Count an oddity in rows of jobs; `example` stands on this line."""
        _count(self._noted, kind, line, count, example)

    def note_where(self, kind: str, odd: NDArray[np.bool_], places: NDArray[np.int64]) -> None:
        """Count an oddity in the rows of jobs where `odd` is true."""
        if odd.any():
            before = self._noted_at.get(kind, np.empty(0, np.int64))
            self._noted_at[kind] = np.append(before, places[odd])

    def note_array(self, place: int, n_tasks: int) -> None:
        """Count a row for several tasks of an array, which is one job."""
        rows, tasks, first = self._arrays
        self._arrays = rows + 1, tasks + n_tasks, first or place

    def reject(self, kind: str, line: int, count: int = 1) -> None:
        """Count rows at a line that `line_of` need not correct, as rows that are not jobs."""
        self.rows += count
        _count(self._rejected, kind, line, count)

    def _with_lines(self, repairs: Iterable[Repair]) -> tuple[Repair, ...]:
        """Return counts with file and line instead of places, most frequent first."""
        made = []
        for repair in sorted(repairs, key=lambda r: (-r.count, r.first_line)):
            file, line = divmod(repair.first_line, FILE_AT)
            name = self.files[file] if len(self.files) > 1 else ""
            made.append(replace(repair, first_line=line, file=name))
        return tuple(made)

    def _corrected(self, repair: Repair) -> Repair:
        return replace(repair, first_line=self.line_of(repair.first_line))

    @property
    def left_out(self) -> tuple[Repair, ...]:
        """Rows that are not jobs of the log, most frequent first."""
        found = [*map(self._corrected, self._left_out.values()), *self._rejected.values()]
        return self._with_lines(found)

    @property
    def noted(self) -> tuple[Repair, ...]:
        """Oddities in rows of jobs, most frequent first."""
        noted = dict(self._noted)
        rows, tasks, first = self._arrays
        kind = f"several tasks of an array in one row: one job ({plural(tasks, 'task')} in total)"
        _count(noted, kind, first, rows)
        for kind, places in self._noted_at.items():
            _count(noted, kind, int(places.min(initial=LAST_PLACE)), places.size)
        return self._with_lines(map(self._corrected, noted.values()))

    def frame(self) -> "pd.DataFrame":
        """Return the records as a table, and release them."""
        import pandas as pd

        if self._table is not None:
            table, self._table = self._table, None
            return table
        columns: dict[str, Any] = {}
        for field in self._fields:
            column = _joined(field, self._parts.pop(field.name))
            self._parts[field.name] = []
            if field.kind == "word":
                words = list(self._words[field.name])
                column = pd.Categorical.from_codes(column, words)
            columns[field.name] = column
        self._n_records = 0
        return pd.DataFrame(columns, copy=False)

    def restore(self, table: "pd.DataFrame") -> None:
        """Put back a modified table from `frame`; no records may be added after it."""
        self._table = table
        self._n_records = len(table)

    def _compact(self, field: RecordField, given: ArrayLike | Words, n_records: int) -> NDArray:
        if isinstance(given, Words):
            column = self._recoded(field, given)
        elif field.kind == "text" and hasattr(given, "to_pandas"):  # texts of Arrow stay so
            texts: Any = given
            column = texts
        elif field.kind == "word":
            words: Any = given
            codes = map(self._words[field.name].__getitem__, words)
            column = np.fromiter(codes, np.int32)
        else:
            column = np.asarray(given, dtype=_DTYPES[field.kind])
        if len(column) != n_records:
            raise ParameterError(
                f"{plural(len(column), 'value')} of {field.name} for {plural(n_records, 'record')}"
            )
        return column

    def _recoded(self, field: RecordField, given: Words) -> NDArray:
        """Return a column of words by the codes of the field, assigned in order of appearance."""
        if field.kind != "word":
            return given.column(_DTYPES[field.kind])
        known = self._words[field.name]
        codes = [*map(known.get, given.words)]
        if None not in codes:
            return np.array(codes, np.int32)[given.codes]
        first = np.full(len(given.words), given.codes.size)
        first[given.codes[::-1]] = np.arange(given.codes.size)[::-1]
        code_of = np.zeros(first.size, np.int32)
        order = np.argsort(first)[: np.count_nonzero(first < given.codes.size)]
        code_of[order] = [known[given.words[word]] for word in order.tolist()]
        return code_of[given.codes]


#: Beyond all places of lines.
LAST_PLACE = np.iinfo(np.int64).max

#: Places of rows of several files: the number of the file, from 0, times this, plus the line.
FILE_AT = 10**10

_DTYPES: dict[str, Any] = {
    "number": np.float64,
    "whole": np.int64,
    "word": np.int32,
    "text": object,
}


class _Words(dict[Any, int]):
    """Codes of words, assigned on first use; None and NaN are the empty word."""

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__((word, code) for code, word in enumerate(words))

    def __missing__(self, word: Any) -> int:
        if not isinstance(word, str):
            return self["" if word is None or word != word else str(word)]
        code = self[word] = len(self)
        return code


def _joined(field: RecordField, parts: list[NDArray | int]) -> NDArray:
    """Join the parts of a column; an integer is a number of unknown values."""
    unknown: Any = {"number": np.nan, "whole": -1, "word": 0, "text": ""}[field.kind]
    dtype = _DTYPES[field.kind]
    texts: list[Any] = [part for part in parts if hasattr(part, "to_pandas")]
    if texts and len(texts) == len(parts):
        import pyarrow as pa

        return (texts[0] if len(texts) == 1 else pa.chunked_array(texts)).to_pandas()
    filled = [
        np.full(part, unknown, dtype) if isinstance(part, int) else np.asarray(part, dtype)
        for part in parts
    ]
    return np.concatenate([np.empty(0, dtype), *filled])


def _count(found: dict[str, Repair], kind: str, line: int, count: int, example: str = "") -> None:
    if count:
        before = found.get(kind, Repair(kind, 0, line, example=example))
        first = Repair(kind, 0, line, example=example) if line < before.first_line else before
        found[kind] = replace(first, count=before.count + count)
