"""Read text files of any size in blocks of lines, decompressed and decoded."""

import gc
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from workloadkit.errors import FormatError, ParameterError
from workloadkit.io.files import Source, source_path, text_chunks

#: Input of line-based readers: one file or several, in order.
Sources = Source | Sequence[Source]

#: Longest accepted line. [bytes]
LONGEST_LINE = 1 << 20

#: Size of a block of text. [bytes]
BLOCK = 1 << 22

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """A block of whole lines of a file.

    Parameters
    ----------
    path : str
        The file, for messages.
    first_line : int
        Number of the first line in its file, from 1.
    place : int
        The same number, counted over all files.
    text : bytes
        Of the lines, each with a line feed at its end.
    ends : bool
        Whether the last line has a line end in the file.
    """

    path: str
    first_line: int
    place: int
    text: bytes
    ends: bool = True

    @property
    def lines(self) -> list[str]:
        """The lines, decoded, without line ends."""
        return _decoded(self.text)


def list_of_sources(sources: Sources) -> list[Source]:
    """Return one or several files as a list.

    Raises
    ------
    ParameterError
        If there are none.
    """
    if isinstance(sources, str | os.PathLike) or hasattr(sources, "read"):
        return [sources]  # type: ignore[list-item]
    if not isinstance(sources, Sequence) or not sources:
        raise ParameterError(
            f"source is {sources!r}; it must be a path, a binary file or a list of these"
        )
    return list(sources)


def line_blocks(sources: Sources, digest: Any = None) -> Iterator[Block]:
    r"""Yield the lines of files in blocks.

    Lines end in ``\n`` or ``\r\n``. Lines that are not valid UTF-8 are decoded as Latin-1; a byte
    order mark is skipped, and so are empty files.

    Parameters
    ----------
    sources : str, path, binary file, or several of them in a list
        ``-`` is standard input; compression is recognized from the content.
    digest : hash, optional
        Of `hashlib`; updated with the whole text.

    Raises
    ------
    FormatError
        If a file cannot be read, is binary, or has a line of more than 1 MiB.

    Examples
    --------
    >>> import io
    >>> [block.lines for block in line_blocks(io.BytesIO(b"a|b\r\n1|2\n"))]
    [['a|b', '1|2']]
    """
    digest = digest or hashlib.sha256()
    with _collector_off():
        yield from _blocks(sources, digest)


def _blocks(sources: Sources, digest: Any) -> Iterator[Block]:
    place = 1
    for source in list_of_sources(sources):
        path = source_path(source)
        line = 1
        rest = b""
        # the final newline ends a last line without one
        for chunk in chain(text_chunks(source, size=BLOCK), (None,)):
            if chunk is not None:
                digest.update(chunk)
                if line == 1 and not rest:
                    chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
            text = rest + (chunk if chunk is not None else b"\n" if rest else b"")
            whole = text.rfind(b"\n") + 1
            rest = text[whole:]
            if len(rest) > LONGEST_LINE:
                line += text.count(b"\n", 0, whole)
                raise FormatError(path, "a line of more than 1 MiB", line=line)
            if whole:
                block = Block(path, line, place, text[:whole], ends=chunk is not None)
                if _may_be_too_long(block.text):
                    _check_lengths(path, block.lines, line)
                yield block
                n_lines = _line_feeds(block.text)
                line += n_lines
                place += n_lines


def _line_feeds(text: bytes) -> int:
    r"""Return the number of line feeds, several times as fast as `bytes.count`.

    Examples
    --------
    >>> _line_feeds(b"1 2\n3 4\n")
    2
    """
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


@contextmanager
def _collector_off() -> Iterator[None]:
    """Pause garbage collection: a file has millions of strings and no reference cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _decoded(text: bytes) -> list[str]:
    """Split text into lines, at line feeds only."""
    try:
        lines = text.decode().split("\n")
    except UnicodeDecodeError:
        lines = [decoded_line(line) for line in text.split(b"\n")]
    lines.pop()
    if b"\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def decoded_line(line: bytes) -> str:
    """Decode a line: as Latin-1 if it is not valid UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _may_be_too_long(text: bytes) -> bool:
    """Whether there is a stretch without a line feed: a line that is too long contains one."""
    step = LONGEST_LINE // 2
    starts = range(0, len(text) - step, step)
    return any(text.find(b"\n", start, start + step) < 0 for start in starts)


def _check_lengths(path: str, lines: list[str], first: int) -> None:
    if len(lines) and max(map(len, lines)) > LONGEST_LINE:
        line = first + next(i for i, text in enumerate(lines) if len(text) > LONGEST_LINE)
        raise FormatError(path, "a line of more than 1 MiB", line=line)
