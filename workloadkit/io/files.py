"""Open inputs of any compression; write outputs whole or not at all.

All readers and writers use this module, so that errors about missing, truncated or binary files
are the same everywhere, and no incomplete file is left behind.
"""

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import EACCES
from pathlib import Path
from typing import IO, Any, BinaryIO

from workloadkit.errors import (
    FormatError,
    MissingFileError,
    ParameterError,
    WorkloadError,
    printable,
)
from workloadkit.io.decompression import (
    MOST_TIMES,
    ArchiveError,
    OverblownError,
    as_utf8,
    decompressed,
    is_text,
)
from workloadkit.io.unfinished_files import StandardOutputError, remove_left_over, unfinished

Source = str | os.PathLike[str] | IO[bytes]

#: Size of chunks of text. [bytes]
CHUNK = 1 << 18

#: Suffixes of supported compression.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

#: Suffixes of unsupported compression or archives.
_NOT_WRITTEN = (".7z", ".br", ".lz", ".lz4", ".lzma", ".rar", ".tar", ".tgz", ".z", ".zip")

_BINARY = "is a binary file, not text"
_CORRUPT = "its compressed data are corrupt"


def source_path(source: Source) -> str:
    """Path of `source` for messages; ``-`` for standard input.

    Examples
    --------
    >>> source_path("logs/a.swf")
    'logs/a.swf'
    """
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def log_name(path: str) -> str:
    """Name of a log, from the path of its file, safe to print.

    Examples
    --------
    >>> log_name("logs/a.swf")
    'a.swf'
    """
    return "standard input" if path == "-" else printable(Path(path).name)


def text_chunks(
    source: Source, *, size: int = CHUNK, binary: bool = False, nuls: bool = False
) -> Iterator[bytes]:
    """Yield the text of `source` in chunks of about `size` bytes, decompressed, not decoded.

    UTF-16 and UTF-32, as some shells write them, become UTF-8.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. gzip, bzip2, xz, Zstandard and a zip archive of one file are
        recognized from the content, independent of the name.
    size : int, default 256 KiB
        Minimum size of every chunk but the last.
    binary : bool, default False
        Whether the file may be binary.
    nuls : bool, default False
        Whether the text may contain NUL characters, which file systems leave after a crash; they
        stay in the chunks.

    Raises
    ------
    FormatError
        If the file cannot be opened, is truncated, corrupt or binary, contains NUL characters, or
        expands to hundreds of times its size.
    """
    path = source_path(source)
    with naming_errors(path), ExitStack() as stack:
        chunks = decompressed(_opened(source, path, stack), size)
        if binary:
            yield from chunks
            return
        has_nuls = has_text = False
        line = 1
        for chunk in as_utf8(chunks):
            if b"\0" in chunk:
                has_nuls = True
                if not is_text(chunk):
                    raise FormatError(path, _BINARY)
                if not nuls and (has_text or chunk.strip(b"\0")):
                    line += chunk.count(b"\n", 0, chunk.index(b"\0"))
                    raise FormatError(path, "contains NUL characters", line=line)
            elif not nuls:
                line += chunk.count(b"\n")
            has_text = has_text or bool(chunk.strip(b"\0"))
            yield chunk
        if has_nuls and not has_text:
            raise FormatError(path, _BINARY)


def digested_chunks(source: Source, digest: Any, *, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the chunks of `text_chunks`, and digest them; another thread reads long files ahead.

    They may contain NUL characters.

    Parameters
    ----------
    source : str, path or binary file
    digest : hash
        Of `hashlib`; updated with the text.
    size : int, default 256 KiB
        Minimum size of every chunk but the last. [bytes]
    """
    chunks = text_chunks(source, size=size, nuls=True)

    def take() -> bytes:
        chunk = next(chunks, b"")
        digest.update(chunk)
        return chunk

    if file_size(source) < size:  # or a stream, which may never go on
        yield from iter(take, b"")
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(take)
        while chunk := coming.result():
            coming = pool.submit(take)
            yield chunk


def file_size(source: Source) -> int:
    """Return the size of a file in bytes; 0 for a stream, or if there is none."""
    path = source_path(source)
    try:
        return 0 if path == "-" else Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a file; one with a name too long for any file is none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder; see `is_file`."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is a file, folder or anything else under a path; see `is_file`."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


@contextmanager
def naming_errors(path: str) -> Iterator[None]:
    """Raise errors of reading as errors of the file."""
    try:
        yield
    except OverblownError:
        reason = f"is not a log: it expands to more than {MOST_TIMES} times its size"
        raise FormatError(path, reason) from None
    except ArchiveError as error:
        raise FormatError(path, str(error)) from None
    except EOFError as error:
        raise FormatError(path, "is truncated: the compressed data end too early") from error
    except FileNotFoundError as error:
        raise MissingFileError(path) from error
    except IsADirectoryError as error:
        raise FormatError(path, "is a directory, not a file") from error
    except PermissionError as error:
        raise FormatError(path, "permission denied") from error
    except OSError as error:
        # Only errors of the operating system have a number; those of gzip and bz2 concern the data.
        reason = f"cannot be read: {error.strerror}" if error.errno else _CORRUPT
        raise FormatError(path, reason) from error
    except (zlib.error, lzma.LZMAError) as error:
        raise FormatError(path, _CORRUPT) from error


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Check that a file's suffix does not require unsupported compression.

    Examples
    --------
    >>> check_suffix("a.zip")
    Traceback (most recent call last):
        ...
    workloadkit.errors.ParameterError: a.zip: .zip is not supported; use .gz, .bz2, .xz or .zst
    """
    suffix = Path(path).suffix
    if suffix.lower() in _NOT_WRITTEN:
        name = os.fspath(path)
        known = f"{', '.join(COMPRESSED[:-1])} or {COMPRESSED[-1]}"
        raise ParameterError(f"{name}: {suffix} is not supported; use {known}")


@contextmanager
def writing(
    path: str | os.PathLike[str], *, companion: Callable[[], None] | None = None
) -> Iterator[IO[bytes]]:
    r"""Write a file whole or not at all, compressed according to its suffix.

    The bytes are written to a temporary file in the same folder, which replaces `path` at the end
    and is removed on any failure. Compressed files contain neither name nor date, so the same
    content gives the same file.

    Parameters
    ----------
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.
    companion : callable, optional
        Called to write an accompanying file, when the file is complete and not yet in place.

    Yields
    ------
    binary file

    Raises
    ------
    ParameterError
        If the suffix is not supported, such as .zip.
    WorkloadError
        If the file cannot be written.

    Examples
    --------
    >>> with writing("-") as stream:
    ...     _ = stream.write(b"job,user\n")
    job,user
    """
    name = os.fspath(path)
    check_suffix(name)
    try:
        if name == "-":
            with _standard_output() as stream:
                yield stream
        elif exists(name) and not is_file(name):  # a device or a pipe; folders raise an error
            with Path(name).open("wb") as stream:
                yield stream
        else:
            target = Path(os.path.realpath(name))
            with _replacing(target, companion) as raw, _compressed(raw, name) as stream:
                yield stream
    except (BrokenPipeError, StandardOutputError):  # not of a file
        raise
    except OSError as error:
        raise WorkloadError(f"{name}: cannot be written: {error.strerror or error}") from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8, whole or not at all; see `writing`."""
    with writing(path) as stream:
        stream.write(text.encode(errors="replace"))


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    if sys.stdout is None:
        raise WorkloadError("standard output is closed")
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    stream = binary or io.BytesIO()  # notebooks accept only text
    yield stream
    if binary is None:
        sys.stdout.write(stream.getvalue().decode(errors="replace"))
    sys.stdout.flush()


@contextmanager
def _replacing(target: Path, companion: Callable[[], None] | None) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `target` on success and is removed on failure."""
    remove_left_over(target.parent)
    partial = unfinished(target)
    mode = target.stat().st_mode & 0o7777 if target.exists() else None
    if mode is not None and not mode & 0o200:
        raise PermissionError(EACCES, "it is read-only")
    try:
        with partial.open("xb") as stream:
            if mode is not None:
                partial.chmod(mode)
            yield stream
        if companion is not None:
            companion()
        partial.replace(target)
    except BaseException:  # also removes the file on an interrupt
        with suppress(OSError):
            partial.unlink()
        raise


@contextmanager
def _compressed(raw: BinaryIO, name: str) -> Iterator[Any]:
    suffix = Path(name).suffix.lower()
    if suffix == ".gz":  # level 4 takes 1.6 times as long, for files shorter by a tenth
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=2, mtime=0) as stream:
            yield stream
    elif suffix == ".bz2":
        with bz2.BZ2File(raw, "wb") as stream:
            yield stream
    elif suffix == ".xz":
        with lzma.LZMAFile(raw, "wb") as stream:
            yield stream
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as stream:
            yield stream
    else:
        yield raw


def _opened(source: Source, path: str, stack: ExitStack) -> Any:
    if not isinstance(source, str | os.PathLike):
        return source
    if path == "-":
        if sys.stdin is None:
            raise FormatError(path, "standard input is closed")
        return sys.stdin.buffer
    if "\0" in path:
        raise FileNotFoundError
    return stack.enter_context(Path(path).open("rb"))
