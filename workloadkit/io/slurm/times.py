"""Times as printed by `sacct`, and in the forms of spreadsheets and scripts."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from math import nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit._kernels.cells import TIME
from workloadkit.errors import FormatError
from workloadkit.io.cells import Cells
from workloadkit.io.lines import is_compiled
from workloadkit.io.slurm.values import NO_VALUE, UNREADABLE

if TYPE_CHECKING:
    from workloadkit.io.slurm.rows import Rows


# Times in other forms than that of `sacct`, from SLURM_TIME_FORMAT, spreadsheets and scripts.

#: Columns of times.
NAMES = ("submit", "eligible", "start", "end")

_EPOCH = re.compile(r"(\d{1,11}|\d{13}|\d{16}|\d{19})(?:\.(\d{1,9}))?", re.ASCII)
_UNITS = {13: 1e3, 16: 1e6, 19: 1e9}  # milli-, micro- and nanoseconds, by the number of digits
_DATE_ALONE = re.compile(r"(?:19|20)\d\d(?:0\d|1[0-2])(?:[0-2]\d|3[01])", re.ASCII)
_CLOCK = r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)", re.ASCII)
_YEAR_FIRST = re.compile(rf"(\d{{4}})([/.])(\d{{1,2}})\2(\d{{1,2}})[T ]+{_CLOCK}", re.ASCII)
_YEAR_LAST = re.compile(
    rf"(\d{{1,2}})([/.-])(\d{{1,2}})\2(\d{{4}}),?[T ]+{_CLOCK}(?: ?([AaPp])[Mm])?", re.ASCII
)
_PARTS = {
    "clock": re.compile(_CLOCK, re.ASCII),
    "year": re.compile(r"\d{4}", re.ASCII),
    "day": re.compile(r"\d{1,2}", re.ASCII),
    "half": re.compile(r"([ap])m", re.IGNORECASE),
    "zone": re.compile(r"UTC|GMT|Z"),
}
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_BETWEEN_WORDS = re.compile(r"[\s,/-]+")
_SHORT_DATE = [ord(char) for char in "/.-"]


class Written(NamedTuple):
    """A time: seconds since 1970, and whether they are UTC; else they are local."""

    seconds: float
    absolute: bool


def epoch(text: str) -> float | None:
    """Return seconds since 1970 from a number of seconds, milli-, micro- or nanoseconds.

    Examples
    --------
    >>> epoch("1714982400"), epoch("1714982400000"), epoch("1714982400.0"), epoch("20240506")
    (1714982400.0, 1714982400.0, 1714982400.0, None)
    """
    match = _EPOCH.fullmatch(text)
    if match is None or _DATE_ALONE.fullmatch(text):
        return None
    return float(text) / _UNITS.get(len(match[1]), 1.0)


def written(text: str, *, day_first: bool | None = None) -> Written | None:
    """Return the time of a text in any form but that of ISO 8601; None if it is in no known one.

    Parameters
    ----------
    text : str
    day_first : bool, optional
        Whether the day precedes the month where both are numbers; such a date is None without it.

    Examples
    --------
    >>> local = written("01 May 2024 08:00:00")
    >>> local == written("Wed May  1 08:00:00 2024") == written("May 1, 2024 8:00 AM")
    True
    >>> noon, midnight = written("May 1, 2024 12:30 PM"), written("May 1, 2024 12:30 AM")
    >>> (noon.seconds - midnight.seconds) / 3600
    12.0
    >>> written("1/5/2024 08:00:00"), written("1/5/2024 08:00:00", day_first=True) == local
    (None, True)
    """
    if (seconds := epoch(text)) is not None:
        return Written(seconds, True)
    if match := _COMPACT.fullmatch(text):
        return _local(*match.groups())
    if match := _YEAR_FIRST.fullmatch(text):
        year, _, month, day, *clock = match.groups()
        return _local(year, month, day, *clock)
    if match := _YEAR_LAST.fullmatch(text):
        first, _, second, year, *clock = match.groups()
        if day_first is None:
            return None
        day, month = (first, second) if day_first else (second, first)
        return _local(year, month, day, *clock)
    return _named(text)


def is_time(text: str) -> bool:
    """Return whether a text is a time in a form other than ISO 8601."""
    return written(text, day_first=True) is not None or written(text, day_first=False) is not None


def _named(text: str) -> Written | None:
    """Return a time with the name of the month; its parts may have any order."""
    found: dict[str, str] = {}
    for word in _BETWEEN_WORDS.split(text.strip()):
        kind = next((kind for kind, part in _PARTS.items() if part.fullmatch(word)), "")
        for kind_of_name, names in (("month", _MONTHS), ("weekday", _DAYS)):
            if len(word) >= 3 and any(name.startswith(word.lower()) for name in names):
                kind = kind_of_name
        if not kind or kind in found:
            return None
        found[kind] = word
    if not {"clock", "year", "month", "day"} <= found.keys():
        return None
    month = next(i for i, m in enumerate(_MONTHS, 1) if m.startswith(found["month"].lower()))
    clock = _PARTS["clock"].fullmatch(found["clock"])
    assert clock is not None
    hour, minute, second, fraction = clock.groups()
    half = found.get("half", "")[:1] or None
    local = _local(found["year"], str(month), found["day"], hour, minute, second, fraction, half)
    return local and Written(local.seconds, "zone" in found)


def _local(
    year: str,
    month: str,
    day: str,
    hour: str,
    minute: str,
    second: str | None = None,
    fraction: str | None = None,
    half: str | None = None,
) -> Written | None:
    """Return a local time; None if there is none. `half` is the half of a day of 2 × 12 hours."""
    hours = int(hour)
    if half is not None:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + 12 * (half in "pP")
    try:
        date = datetime(int(year), int(month), int(day), hours, int(minute), int(second or 0))
    except ValueError:
        return None
    seconds = (date - datetime(1970, 1, 1)).total_seconds() + float(f"0.{fraction or 0}")
    return Written(seconds, False) if seconds >= 0 else None


def with_day_first(parts: Iterable["Rows"], path: str, decide: list[bool]) -> Iterator["Rows"]:
    """Yield rows; those from the first date as ``1/5/2024`` on when all of them are known.

    Parameters
    ----------
    parts : iterable of Rows
    path : str
        The file, for messages.
    decide : list of bool
        Receives whether the day precedes the month in such dates, before the rows with them.

    Raises
    ------
    FormatError
        If the dates do not show it.
    """
    held: list[Rows] = []
    for rows in parts:
        if held or _has_short_dates(rows.cells):
            held.append(rows)
        else:
            yield rows
    if held:
        decide.append(_day_first(held, path))
        yield from held


def _has_short_dates(cells: Cells) -> bool:
    """Whether a cell of a time may begin with a day and a month as numbers."""
    chars = np.frombuffer(cells.data, np.uint8)
    return any(
        bool(np.isin(chars[cells.begin[name] + i], _SHORT_DATE).any())
        for name in NAMES
        if name in cells.begin
        for i in (1, 2)
    )


def _day_first(held: list["Rows"], path: str) -> bool:
    """Return whether the day precedes the month in dates, from days after the 12th."""
    seen: dict[bool, tuple[int, str, str]] = {}
    unclear: tuple[int, str, str] | None = None
    for rows in held:
        for name in NAMES:
            if name not in rows.cells.begin:
                continue
            words = rows.cells.words(name)
            for code, text in enumerate(words.words):
                if not (match := _YEAR_LAST.fullmatch(text)):
                    continue
                first, second = int(match[1]) > 12, int(match[3]) > 12
                if first == second and unclear is not None:
                    continue
                where = int(rows.places[_first(words.codes, code)]), name.title(), text
                if first == second:
                    unclear = where
                else:
                    seen.setdefault(first, where)
    if len(seen) == 1:
        return next(iter(seen))
    line, field, text = seen[False] if seen else unclear or (0, "", "")
    if not line:
        return True  # no such date after all
    other = f"not as {seen[True][2]} on line {seen[True][0]}" if seen else "both are at most 12"
    reason = f"day and month are ambiguous ({other}); use SLURM_TIME_FORMAT=standard"
    raise FormatError(path, reason, line=line, field=field, text=text)


def _first(codes: NDArray[np.integer], code: int) -> int:
    return int(np.argmax(codes == code))


_BEFORE_OFFSET = re.compile(r" +(?=[-+]\d\d:?\d\d$)")
_USUAL = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:)(\d\d)", re.ASCII)
_YEARS = range(1970, 9999)


class PrintedTimes(NamedTuple):
    """A column of times.

    Parameters
    ----------
    seconds : ndarray, shape (n_rows,)
        Since 1970; NaN is unknown, infinite is invalid. [s]
    absolute : ndarray of bool, shape (n_rows,)
        Whether the seconds are UTC; else they are local.
    offset : ndarray, shape (n_rows,)
        Local time minus UTC, as printed; NaN for times without an offset. [s]
    """

    seconds: NDArray[np.float64]
    absolute: NDArray[np.bool_]
    offset: NDArray[np.float64]


def read_times(cells: Cells, name: str, *, day_first: bool | None = None) -> PrintedTimes:
    """Read a column of times; `day_first` is whether the day precedes the month in ``1/5/2024``.

    Examples
    --------
    >>> texts = ["1970-01-02T00:00:01", "Unknown", "1970-01-02T01:00:00+01:00", "86400"]
    >>> cells = Cells.none().with_texts([[text] for text in texts], ["end"], np.arange(4))
    >>> read_times(cells, "end").seconds.tolist()
    [86401.0, nan, 86400.0, 86400.0]
    """
    odd_time = partial(_odd_time, day_first=day_first)
    if is_compiled(cells.data):
        seconds, plain = cells.read(name, TIME)
    else:
        seconds, plain = np.empty(cells.n_records), np.zeros(cells.n_records, bool)
    absolute, offset = np.zeros(plain.size, bool), np.full(plain.size, nan)
    if not plain.all():
        others = ~plain
        odd = cells.only(name).take(others).combined((name,), odd_time).rows()
        seconds[others], absolute[others], offset[others] = odd
    return PrintedTimes(seconds, absolute, offset)


class WallClock:
    """Converts local times of a zone to UTC.

    Parameters
    ----------
    zone : str

    Examples
    --------
    An ambiguous time, and a time that does not exist:

    >>> wall = np.array(["2015-10-25T02:30", "2015-03-29T02:30"], "M8[s]").astype(float)
    >>> first, second, missing = WallClock("Europe/Stockholm").utc(wall)
    >>> second - first, missing.tolist()
    (array([3600.,    0.]), [False, True])
    """

    def __init__(self, zone: str) -> None:
        self.zone = zone

    def utc(
        self, wall: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return the first and the last instant with a local time, in seconds since 1970 UTC.

        The third array marks times that do not exist because clocks were set forward; they are
        converted with the previous offset. All arrays have shape (n_times,).
        """
        first = wall.copy()
        second = wall.copy()
        missing = np.zeros(wall.size, bool)
        known = np.flatnonzero(np.isfinite(wall))
        if self.zone == "UTC" or not known.size:
            return first, second, missing
        # the calendar takes whole seconds; add the fraction again
        whole = np.floor(wall[known])
        index = pd.DatetimeIndex(whole.astype("datetime64[s]"))
        for column, summer in ((first, True), (second, False)):
            at = index.tz_localize(
                self.zone, ambiguous=np.full(known.size, summer), nonexistent="NaT"
            )
            utc = at.tz_convert(None).to_numpy().astype("datetime64[s]")
            column[known] = utc.astype(np.int64) + (wall[known] - whole)
            never = np.isnat(utc)
        for place in np.flatnonzero(never).tolist():
            row = known[place]
            missing[row] = True
            first[row] = second[row] = self._not_yet_set(float(whole[place]))
        return first, second, missing

    def _not_yet_set(self, wall: float) -> float:
        from zoneinfo import ZoneInfo

        date = datetime.fromisoformat(str(np.datetime64(int(wall), "s")))
        return date.replace(tzinfo=ZoneInfo(self.zone)).timestamp()


def _odd_time(text: str, day_first: bool | None = None) -> tuple[float, bool, float]:
    """Parse a time of any form: seconds, whether they are UTC, and the offset."""
    if text in NO_VALUE:
        return nan, False, nan
    usual = _USUAL.fullmatch(text)
    is_leap = usual is not None and usual[2] == "60"
    if usual is not None:
        text = f"{usual[1]}59" if is_leap else text
    elif (seconds := epoch(text)) is not None:
        return seconds or nan, True, nan  # 0 means no time
    elif (found := written(text, day_first=day_first)) is not None:
        return *found, 0.0 if found.absolute else nan
    try:
        date = datetime.fromisoformat(_BEFORE_OFFSET.sub("", text))
    except ValueError:
        return UNREADABLE, False, nan
    if date.year not in _YEARS or len(text) < len("2015-06-26T13:57"):
        return UNREADABLE, False, nan
    if (offset := date.utcoffset()) is not None:
        return date.timestamp(), True, offset.total_seconds()
    seconds = (date - datetime(1970, 1, 1)).total_seconds()
    return float(seconds + is_leap), False, nan
