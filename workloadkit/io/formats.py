"""Read a log of any known format, recognized from its first lines."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from workloadkit.errors import FormatError, ParameterError, WorkloadError, check_choice, parameter
from workloadkit.io.decompression import Rejoined, as_utf8
from workloadkit.io.files import COMPRESSED, Source, exists, is_file, source_path, text_chunks
from workloadkit.io.known_formats import (
    ACCOUNTING,
    FOR_OTHERS,
    TITLES,
    WKT,
    WRITTEN,
    WRITTEN_TITLES,
    Format,
    Written,
    is_wkt,
)
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.records import ImportOptions
from workloadkit.io.swf import read_swf
from workloadkit.io.wkt import MAGIC, read_wkt
from workloadkit.trace import Trace
from workloadkit.units import in_processors

_SEEN = 1 << 16  # bytes used to recognize the format
_N_LINES = 50


def read_log(source: Sources, format: Format | None = None, **options: Any) -> Trace:  # noqa: A002
    r"""Read a log of any known format.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input. Only accounting formats accept several files.
    format : str, optional
        One of `workloadkit.io.known_formats.Format`. By default recognized from the first lines.
    **options
        ``strict`` for the Standard Workload Format; ``tz``, ``procs``, ``attempts``,
        ``anonymize`` and ``key`` for accounting, see `workloadkit.io.records.ImportOptions`;
        ``columns`` for Slurm, which it implies unless `format` is given; ``mapping`` for a table,
        see `workloadkit.io.tables.read_table`.

    Raises
    ------
    FormatError
        If the format is not recognized, or the file cannot be read in it.
    ParameterError
        If the format does not support an option.

    Examples
    --------
    >>> import io
    >>> read_log(io.BytesIO(b"; MaxProcs: 8\n1 60 5 30 4\n")).n_jobs
    1
    """
    with ExitStack() as stack:
        sources = list_of_sources(source)
        if (mapping := options.pop("mapping", None)) is not None:
            return _read_as_table(sources, format, mapping, options)
        if format is None and options.get("columns") is not None:
            format = "slurm"  # noqa: A001
        if format is None:
            sources[0], format = _seen(sources[0], stack)  # noqa: A001
        if format is None and (given := sorted(_given(options).keys() - {"strict"})):
            names = ", ".join(given)
            reason = f"the format is not recognized; with {names} it must be named: --from, format="
            raise FormatError(source_path(sources[0]), reason)
        return _read_as(format or "swf", sources, options)


def read_native(source: str | os.PathLike[str], *, strict: bool = False) -> Trace:
    """Read a log that need not be converted: SWF, or a Parquet file of this package.

    Parameters
    ----------
    source : str or path
        ``-`` is standard input.
    strict : bool, default False
        For the Standard Workload Format.

    Raises
    ------
    ParameterError
        If `strict` is given for a Parquet file; see `check_strict`.
    """
    if not _starts_as_parquet(source):
        return read_swf(source, strict=strict)
    check_strict(source, strict=strict)
    return read_wkt(source)


def check_strict(source: str | os.PathLike[str], *, strict: bool) -> None:
    """Refuse to be strict with a Parquet file, in which no violation of the standard can stand."""
    if strict and _starts_as_parquet(source):
        raise ParameterError(
            "strict", f"is for the Standard Workload Format; {source} is {TITLES['wkt']}"
        )


def _starts_as_parquet(source: str | os.PathLike[str]) -> bool:
    if str(source) == "-":
        stream: Any = sys.stdin and sys.stdin.buffer
        return hasattr(stream, "peek") and stream.peek(4).startswith(MAGIC)
    with suppress(FormatError):  # the reader reports the error
        if is_file(source):  # a pipe can be read only once
            return next(text_chunks(source, size=4, binary=True), b"").startswith(MAGIC)
    return False


def looks_like(path: str | os.PathLike[str]) -> Format:
    """Return the format recognized from a file; the Standard Workload Format if there is none."""
    with ExitStack() as stack:
        return _seen(path, stack)[1] or "swf"


def needs_mapping(path: str | os.PathLike[str]) -> bool:
    """Whether a file or folder is a table in none of the known formats."""
    from workloadkit.io.sidecar import KEY, open_parquet, reading_parquet
    from workloadkit.io.slurm.columns import are_of_another_table, columns_at
    from workloadkit.io.tables.parts import names_table

    if not names_table(path) or Path(path).is_dir():
        return Path(path).is_dir()
    with ExitStack() as stack:
        known = _seen(path, stack)[1]
    if known == "slurm":
        columns = columns_at(_first_lines(path))[1]
        return columns is not None and are_of_another_table(columns)
    if known == "batsim":  # as any JSON looks
        lines = "".join(_first_lines(path))
        return not any(f'"{key}"' in lines for key in ("nb_res", "profiles"))
    if known != "wkt":
        return known is None
    own = reading_parquet(os.fspath(path), lambda: open_parquet(path).metadata.metadata)
    return KEY not in (own or {})


def _read_as(format: Format, sources: list[Source], options: dict[str, Any]) -> Trace:  # noqa: A002
    check_choice("format", format, Format)
    known = [f.name for f in fields(ImportOptions)] if format in ACCOUNTING else []
    known += {"swf": ["strict"], "slurm": ["columns"]}.get(format, [])
    given = _given(options)
    if unknown := set(given) - set(known):
        names = ", ".join(map(parameter, sorted(unknown)))
        raise ParameterError(f"{names}: not supported for {TITLES[format]}")
    if format in ACCOUNTING:
        return _reader(format)(sources, **given)
    if len(sources) > 1:
        raise ParameterError(f"{len(sources)} files given; {TITLES[format]} is read from one file")
    return _reader(format)(sources[0], **given)


def _read_as_table(
    sources: list[Source],
    format: Format | None,  # noqa: A002
    mapping: Any,
    options: dict[str, Any],
) -> Trace:
    given = table_options(format, options)
    paths = [path for path in sources if isinstance(path, str | os.PathLike)]
    if len(paths) < len(sources):
        raise ParameterError("mapping", "requires the paths of files")
    read: Callable[..., Trace] = import_module("workloadkit.io.tables").read_table
    return read(paths, mapping, **given)


def table_options(
    format: Format | None,  # noqa: A002
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the options that are given for a table; refuse those of other formats."""
    if format is not None:
        raise ParameterError("mapping", "is for tables; do not name a format")
    given = _given(options)
    if unknown := given.keys() - {"tz", "procs", "anonymize", "key"}:
        names = ", ".join(map(parameter, sorted(unknown)))
        raise ParameterError(f"{names}: not supported for a table")
    return given


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    return {name: v for name, v in options.items() if v is not None and v is not False}


def write_log(trace: Trace, path: str | os.PathLike[str], **options: Any) -> tuple[Path, ...]:
    """Write a log in the format of the file's suffix, whole or not at all.

    Sizes of jobs are their own processors, also of a log that is seen in another unit.

    Parameters
    ----------
    trace : Trace
    path : str or path
        ``.swf``, ``.gwf`` or ``.csv``, compressed by a second suffix, ``.json`` for Batsim, or
        ``.wkt.parquet``. Standard output (``-``), devices and pipes get the Standard Workload
        Format.
    **options
        ``version`` for Batsim, see `write_batsim`.

    Returns
    -------
    tuple of Path
        Paths of the files that were written next to the log.

    Raises
    ------
    ParameterError
        If the suffix is not supported, or an option by its format.
    WorkloadError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> log = Trace.from_columns({"submit": [0, 60], "run": [90, 30], "procs": [4, 1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_log(log, f"{folder}/log.gwf.gz")
    ...     read_log(f"{folder}/log.gwf.gz").n_jobs
    2
    """
    name = written_format(path)
    if options and name != "batsim":
        raise ParameterError(f"{', '.join(options)}: not supported for {WRITTEN_TITLES[name]}")
    writer = getattr(import_module(f"workloadkit.io.{name}"), f"write_{name}")
    return writer(in_processors(trace), path, **options) or ()


def written_format(path: str | os.PathLike[str], *, for_others: bool = True) -> Written:
    """Return the format in which a log is written, by the suffix of its file.

    Parameters
    ----------
    path : str or path
    for_others : bool, default True
        Whether it may be for other programs: a workload of Batsim, ``.json``, or a table, ``.csv``.

    Raises
    ------
    ParameterError
        If the suffix is not supported.

    Examples
    --------
    >>> written_format("a.gwf.gz")
    'gwf'
    """
    name = os.fspath(path)
    place = Path(name)
    if name == "-" or (exists(name) and not is_file(name)):
        return "swf"
    if is_wkt(name):
        return "wkt"
    suffixes = place.suffixes
    if suffixes and suffixes[-1].lower() in COMPRESSED:
        suffixes.pop()
    suffix = suffixes[-1].lower() if suffixes else ""
    known = {s: title for s, title in WRITTEN.items() if for_others or title not in FOR_OTHERS}
    if suffix not in known:
        raise ParameterError(
            f"{name}: the suffix does not determine a format; known: {', '.join(known)}, each "
            f"optionally followed by .gz, .bz2, .xz or .zst, and {WKT}"
        )
    return known[suffix]


def _reader(name: Format) -> Callable[..., Trace]:
    return getattr(import_module(f"workloadkit.io.{name}"), f"read_{name}")


def _seen(source: Source, stack: ExitStack) -> tuple[Source, Format | None]:
    """Return the complete source and its recognized format, if any."""
    path = source_path(source)
    stream: Any = None
    if path == "-":
        if sys.stdin is None:
            raise FormatError(path, "standard input is closed")
        stream = sys.stdin.buffer
    elif not isinstance(source, str | os.PathLike):
        stream = source
    elif Path(path).is_fifo():  # a pipe can be read only once
        with suppress(OSError):  # the reader reports the error
            stream = stack.enter_context(Path(path).open("rb"))  # noqa: SIM115  # the stack closes it
    if stream is None:
        lines = _first_lines(source)
    else:
        head = stream.read(_SEEN)
        if not isinstance(head, bytes):
            raise WorkloadError(
                "a log must be read from a binary file; this one was opened as text"
            )
        lines = _first_lines(io.BytesIO(head))
        source = _Named(Rejoined(head, stream), path)
    for name in get_args(Format):
        if import_module(f"workloadkit.io.{name}").looks_like(lines):
            return source, name
    return source, None


class _Named(io.BufferedReader):
    """A stream with the name of another, for messages."""

    def __init__(self, raw: io.RawIOBase, name: str) -> None:
        super().__init__(raw)
        self._path = name

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path


def _first_lines(source: Source) -> list[str]:
    """Return the first lines of a file; its reader reports corrupt data."""
    text = b""
    try:
        for chunk in text_chunks(source, size=_SEEN, binary=True):
            text = chunk[:_SEEN]
            break
    except FormatError:
        if isinstance(source, str | os.PathLike):
            raise
    text = b"".join(as_utf8([text])).replace(b"\0", b"")
    lines = text.decode("latin-1").removeprefix("\xef\xbb\xbf").split("\n")
    return [line.removesuffix("\r") for line in lines[:_N_LINES]]
