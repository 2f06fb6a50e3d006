"""Write the Standard Workload Format."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workloadkit.checkpoints import burst_rows
from workloadkit.errors import WorkloadError, quoted
from workloadkit.fields import FIELDS, UNKNOWN, Field
from workloadkit.header import Header
from workloadkit.io.files import log_name, writing
from workloadkit.io.machine import MACHINE, machine_path, write_machine
from workloadkit.io.sidecar import (
    SIDECAR,
    check_replaceable,
    remove_stale,
    sidecar_path,
    write_sidecar,
)
from workloadkit.trace import Trace, check_trace
from workloadkit.utility import Utilities, check, pack

_ROWS_AT_A_TIME = 1 << 13  # limits the memory for text
#: For fewer jobs, loading the faster writer would take longer than it saves. [jobs]
_WRITTEN_FAST_FROM = 10_000
_LONGEST = 22  # a number of 20 digits, a sign and a blank
_MOST_DECIMALS = 3  # of numbers written without a text
_LIMITS = np.array([[field.limit] for field in FIELDS if field.measured])
# Decimals between these sizes are written alike by Python and Arrow, others with other exponents.
_LEAST_ALIKE, _MOST_ALIKE = 1e-4, 1e10


def write_swf(trace: Trace, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write a trace in the Standard Workload Format, whole or not at all.

    Header lines are copied; integers are written as integers, decimals as the shortest text that
    reads back equal, unknown as -1. Bursts follow their job, and the points of utility functions
    the 18 columns of their job. `Trace.sidecar` is written to a file with the whole name plus
    ``.parquet``, and `Trace.machine` to one with ``.machine.json``. The files are put in place when
    all are complete, the log last: if the process stops in between, the others do not match the log
    and are ignored. Such files of the log that is replaced are removed if the new log has none.

    Parameters
    ----------
    trace : Trace
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.

    Returns
    -------
    tuple of Path
        Paths of the files that were written next to the log.

    Raises
    ------
    WorkloadError
        If the file cannot be written, the trace contains values that the format cannot hold or
        invalid utility functions, or a file next to the log would replace one that was not written
        next to a log.

    Warns
    -----
    WorkloadWarning
        For a file next to the log that is removed, or that is of another kind and stays.

    Examples
    --------
    >>> import workloadkit as wk
    >>> _ = wk.write_swf(wk.Trace.from_columns({"submit": [0], "run": [2.5]}), "-")
    1 0 -1 2.5 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1
    """
    check_trace(trace)
    check(trace)
    return write_parts(path, trace, [trace], trace.n_jobs)


def write_parts(
    path: str | os.PathLike[str], whole: Trace, parts: Iterable[Trace], n_jobs: int
) -> tuple[Path, ...]:
    """Write a log that comes in parts, as `write_swf` does.

    Parameters
    ----------
    path : str or path
    whole : Trace
        With the header and what is written next to the log.
    parts : iterable of Trace
        Consecutive jobs.
    n_jobs : int
        Number of all jobs.
    """
    header = header_text(whole.header)
    digest = hashlib.sha256()
    written: list[Path] = []

    def companions() -> None:
        of = digest.hexdigest()
        if whole.sidecar is not None:
            check_replaceable(SIDECAR, path)
        if whole.machine is not None:
            check_replaceable(MACHINE, path)
            written.append(machine_path(path))
            write_machine(whole.machine, written[0], log=log_name(os.fspath(path)), digest=of)
        if whole.sidecar is not None:
            written.insert(0, sidecar_path(path))
            write_sidecar(whole, written[0], digest=of)

    with writing(path, companion=companions) as stream:

        def write(data: bytes | memoryview) -> None:
            digest.update(data)
            stream.write(data)

        write(header.encode(errors="replace"))
        for part in parts:
            for text in _texts(part, is_long=n_jobs >= _WRITTEN_FAST_FROM):
                write(text)
    if Path(path).is_file():  # not standard output, a device or a pipe
        if whole.sidecar is None:
            remove_stale(SIDECAR, path)
        if whole.machine is None:
            remove_stale(MACHINE, path)
    return tuple(written)


def _texts(trace: Trace, *, is_long: bool) -> Iterator[bytes | memoryview]:
    """Yield the lines of the jobs of a log, some at a time."""
    utilities = pack(trace.table("utility"), trace.n_jobs)
    bursts = _bursts_behind(trace)
    columns = {field.name: trace.column(field.name) for field in FIELDS}
    for start in range(0, trace.n_jobs, _ROWS_AT_A_TIME):
        rows = range(start, min(start + _ROWS_AT_A_TIME, trace.n_jobs))
        part = {name: column[start : rows.stop] for name, column in columns.items()}
        if is_long and not (bursts or utilities.time.size):
            yield _fast_text(part)
            continue
        lines = _lines(part)
        if utilities.time.size:
            lines = list(map(str.__add__, lines, _points(utilities.take(rows))))
        for row in bursts.keys() & rows if bursts else ():
            lines[row - start] += bursts[row]
        yield ("\n".join(lines) + "\n").encode()


def header_text(header: Header) -> str:
    """Return the lines of a header as text.

    Raises
    ------
    WorkloadError
        If a line is not a header line.
    """
    for line in header.lines:
        if not line.lstrip().startswith(";") or "\n" in line:
            raise WorkloadError(
                f"not a header line (a single line that starts with ';'): {quoted(line)}"
            )
    return "".join(f"{line}\n" for line in header.lines)


def _lines(table: Mapping[str, NDArray]) -> list[str]:
    """Return the lines of a job table, without newlines."""
    columns = (field_texts(field, table[field.name]) for field in FIELDS)
    return list(map(" ".join, zip(*columns, strict=True)))


def _fast_text(table: Mapping[str, NDArray]) -> memoryview:
    """Return the lines of a job table as text, by a compiled writer."""
    from workloadkit._kernels.swf import write_lines

    measured = np.stack([table[field.name] for field in FIELDS if field.measured])
    if (np.abs(measured) > _LIMITS).any() or np.isnan(table["submit"]).any():
        for field in FIELDS:
            check_writable(field, table[field.name])
    identifiers = np.stack([table[field.name] for field in FIELDS if not field.measured])
    decimals = (measured != np.trunc(measured)) & ~np.isnan(measured)
    some = decimals.any(axis=1)  # few columns have decimals
    numbers = measured[some].T[decimals[some].T]
    whole, n_decimals = _without_point(numbers)
    texts, text_end = _texts_of(numbers[n_decimals == 0])
    out = np.empty(_LONGEST * len(FIELDS) * measured.shape[1] + texts.size, np.uint8)
    size = write_lines(measured, identifiers, whole, n_decimals, texts, text_end, out)
    return out[:size].data


def _without_point(numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return numbers without their point, and how many decimals they have; 0 for many.

    A decimal of up to 15 digits that reads back equal is the only one so short.
    """
    whole = np.zeros(numbers.size, np.int64)
    n_decimals = np.zeros(numbers.size, np.int8)
    for n in range(_MOST_DECIMALS, 0, -1):
        shifted = np.rint(numbers * 10**n)
        exact = (shifted / 10**n == numbers) & (np.abs(shifted) < 1e15)
        whole[exact] = shifted[exact]
        n_decimals[exact] = n
    return whole, n_decimals


def _texts_of(numbers: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the texts of numbers with decimals, one after another, and where each ends."""
    if not numbers.size:
        return np.empty(0, np.uint8), np.empty(0, np.int32)
    import pyarrow as pa

    size = np.abs(numbers)
    if ((size >= _LEAST_ALIKE) & (size < _MOST_ALIKE)).all():
        texts = pa.array(numbers).cast(pa.string())
    else:
        texts = pa.array([*map(repr, numbers.tolist())], pa.string())
    _, ends, joined = (np.frombuffer(buffer or b"", np.uint8) for buffer in texts.buffers())
    return joined, ends.view(np.int32)[1 : numbers.size + 1]


def field_texts(field: Field, column: NDArray) -> Iterator[str]:
    """Yield the text of each value: -1 for unknown, else the shortest that reads back equal.

    Raises
    ------
    WorkloadError
        If a value cannot be written.
    """
    written = _as_written(field, column)
    return map(str, written.tolist()) if written.dtype.kind == "i" else _decimal_texts(written)


def _as_written(field: Field, column: NDArray) -> NDArray:
    """Return a column with -1 for unknown, as integers if all values are whole."""
    check_writable(field, column)
    if not field.measured:
        return column
    known = np.where(np.isnan(column), UNKNOWN, column)
    return known.astype(np.int64) if (known == np.trunc(known)).all() else known


def check_writable(field: Field, column: NDArray) -> None:
    """Check that a log can hold the values of a column, shape (n_jobs,).

    Raises
    ------
    WorkloadError
        If a submit time is NaN, or a measured value is out of range.
    """
    if not field.measured:
        return
    if field.name == "submit" and (unknown := np.isnan(column)).any():
        raise WorkloadError(f"submit of row {int(np.argmax(unknown))} is NaN")
    wrong = np.abs(column) > field.limit
    if wrong.any():
        raise WorkloadError(f"{field.name} {column[np.argmax(wrong)]:g} is out of range")


def _decimal_texts(column: NDArray[np.float64]) -> Iterator[str]:
    return (str(int(v)) if v.is_integer() else repr(v) for v in column.tolist())


def _points(utilities: Utilities) -> Iterator[str]:
    """Yield the text of each job's utility function, which follows the 18 columns."""
    numbers = np.stack([utilities.time, utilities.value], axis=1).ravel().tolist()
    texts = [f" {int(x)}" if x.is_integer() else f" {x!r}" for x in numbers]
    bounds = (2 * utilities.first).tolist()
    return ("".join(texts[low:high]) for low, high in pairwise(bounds))


def _bursts_behind(trace: Trace) -> dict[int, str]:
    """Return the lines of the bursts of each job, by row."""
    behind: dict[int, str] = {}
    if trace.n_bursts:
        table = {field.name: np.asarray(trace.table("bursts")[field.name]) for field in FIELDS}
        for row, line in zip(burst_rows(trace).tolist(), _lines(table), strict=True):
            behind[row] = behind.get(row, "") + "\n" + line
    return behind


def header_without_bursts(trace: Trace, n_jobs: int) -> Header:
    """Return the header for a log if only some jobs, and no bursts, are written.

    MaxJobs and MaxRecords are updated if they were correct.

    Parameters
    ----------
    trace : Trace
    n_jobs : int
        Number of jobs that are written.

    Examples
    --------
    >>> from workloadkit import Header, Trace
    >>> trace = Trace.from_columns({"submit": [0, 5]}, header=Header(("; MaxJobs: 2",)))
    >>> header_without_bursts(trace, 1).lines
    ('; MaxJobs: 1',)
    """
    header = trace.header
    n_bursts = trace.n_bursts
    for label, before in (("MaxJobs", trace.n_jobs), ("MaxRecords", trace.n_jobs + n_bursts)):
        if before != n_jobs and header.number(label) == before:
            header = header.replaced(label, str(n_jobs))
    if n_bursts and header.get("Preemption") is not None:
        header = header.replaced("Preemption", "No")  # the written file has no bursts
    return header
