"""Logs that are read in chunks, so that they need not fit into memory."""

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.columns import Columns
from workloadkit.display import Displayed
from workloadkit.errors import FormatError, ParameterError, check_count, plural, quoted
from workloadkit.fields import FIELDS, NAMES
from workloadkit.header import Header
from workloadkit.io.files import log_name, naming_errors
from workloadkit.io.machine import from_dict
from workloadkit.io.sidecar import open_parquet, reading_parquet
from workloadkit.io.wkt.columns import checked_note, jobs_of, n_bytes_behind
from workloadkit.io.wkt.writing import MAGIC, SIDECAR, sealed
from workloadkit.memory import room_for
from workloadkit.trace import Trace, no_jobs

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.machine.description import MachineDescription

#: Jobs of a chunk by default.
CHUNK_JOBS = 1 << 16

_BLOCK = 1 << 22  # of a file that is digested [bytes]
_END = 8  # bytes of a Parquet file that state the length of its metadata
_LISTS = ("bursts", "utility")
_MEASURED = tuple(field.name for field in FIELDS if field.measured)

#: How `OpenLog.further` calls it.
SIDE_CAR = "a side-car"


@dataclass(frozen=True, eq=False)
class OpenLog(Displayed):
    """A log in a file, whose jobs are read in chunks when they are used.

    Parameters
    ----------
    path : str
        A ``.wkt.parquet`` file.
    header : Header
    n_jobs : int
    machine : MachineDescription, optional
    further : tuple of str
        What the log contains in addition to the fields of jobs; chunks do not have it.
    decimals : frozenset of str
        Fields whose values may be decimals.
    """

    path: str
    header: Header
    n_jobs: int
    machine: "MachineDescription | None" = None
    further: tuple[str, ...] = ()
    decimals: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """File name without folder."""
        return log_name(self.path)

    @cached_property
    def digest(self) -> str:
        """That of the `Trace` that `workloadkit.read_log` returns."""
        with _opened(self.path) as stream:
            parquet, size = open_parquet(stream), Path(self.path).stat().st_size
            return _digest(stream, size, checked_note(self.path, parquet, size))

    @cached_property
    def knows_procs(self) -> bool:
        """Whether the log knows the used processors of any job, see `Trace.used_procs`."""
        return any((jobs["procs"] > 0).any() for jobs in self.columns(names=("submit", "procs")))

    def trace(self, jobs: Columns) -> Trace:
        """Return some of the jobs, with what describes the whole log.

        Parameters
        ----------
        jobs : Columns
        """
        return Trace(jobs, self.header, name=self.name, digest=self.digest, machine=self.machine)

    def read(self) -> Trace:
        """Return all jobs, their columns in a file if they would take too much memory."""
        jobs, at = Columns(room_for({f.name: f.dtype for f in FIELDS}, self.n_jobs)), 0
        for part in self.columns():
            for name, column in part.items():
                jobs[name][at : at + column.size] = column
            at += len(part)
        return self.trace(jobs)

    def columns(self, size: int = CHUNK_JOBS, names: Collection[str] = NAMES) -> Iterator[Columns]:
        """Yield the columns of consecutive jobs, in the order of the log.

        Parameters
        ----------
        size : int, default 65536
            The largest number of jobs.
        names : collection of str
            The fields to read, `submit` among them; by default all.

        Raises
        ------
        FormatError
            If the file has been changed to one that no log can be.
        """
        check_count("size", size, least=1)
        last = -np.inf
        with _opened(self.path) as stream:
            parquet = open_parquet(stream)
            stored = [name for name in parquet.schema_arrow.names if name in names]
            batches = parquet.iter_batches(size, columns=stored, use_threads=False)
            while (batch := reading_parquet(self.path, lambda: next(batches, None))) is not None:
                jobs = jobs_of(self.path, _table_of(batch), names)
                submit = jobs["submit"]
                if submit.size and not (submit[0] >= last and (submit[1:] >= submit[:-1]).all()):
                    raise FormatError(self.path, "is not in order", field="submit")
                last = submit[-1] if submit.size else last
                yield jobs

    def chunks(self, size: int = CHUNK_JOBS) -> Iterator[Trace]:
        """Yield consecutive jobs as logs; each has the header and the digest of the whole log.

        Parameters
        ----------
        size : int, default 65536
            The largest number of jobs.
        """
        return map(self.trace, self.columns(size))

    def _summary(self) -> str:
        return f"{self.name!r}, {plural(self.n_jobs, 'job')}"

    def _table(self) -> "pd.DataFrame":
        return next(self.chunks()).jobs  # the first ones


@dataclass(frozen=True, eq=False)
class LogInParts(OpenLog):
    """A log that was read, in chunks. Those of a long one are in a file, see `workloadkit.memory`.

    Parameters
    ----------
    log : Trace
    """

    log: Trace = field(default_factory=lambda: Trace(no_jobs()), repr=False)

    @property
    def digest(self) -> str:
        """That of the log."""
        return self.log.digest

    def trace(self, jobs: Columns) -> Trace:
        """Return some of the jobs, with what describes the whole log and says its origin."""
        log = self.log
        origin = {name: getattr(log, name) for name in ("name", "digest", "made_from", "changes")}
        part = Trace(jobs, log.header, machine=log.machine, dropped=log.dropped, **origin)
        if not log.digest:  # a part has the identity of the whole
            part.__dict__["content_digest"] = log.content_digest
        return part

    def columns(self, size: int = CHUNK_JOBS, names: Collection[str] = NAMES) -> Iterator[Columns]:
        """Yield the columns of consecutive jobs, as `OpenLog.columns` does."""
        check_count("size", size, least=1)
        table = self.log.table("jobs")
        jobs = Columns({name: np.asarray(table[name]) for name in NAMES if name in names})
        return jobs.parts(size)


def in_parts(log: Trace) -> OpenLog:
    """Return a log that was read as one that is read in chunks."""
    further = ["bursts"] * bool(log.n_bursts) + ["utility"] * bool(len(log.table("utility")))
    further += [SIDE_CAR] * (log.sidecar is not None)
    found = LogInParts(log.name, log.header, log.n_jobs, log.machine, tuple(further), log=log)
    decimals = {
        name
        for part in found.columns(names=_MEASURED)
        for name, column in part.items()
        if not np.array_equal(column, np.floor(column), equal_nan=True)
    }
    return replace(found, decimals=frozenset(decimals))


def _table_of(batch: Any) -> Any:
    import pyarrow as pa

    batch.validate(full=True)
    return pa.Table.from_batches([batch])


def open_log(path: str | os.PathLike[str]) -> OpenLog:
    """Open a log that is too long for the memory; its jobs are read in chunks when they are used.

    Parameters
    ----------
    path : str or path
        A ``.wkt.parquet`` file, as `write_log` and ``workloadkit convert`` make them.

    Returns
    -------
    OpenLog

    Raises
    ------
    FormatError
        If the file is missing, or is not such a log.
    ParameterError
        If the log is in another format.

    Examples
    --------
    >>> import tempfile, workloadkit as wk
    >>> log = wk.Trace.from_columns({"submit": [0, 60, 90], "run": [2, 30, 5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wk.write_log(log, f"{folder}/site.wkt.parquet")
    ...     opened = wk.open_log(f"{folder}/site.wkt.parquet")
    ...     [chunk.column("run").tolist() for chunk in opened.chunks(2)]
    ()
    [[2.0, 30.0], [5.0]]
    """
    import pyarrow as pa

    name = os.fspath(path)
    with _opened(name) as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise ParameterError(
                "log",
                f"is {quoted(name)}; give a .wkt.parquet file, such as `workloadkit convert` makes "
                "of other logs",
            )
        parquet = reading_parquet(name, lambda: open_parquet(stream))
        note = checked_note(name, parquet, Path(name).stat().st_size)
        names = parquet.schema_arrow.names
    if len(set(names)) < len(names):
        raise FormatError(name, "has two columns of one name")
    further = [n for n in _LISTS if n in names]
    further += [SIDE_CAR] * any(n.startswith(SIDECAR) for n in names)
    return OpenLog(
        name,
        Header(tuple(note["header"])),
        parquet.metadata.num_rows,
        from_dict(note["machine"], name) if "machine" in note else None,
        tuple(further),
        frozenset(f.name for f in parquet.schema_arrow if pa.types.is_floating(f.type)),
    )


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open a file; errors name it."""
    with naming_errors(path), Path(path).open("rb") as stream:
        yield stream


def _digest(stream: Any, size: int, note: dict[str, Any]) -> str:
    """Return the digest of the text that was written, if the file is unchanged, or of the file."""
    stream.seek(max(size - _END, 0))
    n_rows = size - n_bytes_behind(stream.read(_END))
    stream.seek(0)
    found = hashlib.sha256()
    while n_rows > 0 and (data := stream.read(min(_BLOCK, n_rows))):
        found.update(data)
        n_rows -= len(data)
    digest: str = note["log_sha256"]
    if digest and note["seal"] == sealed(found.copy(), note["header"], digest):
        return digest
    while data := stream.read(_BLOCK):
        found.update(data)
    return found.hexdigest()
