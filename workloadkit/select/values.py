"""The values of an expression: numbers, names, dates and ranges of them."""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple

from workloadkit.parameters import read_duration
from workloadkit.select.kinds import Kind

#: Words of the grammar, which are no names without quotes.
RESERVED = ("and", "or", "not", "in", "is", "unknown")

#: What begins as a number.
LIKE_A_NUMBER = re.compile(r"[-+]?(?:\d|\.\d)\S*", re.ASCII)
_PLAIN_WORD = re.compile(r"[A-Za-z_](?:(?!\.\.)[\w.:/@+-])*", re.ASCII)
_DATE = re.compile(
    r"(\d{4})-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?)?)?", re.ASCII | re.IGNORECASE
)

#: A year, which may be meant as a date or as a second.
YEAR = re.compile("(19|20)[0-9][0-9]")
_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)([kmgt])b", re.ASCII | re.IGNORECASE)
_KB = {"k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}


@dataclass(frozen=True)
class Date:
    """A month, a day, a minute or a second of local time.

    Examples
    --------
    >>> day = Date("2024-02-29")
    >>> print(day.begin, day.end)
    2024-02-29 00:00:00 2024-03-01 00:00:00
    """

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def begin(self) -> datetime:
        """Its first second.

        Raises
        ------
        ValueError
            If there is no such date.
        """
        match = _DATE.fullmatch(self.text)
        if match is None:
            raise ValueError(self.text)
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
        return datetime(year, month, day if match[3] else 1, hour, minute, second)

    @property
    def end(self) -> datetime:
        """The first second after it."""
        begin, places = self.begin, len(re.findall(r"\d+", self.text))
        if places == 2:
            return (begin + timedelta(days=31)).replace(day=1)
        return begin + {3: timedelta(1), 5: timedelta(minutes=1), 6: timedelta(seconds=1)}[places]


Value = int | float | str | Date


class Range(NamedTuple):
    """From a value to another, both included."""

    low: Value
    high: Value

    def __str__(self) -> str:
        return f"{written(self.low)}..{written(self.high)}"


def written(value: "Value | Range") -> str:
    """Write a value as it is read."""
    if not isinstance(value, str):
        return str(value)
    if _PLAIN_WORD.fullmatch(value) and value.lower() not in RESERVED:
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


def read_number(text: str, kind: Kind) -> int | float | None:
    """Return a number; a time also of a duration, a size also of one with its unit."""
    number: float = inf
    if re.fullmatch(r"[-+]?\d{1,30}", text, re.ASCII):
        return _plain(int(text))
    if LIKE_A_NUMBER.match(text):
        with suppress(ValueError):
            number = float(text.replace("_", "?"))  # Python accepts 1_000
    if number == inf and kind in ("time", "duration") and text.lower() != "inf":
        with suppress(ValueError):
            number = read_duration(text)
    if number == inf and kind == "size" and (size := _SIZE.fullmatch(text)):
        number = float(size[1]) * _KB[size[2].lower()]
    return _plain(number) if abs(number) < inf else None


def _plain(number: float) -> int | float:
    return int(number) if abs(number) < 1e15 and number == int(number) else number


def year_or_second(text: str) -> str:
    """Return how to write a year as a date, or as a time, for messages.

    Examples
    --------
    >>> year_or_second("2024")
    '2024-01 for a date, or 2024s for a time since second 0'
    """
    return f"{text}-01 for a date, or {text}s for a time since second 0"


def read_date(text: str) -> Date | None:
    """Return a date; None for a text that is none."""
    date = Date(text.upper().replace(" ", "T"))
    try:
        date.end  # noqa: B018  # whether there is such a date
    except (ValueError, OverflowError):
        return None
    return date
