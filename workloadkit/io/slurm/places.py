"""Places of lines and fields of an export of `sacct` in a block of bytes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workloadkit.io.cells import Lines
from workloadkit.io.slurm.columns import Columns


def fields_of_lines(
    lines: Lines, part: range, columns: Columns
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Return which lines have the right number of fields, and where the fields are.

    Returns
    -------
    usual : ndarray of bool, shape (n_lines,)
        Lines with characters outside ASCII are left to the caller, too.
    first : ndarray of int64, shape (n_lines,)
        Place in `bounds` of what precedes each line.
    bounds : ndarray of int64
        The places before the first line, of delimiters, and of line ends.
    """
    mark = columns.delimiter.encode()
    if len(mark) > 1 or not len(part):
        nothing = np.zeros(len(part), np.int64)
        return nothing > 0, nothing, nothing
    begin, end = lines.begin[part.start : part.stop], lines.end[part.start : part.stop]
    chars = lines.chars[begin[0] : end[-1] + 1]
    bounds = np.flatnonzero((chars == mark[0]) | (chars == ord("\n"))) + begin[0]
    bounds = np.append(begin[0] - 1, bounds)
    last = np.searchsorted(bounds, end)
    first = np.append(0, last[:-1])
    n_fields = last - first
    usual = (n_fields == columns.n_fields) & ~lines.odd()[part.start : part.stop]
    # the row before a part of one may be its beginning
    usual[:-1] &= ~((end > begin)[1:] & (n_fields[1:] < columns.n_fields))
    if b'"' in lines.data:  # a cell that begins with a quote may be quoted
        quoted = bounds[:-1][lines.chars[bounds[:-1] + 1] == ord('"')]
        usual[np.searchsorted(end, quoted, side="right")] = False
    return usual, first, bounds


def without_returns(text: bytes) -> bytes:
    """Return lines without the carriage return before each line feed, if each has at most one."""
    if b"\r" not in text or b"\r\r" in text:
        return text
    return text.replace(b"\r\n", b"\n")


def lines_with(word: bytes, lines: Lines, start: int) -> Iterator[int]:
    """Yield the lines from one on that contain a word."""
    at = lines.begin[start] if start < lines.end.size else len(lines.data)
    while (at := lines.data.find(word, at)) >= 0:
        line = int(np.searchsorted(lines.end, at))
        yield line
        at = int(lines.end[line])
