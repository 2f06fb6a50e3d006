"""The files of a table: folders, archives, compressed parts, and the columns that each has."""

import csv
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from glob import glob
from itertools import takewhile
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import Any

from workloadkit.errors import (
    FormatError,
    MissingFileError,
    ParameterError,
    check_choice,
    quoted,
)
from workloadkit.io.files import exists, is_file, is_folder, text_chunks
from workloadkit.io.strict_json import read_json_file
from workloadkit.io.tables.declared import Table, TableMapping

_FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".psv": "csv", ".json": "json",
    ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet",
}  # fmt: skip
_ENDINGS = (".gz", ".zst", ".bz2", ".xz", ".zip", ".tar", ".tgz")
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "", b"\xfd7zXZ\0": ""}
_ENCODINGS = ("utf-8", "utf-16", "latin-1")  # that the engine reads
_LONGEST_HEADER = 1 << 20  # [bytes]
_TAR_MAGIC, _TAR_AT = b"ustar", 257
_LARGEST_DOCUMENT = 1 << 31  # of JSON with a path to the records [bytes]


@dataclass(frozen=True)
class Part:
    """One file of a table.

    Parameters
    ----------
    path : str
        The file to read, perhaps a temporary one.
    name : str
        For messages.
    place : str
        Within the folder or archive that was given.
    format : str
    compression : str
        As the engine names it.
    columns : tuple of str
        Names; of JSON, those in the first records.
    kinds : dict of str to str
        Columns that are durations, by their unit (s, ms, us, ns), or times (aware, naive); of JSON,
        those that are objects or lists, by the type as which they are read.
    types : dict of str to str
        Types of the columns of Parquet and frames, in words.
    is_lines : bool
        Whether JSON consists of lines rather than one array.
    """

    path: str
    name: str
    place: str
    format: str = ""
    compression: str = "none"
    columns: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    is_lines: bool = False

    @property
    def keys(self) -> dict[str, str]:
        """Columns in the names of its folders, as ``year=2024``."""
        folders = (folder.split("=", 1) for folder in PurePosixPath(self.place).parts[:-1])
        return {pair[0]: pair[1] for pair in folders if len(pair) == 2}

    @property
    def has_lines(self) -> bool:
        """Whether its rows have lines in the file."""
        return self.format == "csv" or self.is_lines


def short_names(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the names of parts, without the folder that they have in common."""
    names = [PurePosixPath(part.name).parts for part in parts]
    levels = zip(*(name[:-1] for name in names), strict=False)
    common = sum(1 for _ in takewhile(lambda folders: len(set(folders)) == 1, levels))
    return tuple("/".join(name[common:]) for name in names)


def parts_of(
    given: Sequence[str | os.PathLike[str]], mapping: TableMapping, folder: Path
) -> tuple[list[Part], list[Part]]:
    """Return the parts of the table of jobs, and those of the second table.

    Parameters
    ----------
    given : sequence of str or path
        Files, patterns, folders and archives.
    mapping : TableMapping
    folder : Path
        For temporary files.

    Raises
    ------
    FormatError
        If a file cannot be read or a table has none.
    """
    jobs, others = [], []
    for part, is_named in _found(given, folder):
        if mapping.joined and _fits(part.place, mapping.joined.files):
            others.append(part)
        elif _fits(part.place, mapping.source.files) if not is_named else True:
            jobs.append(part)
    for parts, section in ((jobs, "source"), (others, "joined")):
        if not parts and (section == "source" or mapping.joined):
            wanted = getattr(mapping, section).files
            what = f"no file like {', '.join(wanted)}" if wanted else "no table of jobs"
            of_mapping = f", as [{section}] of the mapping names it" if wanted else ""
            raise FormatError(os.fspath(given[0]) if given else "-", what + of_mapping)
    sources = mapping.source, mapping.joined
    return tuple(  # type: ignore[return-value]
        [_opened(part, table, folder) for part in parts] if table else []
        for parts, table in zip((jobs, others), sources, strict=True)
    )


def names_table(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder, a file with the suffix of a table, or an archive of such."""
    name = os.fspath(path)
    if is_folder(name):
        return True
    names = [name]
    if exists(name) and zipfile.is_zipfile(name):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(name) as archive:
            names = archive.namelist()
    elif is_file(name):
        broken = (tarfile.TarError, OSError, EOFError, LZMAError, zlib.error)
        with suppress(*broken), tarfile.open(name) as tar:
            names = [first.name if (first := tar.next()) else ""]
    suffixes = (PurePosixPath(_bare(each)).suffix.lower() for each in names)
    return exists(name) and any(each in _FORMATS and each != ".txt" for each in suffixes)


def _found(given: Iterable[str | os.PathLike[str]], folder: Path) -> Iterator[tuple[Part, bool]]:
    """Yield the files, and whether each was named rather than found in a folder."""
    for each in [os.fspath(path) for path in given]:
        if each == "-":
            raise ParameterError("a table is read from files, not from standard input")
        if is_folder(each):
            root = Path(each)
            for path in sorted(root.rglob("*")):
                if path.is_file() and not path.name.startswith("."):
                    yield from _members(str(path), path.relative_to(root).as_posix(), folder, False)
        elif exists(each):
            yield from _members(each, Path(each).as_posix(), folder, True)
        elif found := sorted(glob(each, recursive=True)):  # noqa: PTH207  # of any folder
            yield from _found(found, folder)
        else:
            raise MissingFileError(each)


def _members(path: str, place: str, folder: Path, is_named: bool) -> Iterator[tuple[Part, bool]]:
    """Yield a file, or the files of an archive, copied to temporary ones."""
    try:
        if zipfile.is_zipfile(path) and not path.endswith(".parquet"):
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    if not info.is_dir() and _is_data(info.filename):
                        with archive.open(info) as stream:
                            yield _copied(stream, path, info.filename, folder), False
        elif _is_tar(path):
            with tarfile.open(path, "r|*") as tar:
                for member in tar:
                    stream_of = tar.extractfile(member) if member.isfile() else None
                    if stream_of is not None and _is_data(member.name):
                        yield _copied(stream_of, path, member.name, folder), False
        else:
            yield Part(path, path, place), is_named
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError, RuntimeError):
        raise FormatError(path, "is an archive that is corrupt or cannot be read") from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or 'it is corrupt'}") from None


def _is_data(name: str) -> bool:
    return not PurePosixPath(name).name.startswith(".") and "__MACOSX/" not in name


def _is_tar(path: str) -> bool:
    head = next(text_chunks(path, size=1 << 10, binary=True), b"")
    return head[_TAR_AT : _TAR_AT + len(_TAR_MAGIC)] == _TAR_MAGIC


def _copied(stream: Any, archive: str, member: str, folder: Path) -> Part:
    path = _temporary(folder, PurePosixPath(member).name)
    with path.open("xb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    return Part(str(path), f"{archive}:{member}", member)


def _temporary(folder: Path, name: str) -> Path:
    return folder / f"{sum(1 for _ in folder.iterdir())}-{name[-60:]}"


def _fits(place: str, patterns: tuple[str, ...]) -> bool:
    """Whether a place fits a pattern, compressed or not; without patterns, a known suffix."""
    bare = _bare(place)
    if not patterns:
        return PurePosixPath(bare).suffix.lower() in _FORMATS
    forms = (_bare(pattern).removeprefix("**/") for pattern in patterns)
    return any(fnmatch(bare, form) or fnmatch(bare, f"*/{form}") for form in forms)


def _bare(place: str) -> str:
    """Return a name without suffixes of compression."""
    while place.lower().endswith(_ENDINGS):
        place = place[: place.rindex(".")]
    return place


def _opened(part: Part, table: Table, folder: Path) -> Part:
    """Return a part with its format and columns, decompressed if the engine cannot."""
    kind = table.format or _FORMATS.get(PurePosixPath(_bare(part.place)).suffix.lower(), "")
    if not kind:
        raise FormatError(part.name, "its suffix does not determine a format; give source.format")
    with Path(part.path).open("rb") as stream:
        head = stream.read(6)
    compression = next((c for magic, c in _MAGIC.items() if head.startswith(magic)), "none")
    path = part.path
    if not compression or (kind == "parquet" and compression != "none"):
        path = _decompressed(part, folder)
        compression = "none"
    if kind == "json" and table.records:
        path, compression = _records(part, table, folder), "none"
    lines = kind == "json" and not _begins_array(path)
    part = replace(part, path=path, format=kind, compression=compression, is_lines=lines)
    if kind == "csv":
        return replace(part, columns=_csv_columns(part, table))
    return with_schema(part, _schema(part)) if kind == "parquet" else part


def _decompressed(part: Part, folder: Path) -> str:
    path = _temporary(folder, PurePosixPath(_bare(part.place)).name)
    with path.open("xb") as copy:
        for chunk in text_chunks(part.path, size=1 << 20, binary=True):
            copy.write(chunk)
    return str(path)


def _records(part: Part, table: Table, folder: Path) -> str:
    """Write the records of a JSON document as lines."""
    import json

    found: Any = read_json_file(part.path, most=_LARGEST_DOCUMENT)
    for key in table.records.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, list):
        raise FormatError(part.name, f"has no array at source.records, {quoted(table.records)}")
    path = _temporary(folder, "records.jsonl")
    with path.open("x", encoding="utf-8") as lines:
        lines.writelines(f"{json.dumps(record)}\n" for record in found)
    return str(path)


def _begins_array(path: str) -> bool:
    head = next(text_chunks(path, size=1 << 10, binary=True), b"")
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _csv_columns(part: Part, table: Table) -> tuple[str, ...]:
    """Return the names of the columns; a file without them must have as many as there are names."""
    check_choice("encoding", table.encoding, _ENCODINGS)
    head = b""
    for chunk in text_chunks(part.path, size=1 << 14, binary=True):
        head += chunk
        if b"\n" in head or len(head) > _LONGEST_HEADER:
            break
    line = head.decode(table.encoding, "replace").removeprefix("\ufeff").splitlines()[:1]
    if not line or not line[0]:
        raise FormatError(part.name, "is empty")
    if len(table.delimiter) == 1:
        cells = next(
            csv.reader(
                line,
                delimiter=table.delimiter,
                quotechar=table.quote or None,
                quoting=csv.QUOTE_MINIMAL if table.quote else csv.QUOTE_NONE,
            )
        )
    else:
        cells = [cell.strip(table.quote or None) for cell in line[0].split(table.delimiter)]
    if table.names:
        if len(cells) != len(table.names):
            why = f"has {len(cells)} columns, not {len(table.names)} as source.names"
            raise FormatError(part.name, why, line=1)
        return table.names
    names = tuple(cell.strip() for cell in cells)
    if len(set(names)) < len(names):
        raise FormatError(part.name, "two columns have one name", line=1)
    return names


def _schema(part: Part) -> Any:
    from workloadkit.io.sidecar import open_parquet, reading_parquet

    return reading_parquet(part.name, lambda: open_parquet(part.path).schema_arrow)


def with_schema(part: Part, schema: Any) -> Part:
    """Return a part with the columns of an Arrow schema."""
    import pyarrow as pa

    kinds, types = {}, {}
    for column in schema:
        if kind := _type(column.type):
            types[column.name] = kind
        if pa.types.is_duration(column.type):
            kinds[column.name] = column.type.unit
        elif pa.types.is_timestamp(column.type):
            kinds[column.name] = "aware" if column.type.tz else "naive"
    return replace(part, columns=tuple(schema.names), kinds=kinds, types=types)


def _type(kind: Any) -> str:
    """Return a type of Arrow in words; that of columns without values is empty."""
    import pyarrow as pa

    of = pa.types
    if of.is_dictionary(kind):
        return _type(kind.value_type)
    if of.is_null(kind):
        return ""
    if of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind):
        return "a number"
    if of.is_nested(kind):
        return "a record" if of.is_struct(kind) else "a map" if of.is_map(kind) else "a list"
    words = {
        "a text": of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind),
        "a time": of.is_timestamp(kind) or of.is_date(kind),
        "a duration": of.is_duration(kind),
        "a truth value": of.is_boolean(kind),
    }
    return next((word for word, holds in words.items() if holds), f"of type {str(kind)[:40]}")
