"""Extract the values of given keys from many records with mostly the same order."""

import re
from collections.abc import Callable, Sequence

from workloadkit.io.pbs.values import keys_and_values

Values = tuple[str | None, ...]

_MOST_WORDS = 100  # of records with a learnt order
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
        if not len(found) == len(words) <= _MOST_WORDS:
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
