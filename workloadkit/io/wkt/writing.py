"""Write a log as a Parquet file."""

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit import __version__
from workloadkit.checkpoints import burst_rows
from workloadkit.columns import Columns
from workloadkit.fields import FIELDS, NAMES, UNKNOWN, Field
from workloadkit.header import Header
from workloadkit.io.files import writing
from workloadkit.io.machine import as_dict
from workloadkit.io.sidecar import KEY, words_of
from workloadkit.io.swf.writing import check_writable, header_text
from workloadkit.memory import is_long
from workloadkit.trace import Trace, check_trace
from workloadkit.utility import check, pack

if TYPE_CHECKING:
    from workloadkit.machine.description import MachineDescription

# The layout of a log as a Parquet file.
#
# One row per job, in the order of the log. Columns have the names of `workloadkit.fields`; one that
# is unknown for all jobs is left out, and null is unknown. Measured columns are integers if all
# their values are. Further columns, where the log has them: ``bursts``, a list of the partial
# executions of a job (``place`` is the position in `Trace.bursts`); ``utility``, a list of the
# points of its utility function; and the side-car, each name prefixed by ``sidecar_``.
#
# The metadata under the key ``workloadkit`` is JSON: ``wkt`` is the version of the layout,
# ``version`` that of the package, ``header`` lists the lines of the header, ``log_sha256`` is the
# digest of the text from which the log was read (empty for a log that was changed or made),
# ``seal`` is the SHA-256 of the rows as stored, the header and that digest, and ``machine`` is the
# description of the machine, if there is one (`workloadkit.io.machine`).

#: First bytes of a Parquet file.
MAGIC = b"PAR1"

#: Version of the layout.
LAYOUT = "1"

#: Prefix of the columns of the side-car.
SIDECAR = "sidecar_"

#: Columns whose values increase, which are stored as differences.
ASCENDING = ("job", "submit")

#: Columns with few values, each of which is stored once.
REPEATING = (
    "procs", "requested_procs", "requested_time", "requested_memory", "status", "user", "group",
    "queue", "partition",
)  # fmt: skip


def seal(rows: bytes | memoryview, header: Sequence[str], digest: str) -> str:
    """Return the digest that connects the rows of a file with its header and origin."""
    return sealed(hashlib.sha256(rows), header, digest)


def sealed(found: Any, header: Sequence[str], digest: str) -> str:
    """Do the same for rows that are digested already."""
    for text in (*header, digest):
        found.update(b"\n" + text.encode(errors="surrogatepass"))
    return found.hexdigest()


_ROWS_AT_A_TIME = 1 << 18  # of a row group


def write_wkt(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a log with its header and side-car as one Parquet file, whole or not at all.

    The file takes about 10 bytes per job and is read about twice as fast as text, four times as
    fast as compressed text. What is read back equals the log, its identity included.
    Comments in this module describe the file.

    Parameters
    ----------
    trace : Trace
    path : str or path
        Usually ``NAME.wkt.parquet``; ``-`` is standard output.

    Raises
    ------
    WorkloadError
        If the file cannot be written, or the trace contains values that a log cannot hold or
        invalid utility functions.

    Examples
    --------
    >>> import tempfile, workloadkit as wk
    >>> trace = wk.Trace.from_columns({"submit": [0, 60], "run": [2.5, 30]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wk.write_wkt(trace, f"{folder}/site.wkt.parquet")
    ...     wk.read_wkt(f"{folder}/site.wkt.parquet").jobs["run"].tolist()
    [2.5, 30.0]
    """
    check_trace(trace)
    header_text(trace.header)  # checks the header
    check(trace)
    if (
        is_long(trace.n_jobs)
        and trace.sidecar is None
        and not (trace.n_bursts or len(trace.table("utility")))
    ):
        write_parts(path, trace, lambda: _parts(trace))
        return
    columns, repeating = _columns(trace)
    with RowsWriter(path, columns, repeating) as rows:
        rows.write(columns)
        rows.finish(trace.header, trace.digest, trace.machine)


def write_parts(
    path: str | os.PathLike[str], whole: Trace, parts: Callable[[], Iterable[Trace]]
) -> None:
    """Write a log that comes in parts, as `write_wkt` writes it.

    Parameters
    ----------
    path : str or path
    whole : Trace
        With the header, the digest and the machine.
    parts : callable
        Returns the parts, consecutive jobs without bursts and utility functions; called twice, as
        the type of a column depends on all of its values.
    """
    import pyarrow as pa

    header_text(whole.header)  # checks the header
    widths = [pa.int32(), pa.int64(), pa.float64()]
    kinds: dict[str, Any] = {}
    words: dict[str, None] = {}
    for part in parts():
        columns, repeating = _columns(part)
        words |= dict.fromkeys(repeating)
        for name, column in columns.items():
            kinds[name] = max(kinds.get(name, column.type), column.type, key=widths.index)
    order = [name for name in (*NAMES, *kinds) if name in kinds]
    schema = pa.schema([(name, kinds[name]) for name in dict.fromkeys(order)])
    with RowsWriter(path, {field.name: field for field in schema}, [*words]) as rows:
        left = schema.empty_table()
        for part in parts():
            left = pa.concat_tables([left, _cast(_columns(part)[0], part.n_jobs, schema)])
            while left.num_rows >= _ROWS_AT_A_TIME:
                rows.write(_group(left))
                left = left.slice(_ROWS_AT_A_TIME)
        if left.num_rows:
            rows.write(_group(left))
        rows.finish(whole.header, whole.digest, whole.machine)


def _parts(trace: Trace) -> Iterator[Trace]:
    """Yield consecutive jobs of a log."""
    table = trace.table("jobs")
    jobs = Columns({name: np.asarray(table[name]) for name in table})
    return map(Trace, jobs.parts(_ROWS_AT_A_TIME))


def _columns(trace: Trace) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of a log as they are stored, and those that are stored in dictionaries."""
    import pyarrow as pa

    columns = {f.name: _stored(f, trace.column(f.name)) for f in FIELDS}
    columns = {name: column for name, column in columns.items() if column is not None}
    columns |= _bursts(trace) | _utilities(trace)
    repeating = [name for name in REPEATING if name in columns]
    if trace.sidecar is not None:
        table = pa.Table.from_pandas(trace.sidecar, preserve_index=False)
        columns |= {SIDECAR + name: table[name] for name in table.column_names}
        repeating += [SIDECAR + name for name in words_of(trace.sidecar)]
    return columns, repeating


def _cast(columns: Mapping[str, Any], n_jobs: int, schema: Any) -> Any:
    """Return some rows with the types of all."""
    import pyarrow as pa

    unknown = {f.name: pa.nulls(n_jobs, f.type) for f in schema if f.name not in columns}
    table = pa.table({**columns, **unknown})
    return table.select(schema.names).cast(schema)


def _group(table: Any) -> dict[str, Any]:
    """Return the columns of a row group, each in one piece, as pages depend on the pieces."""
    group = table.slice(0, _ROWS_AT_A_TIME).combine_chunks()
    return dict(zip(group.column_names, group.columns, strict=True))


def _encoding(name: str, kind: Any) -> str:
    """Return the encoding of numbers that is fast and small by measurement; empty for plain."""
    import pyarrow as pa

    in_sidecar = name.startswith(SIDECAR)
    if pa.types.is_integer(kind) and (in_sidecar or name in ASCENDING):
        return "DELTA_BINARY_PACKED"
    return "BYTE_STREAM_SPLIT" if pa.types.is_float64(kind) and in_sidecar else ""


class RowsWriter:
    """Writes the rows of a log, all at once or in parts, and then what describes them.

    Parameters
    ----------
    path : str or path
        Written whole or not at all.
    columns : dict of str to Arrow array
        Some rows, for the types of the columns.
    repeating : list of str
        Columns stored in dictionaries.
    """

    def __init__(
        self, path: str | os.PathLike[str], columns: Mapping[str, Any], repeating: Sequence[str]
    ) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._stack = ExitStack()
        self._file = _Digesting(self._stack.enter_context(writing(path)))
        self._schema = pa.schema([(name, column.type) for name, column in columns.items()])
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._file, "w"),
            self._schema,
            compression={name: "lz4" if name in REPEATING else "zstd" for name in columns},
            use_dictionary=list(repeating),
            write_statistics=False,  # they serve readers of a part of the rows
            column_encoding={
                name: encoding
                for name, column in columns.items()
                if name not in repeating and (encoding := _encoding(name, column.type))
            },
        )

    def __enter__(self) -> "RowsWriter":
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            self._file.is_lost = True
            with suppress(Exception):
                self._writer.close()  # it would write the rest when it is freed
        self._stack.__exit__(*error)

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write some rows."""
        import pyarrow as pa

        table = pa.table(dict(columns), schema=self._schema)
        self._writer.write_table(table, row_group_size=_ROWS_AT_A_TIME)

    def finish(self, header: Header, digest: str, machine: "MachineDescription | None") -> None:
        """Write the metadata: the header, the digest of the text that was read, the machine."""
        note: dict[str, Any] = {
            "wkt": LAYOUT,
            "version": __version__,
            "log_sha256": digest,
            "header": header.lines,
            "seal": sealed(self._file.digest.copy(), header.lines, digest),
        }
        if machine is not None:
            note["machine"] = as_dict(machine)
        self._writer.add_key_value_metadata({KEY: json.dumps(note).encode()})
        self._writer.close()


class _Digesting(io.RawIOBase):
    """A file that digests what is written to it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.is_lost = stream, False
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.is_lost:
            return len(data)
        self.digest.update(data)
        return self._stream.write(data)


def _stored(field: Field, column: NDArray) -> Any:
    """Return a column as it is stored; None if it is unknown for all jobs."""
    import pyarrow as pa

    check_writable(field, column)
    known = ~np.isnan(column) if field.measured else column != UNKNOWN
    if not known.any() and field.name not in ASCENDING:
        return None
    column = _as_integers(np.where(known, column, 0)) if field.measured else column
    int32 = np.iinfo(np.int32)
    if column.dtype.kind == "i" and ((int32.min <= column) & (column <= int32.max)).all():
        column = column.astype(np.int32)
    return pa.array(column, mask=None if known.all() else ~known)


def _as_integers(column: NDArray[np.float64]) -> NDArray:
    """Return the values as integers if that is exact to the bit, else as they are."""
    whole = column.astype(np.int64)
    return whole if np.array_equal(whole.astype(float).view("i8"), column.view("i8")) else column


def _bursts(trace: Trace) -> dict[str, Any]:
    """Return the column of bursts, if there are any."""
    if not trace.n_bursts:
        return {}
    rows = burst_rows(trace)
    order = np.argsort(rows, kind="stable")
    table = {f.name: np.asarray(trace.table("bursts")[f.name])[order] for f in FIELDS}
    return {"bursts": _lists(rows[order], table | {"place": order}, trace.n_jobs)}


def _utilities(trace: Trace) -> dict[str, Any]:
    """Return the column of utility functions, if there are any."""
    packed = pack(trace.utility, trace.n_jobs)
    if not packed.time.size:
        return {}
    rows = np.repeat(np.arange(trace.n_jobs), np.diff(packed.first))
    points = {"time": packed.time, "value": packed.value}
    return {"utility": _lists(rows, points, trace.n_jobs)}


def _lists(rows: NDArray[np.int64], table: dict[str, NDArray], n_jobs: int) -> Any:
    """Return lists of the rows of a table, by job; `rows`, those of the jobs, ascend."""
    import pyarrow as pa

    parts = [pa.array(column, from_pandas=True) for column in table.values()]
    offsets = np.searchsorted(rows, np.arange(n_jobs + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(parts, names=list(table)))
