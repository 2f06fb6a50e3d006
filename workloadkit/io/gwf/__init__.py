"""Read and write the Grid Workloads Format (A. Iosup et al., "The Grid Workloads Archive", 2008).

Its first 16 columns are those of the Standard Workload Format; the 13 others are kept in the
side-car, under their names.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import FormatError, plural
from workloadkit.fields import FIELDS, UNKNOWN
from workloadkit.header import Header
from workloadkit.intake import SHORT, TORN, Repair
from workloadkit.io.files import Source, log_name, source_path
from workloadkit.io.gwf.writing import (
    COLUMNS,
    LEGEND,
    N_NUMBERS,
    OF_THE_LOG,
    SHARED,
    SINCE_1970,
    SINCE_1970_FROM,
    write_gwf,
)
from workloadkit.io.lines import Block, line_blocks
from workloadkit.io.names import as_whole
from workloadkit.io.swf.reading import MAX_COMMENT_LINES, MAX_COMMENTS, MIN_COLUMNS
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_gwf", "write_gwf"]


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NUMBERS = re.compile(rf"(?:{_NUMBER.pattern} )*+")


def read_gwf(source: Source) -> Trace:
    r"""Read a log in the Grid Workloads Format [1]_: 29 columns, separated by tabs or blanks.

    Users, groups, executables, queues and partitions that are not all whole numbers become 1, 2,
    … in order of the jobs; queues and partitions get the numbers in the header (``Queue: 2
    night``). `Trace.sidecar` has their names, and the columns after the 16th. Submit times in
    seconds since 1970 become seconds of the log; the header then has UnixStartTime. Each line is a
    job, regardless of its number and status. Repairs are listed in `Trace.repairs`.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input; compression is recognized from the content.

    Raises
    ------
    FormatError
        With the line, the column and the text of an invalid value or a number out of range; also
        if the file has no jobs.

    References
    ----------
    .. [1] A. Iosup et al., "The Grid Workloads Archive", Future Generation Computer Systems
       24(7), 2008.

    Examples
    --------
    >>> import io
    >>> cells = "1 1109162400 5 60 4 -1 -1 4 -1 -1 1 U12 G1 -1 q -1 site1 site2 UNITARY".split()
    >>> trace = read_gwf(io.BytesIO("\t".join(cells + 10 * ["-1"]).encode()))
    >>> trace.jobs[["submit", "wait", "run", "user"]].to_numpy().tolist()
    [[0.0, 5.0, 60.0, 1.0]]
    >>> trace.sidecar[["user", "OrigSiteID"]].to_numpy().tolist(), trace.header.start
    ([['U12', 'site1']], 1109162400)
    """
    reader = _Reader(source_path(source))
    for block in line_blocks(source, reader.digest, note=reader.note):
        reader.read(block)
    return reader.trace()


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are in the Grid Workloads Format.

    Examples
    --------
    >>> looks_like(["# a comment", "1 " * 29]), looks_like(["; a comment", "1 " * 18])
    (True, False)
    """
    comments = [line.lstrip() for line in first_lines if line.lstrip().startswith(("#", ";"))]
    if any("JobID" in line and "SubmitTime" in line for line in comments if line[0] == "#"):
        return True
    jobs = (line for line in first_lines if line.strip() and line.lstrip()[0] not in "#;")
    cells = _cells(next(jobs, ""))
    hashes = bool(comments) and all(line[0] == "#" for line in comments)
    if not cells:
        return hashes
    numbers = len(cells) >= MIN_COLUMNS and all(map(_NUMBER.fullmatch, cells[1:MIN_COLUMNS]))
    return numbers and (len(cells) == len(COLUMNS) or hashes)


class _Reader:
    """A log while it is read: columns and repairs so far."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.digest = hashlib.sha256()
        self.comments: list[str] = []
        self.comment_bytes = 0
        self.since_1970: bool | None = None  # whether submit times are, if the file states it
        self.jobs: list[NDArray[np.object_]] = []  # job ids
        self.numbers: list[NDArray[np.float64]] = []
        self.codes: list[
            NDArray[np.int32]
        ] = []  # codes of the names in the columns after the numbers
        self.names: list[dict[str, int]] = [{} for _ in COLUMNS[N_NUMBERS:]]
        self.lines: list[NDArray[np.int64]] = []
        self.repairs: dict[str, Repair] = {}

    def read(self, block: Block) -> None:
        """Read whole lines."""
        rows: list[list[str]] = []
        lines: list[int] = []
        for number, line in enumerate(block.lines, block.first_line):
            if not line:  # fast path for many empty lines
                continue
            if line.lstrip().startswith("#"):
                self.keep_comment(line, number, among_jobs=bool(self.jobs or rows))
                continue
            cells = _cells(line)
            if not cells:
                continue
            if len(cells) < len(COLUMNS) and not block.ends and not self.all_short:
                self.note(TORN, number)
                continue
            if len(cells) != len(COLUMNS):
                cells = self.of_29(cells, number)
            rows.append(cells)
            lines.append(number)
        if not rows:
            return
        columns = list(zip(*rows, strict=True))
        self.jobs.append(np.array(columns[0], dtype=object))
        self.numbers.append(
            np.stack([self.measured(i, columns[i], lines) for i in range(1, N_NUMBERS)])
        )
        n_statuses = len(self.names[0])
        codes = [
            [known.setdefault(name, len(known)) for name in column]
            for known, column in zip(self.names, columns[N_NUMBERS:], strict=True)
        ]
        for status in list(self.names[0])[n_statuses:]:
            if _status(status) is None:
                raise FormatError(
                    self.path,
                    "not an integer",
                    line=lines[columns[N_NUMBERS].index(status)],
                    field=COLUMNS[N_NUMBERS],
                    text=status,
                )
        self.codes.append(np.array(codes, np.int32))
        self.lines.append(np.array(lines))

    @property
    def all_short(self) -> bool:
        """Whether no line so far has all columns."""
        n_short = self.repairs[SHORT].count if SHORT in self.repairs else 0
        return n_short == sum(map(len, self.lines))

    def of_29(self, cells: list[str], line: int) -> list[str]:
        """Pad or truncate a line to 29 columns."""
        if len(cells) < MIN_COLUMNS:
            hint = "" if self.jobs else " (the file does not look like GWF)"
            message = f"{plural(len(cells), 'column')}; a job has 29, and at least 5{hint}"
            raise FormatError(self.path, message, line=line)
        if len(cells) > len(COLUMNS):
            self.note("columns after the 29th left out", line)
            return cells[: len(COLUMNS)]
        self.note(SHORT, line)
        return cells + [str(UNKNOWN)] * (len(COLUMNS) - len(cells))

    def keep_comment(self, line: str, number: int, *, among_jobs: bool) -> None:
        """Keep a comment as a header line, except those written into every file."""
        if line in (SINCE_1970, OF_THE_LOG):
            self.since_1970 = line == SINCE_1970
        elif line != LEGEND:
            self.comment_bytes += len(line)
            if self.comment_bytes > MAX_COMMENTS or len(self.comments) == MAX_COMMENT_LINES:
                message = "more than 64 MiB or a million lines of comments"
                raise FormatError(self.path, message, line=number)
            self.comments.append(line.replace("#", ";", 1).rstrip("\r"))
        if among_jobs:
            self.note("comments among the jobs moved to the header", number)

    def measured(self, column: int, texts: Sequence[str], lines: list[int]) -> NDArray[np.float64]:
        """Return the numbers of a column, or raise an error."""
        field = SHARED[column]

        def refuse(message: str, row: int) -> NoReturn:
            raise FormatError(
                self.path, message, line=lines[row], field=COLUMNS[column], text=texts[row]
            )

        if not _NUMBERS.fullmatch(" ".join(texts) + " "):
            refuse("not a number", next(i for i, t in enumerate(texts) if not _is_number(t)))
        values = np.array(list(map(float, texts)))
        absurd = ~(np.abs(values) <= field.limit)
        if absurd.any():
            refuse("out of range", int(np.argmax(absurd)))
        odd = (values < 0) & (values != UNKNOWN)
        if odd.any():
            kind = f"negative numbers other than -1 kept as {field.title}"
            self.note(kind, lines[int(np.argmax(odd))], int(odd.sum()))
        return values

    def note(self, kind: str, line: int, count: int = 1) -> None:
        """Count a repair or an oddity."""
        before = self.repairs.get(kind, Repair(kind, 0, line))
        self.repairs[kind] = Repair(kind, before.count + count, before.first_line)

    def trace(self) -> Trace:
        """Build the trace, sorted by submit time."""
        if not self.jobs:
            empty = "contains comments but no jobs" if self.comments else "is empty"
            raise FormatError(self.path, empty)
        numbers = np.concatenate(self.numbers, axis=1)
        codes = np.concatenate(self.codes, axis=1)
        lines = np.concatenate(self.lines)
        ids = np.concatenate(self.jobs)
        header = Header(tuple(self.comments))
        header, submit = self.seconds_of_log(header, numbers[0])
        late = submit < np.maximum.accumulate(submit)
        if late.any():
            line = int(lines[np.argmax(late)])
            self.note("jobs out of order sorted by submit time", line, int(late.sum()))
        order = np.argsort(submit, kind="stable")
        table: dict[str, NDArray] = {"job": np.arange(1, ids.size + 1), "submit": submit[order]}
        sidecar_columns: dict[str, pd.Categorical | NDArray] = {}
        if all(as_whole(name) is not None for name in ids.tolist()):
            table["job"] = ids[order].astype(np.int64)
        else:
            sidecar_columns["id"] = ids[order]
        for field, column in zip(SHARED[2:N_NUMBERS], numbers[1:, order], strict=True):
            table[field.name] = np.where(column == UNKNOWN, np.nan, column)
        of_names = zip(COLUMNS[N_NUMBERS:], self.names, codes[:, order], strict=True)
        for place, (name, known_names, code) in enumerate(of_names, N_NUMBERS):
            words = ["" if word == str(UNKNOWN) else word for word in known_names]
            if place >= len(SHARED):
                if any(words):
                    sidecar_columns[name] = _words(code, words)
                continue
            field = SHARED[place]
            read = _status if place == N_NUMBERS else as_whole
            whole = [read(word or str(UNKNOWN)) for word in words]
            if None not in whole:
                table[field.name] = np.array(whole, np.int64)[code]
            else:
                sidecar_columns[field.name] = _words(code, words)
                table[field.name] = _in_order(code, words, _named(header, field.name))
        for field in FIELDS[len(SHARED) :]:
            table[field.name] = np.full(ids.size, np.nan if field.measured else -1, field.dtype)
        return Trace(
            pd.DataFrame(table, copy=False),
            header,
            name=log_name(self.path),
            digest=self.digest.hexdigest(),
            repairs=tuple(self.repairs.values()),
            sidecar=pd.DataFrame(sidecar_columns) if sidecar_columns else None,
        )

    def seconds_of_log(
        self, header: Header, submit: NDArray[np.float64]
    ) -> tuple[Header, NDArray[np.float64]]:
        """Return submit times in seconds of the log, and a header that states its start."""
        known = submit != UNKNOWN
        first = float(submit[known].min()) if known.any() else 0.0
        start = header.start or 0
        since_1970 = self.since_1970
        if since_1970 is None:
            since_1970 = first >= max(start, SINCE_1970_FROM)
        if not since_1970:
            return header, submit
        if start < SINCE_1970_FROM:
            start = int(np.floor(first))
            header = header.replaced("UnixStartTime", str(start))
        return header, np.where(known, submit - start, submit)


def _is_number(text: str) -> bool:
    """Whether a text is a decimal number."""
    return _NUMBER.fullmatch(text) is not None


def _status(text: str) -> int | None:
    """Return a status; None if it is invalid. Some files write it with decimals."""
    whole = as_whole(text)
    if whole is None and _is_number(text) and float(text).is_integer():
        return as_whole(f"{float(text):.0f}")
    return whole


def _cells(line: str) -> list[str]:
    """Split a line at its tabs if that gives 29 columns, else at blanks and tabs."""
    if "\t" in line:
        cells = [cell.strip() or str(UNKNOWN) for cell in line.rstrip().split("\t")]
        if len(cells) == len(COLUMNS):
            return cells
    return line.split()


def _words(code: NDArray[np.int32], words: list[str]) -> pd.Categorical:
    """Return names by their codes; unknown names are empty."""
    different = list(dict.fromkeys(["", *words]))
    place = {word: i for i, word in enumerate(different)}
    return pd.Categorical.from_codes(np.array([place[word] for word in words])[code], different)


def _named(header: Header, field: str) -> dict[str, int]:
    """Return the numbers of queues or partitions in lines such as ``Queue: 2 night``."""
    if field not in ("queue", "partition"):
        return {}
    parts = (value.split(None, 1) for value in header.get_all(field))
    found = ((as_whole(part[0]), part[1].strip()) for part in parts if len(part) == 2)
    return {name: number for number, name in found if number is not None and 0 <= number < 2**31}


def _in_order(
    code: NDArray[np.int32], words: list[str], named: Mapping[str, int]
) -> NDArray[np.int64]:
    """Return numbers for names: from the header, else the next ones in order of appearance."""
    number = np.full(len(words), UNKNOWN)
    next_number = max(named.values(), default=0) + 1
    for c in pd.unique(code).tolist():
        if words[c] in named:
            number[c] = named[words[c]]
        elif words[c]:
            number[c] = next_number
            next_number += 1
    return number[code]
