"""What the values of a column are: times, durations, clocks, numbers or words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: Texts that stand for a missing value.
MISSING = ("NULL", "null", "None", "NaN", "nan", "NaT", "N/A", "NA", r"\N", "Unknown", "-")

#: Seconds since 1970 from 2000 to 2036: times that are counted in a unit lie within, all others
#: outside, as the units are a thousand apart.
_EPOCH = (946_684_800, 2_100_000_000)
_PARTS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|UTC|[+-]\d\d(:?\d\d)?))?)?"
)
_OFFSET = re.compile(r".*:\d\d([.,]\d+)? ?(Z|UTC|[+-]\d\d(:?\d\d)?)")
_CLOCK = re.compile(r"(?:(\d+)-|(\d+) days? )?(\d+):(\d\d):(\d\d(?:\.\d+)?)")
_SUFFIX = re.compile(r"\d+(\.\d+)?[KMGTP]i?B?[nc]?", re.IGNORECASE)

#: Formats that are tried for times that are not ISO 8601.
FORMATS = (
    "%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S",
    "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%a %b %d %H:%M:%S %Y",
    "%d-%b-%Y %H:%M:%S", "%d %b %Y %H:%M:%S", "%Y%m%d%H%M%S",
)  # fmt: skip

Kind = Literal["time", "duration", "clock", "number", "amount", "word", "nothing"]


@dataclass(frozen=True)
class Column:
    """A column and what its first values are.

    Parameters
    ----------
    name : str
    kind : {"time", "duration", "clock", "number", "amount", "word", "nothing"}
        `duration` is a type of the file that has a unit, `amount` a number with a suffix.
    values : ndarray of float
        Times [s since 1970 or an unknown origin], durations [s], numbers; NaN if missing.
    words : tuple of str
        Different texts.
    sql : str
        Expression of a column within another one.
    why : str
        What its meaning rests on.
    cells : tuple of str
        The text of each row, of words alone.
    unit : str
        Of times that are numbers; ``?`` if it is not known.
    format : str
        Of times that are other texts; several that fit are separated by ``|``.
    has_offset : bool
        Whether times have an offset or a zone.
    missing : tuple of str
        Texts that stand for a missing value.
    """

    name: str
    kind: Kind
    values: NDArray[np.float64]
    words: tuple[str, ...] = ()
    unit: str = ""
    format: str = ""
    has_offset: bool = True
    missing: tuple[str, ...] = ()
    sql: str = ""
    why: str = "name"
    cells: tuple[str, ...] = field(default=(), repr=False)

    @property
    def n_known(self) -> int:
        """Number of known values."""
        return int((~np.isnan(self.values)).sum())


def column_of(name: str, cells: Sequence[Any]) -> Column:
    """Return what the values of a column are.

    Examples
    --------
    >>> column_of("a", ["1714550400", "0", ""]).kind, column_of("b", ["1-00:00:00"]).values
    ('time', array([86400.]))
    """
    known = [cell for cell in cells if cell is not None]
    if known and isinstance(known[0], timedelta):
        seconds = [np.nan if c is None else c.total_seconds() for c in cells]
        return Column(name, "duration", np.array(seconds))
    if known and isinstance(known[0], datetime | date):
        return _typed_times(name, cells)
    if known and isinstance(known[0], list | dict | bytes):
        return Column(name, "nothing", np.full(len(cells), np.nan))
    texts = ["" if c is None else _text(c) for c in cells]
    missing = tuple(dict.fromkeys(text for text in texts if text in MISSING))
    kept = ["" if text in MISSING else text for text in texts]
    given = [text for text in kept if text]
    if not given:
        return Column(name, "nothing", np.full(len(cells), np.nan), missing=missing)
    return _of_texts(name, kept, given, missing)


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return "" if np.isnan(cell) else repr(cell)
    return str(cell).strip()


def _typed_times(name: str, cells: Sequence[Any]) -> Column:
    """Return a column whose type is that of a time."""
    aware = any(isinstance(c, datetime) and c.tzinfo is not None for c in cells)
    return Column(name, "time", np.array([_seconds(c) for c in cells]), has_offset=aware)


def _seconds(moment: datetime | date | None) -> float:
    if moment is None:
        return np.nan
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _of_texts(name: str, kept: list[str], given: list[str], missing: tuple[str, ...]) -> Column:
    numbers = _numbers(kept)
    if numbers is None:  # limits may be numbers, or a word for none
        numbers = _numbers(["" if is_none(text) else text for text in kept])
        numbers = None if numbers is None or np.isnan(numbers).all() else numbers
    words = tuple(dict.fromkeys(given))
    if numbers is not None:
        unit = _epoch(numbers)
        if unit:
            values = np.where(numbers > 0, numbers / _PARTS[unit], np.nan)
            return Column(name, "time", values, words, unit=unit, missing=missing)
        return Column(name, "number", numbers, words, missing=missing)
    if all(_ISO.fullmatch(text) for text in given):
        values = np.array([_iso(text) for text in kept])
        offset = all(_OFFSET.fullmatch(text) for text in given)
        if np.isnan(values).sum() == len(kept) - len(given):
            return Column(name, "time", values, words, has_offset=offset, missing=missing)
    clocks = [_CLOCK.fullmatch(text) for text in kept]
    n_clocks = sum(map(bool, clocks))
    if n_clocks and n_clocks == sum(not is_none(text) for text in given):
        values = np.array([_clock(found) for found in clocks])
        return Column(name, "clock", values, words, missing=missing)
    if all(_SUFFIX.fullmatch(text) or text == "0" for text in given):
        return Column(name, "amount", np.full(len(kept), np.nan), words, missing=missing)
    fits = [form for form in FORMATS if all(_parsed(text, form) is not None for text in given)]
    if fits:
        values = np.array([_seconds(_parsed(text, fits[0])) for text in kept])
        return Column(name, "time", values, words, format="|".join(fits), has_offset=False,
                      missing=missing)  # fmt: skip
    nothing = np.full(len(kept), np.nan)
    return Column(name, "word", nothing, words, missing=missing, cells=tuple(kept))


def is_none(text: str) -> bool:
    """Whether a text means that there is no limit."""
    return text.lower() in ("unlimited", "infinite", "none", "partition_limit")


def _numbers(kept: list[str]) -> NDArray[np.float64] | None:
    if any("_" in text or text.lower() in ("inf", "-inf", "infinity") for text in kept):
        return None
    try:
        return np.array([float(text) if text else np.nan for text in kept])
    except ValueError:
        return None


def _epoch(numbers: NDArray[np.float64]) -> str:
    """Return the unit in which all positive numbers are times since 1970; empty without one."""
    positive = numbers[numbers > 0]
    for unit, parts in _PARTS.items() if positive.size else ():
        if _EPOCH[0] * parts <= positive.min() and positive.max() <= _EPOCH[1] * parts:
            return unit
    return ""


def _iso(text: str) -> float:
    if not text:
        return np.nan
    try:
        return _seconds(datetime.fromisoformat(text.replace(" UTC", "Z").replace(",", ".")))
    except ValueError:
        return np.nan


def _clock(found: "re.Match[str] | None") -> float:
    if found is None:
        return np.nan
    days, named, hours, minutes, seconds = found.groups()
    whole = int(days or named or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60
    return whole + float(seconds)


def _parsed(text: str, form: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return None
