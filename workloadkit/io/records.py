"""A site's accounting records: collected while files are read, and made a log at the end."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from workloadkit.errors import ParameterError
from workloadkit.intake import Repair
from workloadkit.io.record_fields import RECORD_FIELDS, RecordField


@dataclass(frozen=True)
class ImportOptions:
    """How accounting is read.

    Parameters
    ----------
    tz : str, default "UTC"
        Time zone of times that name none, and of the log.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job becomes a partial line of it.
    anonymize : bool, default False
        Whether all names and job ids are left out.
    key : bytes, optional
        What makes numbers of names, the same in every log; only where names are left out.
    """

    tz: str = "UTC"
    procs: int | None = None
    attempts: bool = False
    anonymize: bool = False
    key: bytes | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises
        ------
        ParameterError
        """
        from zoneinfo import ZoneInfo

        try:
            ZoneInfo(self.tz)
        except (KeyError, ValueError, OSError, TypeError):
            raise ParameterError(
                f"tz is {self.tz!r}; it is a zone such as UTC or Europe/Stockholm"
            ) from None
        if self.procs is not None and (not isinstance(self.procs, int) or self.procs < 1):
            raise ParameterError(f"procs is {self.procs!r}; it is a whole number, 1 or more")
        if self.key is not None and (not isinstance(self.key, bytes) or not self.key):
            raise ParameterError("key is empty or no bytes")
        if self.key is not None and not self.anonymize:
            raise ParameterError("key is given, but names are not left out: anonymize too")


class Records:
    """The records of jobs while they are read, compact, and what became of other rows.

    Attributes
    ----------
    rows : int
        Rows read so far, which the reader counts.
    digest : hash
        Of all that is read, to be given to `line_blocks`.
    suspends : bool
        Whether the records state that jobs were suspended.
    opened : float or None
        When the window of the export opened, where its reader knows. [s since 1970]

    Examples
    --------
    >>> records = Records()
    >>> records.extend(2, place=[2, 3], submit=[0.0, 60.0], user=["al", "bo"])
    >>> records.frame()[["submit", "user", "start"]].to_numpy().tolist()
    [[0.0, 'al', nan], [60.0, 'bo', nan]]
    """

    def __init__(self) -> None:
        self.rows = 0
        self.digest = hashlib.sha256()
        self.suspends = False
        self.opened: float | None = None
        self._n_records = 0
        self._table: pd.DataFrame | None = None
        self._parts: dict[str, list[NDArray | int]] = {f.name: [] for f in RECORD_FIELDS}
        self._words = {f.name: _Words([""]) for f in RECORD_FIELDS if f.kind == "word"}
        self._left_out: dict[str, Repair] = {}
        self._noted: dict[str, Repair] = {}

    def __len__(self) -> int:
        """Return the number of records."""
        return self._n_records

    def extend(self, n_records: int, **columns: ArrayLike) -> None:
        """Add records; fields that are not given are unknown.

        Parameters
        ----------
        n_records : int
        **columns : array_like, shape (n_records,)
            By the names of `RECORD_FIELDS`; NaN, -1 as a status, and empty strings are unknown.
        """
        for field in RECORD_FIELDS:
            given = columns.pop(field.name, None)
            self._parts[field.name].append(
                n_records if given is None else self._compact(field, given, n_records)
            )
        if columns:
            raise ParameterError(f"no field of a record: {', '.join(columns)}")
        self._n_records += n_records

    def leave_out(self, kind: str, line: int, count: int = 1) -> None:
        """Count rows that are no job of the log."""
        _count(self._left_out, kind, line, count)

    def note(self, kind: str, line: int, count: int = 1) -> None:
        """Count what is odd in rows of jobs."""
        _count(self._noted, kind, line, count)

    def note_where(self, kind: str, odd: NDArray[np.bool_], places: NDArray[np.int64]) -> None:
        """Count what is odd in rows of jobs where `odd` is true."""
        if odd.any():
            self.note(kind, int(places[np.argmax(odd)]), int(odd.sum()))

    @property
    def left_out(self) -> tuple[Repair, ...]:
        """Rows that are no job of the log, the most first."""
        return tuple(sorted(self._left_out.values(), key=lambda r: (-r.count, r.first_line)))

    @property
    def noted(self) -> tuple[Repair, ...]:
        """What is odd in rows of jobs, the most first."""
        return tuple(sorted(self._noted.values(), key=lambda r: (-r.count, r.first_line)))

    def frame(self) -> pd.DataFrame:
        """Return the records as a table and forget them."""
        if self._table is not None:
            table, self._table = self._table, None
            return table
        columns: dict[str, Any] = {}
        for field in RECORD_FIELDS:
            column = _joined(field, self._parts.pop(field.name))
            self._parts[field.name] = []
            if field.kind == "word":
                words = list(self._words[field.name])
                column = pd.Categorical.from_codes(column, words)
            columns[field.name] = column
        self._n_records = 0
        return pd.DataFrame(columns, copy=False)

    def restore(self, table: pd.DataFrame) -> None:
        """Take back what `frame` gave, some rows and values changed; none are added after it."""
        self._table = table
        self._n_records = len(table)

    def _compact(self, field: RecordField, given: ArrayLike, n_records: int) -> NDArray:
        if field.kind == "word":
            words: Any = given
            codes = map(self._words[field.name].__getitem__, words)
            column: NDArray = np.fromiter(codes, np.int32)
        else:
            column = np.asarray(given, dtype=_DTYPES[field.kind])
        if column.shape != (n_records,):
            raise ParameterError(f"{column.size} values of {field.name} for {n_records} records")
        return column


_DTYPES: dict[str, Any] = {
    "number": np.float64,
    "whole": np.int64,
    "word": np.int32,
    "text": object,
}


class _Words(dict[Any, int]):
    """Codes of words; a new one gets the next; None and NaN are the empty word."""

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__((word, code) for code, word in enumerate(words))

    def __missing__(self, word: Any) -> int:
        if not isinstance(word, str):
            return self["" if word is None or word != word else str(word)]
        code = self[word] = len(self)
        return code


def _joined(field: RecordField, parts: list[NDArray | int]) -> NDArray:
    """Join the parts of a column; a number stands for so many unknown values."""
    unknown: Any = {"number": np.nan, "whole": -1, "word": 0, "text": ""}[field.kind]
    dtype = _DTYPES[field.kind]
    filled = [np.full(p, unknown, dtype) if isinstance(p, int) else p for p in parts]
    return np.concatenate([np.empty(0, dtype), *filled])


def _count(found: dict[str, Repair], kind: str, line: int, count: int) -> None:
    if count:
        before = found.get(kind, Repair(kind, 0, line))
        found[kind] = Repair(kind, before.count + count, min(before.first_line, line))
