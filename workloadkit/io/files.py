"""Open inputs, whatever their compression; write outputs whole or not at all.

Every reader and writer goes through here, so that each says the same of a file that is missing,
cut short or not text, and none leaves half a file behind.
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

from workloadkit.errors import FormatError, ParameterError, WorkloadError, printable
from workloadkit.io.unfinished_files import remove_left_over, unfinished

Source = str | os.PathLike[str] | IO[bytes]

#: Bytes of text taken at a time.
CHUNK = 1 << 18

#: Suffixes that compress what is written.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

#: Suffixes that promise another compression, or several files in one.
_NOT_WRITTEN = (".7z", ".br", ".lz", ".lz4", ".lzma", ".rar", ".tar", ".tgz", ".z", ".zip")

# The text of a log is some ten times as long as the file that it is compressed to: what is beyond
# this much, and so many times as long, is blown up.
_MUCH = 1 << 26  # [bytes]
_MOST_TIMES = 300
_CORRUPT = "its compressed data are corrupt"
_COMPRESSED: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_LONGEST_MAGIC = 6
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

# A block of zstd is at least 4 bytes and at most 128 KiB of text: 512 bytes make at most 16 MiB.
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
    """Name of a log by the path of its file, as it can be shown.

    Examples
    --------
    >>> log_name("logs/a.swf")
    'a.swf'
    """
    return "standard input" if path == "-" else printable(Path(path).name)


def text_chunks(source: Source, *, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the text of `source` in chunks of about `size` bytes, decompressed, not decoded.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. gzip, bzip2, xz and Zstandard are known by their first bytes,
        whatever the name.
    size : int, default 256 KiB
        Every chunk but the last has at least that many bytes.

    Raises
    ------
    FormatError
        If the file cannot be opened, is cut short, corrupt or binary, or if its text is hundreds
        of times as long as it is, as no log's is.
    """
    path = source_path(source)
    try:
        with ExitStack() as stack:
            for chunk in _decompressed(_opened(source, path, stack), size):
                if b"\0" in chunk:
                    raise FormatError(path, "is a binary file, not a text")
                yield chunk
    except _OverblownError:
        reason = f"is no log: its text is more than {_MOST_TIMES} times as long as the file"
        raise FormatError(path, reason) from None
    except EOFError as error:
        raise FormatError(path, "is cut short: the compressed data end too early") from error
    except FileNotFoundError as error:
        raise FormatError(path, "no such file") from error
    except IsADirectoryError as error:
        raise FormatError(path, "is a directory, not a file") from error
    except PermissionError as error:
        raise FormatError(path, "permission to read it is denied") from error
    except OSError as error:
        # Only the operating system's errors have a number; gzip's and bz2's are about the data.
        reason = f"cannot be read: {error.strerror}" if error.errno else _CORRUPT
        raise FormatError(path, reason) from error
    except (zlib.error, lzma.LZMAError) as error:
        raise FormatError(path, _CORRUPT) from error


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose suffix promises what is not written.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> check_suffix("a.zip")
    Traceback (most recent call last):
        ...
    workloadkit.errors.ParameterError: a.zip: .zip is not written; .gz, .bz2, .xz or .zst compress
    """
    suffix = Path(path).suffix
    if suffix.lower() in _NOT_WRITTEN:
        name = os.fspath(path)
        known = f"{', '.join(COMPRESSED[:-1])} or {COMPRESSED[-1]}"
        raise ParameterError(f"{name}: {suffix} is not written; {known} compress")


@contextmanager
def writing(
    path: str | os.PathLike[str], *, companion: Callable[[], None] | None = None
) -> Iterator[IO[bytes]]:
    r"""Write a file whole or not at all, compressed as its suffix says.

    The bytes go to another file in the same folder, which takes the place of `path` at the end
    and is removed on any failure. Compressed bytes carry neither name nor date, so that the same
    content gives the same file.

    Parameters
    ----------
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.
    companion : callable, optional
        Writes what goes with a file, when that is complete and has not yet taken its place.

    Yields
    ------
    binary file

    Raises
    ------
    ParameterError
        If the suffix promises what is not written, such as .zip.
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
        elif Path(name).exists() and not Path(name).is_file():  # a device or a pipe; no folder
            with Path(name).open("wb") as stream:
                yield stream
        else:
            target = Path(os.path.realpath(name))
            with _replacing(target, companion) as raw, _compressed(raw, name) as stream:
                yield stream
    except BrokenPipeError:  # whoever reads has seen enough: nothing wrong with the file
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
    stream = binary or io.BytesIO()  # in a notebook, only text can be shown
    yield stream
    if binary is None:
        sys.stdout.write(stream.getvalue().decode(errors="replace"))
    sys.stdout.flush()


@contextmanager
def _replacing(target: Path, companion: Callable[[], None] | None) -> Iterator[BinaryIO]:
    """Open a file beside `target` that takes its place on success and vanishes on failure."""
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
    except BaseException:  # an interrupt, too, leaves nothing behind
        with suppress(OSError):
            partial.unlink()
        raise


@contextmanager
def _compressed(raw: BinaryIO, name: str) -> Iterator[Any]:
    suffix = Path(name).suffix.lower()
    if suffix == ".gz":
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as stream:
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
    """A stream whose first bytes were already taken, whole again; it need not be seekable."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self.head, self.stream = head, stream
        self.n_read = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next."""
        data = self.head or self.stream.read(len(buffer))
        self.head = data[len(buffer) :]
        n_bytes = min(len(data), len(buffer))
        buffer[:n_bytes] = data[:n_bytes]
        self.n_read += n_bytes
        return n_bytes


def _decompressed(stream: Any, size: int) -> Iterator[bytes]:
    """Yield chunks of what a stream holds, or its compressed data."""
    head = stream.read(_LONGEST_MAGIC)
    if not isinstance(head, bytes):
        raise WorkloadError("a log is read from a binary file; this one was opened as text")
    while len(head) < _LONGEST_MAGIC and (more := stream.read(_LONGEST_MAGIC - len(head))):
        head += more  # a pipe may give less than it is asked for
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
    for magic, opened in _COMPRESSED.items():
        if head.startswith(magic):
            whole = opened(whole)
            break
    while chunk := whole.read(size):
        yield chunk


class _OverblownError(Exception):
    """Compressed data that are far longer than a log's."""


def _zstd_chunks(stream: Any, size: int) -> Iterator[bytes]:
    """Decompress frame by frame: the library's own reader is silent about a file cut short."""
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
            piece = frame.unused_data  # what follows the end of a frame is another frame
            if frame.eof:
                frame = None
        if len(gathered) >= size:
            yield bytes(gathered)
            gathered.clear()
    if frame is not None:
        raise EOFError
    if gathered:
        yield bytes(gathered)
