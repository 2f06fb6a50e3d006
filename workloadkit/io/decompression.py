"""Compressed and encoded text: streams of any known compression, and what is no text."""

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from workloadkit.errors import WorkloadError

# Compressed logs expand about tenfold: a longer expansion is refused as a decompression bomb.
_MUCH = 1 << 26  # [bytes]
MOST_TIMES = 300
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

# A block of zstd has at least 4 bytes and at most 128 KiB of text: 512 bytes give at most 16 MiB.
_ZSTD_STEP = 512


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


def decompressed(stream: Any, size: int) -> Iterator[bytes]:
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
        if n_bytes > _MUCH and n_bytes > MOST_TIMES * raw.n_read:
            raise OverblownError
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


class OverblownError(Exception):
    """Compressed data that expand far more than a log."""


class ArchiveError(Exception):
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
                raise ArchiveError(f"is a zip archive of {len(names):,} files, not of one log")
            member = stack.enter_context(archive.open(names[0]))
            head = member.read(_LONGEST_MAGIC)
            if head.startswith(_ZIP_MAGIC):
                raise ArchiveError("is a zip archive of a zip archive")
            yield from _chunks(head, io.BufferedReader(Rejoined(head, member)), size)
        except zipfile.BadZipFile as error:
            raise zlib.error(str(error)) from error
        except (RuntimeError, NotImplementedError) as error:  # encrypted; a rare method
            raise ArchiveError(f"is a zip archive that cannot be read: {error}") from error


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


# Text in encodings of several bytes per character, and what is no text.

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


def is_text(chunk: bytes) -> bool:
    """Whether few characters other than NUL are control characters."""
    n_chars = len(chunk) - chunk.count(b"\0")
    n_controls = len(chunk) - len(chunk.translate(None, _CONTROLS))
    return n_controls <= _FEW_CONTROLS * n_chars
