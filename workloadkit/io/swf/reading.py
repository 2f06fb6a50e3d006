"""Read the Standard Workload Format.

A compiled parser reads ordinary lines of long logs. The parser in this file reads all other lines
and short logs, and detects and repairs invalid lines.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from itertools import chain, islice
from math import nan
from operator import itemgetter
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import NotLoadedError, lacks_compiler, loaded_only
from workloadkit._kernels.patience import seconds_left, spending
from workloadkit.checkpoints import are_bursts
from workloadkit.columns import Columns
from workloadkit.errors import FormatError, plural
from workloadkit.fields import BURST_STATUS, FIELDS, MAX_PROCS, UNKNOWN, Field
from workloadkit.header import Header
from workloadkit.intake import SHORT, TORN, Repair
from workloadkit.io.files import CHUNK, log_name
from workloadkit.io.lines import NULS, decoded_line, without_nuls
from workloadkit.io.swf.further import NUMBER, FurtherColumns
from workloadkit.memory import is_long, room, rows_of
from workloadkit.trace import Trace

#: Longest accepted line. [bytes]
MAX_LINE = 1 << 20

#: Maximum size of all comments. [bytes, lines]
MAX_COMMENTS = 64 << 20
MAX_COMMENT_LINES = 1_000_000

#: Required columns of a job: number, submit, wait, run, processors.
MIN_COLUMNS = 5

#: Number of jobs for which there is room at first; no power of two, with which all columns would
#: compete for the same places of the processor's cache.
FIRST_ROOM = 30_000

#: Size of the text from which the compiled parser is used. [bytes]
COMPILED_FROM = 1 << 18

#: Size of a log from which the parser is compiled, if it is not yet: 120,000 jobs. [bytes]
COMPILED_AT_ONCE = 8 << 20

_MEASURED = tuple(field for field in FIELDS if field.measured)
_IDENTIFIERS = tuple(field for field in FIELDS if not field.measured)
_SUBMIT = [field.name for field in _MEASURED].index("submit")
_pick_measured = itemgetter(*(field.column - 1 for field in _MEASURED))
_pick_identifiers = itemgetter(*(field.column - 1 for field in _IDENTIFIERS))

_PLAIN = b"0123456789+-. \t\r\n"
_INTEGER = re.compile(rb"[-+]?\d+")
BLANK_LINES = re.compile(rb"(?:[ \t\r]*+\n)++")
_SEMICOLON = ord(";")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INT64_MAX = 2**63 - 1

_Row = tuple[list[float], list[int]]


class SwfReader:
    """A log while it is read: columns and repairs so far."""

    def __init__(self, path: str, n_bytes: int, *, strict: bool) -> None:
        self.path = path
        self.n_bytes = 0
        self.n_bytes_expected = n_bytes
        self.strict = strict
        self.compiled = False
        self.digest = hashlib.sha256()
        self.n_lines = 0
        self.n_jobs = 0
        self.last_job = -_INT64_MAX  # of the previous line, for strict reading
        self.last_submit = -np.inf
        self.measured = np.empty((len(_MEASURED), 0))  # a row for each field
        self.identifiers = np.empty((len(_IDENTIFIERS), 0), np.int64)
        self.columns: dict[str, NDArray] = {}
        self.has_negative = False  # measured numbers other than -1
        self.comments: list[str] = []
        self.comment_bytes = 0
        self.others: Counter[int] = Counter()  # other lines, by the number of jobs before them
        self.further = FurtherColumns()
        self.repairs: dict[str, tuple[int, int]] = {}  # count and first line, by kind

    def read_all(self, chunks: Iterator[bytes]) -> None:
        """Read the whole text, with the compiled parser if it is long."""
        n_first = 0 if self.n_bytes_expected >= COMPILED_FROM else -(-COMPILED_FROM // CHUNK)
        first = list(islice(chunks, n_first))
        self.compiled = n_first == 0 or sum(map(len, first)) >= COMPILED_FROM
        rest = b""  # incomplete last line of the previous chunk
        chunks = chain(iter(first), chunks)
        del first  # lets the iterator release the chunks
        for chunk in chunks:
            self.n_bytes += len(chunk)
            if b"\0" in chunk:
                line = self.n_lines + 1 + chunk.count(b"\n", 0, chunk.index(b"\0"))
                self.depart("NUL characters", NULS, line=line, count=chunk.count(b"\0"))
                chunk = without_nuls(chunk, torn=bool(rest))
            whole = chunk.rfind(b"\n") + 1
            if whole:
                self.read(b"".join((rest, memoryview(chunk)[:whole])))
                rest = b""
            rest += chunk[whole:]
            if len(rest) > MAX_LINE:
                self.read_line(rest + b"\n", self.n_jobs)  # raises an error
        if self.is_torn(rest):
            self.n_lines += 1
            self.depart("the file is truncated: its last line is incomplete", TORN)
        elif rest:
            self.read(rest + b"\n")

    def is_torn(self, rest: bytes) -> bool:
        """Whether the text after the last newline is an incomplete job.

        It lacks columns or the end of a number, although an earlier line has all columns.
        """
        tokens = rest.split()
        n_short, _ = self.repairs.get(SHORT, (0, 0))
        if not tokens or b";" in rest or n_short == self.n_jobs:
            return False
        return len(tokens) < len(FIELDS) or not NUMBER.fullmatch(tokens[-1])

    def read(self, text: bytes) -> None:
        """Read whole lines."""
        if self.n_lines == 0 and text.startswith(BYTE_ORDER_MARK):
            self.depart("begins with a byte order mark", "byte order mark skipped", line=1)
            text = text[len(BYTE_ORDER_MARK) :]
        first_job = self.n_jobs
        self.further.begin(most=len(text) // (2 * MIN_COLUMNS) + 1)
        sooner = self.compiled and self.is_plain_sooner()
        with spending() if sooner else nullcontext():
            self.read_lines(text, first_job, compiled=self.compiled and not sooner)
        self.further.end(first_job, self.n_jobs)

    def is_plain_sooner(self) -> bool:
        """Whether the parser of this file is sooner than compiling the other one."""
        if self.n_bytes_expected > COMPILED_AT_ONCE:
            return False
        with suppress(NotLoadedError), loaded_only():
            self.parse(b"", 0, self.n_jobs)
            return False
        return seconds_left() > 0 or lacks_compiler()

    def read_lines(self, text: bytes, first_job: int, *, compiled: bool) -> None:
        """Read whole lines with a parser; with the plain one, if the other does not know a line."""
        at = 0
        while at < len(text):
            if self.is_full:
                self.make_room(self.n_bytes - len(text) + at)
            if compiled and text[at] != _SEMICOLON:  # fast path for many comments
                at = self.parse(text, at, first_job)
                if at == len(text) or self.is_full:
                    continue
            end = text.index(b"\n", at) + 1
            row = self.read_line(text[at:end], first_job)
            at = end
            if row is not None:
                job = self.n_jobs - 1
                self.measured[:, job], self.identifiers[:, job] = row
            elif blank := BLANK_LINES.match(text, at):  # fast path for many blank lines
                n_blank = text.count(b"\n", at, blank.end())
                self.n_lines += n_blank
                self.others[self.n_jobs] += n_blank
                at = blank.end()

    @property
    def is_full(self) -> bool:
        """Whether the columns have no room for another job."""
        return self.n_jobs == self.measured.shape[1]

    def make_room(self, n_bytes: int) -> None:
        """Make room for more jobs, after so many bytes."""
        # Joining parts at the end would need twice the memory, so columns grow: to the size
        # expected from that of the file, within limits; by half if the file turns out to be
        # compressed. Room that is not used takes no memory.
        promised = 1.1 * self.n_bytes_expected / max(n_bytes, 1)
        capacity = FIRST_ROOM + int(self.n_jobs * min(max(promised, 1.5), 16))
        in_file = is_long(capacity)
        self.measured = _wider(self.measured, self.n_jobs, capacity, in_file=in_file)
        self.identifiers = _wider(self.identifiers, self.n_jobs, capacity, in_file=in_file)

    def parse(self, text: bytes, at: int, first_job: int) -> int:
        """Read lines with the compiled parser, until one is not ordinary or the room is used.

        Parameters
        ----------
        text : bytes
        at : int
            Where to begin.
        first_job : int
            First job of the text.
        """
        from workloadkit._kernels.swf import JobColumns, parse_lines

        n_before = self.n_jobs
        room, n_of = self.further.room(len(text) // 2), self.further.n_of[n_before - first_job :]
        columns = JobColumns(self.measured, self.identifiers, room, n_of)
        at, self.n_jobs, self.last_job, self.last_submit, n_more = parse_lines(
            np.frombuffer(text, np.uint8),
            at,
            MAX_LINE,
            self.strict,
            self.last_job,
            self.last_submit,
            columns,
            n_before,
        )
        if n_more:
            self.further.numbers.append(room[:n_more].copy())
        self.n_lines += self.n_jobs - n_before
        return at

    def read_line(self, line: bytes, first_job: int) -> _Row | None:
        """Read any line; return the measured fields and identifiers if it is a job.

        `first_job` is the first job of the text.
        """
        self.n_lines += 1
        if len(line) > MAX_LINE + 1:  # without the newline
            raise FormatError(self.path, "a line of more than 1 MiB", line=self.n_lines)
        data, semicolon, _ = line.partition(b";")
        tokens = data.split()
        if semicolon:
            self.keep_comment(line[len(data) if tokens else 0 :], behind_job=bool(tokens))
        if not tokens:
            self.others[self.n_jobs] += 1
            return None
        if b"\r" in data.rstrip():
            self.refuse("a carriage return within the line", text=data)
        more = [] if self.strict else tokens[len(FIELDS) :]
        if more:
            tokens = tokens[: len(FIELDS)]
            data = b" ".join(tokens)
        self.further.keep(more, self.n_jobs, first_job)
        row = None if self.strict or semicolon else _plain_row(data, tokens)
        if row is None:
            row = self.read_odd_line(tokens)
        self.n_jobs += 1
        measured, identifiers = row
        self.has_negative |= any(value < 0 and value != UNKNOWN for value in measured)
        submit = measured[_SUBMIT]
        measured = [nan if value == UNKNOWN else value for value in measured]
        measured[_SUBMIT] = submit
        return measured, identifiers

    def read_odd_line(self, tokens: list[bytes]) -> _Row:
        """Read a job of any form, or raise an error."""
        n_columns = len(tokens)
        numbers = [self.number(field, token) for field, token in zip(FIELDS, tokens, strict=False)]
        if n_columns < MIN_COLUMNS:
            self.refuse(f"{plural(n_columns, 'column')}; a job has 18, and at least 5" + self.hint)
        if n_columns < len(FIELDS):
            self.depart(f"{plural(n_columns, 'column')}, not 18", SHORT)
            numbers += [UNKNOWN] * (len(FIELDS) - n_columns)
        elif n_columns > len(FIELDS):
            self.depart(f"{plural(n_columns, 'column')}, not 18", "")  # used in strict mode only
        if self.strict:
            self.check_order(*itemgetter(0, 1, 10)(numbers))
        return [float(value) for value in _pick_measured(numbers)], list(_pick_identifiers(numbers))

    def number(self, field: Field, token: bytes) -> float:
        """Read one number of a job."""
        if not NUMBER.fullmatch(token):
            self.refuse("not a number" + self.hint, field, token)
        whole = _INTEGER.fullmatch(token) is not None
        if self.strict and not whole and field.name != "cpu":
            self.refuse("not an integer, as the standard requires", field, token)
        # Python limits integers to 4,300 digits; as a float, such a number is infinite.
        value = int(token) if whole and len(token) < 4300 else float(token)
        if abs(value) > field.limit:
            self.refuse("out of range", field, token)
        if self.strict and value < 0 and value != UNKNOWN:
            self.refuse("a negative number other than -1", field, token)
        if field.measured:
            return float(token)
        if not whole:
            if value != int(value) or abs(value) >= 2**53:  # floats are not exact from here on
                self.refuse("not an integer", field, token)
            self.depart("", "identifiers with a decimal point taken as integers")
        return int(value)

    @property
    def hint(self) -> str:
        """Hint that is added to an error in the first job."""
        return "" if self.n_jobs else " (the file does not look like SWF)"

    def check_order(self, job: int, submit: float, status: int) -> None:
        """Check that a job follows the previous one in order; bursts may repeat it."""
        repeats = job == self.last_job and submit in (UNKNOWN, self.last_submit)
        if repeats and status in BURST_STATUS:
            return
        if job <= self.last_job:
            self.refuse(f"job {job} follows job {self.last_job}", FIELDS[0])
        if submit < self.last_submit:
            before = f"{self.last_submit:g} s"
            self.refuse(f"submitted at {submit:g} s, after one at {before}", FIELDS[1])
        self.last_job, self.last_submit = job, float(submit)

    def keep_comment(self, comment: bytes, *, behind_job: bool) -> None:
        """Keep a comment line, or a comment after the columns of a job."""
        self.comment_bytes += len(comment)
        if self.comment_bytes > MAX_COMMENTS:
            self.refuse("more than 64 MiB of comments")
        if len(self.comments) == MAX_COMMENT_LINES:
            self.refuse("more than a million lines of comments")
        if self.n_jobs or behind_job:
            self.depart("a comment among the jobs", "comments among the jobs moved to the header")
        self.comments.append(decoded_line(comment.rstrip(b"\r\n")))

    def depart(self, problem: str, repair: str, *, line: int | None = None, count: int = 1) -> None:
        """Count a repair; in strict mode, raise an error instead."""
        line = line or self.n_lines
        if self.strict:
            raise FormatError(self.path, problem, line=line)
        before, first_line = self.repairs.get(repair, (0, line))
        self.repairs[repair] = (before + count, first_line)

    def refuse(
        self, message: str, field: Field | None = None, text: bytes | None = None
    ) -> NoReturn:
        """Raise an error for the current line."""
        raise FormatError(
            self.path,
            message,
            line=self.n_lines,
            field=field.name if field else None,
            text=text if text is None else text.strip().decode("utf-8", "backslashreplace"),
        )

    def trace(self) -> Trace:
        """Build the trace: separate the bursts, sort the jobs."""
        if self.n_jobs == 0:
            empty = "contains comments but no jobs" if self.comments else "is empty"
            raise FormatError(self.path, empty)
        for fields, table in ((_MEASURED, self.measured), (_IDENTIFIERS, self.identifiers)):
            for field, column in zip(fields, table, strict=True):
                self.columns[field.name] = column[: self.n_jobs]
        self.note_odd_numbers()
        burst, rows = self.arrange()
        bursts = {field.name: self.columns[field.name][burst] for field in FIELDS}
        jobs = {field.name: self.columns[field.name] for field in FIELDS}
        if not isinstance(rows, slice):
            jobs = rows_of(jobs, rows)
        self.columns.clear()
        found = self.further
        riding = found.tables(rows, self.n_jobs, self.repair_of) if found.numbers else {}
        return Trace(
            Columns(jobs),
            Header(tuple(self.comments)),
            Columns(bursts),
            name=log_name(self.path),
            digest=self.digest.hexdigest(),
            repairs=tuple(Repair(kind, *found) for kind, found in self.repairs.items()),
            **riding,
        )

    def note_odd_numbers(self) -> None:
        """Report legal but meaningless numbers, which would otherwise distort means unnoticed."""
        kinds: dict[str, NDArray[np.bool_]] = {}
        for field in _MEASURED if self.has_negative else ():
            column = self.columns[field.name]
            odd = (column < 0) & (column != UNKNOWN)
            kinds[f"negative numbers other than -1 kept as {field.title}"] = odd
        submit, status = self.columns["submit"], self.columns["status"]
        if submit.min() <= UNKNOWN < submit.max():
            bursts = (status >= BURST_STATUS[0]) & (status <= BURST_STATUS[-1])
            kinds["unknown submit times (-1) kept as second -1"] = (submit == UNKNOWN) & ~bursts
        for kind, odd in kinds.items():
            if odd.any():
                self.repair_of(kind, int(odd.sum()), int(np.argmax(odd)))

    def arrange(self) -> tuple[NDArray | slice, NDArray | slice]:
        """Return the lines that are bursts, and the lines that are jobs in order of submission."""
        job, submit, status = (self.columns[name] for name in ("job", "submit", "status"))
        burst = are_bursts(job, submit, status)
        if not burst.any() and (submit[1:] >= submit[:-1]).all():
            return slice(0), slice(None)  # file order; avoids a copy
        rows = np.flatnonzero(~burst)
        late = submit[rows] < np.maximum.accumulate(submit[rows])
        if late.any():
            first = int(rows[np.argmax(late)])
            self.repair_of("jobs out of order sorted by submit time", int(late.sum()), first)
            rows = rows[np.argsort(submit[rows], kind="stable")]
        return np.flatnonzero(burst), rows

    def repair_of(self, kind: str, count: int, job: int) -> None:
        """Note a repair, first in this job."""
        self.repairs[kind] = (count, self.line_of(job))

    def line_of(self, row: int) -> int:
        """Return the line of a job, counted from 0 in file order."""
        return row + 1 + sum(n for before, n in self.others.items() if before <= row)


def _wider(table: NDArray, n_jobs: int, capacity: int, *, in_file: bool) -> NDArray:
    """Return a table with room for more jobs."""
    wider = room((len(table), capacity), table.dtype, in_file=in_file)
    wider[:, :n_jobs] = table[:, :n_jobs]
    return wider


def _plain_row(data: bytes, tokens: list[bytes]) -> _Row | None:
    """Read an ordinary line; None for any other."""
    if len(tokens) != len(FIELDS) or data.translate(None, _PLAIN):
        return None
    try:
        measured = list(map(float, _pick_measured(tokens)))
        identifiers = list(map(int, _pick_identifiers(tokens)))
    except ValueError:
        return None
    # The smallest of all limits: larger values are checked individually.
    if max(map(abs, measured)) > MAX_PROCS or max(map(abs, identifiers)) > _INT64_MAX:
        return None
    return measured, identifiers
