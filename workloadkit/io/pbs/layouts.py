"""Values of the same keys out of many records, most of which tell them in the same order."""

import re
from collections.abc import Callable, Sequence

from workloadkit.io.pbs.values import keys_and_values

Values = tuple[str | None, ...]

_MOST_WORDS = 100  # of a record whose order is worth knowing
_MOST_TRIED = 4  # orders of records of as many words
_FREE = 20  # orders that are learnt before any has been of use
_USE = 200  # records read by known orders, for one more


class Layouts:
    """The orders in which records tell their keys, as they are met.

    A record whose keys stand as in one before is parted by one regular expression, which cannot
    match another record; any other is read by `keys_and_values`, to the same result.

    Parameters
    ----------
    wanted : sequence of str
        Keys.

    Examples
    --------
    >>> layouts = Layouts(["ctime", "user", "start"])
    >>> [layouts.values(text) for text in ("user=al ctime=5", "user=bo ctime=7", "ctime=9")]
    [('5', 'al', None), ('7', 'bo', None), ('9', None, None)]
    """

    def __init__(self, wanted: Sequence[str]) -> None:
        self.wanted = tuple(wanted)
        self.known: dict[int, list[tuple[Callable, tuple[int, ...]]]] = {}  # by the blanks
        self.n_learnt = self.n_used = 0

    def values(self, text: str) -> Values:
        """Return the values of the wanted keys, None for each that is not told."""
        known = self.known.get(text.count(" "), [])
        for i, (match_all, groups) in enumerate(known):
            if match := match_all(text):
                if i:
                    known.insert(0, known.pop(i))
                self.n_used += 1
                values: Values = match.group(*groups)
                return values
        told = keys_and_values(text)
        if self.n_learnt < _FREE + self.n_used // _USE:
            self.learn(text, told)
        return tuple(map(told.get, self.wanted))

    def learn(self, text: str, told: dict[str, str]) -> None:
        """Learn the order of the keys of a record, if no value of it has blanks."""
        words = text.split(" ")
        if not len(told) == len(words) <= _MOST_WORDS:
            return
        parts = []
        for word, (key, value) in zip(words, told.items(), strict=True):
            if word == f"{key}={value}" and not value.startswith(('"', "'")):
                shape = r"(?![\"'])(\S*+)"
            elif word == f'{key}="{value}"':
                shape = r'"([^"\s]*+)"'
            else:
                return
            parts.append(f"{re.escape(key)}={shape}")
        number = {key: group for group, key in enumerate(told, 1)}
        never = len(parts) + 1  # a group that takes no part is None
        groups = tuple(number.get(key, never) for key in self.wanted)
        pattern = re.compile(" ".join(parts) + r"(?:(?!)(.))?")
        tried = self.known.setdefault(len(words) - 1, [])
        tried.insert(0, (pattern.fullmatch, groups))
        del tried[_MOST_TRIED:]
        self.n_learnt += 1
