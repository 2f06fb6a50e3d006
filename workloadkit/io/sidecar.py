"""Files that stand next to a log, and the side-car: data that its format has no field for."""

import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import warn

import numpy as np

from workloadkit import __version__
from workloadkit.errors import FormatError, WorkloadError, WorkloadWarning
from workloadkit.fields import UNKNOWN
from workloadkit.io.files import exists, is_file, writing
from workloadkit.io.strict_json import read_json
from workloadkit.job_columns import NUMBERED
from workloadkit.record_fields import BY_NAME

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.trace import Trace


class Companion(NamedTuple):
    """A kind of file next to a log.

    Parameters
    ----------
    what : str
        What it is, for messages.
    path_of : callable
        Returns its path, for the path of a log.
    log_of : callable
        Returns the digest of the log that a file was written with, empty if it states none; raises
        a FormatError if the file is of another kind.
    """

    what: str
    path_of: Callable[[str | os.PathLike[str]], Path]
    log_of: Callable[[Path], str]


def check_replaceable(companion: Companion, path: str | os.PathLike[str]) -> None:
    """Check that writing a log to `path` replaces no file that was not written with a log."""
    file = companion.path_of(path)
    if exists(file) and not _is_ours(companion, file):
        raise WorkloadError(
            f"{file}: exists and is not {companion.what} of a log; move it away, or write the log "
            "under another name"
        )


def remove_stale(companion: Companion, path: str | os.PathLike[str]) -> None:
    """Remove the companion of the log that a log without one has replaced.

    A file that was not written with a log stays. A warning reports either.
    """
    file = companion.path_of(path)
    if not exists(file):
        return
    if _is_ours(companion, file):
        file.unlink()
        outcome = f"removed: {companion.what} of the log that was replaced"
    else:
        outcome = f"not changed: it is not {companion.what} of a log"
    warn(f"{file}: {outcome}", WorkloadWarning, stacklevel=4)


def _is_ours(companion: Companion, file: Path) -> bool:
    try:
        return bool(companion.log_of(file))
    except FormatError:
        return False


# Parquet files with columns of jobs: what the log of this package and the side-car share.

#: Key of the metadata of a file that this package writes.
KEY = b"workloadkit"


def words_of(table: "pd.DataFrame") -> list[str]:
    """Return the columns of words that repeat, which are stored in dictionaries."""
    return [name for name, dtype in table.dtypes.items() if dtype == "category"]


def note_of(name: str, metadata: dict[bytes, bytes] | None, required: str) -> dict[str, Any] | None:
    """Return the metadata that this package writes; None without the required key."""
    note = read_json((metadata or {}).get(KEY, b"null"), name)
    return note if isinstance(note, dict) and isinstance(note.get(required), str) else None


def reading_parquet(name: str, read: Callable[[], Any]) -> Any:
    """Return the result of a function that reads a Parquet file.

    Raises
    ------
    FormatError
        If the file cannot be read.
    """
    import pyarrow as pa

    try:
        return read()
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "it is not a Parquet file, or is corrupt"
        raise FormatError(name, f"cannot be read: {reason}") from error


def table_in(data: bytes, name: str) -> Any:
    """Return the Arrow table in the bytes of a Parquet file, all of it checked.

    Raises
    ------
    FormatError
        With the name of the file.
    """
    return reading_parquet(name, lambda: rows_of(open_parquet(io.BytesIO(data))))


# Arrow's threads may abort a process that ends soon after they have read, so all is read in ours.
def open_parquet(source: Any) -> Any:
    """Open a Parquet file."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(source, pre_buffer=False)


def rows_of(parquet: Any) -> Any:
    """Return the Arrow table in an open file, all of it checked: texts are valid UTF-8, too."""
    table = parquet.read(use_threads=False)
    table.validate(full=True)
    return table


def frame_of(table: Any) -> "pd.DataFrame":
    """Return the columns of an Arrow table for pandas."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, use_threads=False)
    return frame


def check_types(name: str, arrow: Any) -> None:
    """Check that columns hold numbers, words or times."""
    for column in arrow.schema:
        if not _is_plain(column.type):
            kind = str(column.type)[:60]
            raise FormatError(name, f"has the type {kind}, which is not read", field=column.name)


def _is_plain(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return types.is_string(kind.value_type) or types.is_large_string(kind.value_type)
    checks = (types.is_integer, types.is_float32, types.is_float64, types.is_boolean)
    others = (types.is_string, types.is_large_string, types.is_null, types.is_temporal)
    return any(check(kind) for check in (*checks, *others))


def with_kinds(name: str, table: "pd.DataFrame") -> "pd.DataFrame":
    """Convert the columns that `workloadkit.record_fields` defines to their types.

    Raises
    ------
    FormatError
        If a column cannot be converted.
    """
    for field in table:
        if field in BY_NAME:
            table[field] = _as_kind(name, table[field], BY_NAME[field].kind)
    return table


def _as_kind(name: str, column: "pd.Series", kind: str) -> "pd.Series":
    try:
        if kind in ("number", "whole"):
            values = column.astype(np.float64 if kind == "number" else np.int64)
            if np.isinf(values).any() or (kind == "whole" and (values != column).any()):
                raise ValueError(kind)
            return values
        words = column.astype(object).where(column.notna(), "").map(str)
        return words.astype("category") if kind == "word" else words
    except (TypeError, ValueError, OverflowError):
        raise FormatError(name, "has the wrong type", field=str(column.name)) from None


_NO_SIDECAR = "is not the side-car of a log"


def sidecar_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the side-car of a log.

    Examples
    --------
    >>> sidecar_path("logs/site.swf.gz").name
    'site.swf.gz.parquet'
    """
    return Path(f"{os.fspath(path)}.parquet")


def _log_of(path: Path) -> str:
    """Return the digest of the log that a side-car belongs to.

    Raises
    ------
    FormatError
        If the file is not a side-car.
    """
    import pyarrow.parquet as pq

    name = os.fspath(path)
    note = reading_parquet(name, lambda: note_of(name, pq.read_schema(path).metadata, "log_sha256"))
    if note is None:
        raise FormatError(name, _NO_SIDECAR)
    digest: str = note["log_sha256"]
    return digest


SIDECAR = Companion("the side-car", sidecar_path, _log_of)


def write_sidecar(trace: "Trace", path: str | os.PathLike[str], *, digest: str) -> None:
    """Write the side-car of a log, whole or not at all.

    Parameters
    ----------
    trace : Trace
        With a side-car.
    path : str or path
        Path of the Parquet file.
    digest : str
        SHA-256 of the text of the log.

    Raises
    ------
    WorkloadError
        If the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if trace.sidecar is None:
        raise WorkloadError(f"{trace.name} has no side-car")
    table = trace.sidecar.copy(deep=False)
    table.insert(0, "job", trace.column("job"))
    window = [trace.window.begin, trace.window.until] if trace.n_jobs else None
    origin = {
        "version": __version__,
        "log_sha256": digest,
        "numbers": _numbers(trace),
        "window": window,
    }
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({KEY: json.dumps(origin).encode()})
    with writing(path) as stream:
        # statistics serve readers of a part of the rows, and take a third of the time
        pq.write_table(
            arrow,
            stream,
            compression="zstd",
            use_dictionary=words_of(table),
            write_statistics=False,
        )


def read_sidecar(
    path: str | os.PathLike[str], *, n_jobs: int | None = None
) -> "tuple[pd.DataFrame, dict[str, Any]]":
    """Read the side-car of a log.

    Parameters
    ----------
    path : str or path
        Path of the Parquet file.
    n_jobs : int, optional
        Required number of rows: a small file may state more than fit into memory.

    Returns
    -------
    table : DataFrame
        One row per job: `job` and the columns of `workloadkit.record_fields`.
    origin : dict
        Metadata: ``log_sha256``, the ``numbers`` of names by field, and the ``window`` in which the
        log is complete [s].

    Raises
    ------
    FormatError
        If the file is not a side-car.
    """
    name = os.fspath(path)

    def read() -> "tuple[pd.DataFrame, dict[str, Any] | None]":
        with Path(path).open("rb") as stream:
            parquet = open_parquet(stream)
            if n_jobs not in (None, parquet.metadata.num_rows):
                raise FormatError(name, "belongs to another log")
            arrow = rows_of(parquet)
            check_types(name, arrow)
            origin = note_of(name, arrow.schema.metadata, "log_sha256")
            return frame_of(arrow), origin

    table, origin = reading_parquet(name, read)
    if origin is None or "job" not in table or not table.columns.is_unique:
        raise FormatError(name, _NO_SIDECAR)
    return with_kinds(name, table), origin


def with_sidecar(trace: "Trace", path: str | os.PathLike[str]) -> "Trace":
    """Return a log with its side-car, if there is one.

    A side-car that belongs to another log or cannot be read is ignored with a warning.
    """
    sidecar_file = sidecar_path(path)
    if str(path) == "-" or not is_file(sidecar_file):
        return trace
    try:
        table, origin = read_sidecar(sidecar_file, n_jobs=trace.n_jobs)
    except FormatError as error:
        warn(f"{error}; ignored", WorkloadWarning, stacklevel=3)
        return trace
    jobs = trace.column("job")
    if origin["log_sha256"] != trace.digest or not np.array_equal(table["job"], jobs):
        warn(f"{sidecar_file}: belongs to another log; ignored", WorkloadWarning, stacklevel=3)
        return trace
    table = table.drop(columns="job")
    if trace.sidecar is not None:  # fields of the log that its 18 columns cannot hold
        table = table.join(trace.sidecar[trace.sidecar.columns.difference(table.columns)])
    return replace(trace, sidecar=table)


def _numbers(trace: "Trace") -> dict[str, dict[str, str]]:
    """Return the name for each number in the log, by field."""
    import pandas as pd

    assert trace.sidecar is not None  # only called by write_sidecar
    numbers: dict[str, dict[str, str]] = {}
    for field in NUMBERED:
        if field not in trace.sidecar:
            continue
        pairs = pd.DataFrame({"number": trace.column(field), "name": trace.sidecar[field]})
        pairs = pairs[pairs["number"] != UNKNOWN].drop_duplicates("number").sort_values("number")
        named = zip(pairs["number"].tolist(), pairs["name"].astype(str).tolist(), strict=True)
        # in an anonymous log the names are the numbers
        found = {str(number): name for number, name in named if name not in ("", str(number))}
        if found:
            numbers[field] = found
    return numbers
