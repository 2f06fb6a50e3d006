"""Fields of records as places in a block of bytes, parsed by column instead of one by one.

A field in its usual form is parsed by arithmetic on eight bytes at a time; any other text is
decoded and parsed by the function for a single field, once for each distinct text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.io.digits import KEEP_LAST, LONGEST_NUMBER, clock, decimals, digits, eights_of
from workloadkit.io.lines import PAD

_FEW = 64  # fields that are compared before all others


_Plain = tuple[NDArray[np.float64], NDArray[np.bool_]]  # numbers, and which are in a plain form


class Words(NamedTuple):
    """A column of few distinct values.

    Parameters
    ----------
    codes : ndarray of int, shape (n_records,)
    words : list
        The value of each code.
    """

    codes: NDArray[np.int64]
    words: list[Any]

    def column(self, dtype: Any = np.float64) -> NDArray:
        """Return the values as an array."""
        return np.array(self.words, dtype)[self.codes]

    def of(self, function: Callable[[Any], float]) -> NDArray[np.float64]:
        """Return a number for each value."""
        return np.array([*map(function, self.words)], np.float64)[self.codes]

    def where(self, known: NDArray[np.bool_]) -> "Words":
        """Return the column with the empty word where it is unknown."""
        return Words(np.where(known, self.codes + 1, 0), ["", *self.words])

    def rows(self) -> Iterator[Any]:
        """Yield the columns of values that are tuples."""
        for column in zip(*self.words, strict=True):
            yield np.array(column, object if isinstance(column[0], str) else None)[self.codes]


class Cells:
    """The fields of records, by name; parsed in columns of shape (n_records,).

    Parameters
    ----------
    data : bytes
        With `PAD` bytes before and after the text.
    begin, end : dict of str to ndarray of int, shape (n_records,)
        Places of the first character of each field, ascending, and after the last one. A field
        that ends before it begins is missing.
    n_records : int
    order : ndarray of int, optional
        The places of the records in `begin` and `end`, if they have another order.
    """

    def __init__(
        self,
        data: bytes,
        begin: Mapping[str, NDArray[np.int64]],
        end: Mapping[str, NDArray[np.int64]],
        n_records: int,
        order: NDArray[np.int64] | None = None,
    ) -> None:
        self.data, self.begin, self.end, self.n_records = data, begin, end, n_records
        self.order = order
        self._chars = np.frombuffer(data, np.uint8)
        self._eights = eights_of(data)
        self._known: dict[str, Words] = {}

    @classmethod
    def none(cls) -> "Cells":
        """Return the fields of no records."""
        return cls(bytes(2 * PAD), {}, {}, 0)

    def take(self, rows: NDArray) -> "Cells":
        """Return the fields of some records, given by ascending rows or a mask."""
        order = None
        if self.order is not None:
            wanted = self.order[rows]
            rows = np.sort(wanted)
            order = np.searchsorted(rows, wanted)
        begin = {name: column[rows] for name, column in self.begin.items()}
        end = {name: column[rows] for name, column in self.end.items()}
        return Cells(self.data, begin, end, np.arange(self.n_records)[rows].size, order)

    def with_texts(
        self, texts: Sequence[Sequence[str | None]], names: Sequence[str], order: NDArray[np.int64]
    ) -> "Cells":
        """Return the fields with those of other records, given as texts.

        Parameters
        ----------
        texts : sequence of sequence of str or None, shape (n_others, n_names)
            None is missing.
        names : sequence of str, shape (n_names,)
        order : ndarray of int
            The order of all records: those of these fields, then the others.
        """
        if not texts:
            return self
        data = [self.data]
        at = len(self.data)
        begin, end = {}, {}
        unknown = np.full(self.n_records, PAD), np.full(self.n_records, PAD - 1)
        for name, column in zip(names, zip(*texts, strict=True), strict=True):
            known = np.array([text is not None for text in column])
            encoded = [text.encode(errors="surrogatepass") if text else b"" for text in column]
            ends = at + np.cumsum([*map(len, encoded)])
            begins = np.append(at, ends[:-1])
            data += encoded
            at = int(ends[-1])
            begin[name] = np.append(self.begin.get(name, unknown[0]), begins)
            end[name] = np.append(self.end.get(name, unknown[1]), np.where(known, ends, begins - 1))
        data.append(bytes(PAD))
        return Cells(b"".join(data), begin, end, self.n_records + len(texts), order)

    def with_column(self, name: str, texts: Sequence[str]) -> "Cells":
        """Return the fields with another one, given as texts in the order of the records."""
        order = np.arange(self.n_records) if self.order is None else self.order
        encoded = np.empty(self.n_records, object)
        encoded[order] = [text.encode() for text in texts]
        ends = len(self.data) + np.cumsum([0, *map(len, encoded)])
        data = b"".join([self.data, *encoded, bytes(PAD)])
        begin, end = {**self.begin, name: ends[:-1]}, {**self.end, name: ends[1:]}
        return Cells(data, begin, end, self.n_records, self.order)

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return which records lack a field."""
        if name not in self.begin:
            return np.ones(self.n_records, bool)
        return self._ordered(self.end[name] < self.begin[name])

    def texts(self, name: str) -> NDArray[np.object_]:
        """Return the texts of a field, empty if missing."""
        return self._ordered(_decoded(self._arrow(self.begin[name], self.end[name])))

    def words(self, name: str) -> Words:
        """Return the distinct texts of a field, empty if missing."""
        return self.combined((name,), str)

    def combined(self, names: Sequence[str], function: Callable[..., Any]) -> Words:
        """Return a function of some fields, called once for each distinct combination.

        Parameters
        ----------
        names : sequence of str
        function : callable
            Takes a text for each name, empty if missing.
        """
        there = [name for name in names if name in self.begin]
        blank = [""] * len(names)
        if not there or not self.n_records:
            return Words(np.zeros(self.n_records, np.int64), [function(*blank)])
        columns = [self._distinct(name) for name in there]
        codes, n_codes = columns[0].codes, len(columns[0].words)
        for column in columns[1:]:
            codes, n_codes = _paired(codes, n_codes, column)
        first = np.zeros(n_codes, np.int64)
        first[codes[::-1]] = np.arange(codes.size)[::-1]
        parts = [[column.words[c] for c in column.codes[first].tolist()] for column in columns]
        given = dict(zip(there, parts, strict=True))
        arguments = (given.get(name, [""] * n_codes) for name in names)
        return Words(self._ordered(codes), [*map(function, *arguments)])

    def partitioned(self, name: str, mark: str) -> "Cells":
        """Add the parts of a field before and after a mark; without it, the second is missing."""
        import pyarrow.compute as pc

        begin, end = self.begin[name], self.end[name]
        at = pc.find_substring(self._arrow(begin, end), mark.encode()).to_numpy()
        middle = np.where(at < 0, end, begin + at)
        begins = {**self.begin, f"{name}:before": begin, f"{name}:after": middle + len(mark)}
        ends = {**self.end, f"{name}:before": middle, f"{name}:after": end}
        return Cells(self.data, begins, ends, self.n_records, self.order)

    def digits(self, name: str) -> NDArray[np.bool_]:
        """Return which texts of a field consist of 1 to 15 digits."""
        return self._ordered(digits(self._eights, self.begin[name], self.end[name])[1])

    def numbers(
        self,
        name: str,
        otherwise: Callable[[str], float],
        *,
        suffix: str = "",
        longest: int = LONGEST_NUMBER,
    ) -> NDArray[np.float64]:
        """Return numbers: digits, perhaps with a suffix of two characters.

        Parameters
        ----------
        name : str
        otherwise : callable
            Parses a text of any other form; it must give the same for digits.
        suffix : str, optional
        longest : int, default 15
            Maximum number of digits.
        """

        def read(begin: NDArray[np.int64], end: NDArray[np.int64]) -> _Plain:
            digits_end = end - len(suffix)
            column, plain = digits(self._eights, begin, digits_end)
            plain &= digits_end - begin <= longest
            for i, mark in enumerate(suffix):
                plain &= self._chars[digits_end + i] == ord(mark)
            return column, plain

        return self._read(name, read, otherwise)

    def decimals(self, name: str, otherwise: Callable[[str], float]) -> NDArray[np.float64]:
        """Return numbers: digits, perhaps with a point and decimals."""
        return self._read(name, partial(decimals, self._eights), otherwise)

    def plain_decimals(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return numbers, and which texts are 1 to 15 digits, perhaps with a point near the end.

        The number of any other text is NaN.
        """
        number, plain = decimals(self._eights, self.begin[name], self.end[name])
        number[~plain] = np.nan
        return self._ordered(number), self._ordered(plain)

    def has_suffix(self, name: str, suffix: bytes) -> NDArray[np.bool_]:
        """Return which texts of a field end with a suffix."""
        begin, end = self.begin[name], self.end[name]
        has = end - begin >= len(suffix)
        for i, char in enumerate(suffix):
            has &= self._chars[end - len(suffix) + i] == char
        return self._ordered(has)

    def without_suffix(self, name: str, suffix: bytes) -> "Cells":
        """Return the fields without the suffix of one, where it has it."""
        begin, end = self.begin[name], self.end[name]
        has = Cells(self.data, {name: begin}, {name: end}, end.size).has_suffix(name, suffix)
        shorter = {**self.end, name: end - len(suffix) * has}
        return Cells(self.data, self.begin, shorter, self.n_records, self.order)

    def lengths(self, name: str) -> NDArray[np.int64]:
        """Return the lengths of the texts of a field, in bytes."""
        return self._ordered(self.end[name] - self.begin[name])

    def eights(
        self, name: str, width: int, offsets: Sequence[int]
    ) -> tuple[list[NDArray[np.uint64]], NDArray[np.bool_]]:
        """Return eight characters of the texts of a field from each offset on.

        Parameters
        ----------
        name : str
        width : int
            Length of the texts.
        offsets : sequence of int

        Returns
        -------
        eights : list of ndarray of uint64, each of shape (n_records,)
            Any for texts of another length.
        fits : ndarray of bool, shape (n_records,)
            Which texts have this length.
        """
        begin, end = self.begin[name], self.end[name]
        fits = end - begin == width
        at = np.where(fits, begin, 0)
        return [self._ordered(self._eights[at + i]) for i in offsets], self._ordered(fits)

    def durations(
        self, name: str, otherwise: Callable[[str], float], *, longest: int = LONGEST_NUMBER
    ) -> NDArray[np.float64]:
        """Return durations ``hh:mm:ss`` [s]; `otherwise` parses a text of any other form."""

        def read(begin: NDArray[np.int64], end: NDArray[np.int64]) -> _Plain:
            hours, plain = digits(self._eights, begin, end - 6)
            plain &= end - begin <= longest + 6
            seconds, is_clock = clock(self._eights, end)
            return 3600 * hours + seconds, plain & is_clock

        return self._read(name, read, otherwise)

    def _read(
        self, name: str, read: Callable[..., _Plain], otherwise: Callable[[str], float]
    ) -> NDArray[np.float64]:
        """Return numbers: those that `read` finds plain, and others parsed one by one."""
        if name not in self.begin:
            return np.full(self.n_records, otherwise(""))
        begin, end = self.begin[name], self.end[name]
        column, plain = read(begin, end)
        if plain.all():
            return self._ordered(column)
        column = np.where(plain, column, otherwise(""))
        rest = np.flatnonzero(~plain & (end > begin))
        if rest.size:
            column[rest] = _coded(self._arrow(begin[rest], end[rest])).of(otherwise)
        return self._ordered(column)

    def _distinct(self, name: str) -> Words:
        """Return the distinct texts of a field, in the order of the bytes."""
        if name not in self._known:
            begin, end = self.begin[name], self.end[name]
            if self._are_equal(begin, end):
                one = _coded(self._arrow(begin[:1], end[:1])).words
                words = Words(np.zeros(self.n_records, np.int64), one)
            else:
                words = _coded(self._arrow(begin, end))
            self._known[name] = words
        return self._known[name]

    def _are_equal(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> bool:
        """Return whether all fields are the same text of at most 16 characters."""
        if begin.size > _FEW and not self._are_equal(begin[:_FEW], end[:_FEW]):
            return False
        length = np.maximum(end - begin, 0)
        if not length.size or length[0] > 16 or (length != length[0]).any():
            return False
        low = self._eights[end - 8] & KEEP_LAST[min(length[0], 8)]
        high = self._eights[end - 16] & KEEP_LAST[max(length[0] - 8, 0)]
        return bool((low == low[0]).all() and (high == high[0]).all())

    def _arrow(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> Any:
        """Return fields as an array of Arrow."""
        import pyarrow as pa

        n_fields = begin.size
        # every other stretch between these offsets is a field
        offsets = np.empty(2 * n_fields + 1, np.int32)
        offsets[0:-1:2] = begin
        np.maximum(begin, end, out=offsets[1:-1:2], casting="same_kind")
        offsets[-1] = offsets[-2] if n_fields else 0
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        stretches = pa.Array.from_buffers(pa.binary(), 2 * n_fields, buffers)
        return stretches.take(pa.array(np.arange(0, 2 * n_fields, 2)))

    def _ordered(self, column: NDArray) -> NDArray:
        return column if self.order is None else column[self.order]


def _coded(column: Any) -> Words:
    """Return the distinct texts of an array of Arrow."""
    encoded = column.dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    return Words(codes, _decoded(encoded.dictionary).tolist())


def _decoded(column: Any) -> NDArray[np.object_]:
    """Return the texts of an array of Arrow."""
    try:
        return column.cast("string").to_numpy(zero_copy_only=False)
    except ValueError:  # surrogates
        texts = [text.decode(errors="surrogatepass") for text in column.to_pylist()]
        return np.array([*texts, None], object)[:-1]


def _paired(codes: NDArray[np.int64], n_codes: int, column: Words) -> tuple[NDArray[np.int64], int]:
    """Return codes of the pairs of two columns, and their number."""
    n_words = len(column.words)
    if n_words == 1:
        return codes, n_codes
    pairs = codes * n_words + column.codes
    if n_codes * n_words <= 4 * codes.size:
        there = np.zeros(n_codes * n_words, bool)
        there[pairs] = True
        return (np.cumsum(there) - 1)[pairs], int(there.sum())
    distinct, paired = np.unique(pairs, return_inverse=True)
    return paired, distinct.size
