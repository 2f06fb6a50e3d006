"""Split the lines of PBS into fields, all lines with the same order of keys at once.

Lines of any other form, with blanks or quotes in values, or characters outside ASCII, are split
one by one.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.cells import PAD, match_words
from workloadkit.distinct import distinct
from workloadkit.io.cells import Cells
from workloadkit.io.lines import Lines, eights_of

#: Characters of the date of a line.
N_DATE = 19

_KEY = re.compile(r"[A-Za-z_][\w.-]*=")
_QUOTES = ('"', "'")

#: A repeated key is caused by a blank in a job name; for these keys the first value is right.
_BEFORE_THE_JOB_NAME = ("user", "group", "account", "project")


def keys_and_values(text: str) -> dict[str, str]:
    r"""Return the values of a record by key: ``key=value`` pairs separated by blanks.

    A key is a letter or underscore followed by letters, digits, ``_``, ``.`` and ``-``, at the
    start of a word. Text without a key belongs to the preceding value; quotes around a value are
    removed, and text between them contains no keys.

    Examples
    --------
    >>> keys_and_values('user=al jobname=my job account="a=1 b=2" queue=x')
    {'user': 'al', 'jobname': 'my job', 'account': 'a=1 b=2', 'queue': 'x'}
    """
    words = text.split()
    try:
        found = dict([word.split("=", 1) for word in words])
    except ValueError:  # a word without a key
        return _odd_keys_and_values(words)
    if len(found) < len(words):
        return _odd_keys_and_values(words)
    if "='" in text:
        return _odd_keys_and_values(words)
    at = text.find('="')
    while at >= 0:
        key = text[text.rfind(" ", 0, at) + 1 : at]
        value = found.get(key, "")
        if len(value) < 2 or value[0] != '"' or value[-1] != '"':  # the value contains blanks
            return _odd_keys_and_values(words)
        found[key] = value[1:-1]
        at = text.find('="', at + 2)
    return found


def _odd_keys_and_values(words: list[str]) -> dict[str, str]:
    """Parse values with blanks, quoted or not, in time linear in the number of words."""
    last_quote = {
        quote: max((i for i, word in enumerate(words) if word.endswith(quote)), default=-1)
        for quote in _QUOTES
    }
    found: dict[str, list[str]] = {}
    parts: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        if match := _KEY.match(word):
            key, value = match[0][:-1], word[match.end() :]
            quote = value[:1]
            parts = [value]
            if last_quote.get(quote, -1) >= i + (value == quote):  # otherwise it is an apostrophe
                parts = [value[1:]]
                while not parts[-1].endswith(quote):
                    i += 1
                    parts.append(words[i])
                parts[-1] = parts[-1][:-1]
            if key not in found or key not in _BEFORE_THE_JOB_NAME:
                found[key] = parts
        else:
            parts.append(word)
        i += 1
    return {key: " ".join(parts) for key, parts in found.items()}


# Separators up to the keys, and where the second and third one are.
_SEPARATORS = np.frombuffer(b" ;;;", np.uint8)[:, None]
_N_BEFORE = len(_SEPARATORS)
_PLACES = np.array([[N_DATE], [N_DATE + 2]])
_MOST_ORDERS = 200  # orders of keys that are learnt
_MOST_WORDS = 200
_MOST_FAILED = 8  # lines with as many words tried in a block


class _Order(NamedTuple):
    """An order of keys: the bytes up to each value, and which values are quoted."""

    heads: NDArray[np.uint64]
    length: NDArray[np.int64]
    quoted: NDArray[np.bool_]
    column: NDArray[np.int64]


class LexedLines(NamedTuple):
    """Lines of the usual form.

    Parameters
    ----------
    row_of_line : ndarray of int64, shape (n_lines,)
        -1 for lines of any other form.
    lines : ndarray of int64, shape (n_rows,)
    letters : ndarray of uint8, shape (n_rows,)
    cells : Cells
        The fields of the rows, and their `id`.
    """

    row_of_line: NDArray[np.int64]
    lines: NDArray[np.int64]
    letters: NDArray[np.uint8]
    cells: Cells

    def take(self, rows: NDArray[np.bool_]) -> "LexedLines":
        """Return some of the rows."""
        if rows.all():
            return self
        return LexedLines(
            self.row_of_line, self.lines[rows], self.letters[rows], self.cells.take(rows)
        )


class Lexer:
    """Splits blocks of lines; learns the orders of keys from the lines.

    Parameters
    ----------
    keys : sequence of str
        Keys to extract.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = frozenset(keys)
        self.column = {"id": 0}  # of each key so far
        self.orders: dict[int, list[_Order]] = {}  # by the number of words
        self.known: set[tuple[bytes, ...]] = set()

    def lex(self, lines: Lines) -> LexedLines:
        """Split the lines of the usual form."""
        fields, chars = lines.fields(b" ;"), lines.chars
        n_words = fields.n_fields - _N_BEFORE
        rows = np.flatnonzero((n_words > 0) & ~fields.odd)
        at = fields.bounds[fields.first[rows] + np.arange(1, _N_BEFORE + 1)[:, None]]
        good = (chars[at] == _SEPARATORS).all(axis=0)
        good &= (at[1:3] == lines.begin[rows] + _PLACES).all(axis=0)
        rows = rows[good]
        begin, end = np.full((2, len(self.keys) + 1, n_words.size), PAD, np.int32)
        begin[0, rows], end[0, rows] = at[2, good] + 1, at[3, good]
        end[1:] = PAD - 1
        row_of_line = np.full(n_words.size, -1)
        for number in distinct(n_words[rows]).tolist():
            left, n_failed = rows[n_words[rows] == number], 0
            known = list(self.orders.setdefault(number, []))
            while left.size and n_failed < _MOST_FAILED:
                if known:
                    order = known.pop(0)
                elif (learnt := self._learn(lines, int(left[0]), number)) is not None:
                    order = learnt
                else:
                    left, n_failed = left[1:], n_failed + 1
                    continue
                row_of_line[left] = 0
                others = np.empty_like(left)
                n_others = match_words(
                    eights_of(lines.data),
                    chars,
                    fields.bounds,
                    fields.first + _N_BEFORE,
                    fields.n_quotes,
                    left,
                    *order,
                    begin,
                    end,
                    others,
                )
                left = others[:n_others]
                row_of_line[left] = -1
                end[1:, left] = PAD - 1
        chosen = np.flatnonzero(row_of_line == 0)
        row_of_line[chosen] = np.arange(chosen.size)
        letters = chars[lines.begin[chosen] + N_DATE + 1]
        begin, end = (each[: len(self.column)].take(chosen, axis=1) for each in (begin, end))
        cells = Cells.of_lines(lines, self.column, begin, end)
        return LexedLines(row_of_line, chosen, letters, cells)

    def _learn(self, lines: Lines, line: int, n_words: int) -> _Order | None:
        """Learn the order of keys of a line, unless its values contain blanks or quotes."""
        if len(self.known) >= _MOST_ORDERS:
            return None
        text = lines.text(line).split(";", 3)[3]
        words = text.split(" ")
        found = keys_and_values(text)
        if not len(found) == len(words) == n_words <= _MOST_WORDS:
            return None
        heads, quoted = [], []
        for word, (key, value) in zip(words, found.items(), strict=True):
            if word == f"{key}={value}" and not value.startswith(('"', "'")):
                quoted.append(False)
            elif word == f'{key}="{value}"' and '"' not in value:
                quoted.append(True)
            else:
                return None
            heads.append(f"{key}=".encode())
        if (known := (*heads, bytes(quoted))) in self.known:
            return None
        self.known.add(known)
        longest = max(map(len, heads)) // 8 + 1
        eights = np.frombuffer(b"".join(head.ljust(8 * longest, b"\0") for head in heads), "<u8")
        order = _Order(
            eights.reshape(n_words, longest),
            np.array([*map(len, heads)]),
            np.array(quoted),
            np.array([self._column(key) for key in found]),
        )
        self.orders[n_words].insert(0, order)
        return order

    def _column(self, key: str) -> int:
        """Return the column of a key, -1 if it is not extracted."""
        return self.column.setdefault(key, len(self.column)) if key in self.keys else -1


# Extract the values of given keys from many records with mostly the same order.

Values = tuple[str | None, ...]

_MOST_LEARNT = 100  # of records with a learnt order
_MOST_TRIED = 4  # orders tried per number of words
_FREE = 20  # orders learnt unconditionally
_USE = 200  # uses of known orders that allow one more to be learnt


class Layouts:
    """The orders of keys in records, learnt from the records.

    A record with a known order is split by one regular expression, which matches no other order;
    other records are read by `keys_and_values`, with the same result.

    Parameters
    ----------
    keys : sequence of str
        Keys to extract.

    Examples
    --------
    >>> layouts = Layouts(["ctime", "user", "start"])
    >>> [layouts.values(text) for text in ("user=al ctime=5", "user=bo ctime=7", "ctime=9")]
    [('5', 'al', None), ('7', 'bo', None), ('9', None, None)]
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = tuple(keys)
        self.known: dict[int, list[tuple[Callable, tuple[int, ...]]]] = {}  # by the blanks
        self.n_learnt = self.n_used = 0

    def values(self, text: str) -> Values:
        """Return the values of the keys, None if missing."""
        known = self.known.get(text.count(" "), [])
        for i, (match_all, groups) in enumerate(known):
            if match := match_all(text):
                if i:
                    known.insert(0, known.pop(i))
                self.n_used += 1
                values: Values = match.group(*groups)
                return values
        found = keys_and_values(text)
        if self.n_learnt < _FREE + self.n_used // _USE:
            self.learn(text, found)
        return tuple(map(found.get, self.keys))

    def learn(self, text: str, found: dict[str, str]) -> None:
        """Learn the order of keys of a record, unless a value contains blanks."""
        words = text.split(" ")
        if not len(found) == len(words) <= _MOST_LEARNT:
            return
        parts = []
        for word, (key, value) in zip(words, found.items(), strict=True):
            if word == f"{key}={value}" and not value.startswith(('"', "'")):
                shape = r"(?![\"'])(\S*+)"
            elif word == f'{key}="{value}"':
                shape = r'"([^"\s]*+)"'
            else:
                return
            parts.append(f"{re.escape(key)}={shape}")
        number = {key: group for group, key in enumerate(found, 1)}
        never = len(parts) + 1  # this group never matches, so it is None
        groups = tuple(number.get(key, never) for key in self.keys)
        pattern = re.compile(" ".join(parts) + r"(?:(?!)(.))?")
        tried = self.known.setdefault(len(words) - 1, [])
        tried.insert(0, (pattern.fullmatch, groups))
        del tried[_MOST_TRIED:]
        self.n_learnt += 1
