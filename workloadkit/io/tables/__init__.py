"""Tables of jobs, such as public traces and exports of databases, read by a mapping.

`declared` is what a mapping may say, and `mapping` reads it; `parts` finds the files; `query` makes
one SQL query of it, with `values` for each kind of field; `engine` runs it; `reading` makes records
of its rows and counts every row; `log` writes a log without holding it in memory.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloadkit.errors import FormatError, WorkloadWarning
from workloadkit.header import Header
from workloadkit.intake import Intake
from workloadkit.io.assemble import Origin, assemble_from
from workloadkit.io.machine import from_dict
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm.values import STATES
from workloadkit.io.tables.engine import FRAME, connect
from workloadkit.io.tables.faults import fault_of, is_of_engine
from workloadkit.io.tables.frames import arrow_of
from workloadkit.io.tables.log import FractionError, LogWriter
from workloadkit.io.tables.mapping import Mapped, TableMapping, mapping_names, read_mapping
from workloadkit.io.tables.parts import Part, parts_of
from workloadkit.io.tables.query import Query, columns_of, query_of
from workloadkit.io.tables.reading import Batches
from workloadkit.io.tables.rejects import count_rejects
from workloadkit.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["convert_table", "mapping_names", "read_frame", "read_mapping", "read_table"]

_CHUNK = 1 << 20  # [bytes]


def read_table(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    mapping: Mapped,
    *,
    tz: str | None = None,
    procs: int | None = None,
    anonymize: bool = False,
    key: bytes | None = None,
) -> Trace:
    r"""Read a table of jobs: CSV, JSON or Parquet, in one or many files.

    Requires DuckDB (``pip install 'workloadkit[tables]'``), which reads the named files and nothing
    else. `Trace.intake` accounts for every row.

    Parameters
    ----------
    files : str, path, or several of them in a list
        Files, patterns such as ``part-*.csv.gz``, folders, and zip or tar archives.
    mapping : str, path or dict
        What the columns mean: the name of a mapping that ships (`mapping_names`), a TOML file, or
        its sections.
    tz : str, optional
        Time zone of the log, and of times without an offset; by default that of the mapping.
    procs : int, optional
        Processors of the machine; by default those of the mapping.
    anonymize : bool, default False
        Whether to leave out names and ids.
    key : bytes, optional
        With `anonymize`: secret that makes the numbers of names the same in every log.

    Raises
    ------
    FormatError
        If a file cannot be read, or a key of the mapping is wrong: with its line.
    ParameterError
    WorkloadError
        If DuckDB is not installed.

    Examples
    --------
    >>> import tempfile
    >>> mapping = {
    ...     "durations": {"unit": "min"},
    ...     "fields": {"submit": "made", "start": "began", "end": "ended", "requested_time": "lim"},
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "jobs.csv"
    ...     text = "made,began,ended,lim\n2024-05-01 08:00,2024-05-01 08:01,2024-05-01 09:01,90\n"
    ...     _ = file.write_text(text)
    ...     trace = read_table(file, mapping)
    >>> trace.jobs[["submit", "wait", "run", "requested_time"]].to_numpy().tolist()
    [[0.0, 60.0, 3600.0, 5400.0]]
    """
    mapping, options = _with_zone(read_mapping(mapping), tz, procs, anonymize, key)
    with _opened(files, mapping) as (con, parts, begin):
        batches = begin()
        with _naming_fields(con, mapping, batches.query):
            for _ in batches.read(con):
                pass
        count_rejects(con, mapping.source, batches.query.parts, batches.records)
        _digest(batches.records, mapping, parts)
        return assemble_from(batches.records, origin_of(mapping, parts, batches), options)


def convert_table(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    mapping: Mapped,
    path: str | os.PathLike[str],
    *,
    tz: str | None = None,
    procs: int | None = None,
) -> tuple[Header, Intake]:
    """Write a table of jobs as a ``.wkt.parquet`` log, without holding it in memory.

    Parameters
    ----------
    files, mapping, tz, procs
        See `read_table`.
    path : str or path

    Returns
    -------
    header : Header
    intake : Intake
        What became of the rows.
    """
    mapping, options = _with_zone(read_mapping(mapping), tz, procs)
    with _opened(files, mapping) as (con, parts, begin):
        fractions: set[str] = set()
        while True:
            batches = begin()
            origin = partial(origin_of, mapping, parts, batches)
            writer = LogWriter(path, batches, origin, options, fractions)
            counting = partial(
                count_rejects, con, mapping.source, batches.query.parts, batches.records
            )
            try:
                with _naming_fields(con, mapping, batches.query):
                    return writer.write(con, counting)
            except FractionError as error:
                fractions.add(error.column)


def read_frame(
    frame: "pd.DataFrame | pl.DataFrame | pa.Table", mapping: Mapped, *, tz: str | None = None
) -> Trace:
    """Read a table of jobs in memory; see `Trace.from_frame`."""
    mapping, options = _with_zone(read_mapping(mapping), tz)
    if mapping.joined is not None:
        raise mapping.error("joined", "a frame is one table")
    con = connect([], "")
    try:
        table, part = arrow_of(frame, columns_of(con, mapping))
        con.register(FRAME, table)
        batches = Batches(mapping, query_of(con, mapping, [part], []), [part])
        with _naming_fields(con, mapping, batches.query):
            for _ in batches.read(con):
                pass
    finally:
        con.close()
    return assemble_from(batches.records, origin_of(mapping, [part], batches), options)


def _with_zone(
    mapping: TableMapping,
    tz: str | None,
    procs: int | None = None,
    anonymize: bool = False,
    key: bytes | None = None,
) -> tuple[TableMapping, ImportOptions]:
    if mapping.is_draft:
        why = "it was not tried on the files of the publisher; check the jobs"
        warnings.warn(f"{Path(mapping.name).stem} is a draft: {why}", WorkloadWarning, stacklevel=3)
    options = ImportOptions(tz or mapping.times.zone, procs, False, anonymize, key)
    return replace(mapping, times=replace(mapping.times, zone=options.zone)), options


@contextmanager
def _opened(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], mapping: TableMapping
) -> Iterator[tuple[Any, list[Part], Callable[[], Batches]]]:
    """Open the files of a table; yield the engine, the parts and what begins to read the jobs."""
    given = [files] if isinstance(files, str | os.PathLike) else list(files)
    with tempfile.TemporaryDirectory(prefix="workloadkit-") as folder:
        parts, others = parts_of(given, mapping, Path(folder))
        con = connect([part.path for part in (*parts, *others)], folder)
        try:
            query = query_of(con, mapping, parts, others)
            yield con, parts, lambda: Batches(mapping, query, parts)
        finally:
            con.close()


def _digest(records: Records, mapping: TableMapping, parts: Sequence[Part]) -> None:
    """Digest the files, and the mapping, which determines the jobs as well."""
    for part in parts:
        with Path(part.path).open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                records.digest.update(chunk)
    meaning = (mapping.source, mapping.joined, mapping.times, mapping.fields, mapping.states)
    records.digest.update(repr(meaning).encode())


@contextmanager
def _naming_fields(con: Any, mapping: TableMapping, query: Query) -> Iterator[None]:
    """Raise errors of the engine as those of a field."""
    try:
        yield
    except Exception as error:
        if not is_of_engine(error):
            raise
        raise fault_of(con, mapping, query.checks, error, runs=True) from None


def origin_of(mapping: TableMapping, parts: Sequence[Part], batches: Batches) -> Origin:
    """Return from where the jobs come, for the header and messages."""
    machine = None
    if nodes := mapping.machine.get("nodes"):
        try:
            machine = from_dict({"nodes": nodes}, mapping.name)
        except FormatError as error:
            raise mapping.error("machine.nodes", error.message, error.text) from None
    return Origin(
        kind=mapping.title,
        path=parts[0].name,
        states=tuple(m.upper() for m in mapping.states.values()) or STATES,
        is_dated=mapping.times.origin != "unknown",
        machine=machine,
        computer=mapping.machine.get("name", ""),
        procs=mapping.machine.get("procs"),
        is_table=True,
        columns=batches.columns,
    )
