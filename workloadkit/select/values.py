"""The fields and values of an expression: numbers, names, dates and ranges of them."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import TYPE_CHECKING, Literal, NamedTuple

from workloadkit.fields import FIELDS, NAMES
from workloadkit.job_columns import DERIVED, NUMBERED, TIMES
from workloadkit.parameters import read_duration
from workloadkit.record_fields import SIDECAR_FIELDS

if TYPE_CHECKING:
    from workloadkit.trace import Trace


# What the fields of an expression are compared with, and their other names.

#: Every other accepted spelling of a field.
ALIASES = {
    "jobnumber": "job",
    "jobid": "job",
    "subtime": "submit",
    "submittime": "submit",
    "waittime": "wait",
    "runtime": "run",
    "proc": "procs",
    "processors": "procs",
    "cputime": "cpu",
    "mem": "memory",
    "reqproc": "requested_procs",
    "reqprocs": "requested_procs",
    "reqtime": "requested_time",
    "estimate": "requested_time",
    "reqmem": "requested_memory",
    "reqmemory": "requested_memory",
    "uid": "user",
    "userid": "user",
    "gid": "group",
    "groupid": "group",
    "app": "executable",
    "application": "executable",
    "exe": "executable",
    "part": "partition",
    "preceding": "preceding_job",
    "thinktime": "think_time",
}

Kind = Literal["time", "duration", "size", "number", "numbered", "word"]

#: What the fields of each kind are compared with.
COMPARED_WITH: dict[Kind, str] = {
    "time": "a date such as 2024-03-01, or a time since second 0 such as 90 or 2d",
    "duration": "a number of seconds, or a duration such as 2h",
    "size": "a number of KB, or a size such as 4GB",
    "number": "a number",
    "numbered": "a number or a name",
    "word": "a name",
}


def _kind(name: str, unit: str, *, is_word: bool = False) -> Kind:
    if name in TIMES:
        return "time"
    if name in (*NUMBERED, "status"):
        return "numbered"
    if is_word:
        return "word"
    return {"s": "duration", "KB": "size"}.get(unit, "number")  # type: ignore[return-value]


#: What every field is compared with: those of the standard, those of accounting, derived ones.
KINDS: Mapping[str, Kind] = {
    **{f.name: _kind(f.name, f.unit) for f in FIELDS},
    **{name: _kind(name, "") for name in DERIVED},
    **{
        f.name: _kind(f.name, f.unit, is_word=f.kind in ("word", "text"))
        for f in SIDECAR_FIELDS
        if f.name not in (*NAMES, *DERIVED)
    },
}


def kinds_of(trace: "Trace") -> dict[str, Kind]:
    """Return what the fields of a log are compared with; its side-car may have further ones."""
    kinds = dict(KINDS)
    if trace.sidecar is None:
        return kinds
    for name, column in trace.sidecar.items():
        if name not in NAMES:
            has_numbers = column.dtype.kind in "biuf"
            if has_numbers == (kinds.setdefault(str(name), "word") == "word"):
                kinds[str(name)] = "number" if has_numbers else "word"
    return kinds


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
