"""Split JOB_FINISH records into fields, all lines of a block at once.

Lines of another form, with quotes within quoted text, an unknown order of fields or characters
outside ASCII, are split one by one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.io.cells import Cells
from workloadkit.io.lines import PAD, Lines
from workloadkit.io.lsf import record
from workloadkit.io.lsf.record import hosts_of

_QUOTE, _BLANK, _LINE_FEED, _MINUS = map(ord, '" \n-')
_START = b'"JOB_FINISH" "'
_ONE, _LAST = np.uint64(1), np.uint64(63)
_MOST_COUNTED = 1000  # hosts, for which positions are computed


class Finished(NamedTuple):
    """Records, by the names of `Finish`.

    Parameters
    ----------
    lines : ndarray of int64, shape (n_records,)
        In their block, from 0.
    numbers : dict of str to ndarray, shape (n_records,)
    cells : Cells
        The texts.
    """

    lines: NDArray[np.int64]
    numbers: dict[str, NDArray[np.float64]]
    cells: Cells


class _Fields:
    """Fields of some lines, by position; lines that lack one, or whose form is odd, are marked."""

    def __init__(self, lines: Lines, usual: NDArray[np.bool_], places: NDArray[np.int64]) -> None:
        last = np.searchsorted(places, lines.end)
        first = np.append(0, last[:-1] + 1)[: last.size]
        self.lines, self.places = lines, places
        self.rows = np.flatnonzero(usual & (last - first > record.N_ASKED))
        self.first, self.n_fields = first[self.rows], (last - first + 1)[self.rows]
        self.good = np.ones(self.rows.size, bool)

    def bounds(self, at: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where fields begin and end, with quotes; `at` is 1 or more."""
        field = self.first + np.clip(at, 1, self.n_fields - 1)
        return self.places[field - 1] + 1, self.places[field]

    def text(
        self, at: NDArray[np.int64], there: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where fields begin and end; missing ones end before they begin."""
        begin, end = self.bounds(at)
        quoted = self.lines.chars[begin] == _QUOTE
        begin, end = begin + quoted, end - quoted
        exists = at < self.n_fields
        if there is None:
            self.good &= exists
        else:
            exists &= there
        return begin, np.where(exists, end, begin - 1)

    def number(
        self, at: NDArray[np.int64], there: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return numbers, and which of them are plain ones."""
        begin, end = self.text(at, there)
        negative = self.lines.chars[begin] == _MINUS
        cells = Cells(self.lines.data, {"": begin + negative}, {"": end}, end.size)
        number, plain = cells.plain_decimals("")
        return np.where(negative, -number, number), plain

    def whole(self, at: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which fields are whole numbers."""
        begin, end = self.text(at)
        begin = begin + (self.lines.chars[begin] == _MINUS)
        return Cells(self.lines.data, {"": begin}, {"": end}, end.size).digits("")

    def count(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the stated numbers of following fields."""
        begin, end = self.text(at)
        cells = Cells(self.lines.data, {"": begin}, {"": end}, end.size)
        number = cells.numbers("", lambda text: np.nan)
        self.good &= number < _MOST_COUNTED
        return np.where(number < _MOST_COUNTED, number, 0).astype(np.int64)


def lex(lines: Lines) -> Finished:
    """Split the lines for which `workloadkit.io.lsf.record.parse` gives the same fields."""
    fields = _Fields(lines, *_separated(lines))
    at = np.zeros(fields.rows.size, np.int64)
    hosts_at = at + record.N_ASKED + 1 + fields.count(at + record.N_ASKED)
    n_hosts = fields.count(hosts_at)
    rest = hosts_at + 1 + n_hosts
    n_rest = fields.n_fields - rest
    fields.good &= n_rest > record.EXIT_INFO
    tail, has_tail = _tail(fields, rest, n_rest)
    numbers: dict[str, NDArray[np.float64]] = {}
    for start, positions in ((at, record.NUMBERS), (rest, record.NUMBERS_BEHIND)):
        for name, place in positions.items():
            numbers[name], plain = fields.number(start + place)
            fields.good &= plain
    for name, place in record.NUMBERS_OF_TAIL.items():
        numbers[name] = np.where(has_tail, fields.number(tail + place, has_tail)[0], -1.0)
    numbers["ineligible"] = _ineligible(fields, tail, has_tail)
    resizable = n_rest > record.LAST_RESIZE
    number, plain = fields.number(rest + record.LAST_RESIZE, resizable)
    fields.good &= plain | ~resizable
    numbers["last_resize"] = np.where(resizable, number, -1.0)
    n_tail = np.where(has_tail, fields.n_fields - tail, 0)
    numbers["extent"] = np.minimum(n_rest, record.N_EXTENSIONS) + np.minimum(
        n_tail, record.RUN_TIME + 2
    )
    numbers["known_order"] = np.ones(at.size)
    begin, end = {}, {}
    for start, positions in ((at, record.TEXTS), (rest, record.TEXTS_BEHIND)):
        for name, place in positions.items():
            begin[name], end[name] = fields.text(start + place)
    first, last = fields.bounds(hosts_at + 1)[0], fields.bounds(hosts_at + n_hosts)[1]
    begin["hosts"], end["hosts"] = first, np.where(n_hosts > 0, last, first)
    good = fields.good
    cells = Cells(lines.data, begin, end, at.size).take(good)
    numbers = {name: column[good].astype(np.float64) for name, column in numbers.items()}
    if good.any():
        numbers["slots"], numbers["nodes"], _ = cells.combined(("hosts",), hosts_of).rows()
    else:
        numbers["slots"] = numbers["nodes"] = np.zeros(0)
    return Finished(fields.rows[good], numbers, cells)


def _separated(lines: Lines) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which lines are of the usual form, and the places of their separators."""
    chars = lines.chars
    usual = ~lines.odd() & lines.have(lines.begin, _START)
    marks = chars == _QUOTE
    quotes = _bits(marks)
    inside = _inside(quotes)
    odd = np.diff(_has(inside, lines.end), prepend=False)  # an odd number of quotes
    for line in np.flatnonzero(odd).tolist():
        marks[lines.begin[line] : lines.end[line]] = False
    if odd.any():
        quotes = _bits(marks)
        inside = _inside(quotes)
    marks = (chars == _BLANK) | (chars == _LINE_FEED)
    marks[PAD - 1] = True
    ends = _bits(marks)
    before, after = ends << _ONE, ends >> _ONE
    before[1:] |= ends[:-1] >> _LAST
    after[:-1] |= ends[1:] << _LAST
    # quoted text begins or ends within a field
    wrong = quotes & ~((inside & before) | (~inside & after))
    places = _places(ends & ~inside)[1:]
    empty = places[1:][np.diff(places) == 1]  # several blanks, or one at the end
    for where in (_places(wrong) if wrong.any() else empty[:0], empty):
        usual[np.searchsorted(lines.end, where)] = False
    usual &= ~odd
    for line in _with_several(lines):
        usual[line] = False
    return usual, places


def _with_several(lines: Lines) -> list[int]:
    """Return the lines that contain a record after their start."""
    n_records = lines.data.count(_START)
    if n_records == np.count_nonzero(lines.have(lines.begin, _START)):
        return []
    return [
        line
        for line, (begin, end) in enumerate(zip(lines.begin, lines.end, strict=True))
        if lines.data.find(_START, begin + 1, end) > 0
    ]


def _bits(marks: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack marks, 64 into a number."""
    bits = np.packbits(marks, bitorder="little")
    return np.append(bits, np.zeros(-bits.size % 8, np.uint8)).view("<u8")


def _places(bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the places of the marks in `_bits`."""
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little").view(bool))


def _has(bits: NDArray[np.uint64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which places have a mark in `_bits`."""
    return (bits[places >> 6] >> (places & 63).astype(np.uint64) & _ONE).astype(bool)


def _inside(quotes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return which characters are within quotes: after an odd number of them, or opening ones."""
    words = quotes
    for shift in (1, 2, 4, 8, 16, 32):
        words = words ^ (words << np.uint64(shift))
    odd = (words >> _LAST).astype(np.int64)
    before = (np.cumsum(odd) - odd) % 2 == 1
    return np.where(before, ~words, words)


def _tail(
    fields: _Fields, rest: NDArray[np.int64], n_rest: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the position of the run limit, and which records are long enough to have it."""
    has_tail = n_rest > record.N_EXTENSIONS
    good = fields.good
    fields.good = np.ones(good.size, bool)
    usage_at = rest + record.N_EXTENSIONS + 1 + 2 * fields.count(rest + record.N_EXTENSIONS)
    tail = usage_at + 1 + record.HOST_FIELDS[0] * fields.count(usage_at)
    for place in record.WHOLE_IN_TAIL:
        fields.good &= fields.whole(tail + place)
    fields.good = good & (fields.good | ~has_tail)
    return tail, has_tail


def _ineligible(
    fields: _Fields, tail: NDArray[np.int64], has_tail: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the times in which jobs were ineligible [s]; -1 if they are not recorded."""
    good = fields.good
    fields.good = np.ones(good.size, bool)
    slots_at = tail + record.N_NETWORKS + 1 + 2 * fields.count(tail + record.N_NETWORKS) + 6
    at = slots_at + 1 + fields.count(slots_at)
    number, plain = fields.number(at)
    recorded = has_tail & (slots_at < fields.n_fields) & (at < fields.n_fields)
    fields.good = good & (~recorded | (plain & fields.good))
    return np.where(recorded, number, -1.0)
