"""Open inputs of any compression; write outputs whole or not at all.

All readers and writers use this module, so that errors about missing, truncated or binary files
are the same everywhere, and no incomplete file is left behind.
"""

import bz2
import codecs
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import EACCES
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO

from workloadkit.errors import (
    FormatError,
    MissingFileError,
    ParameterError,
    WorkloadError,
    printable,
)
from workloadkit.io.standard_output import StandardOutputError
from workloadkit.io.unfinished_files import remove_left_over, unfinished

Source = str | os.PathLike[str] | IO[bytes]

#: Size of chunks of text. [bytes]
CHUNK = 1 << 18

#: Suffixes of supported compression.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

#: Suffixes of unsupported compression or archives.
_NOT_WRITTEN = (".7z", ".br", ".lz", ".lz4", ".lzma", ".rar", ".tar", ".tgz", ".z", ".zip")

# Compressed logs expand about tenfold: a longer expansion is refused as a decompression bomb.
_MUCH = 1 << 26  # [bytes]
_MOST_TIMES = 300
_BINARY = "is a binary file, not text"
_CORRUPT = "its compressed data are corrupt"
_COMPRESSED: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_LONGEST_MAGIC = 6
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZIP_MAGIC = (b"PK\3\4", b"PK\5\6")  # of an archive, and of an empty one

#: A zip archive is read from its end; longer ones wait in a temporary file. [bytes]
_LONGEST_IN_MEMORY = 1 << 24

# Characters that text does not contain; a file with more of them is binary.
_CONTROLS = bytes({*range(32), 127} - {*b"\0\b\t\n\v\f\r\x1b"})
_FEW_CONTROLS = 1 / 20

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_HEAD = 64  # bytes that show UTF-16 without a mark

# A block of zstd has at least 4 bytes and at most 128 KiB of text: 512 bytes give at most 16 MiB.
_ZSTD_STEP = 512


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
    with _naming(path), ExitStack() as stack:
        chunks = _decompressed(_opened(source, path, stack), size)
        if binary:
            yield from chunks
            return
        has_nuls = has_text = False
        line = 1
        for chunk in as_utf8(chunks):
            if b"\0" in chunk:
                has_nuls = True
                if not _is_text(chunk):
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


def as_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield text as UTF-8 if it begins as UTF-16 or UTF-32, else as it is.

    Examples
    --------
    >>> b"".join(as_utf8(["a|b".encode("utf-16")])), b"".join(as_utf8([b"a|b"]))
    (b'a|b', b'a|b')
    """
    chunks = iter(chunks)
    first = next(chunks, b"")
    encoding = _encoding(first)
    if encoding is None:
        yield from chain([first] * bool(first), chunks)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).removeprefix("\ufeff").encode()
    for chunk in chunks:
        yield decoder.decode(chunk).encode()


def _encoding(head: bytes) -> str | None:
    """Return the encoding of a text of two or four bytes per character; None for any other."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    head = head[:_HEAD]
    for encoding, chars, others in (
        ("utf-16-le", head[::2], head[1::2]),
        ("utf-16-be", head[1::2], head[::2]),
    ):
        if len(others) > 2 and all(chars) and not any(others):
            return encoding
    return None


def _is_text(chunk: bytes) -> bool:
    """Whether few characters other than NUL are control characters."""
    n_chars = len(chunk) - chunk.count(b"\0")
    n_controls = len(chunk) - len(chunk.translate(None, _CONTROLS))
    return n_controls <= _FEW_CONTROLS * n_chars


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
def _naming(path: str) -> Iterator[None]:
    """Raise errors of reading as errors of the file."""
    try:
        yield
    except _OverblownError:
        reason = f"is not a log: it expands to more than {_MOST_TIMES} times its size"
        raise FormatError(path, reason) from None
    except _ArchiveError as error:
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

    Raises
    ------
    ParameterError

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


class Rejoined(io.RawIOBase):
    """A stream that puts already read bytes back in front; it need not be seekable."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self.head, self.stream = head, stream
        self.n_read = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the next bytes."""
        data = self.head or self.stream.read(len(buffer))
        self.head = data[len(buffer) :]
        n_bytes = min(len(data), len(buffer))
        buffer[:n_bytes] = data[:n_bytes]
        self.n_read += n_bytes
        return n_bytes


def _decompressed(stream: Any, size: int) -> Iterator[bytes]:
    """Yield chunks of a stream, decompressed if necessary."""
    head = stream.read(_LONGEST_MAGIC)
    if not isinstance(head, bytes):
        raise WorkloadError("a log must be read from a binary file; this one was opened as text")
    while len(head) < _LONGEST_MAGIC and (more := stream.read(_LONGEST_MAGIC - len(head))):
        head += more  # a pipe may return fewer bytes than requested
    raw = Rejoined(head, stream)
    n_bytes = 0
    for chunk in _chunks(head, io.BufferedReader(raw), size):
        n_bytes += len(chunk)
        if n_bytes > _MUCH and n_bytes > _MOST_TIMES * raw.n_read:
            raise _OverblownError
        yield chunk


def _chunks(head: bytes, whole: Any, size: int) -> Iterator[bytes]:
    if head.startswith(_ZSTD_MAGIC):
        yield from _zstd_chunks(whole, size)
        return
    if head.startswith(_ZIP_MAGIC):
        yield from _zip_chunks(whole, size)
        return
    for magic, opened in _COMPRESSED.items():
        if head.startswith(magic):
            whole = opened(whole)
            break
    while chunk := whole.read(size):
        yield chunk


class _OverblownError(Exception):
    """Compressed data that expand far more than a log."""


class _ArchiveError(Exception):
    """An archive that is not one log; the message describes it."""


def _zip_chunks(stream: Any, size: int) -> Iterator[bytes]:
    """Yield the text of the only file of a zip archive; the file may be compressed itself."""
    import shutil
    import tempfile
    import zipfile

    with ExitStack() as stack:
        whole = stack.enter_context(tempfile.SpooledTemporaryFile(_LONGEST_IN_MEMORY))
        shutil.copyfileobj(stream, whole)
        try:
            archive = stack.enter_context(zipfile.ZipFile(whole))
            names = [name for name in archive.namelist() if _may_be_log(name)]
            if len(names) != 1:
                raise _ArchiveError(f"is a zip archive of {len(names):,} files, not of one log")
            member = stack.enter_context(archive.open(names[0]))
            head = member.read(_LONGEST_MAGIC)
            if head.startswith(_ZIP_MAGIC):
                raise _ArchiveError("is a zip archive of a zip archive")
            yield from _chunks(head, io.BufferedReader(Rejoined(head, member)), size)
        except zipfile.BadZipFile as error:
            raise zlib.error(str(error)) from error
        except (RuntimeError, NotImplementedError) as error:  # encrypted; a rare method
            raise _ArchiveError(f"is a zip archive that cannot be read: {error}") from error


def _may_be_log(name: str) -> bool:
    """Whether an entry of a zip archive is a file of its user: no folder, nor added by a system."""
    return not (name.endswith("/") or Path(name).name.startswith(".") or "__MACOSX/" in name)


def _zstd_chunks(stream: Any, size: int) -> Iterator[bytes]:
    """Decompress frame by frame: the library's own reader does not detect truncation."""
    import zstandard

    frame = None
    gathered = bytearray()
    while piece := stream.read(_ZSTD_STEP):
        while piece:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                gathered += frame.decompress(piece)
            except zstandard.ZstdError as error:
                raise zlib.error(str(error)) from error
            piece = frame.unused_data  # data after the end of a frame are another frame
            if frame.eof:
                frame = None
        if len(gathered) >= size:
            yield bytes(gathered)
            gathered.clear()
    if frame is not None:
        raise EOFError
    if gathered:
        yield bytes(gathered)
