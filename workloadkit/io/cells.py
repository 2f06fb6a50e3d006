"""Fields of records as places in a block of bytes, parsed by column instead of one by one.

In long texts, numbers in their usual forms are read by compiled code; any other text is decoded and
parsed by the function for a single field, once for each distinct text.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.cells import (
    LONGEST_NUMBER,
    PAD,
    WHOLE,
    gather,
    number_texts,
    read_numbers,
)
from workloadkit.io.lines import Lines, chars_of, eights_of, is_compiled

_FEW_SLOTS = 1 << 12  # for distinct texts, at first
_NEAR = 256  # bytes for each text, up to which all are decoded at once


class Words(NamedTuple):
    """A column of few distinct values.

    Parameters
    ----------
    codes : ndarray of int, shape (n_records,)
    words : list
        The value of each code.
    """

    codes: NDArray[np.integer]
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
        """Yield the columns of values that are tuples: as words if they are texts."""
        for column in zip(*self.words, strict=True):
            texts = isinstance(column[0], str)
            yield Words(self.codes, [*column]) if texts else np.array(column)[self.codes]


class Cells:
    """The fields of records, by name; parsed in columns of shape (n_records,).

    Parameters
    ----------
    data : bytes or bytearray
        With `PAD` bytes before and after the text.
    begin, end : dict of str to ndarray of int32, shape (n_records,)
        Places of the first character of each field, ascending, and after the last one. A field
        that ends before it begins is missing.
    n_records : int
    order : ndarray of int, optional
        The places of the records in `begin` and `end`, if they have another order.
    """

    def __init__(
        self,
        data: bytes | bytearray,
        begin: Mapping[str, NDArray[np.int32]],
        end: Mapping[str, NDArray[np.int32]],
        n_records: int,
        order: NDArray[np.int64] | None = None,
    ) -> None:
        self.data, self.begin, self.end, self.n_records = data, begin, end, n_records
        self.order = order
        self._known: dict[str, Words] = {}

    @classmethod
    def of_lines(
        cls,
        lines: Lines,
        names: Collection[str],
        begin: NDArray[np.int32],
        end: NDArray[np.int32],
    ) -> "Cells":
        """Return fields of lines, copied column by column.

        Parameters
        ----------
        lines : Lines
        names : collection of str, shape (n_fields,)
        begin, end : ndarray of int32, shape (n_fields, n_records)
            Their places; those of the copies afterwards.
        """
        n_bytes = len(lines.data) if begin.size else 0
        data = bytearray(n_bytes + PAD * (len(names) + 1))
        if begin.size:
            copy = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
            gather(eights_of(lines.data), begin, end, np.empty(len(names), np.int32), copy)
        begins, ends = (dict(zip(names, each, strict=True)) for each in (begin, end))
        return cls(data, begins, ends, begin.shape[1])

    @classmethod
    def none(cls) -> "Cells":
        """Return the fields of no records."""
        return cls(bytes(2 * PAD), {}, {}, 0)

    def only(self, *names: str) -> "Cells":
        """Return some of the fields."""
        begin, end = ({name: each[name] for name in names} for each in (self.begin, self.end))
        return Cells(self.data, begin, end, self.n_records, self.order)

    def take(self, rows: NDArray) -> "Cells":
        """Return the fields of some records, given by ascending rows or a mask."""
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        if rows.size == self.n_records:
            return self
        order = None
        if self.order is not None:
            wanted = self.order[rows]
            rows = np.sort(wanted)
            order = np.searchsorted(rows, wanted)
        begin = {name: column[rows] for name, column in self.begin.items()}
        end = {name: column[rows] for name, column in self.end.items()}
        return Cells(self.data, begin, end, rows.size, order)

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
        data: list[bytes | bytearray] = [self.data]
        at = len(self.data)
        begin, end = {}, {}
        unknown = _places(np.full(self.n_records, PAD)), _places(np.full(self.n_records, PAD - 1))
        for name, column in zip(names, zip(*texts, strict=True), strict=True):
            known = np.array([text is not None for text in column])
            encoded = [text.encode(errors="surrogatepass") if text else b"" for text in column]
            ends = at + np.cumsum([*map(len, encoded)])
            begins = np.append(at, ends[:-1])
            data += encoded
            at = int(ends[-1])
            ends = np.where(known, ends, begins - 1)
            begin[name] = np.append(self.begin.get(name, unknown[0]), _places(begins))
            end[name] = np.append(self.end.get(name, unknown[1]), _places(ends))
        data.append(bytes(PAD))
        return Cells(b"".join(data), begin, end, self.n_records + len(texts), order)

    def with_column(self, name: str, texts: Sequence[str]) -> "Cells":
        """Return the fields with another one, given as texts in the order of the records."""
        order = np.arange(self.n_records) if self.order is None else self.order
        encoded = np.empty(self.n_records, object)
        encoded[order] = [text.encode() for text in texts]
        ends = _places(len(self.data) + np.cumsum([0, *map(len, encoded)]))
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

    def strings(self, name: str) -> Any:
        """Return the texts of a field as strings of Arrow; as objects if there are surrogates."""
        try:
            column = self._arrow(self.begin[name], self.end[name]).cast("string")
        except ValueError:
            return self.texts(name)
        return column if self.order is None else column.take(self.order)

    def contain(self, name: str, text: bytes) -> bool:
        """Return whether a field of some record contains a text."""
        import pyarrow.compute as pc

        column = self._arrow(self.begin[name], self.end[name])
        return bool(pc.any(pc.match_substring(column, text)).as_py())

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
        parts = [columns[0].words]
        if len(columns) > 1:
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
        if is_compiled(self.data):
            return self.read(name, WHOLE)[1]
        return self.words(name).of(_are_digits) > 0

    def numbers(
        self,
        name: str,
        otherwise: Callable[[str], float],
        form: int = WHOLE,
        *,
        longest: int = LONGEST_NUMBER,
    ) -> NDArray[np.float64]:
        """Return numbers.

        Parameters
        ----------
        name : str
        otherwise : callable
            Parses a text of any form; it must give the same for the usual one.
        form : int, optional
            The usual form, by `_kernels.cells`; by default digits.
        longest : int, default 15
            Maximum number of digits; of hours.
        """
        if name not in self.begin:
            return np.full(self.n_records, otherwise(""))
        if not is_compiled(self.data):
            return self.words(name).of(otherwise)
        number, plain = self.read(name, form, longest)
        if not plain.all():
            number[~plain] = self.only(name).take(~plain).words(name).of(otherwise)
        return number

    def read(
        self, name: str, form: int, longest: int = LONGEST_NUMBER
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the numbers of a field in a form, and which texts are in it."""
        number, plain = np.empty(self.n_records), np.empty(self.n_records, bool)
        if self.n_records:
            begin, end = self.begin[name], self.end[name]
            read_numbers(chars_of(self.data), begin, end, form, longest, number, plain)
        return self._ordered(number), self._ordered(plain)

    def has_suffix(self, name: str, suffix: bytes) -> NDArray[np.bool_]:
        """Return which texts of a field end with a suffix."""
        begin, end, chars = self.begin[name], self.end[name], chars_of(self.data)
        has = end - begin >= len(suffix)
        for i, char in enumerate(suffix):
            has &= chars[end - len(suffix) + i] == char
        return self._ordered(has)

    def without_suffix(self, name: str, suffix: bytes) -> "Cells":
        """Return the fields without the suffix of one, where it has it."""
        begin, end = self.begin[name], self.end[name]
        has = Cells(self.data, {name: begin}, {name: end}, end.size).has_suffix(name, suffix)
        shorter = {**self.end, name: end - len(suffix) * has}
        return Cells(self.data, self.begin, shorter, self.n_records, self.order)

    def lengths(self, name: str) -> NDArray[np.int32]:
        """Return the lengths of the texts of a field, in bytes."""
        return self._ordered(self.end[name] - self.begin[name])

    def _distinct(self, name: str) -> Words:
        """Return the distinct texts of a field, in the order of the bytes."""
        if name not in self._known:
            begin, end = self.begin[name], self.end[name]
            find = self._numbered if is_compiled(self.data) else self._coded
            self._known[name] = find(begin, end)
        return self._known[name]

    def _numbered(self, begin: NDArray[np.int32], end: NDArray[np.int32]) -> Words:
        """Return the distinct texts of fields, found by compiled code."""
        codes, first = np.empty_like(begin), np.empty_like(begin)
        n_slots, n_words = _FEW_SLOTS, -1
        while n_words < 0:
            slots = np.full(n_slots, -1, np.int32)
            n_words = number_texts(eights_of(self.data), begin, end, slots, codes, first)
            n_slots *= 16
        first = first[:n_words]
        return Words(codes, self._decoded(begin[first], np.maximum(begin[first], end[first])))

    def _decoded(self, begin: NDArray[np.int32], end: NDArray[np.int32]) -> list[str]:
        """Return some texts; at once if they are ASCII and near each other."""
        low, high = int(begin.min()), int(end.max())
        near = self.data[low:high] if high - low <= _NEAR * begin.size else b"\x80"
        places = zip((begin - low).tolist(), (end - low).tolist(), strict=True)
        if near.isascii():
            text = near.decode()
            return [text[at:last] for at, last in places]
        return [_decoded_text(self.data[low + at : low + last]) for at, last in places]

    def _coded(self, begin: NDArray[np.int32], end: NDArray[np.int32]) -> Words:
        """Return the distinct texts of fields."""
        encoded = self._arrow(begin, end).dictionary_encode()
        words = [_decoded_text(word) for word in encoded.dictionary.to_pylist()]
        return Words(encoded.indices.to_numpy(), words)

    def _arrow(self, begin: NDArray[np.int32], end: NDArray[np.int32]) -> Any:
        """Return fields as an array of Arrow."""
        import pyarrow as pa

        n_fields = begin.size
        # every other stretch between these offsets is a field
        offsets = np.empty(2 * n_fields + 1, np.int32)
        offsets[0:-1:2] = begin
        np.maximum(begin, end, out=offsets[1:-1:2])
        offsets[-1] = offsets[-2] if n_fields else 0
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        stretches = pa.Array.from_buffers(pa.binary(), 2 * n_fields, buffers)
        return stretches.take(pa.array(np.arange(0, 2 * n_fields, 2)))

    def _ordered(self, column: NDArray) -> NDArray:
        return column if self.order is None else column[self.order]


def _decoded(column: Any) -> NDArray[np.object_]:
    """Return the texts of an array of Arrow."""
    try:
        return column.cast("string").to_numpy(zero_copy_only=False)
    except ValueError:  # surrogates
        texts = [_decoded_text(text) for text in column.to_pylist()]
        return np.array([*texts, None], object)[:-1]


def _decoded_text(text: bytes | bytearray) -> str:
    return text.decode(errors="surrogatepass")


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER


def _places(column: NDArray[np.int64]) -> NDArray[np.int32]:
    return column.astype(np.int32)


def _paired(
    codes: NDArray[np.integer], n_codes: int, column: Words
) -> tuple[NDArray[np.integer], int]:
    """Return codes of the pairs of two columns, and their number."""
    n_words = len(column.words)
    if n_words == 1:
        return codes, n_codes
    pairs = codes.astype(np.int64) * n_words + column.codes
    if n_codes * n_words <= 4 * codes.size:
        there = np.zeros(n_codes * n_words, bool)
        there[pairs] = True
        return (np.cumsum(there) - 1)[pairs], int(there.sum())
    distinct, paired = np.unique(pairs, return_inverse=True)
    return paired, distinct.size
