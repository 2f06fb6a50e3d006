"""Read text files of any size in blocks of lines, decompressed and decoded."""

import gc
import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels import cells
from workloadkit._kernels.cells import PAD, find_fields, pick
from workloadkit._kernels.compile import are_there, interpreted
from workloadkit._kernels.patience import seconds_left
from workloadkit.errors import FormatError, ParameterError, quoted
from workloadkit.io.files import Source, source_path, text_chunks

#: Input of line-based readers: one file or several, in order.
Sources = Source | Sequence[Source]

#: Counts lines: of a kind, the first one, how many.
Count = Callable[[str, int, int], object]

#: Longest accepted line; the hosts of a large job take some MiB. [bytes]
LONGEST_LINE = 1 << 24
TOO_LONG = "a line of more than 16 MiB"

#: What is counted of NUL characters.
NULS = "NUL characters left out"

#: Size of a block of text. [bytes]
BLOCK = 1 << 23

#: Size of the text from which compiled code is used. [bytes]
COMPILED_FROM = 1 << 18

#: The same if nothing is compiled yet: shorter texts are read sooner than it is. [bytes]
COMPILED_AT_ONCE = 1 << 21

_TORN = re.compile(rb"(?<=[^\n\0])\0\0+\n?")
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
    n_lines : int
    ends : bool
        Whether the last line has a line end in the file.
    """

    path: str
    first_line: int
    place: int
    text: bytes
    n_lines: int
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
            "source", f"is {quoted(sources)}; it must be a path, a binary file or a list of these"
        )
    return list(sources)


def line_blocks(
    sources: Sources,
    digest: Any = None,
    *,
    note: Count | None = None,
    leave_out: Count | None = None,
) -> Iterator[Block]:
    r"""Yield the lines of files in blocks.

    Lines end in ``\n`` or ``\r\n``. Lines that are not valid UTF-8 are decoded as Latin-1; a byte
    order mark is skipped, and so are empty files.

    Parameters
    ----------
    sources : str, path, binary file, or several of them in a list
        ``-`` is standard input; compression is recognized from the content.
    digest : hash, optional
        Of `hashlib`; updated with the whole text.
    note : callable, optional
        Counts the NUL characters that are left out, with the first line; without it they are an
        error. Several NULs end a line that they follow, as it is torn.
    leave_out : callable, optional
        Counts each line of more than 16 MiB, which is left out; without it such a line is an error.

    Raises
    ------
    FormatError
        If a file cannot be read or is binary.

    Examples
    --------
    >>> import io
    >>> [block.lines for block in line_blocks(io.BytesIO(b"a|b\r\n1|2\n"))]
    [['a|b', '1|2']]
    """
    digest = digest or hashlib.sha256()
    with _collector_off():
        yield from _blocks(sources, digest, note, leave_out)


def _blocks(
    sources: Sources, digest: Any, note: Count | None, leave_out: Count | None
) -> Iterator[Block]:
    place = 1
    for source in list_of_sources(sources):
        path = source_path(source)
        before = place - 1  # lines of earlier files
        rest = b""
        too_long = False  # whether the begin of the line was left out
        # the final newline ends a last line without one
        for chunk in chain(text_chunks(source, size=BLOCK, nuls=note is not None), (None,)):
            ends = chunk is not None
            if chunk is None:
                chunk = b"\n" if rest or too_long else b""
            else:
                digest.update(chunk)
                if place == before + 1 and not rest:
                    chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
            if note is not None and b"\0" in chunk:
                line = place + chunk.count(b"\n", 0, chunk.index(b"\0"))
                note(NULS, line, chunk.count(b"\0"))
                chunk = without_nuls(chunk, torn=bool(rest))
            first = chunk.find(b"\n") + 1
            if len(rest) + (first - 1 if first else len(chunk)) > LONGEST_LINE:
                if leave_out is None:
                    raise FormatError(path, TOO_LONG, line=place - before)
                rest, too_long = b"", True
            if too_long:
                chunk = chunk[first or len(chunk) :]
                if first and leave_out is not None:
                    leave_out(TOO_LONG, place, 1)
                    place += 1
                    too_long = False
            whole = chunk.rfind(b"\n") + 1
            if whole:
                text = b"".join((rest, memoryview(chunk)[:whole]))
                rest = b""
                n_lines = _line_feeds(text)
                yield Block(path, place - before, place, text, n_lines, ends)
                place += n_lines
            rest += chunk[whole:]


def without_nuls(text: bytes, *, torn: bool) -> bytes:
    r"""Leave out NUL characters; several of them end a line that they follow.

    Parameters
    ----------
    text : bytes
    torn : bool
        Whether the begin of the first line precedes the text.

    Examples
    --------
    >>> without_nuls(b"7|a\n8|\0\0\0\0" + b"9|c\n\0\0" + b"10|d\n", torn=False)
    b'7|a\n8|\n9|c\n10|d\n'
    """
    if torn:
        return _TORN.sub(b"\n", b" " + text).replace(b"\0", b"")[1:]
    return _TORN.sub(b"\n", text).replace(b"\0", b"")


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


def is_compiled(text: bytes | bytearray) -> bool:
    """Return whether compiled code is used for a text: if it is long."""
    return len(text) >= (COMPILED_AT_ONCE if _is_cold() else COMPILED_FROM) and not interpreted()


@cache
def _is_cold() -> bool:
    """Return whether some of this code would have to be compiled first, in this process."""
    return seconds_left() > 0 and not are_there(cells)


def chars_of(data: bytes | bytearray) -> NDArray[np.uint8]:
    """Return the characters of a text, for reading."""
    return np.frombuffer(memoryview(data).toreadonly(), np.uint8)


def eights_of(data: bytes | bytearray) -> NDArray[np.uint64]:
    """Return the eight characters at every place, as a number, for reading."""
    return np.ndarray((len(data) - 7,), "<u8", memoryview(data).toreadonly(), strides=(1,))


class Lines:
    """The lines of a block of text as bytes.

    Attributes
    ----------
    data : bytes
        The text, with `PAD` zero bytes before it, and as many or more after it.
    chars : ndarray of uint8
    n_lines : int
    """

    def __init__(self, text: bytes, n_lines: int) -> None:
        self.data = b"".join((bytes(PAD), text, bytes(PAD + -len(text) % 8)))
        self.chars, self.n_lines = chars_of(self.data), n_lines

    @cached_property
    def end(self) -> NDArray[np.integer]:
        """Places of the line feeds."""
        return np.flatnonzero(self.chars == ord("\n"))

    @cached_property
    def begin(self) -> NDArray[np.integer]:
        """Places of the first characters."""
        return np.append(PAD, self.end[:-1] + 1)[: self.n_lines]

    def text(self, line: int) -> str:
        """Return a line, decoded, without line end."""
        return decoded_line(self.data[self.begin[line] : self.end[line]]).removesuffix("\r")

    def part(self, start: int, stop: int) -> "Lines":
        """Return some of the lines."""
        if start == 0 and stop == self.n_lines:
            return self
        text = self.data[self.begin[start] : self.end[stop - 1] + 1] if stop > start else b""
        return Lines(text, stop - start)

    def fields(self, separators: bytes, *, quotes: bool = False) -> "Fields":
        """Return the fields of the lines.

        Parameters
        ----------
        separators : bytes
            One or two characters.
        quotes : bool, default False
            Whether a field between quotes may contain separators, and only such a field be empty.
        """
        n_lines = self.n_lines
        first, n_quotes = np.zeros(n_lines + 1, np.int32), np.zeros(n_lines, np.int32)
        odd = np.ones(n_lines, bool)
        bounds = np.empty(self.chars.size, np.int32)
        if n_lines and is_compiled(self.data):
            one, *_, two = (np.uint64(char * 0x0101010101010101) for char in 2 * separators)
            words = np.frombuffer(self.data, np.uint64)
            find_fields(words, self.chars, one, two, quotes, bounds, first, n_quotes, odd)
            self.end = bounds[first[1:]]
        return Fields(self.chars, quotes, bounds, first, n_quotes, odd)


class Fields(NamedTuple):
    """Fields of lines.

    Parameters
    ----------
    chars : ndarray of uint8
    quotes : bool
        Whether a field between quotes may contain separators.
    bounds : ndarray of int32
        Places before the text, of separators, and of line feeds.
    first : ndarray of int32, shape (n_lines + 1,)
        Number of the bound before each line.
    n_quotes : ndarray of int32, shape (n_lines,)
    odd : ndarray of bool, shape (n_lines,)
        Which lines contain control characters, are not ASCII, or have quotes within fields; all,
        without compiled code: they are left to what splits them one by one.
    """

    chars: NDArray[np.uint8]
    quotes: bool
    bounds: NDArray[np.int32]
    first: NDArray[np.int32]
    n_quotes: NDArray[np.int32]
    odd: NDArray[np.bool_]

    @property
    def n_fields(self) -> NDArray[np.int32]:
        """Number of fields of each line."""
        return np.diff(self.first)

    def pick(
        self,
        lines: NDArray[np.int64],
        fields: Collection[int],
        start: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return where fields begin and end; missing ones end before they begin.

        Parameters
        ----------
        lines : ndarray of int64, shape (n_records,)
        fields : collection of int, shape (n_fields,)
            Positions of the fields in each line.
        start : ndarray of int64, shape (n_records,), optional
            Fields before those that are counted.

        Returns
        -------
        begin, end : ndarray of int32, shape (n_fields, n_records)
        """
        begin, end = np.empty((2, len(fields), lines.size), np.int32)
        if lines.size:
            start = np.zeros(lines.size, np.int64) if start is None else start
            at = np.array([*fields], np.int64)
            pick(self.chars, self.bounds, self.first, lines, start, at, self.quotes, begin, end)
        return begin, end
