"""Times as printed by `sacct`: local as a rule, sometimes with an offset or in seconds."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from math import nan
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.io.cells import ZEROS, Cells, all_digits
from workloadkit.io.slurm.dates import epoch, written
from workloadkit.io.slurm.values import NO_VALUE, UNREADABLE

#: ``2015-06-26T13:57:00``, with 0 for digits.
_SHAPE = "0000-00-00T00:00:00"
#: Where eight characters are loaded.
_OFFSETS = (0, 8, 11)


def _bytes(offset: int, byte_of: Callable[[str], int]) -> np.uint64:
    """Return a byte for each of eight characters of the shape."""
    return np.uint64(int.from_bytes(map(byte_of, _SHAPE[offset : offset + 8]), "little"))


_EXPECTED = [_bytes(i, ord) for i in _OFFSETS]
_MARKS = [_bytes(i, lambda char: 0xFF * (char in "-:")) for i in _OFFSETS]
_DIGITS = [_bytes(i, lambda char: 0xFF * (char == "0")) for i in _OFFSETS]
_BETWEEN = np.uint64(8 * (10 - 8))  # bits before the T or blank

_YEARS = range(1970, 9999)


class PrintedTimes(NamedTuple):
    """A column of times.

    Parameters
    ----------
    seconds : ndarray, shape (n_rows,)
        Since 1970; NaN is unknown, infinite is invalid. [s]
    absolute : ndarray of bool, shape (n_rows,)
        Whether the seconds are UTC; else they are local.
    """

    seconds: NDArray[np.float64]
    absolute: NDArray[np.bool_]


def read_times(cells: Cells, name: str, *, day_first: bool | None = None) -> PrintedTimes:
    """Read a column of times; `day_first` is whether the day precedes the month in ``1/5/2024``.

    Examples
    --------
    >>> texts = ["1970-01-02T00:00:01", "Unknown", "1970-01-02T01:00:00+01:00", "86400"]
    >>> cells = Cells.none().with_texts([[text] for text in texts], ["end"], np.arange(4))
    >>> read_times(cells, "end").seconds.tolist()
    [86401.0, nan, 86400.0, 86400.0]
    """
    words, plain = cells.eights(name, len(_SHAPE), _OFFSETS)
    for word, expected, marks, digits in zip(words, _EXPECTED, _MARKS, _DIGITS, strict=True):
        plain = plain & ((word ^ expected) & marks == 0)
        plain &= all_digits((word & digits) | (ZEROS & ~digits))
    between = words[1] >> _BETWEEN & np.uint64(0xFF)
    plain &= (between == ord("T")) | (between == ord(" "))
    seconds, valid = _seconds(*(np.where(plain, word, 0) for word in words))
    plain &= valid
    seconds = np.where(plain, seconds, nan)
    absolute = np.zeros(plain.size, bool)
    if not plain.all():
        others = ~plain
        odd_time = partial(_odd_time, day_first=day_first)
        seconds[others], absolute[others] = cells.take(others).combined((name,), odd_time).rows()
    return PrintedTimes(seconds, absolute)


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


def _seconds(
    date: NDArray[np.uint64], middle: NDArray[np.uint64], clock: NDArray[np.uint64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the seconds of dates from their characters, and whether they are valid."""

    def number(word: NDArray[np.uint64], place: int) -> NDArray[np.int64]:
        tens, ones = (word >> np.uint64(8 * i) & np.uint64(15) for i in (place, place + 1))
        return (np.uint64(10) * tens + ones).astype(np.int64)

    year, month, day = 100 * number(date, 0) + number(date, 2), number(date, 5), number(middle, 0)
    hour, minute, second = (number(clock, place) for place in (0, 3, 6))
    months = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    begin = months.astype("datetime64[D]").astype(np.int64)
    n_days = (months + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64) - begin
    valid = (year >= _YEARS.start) & (year < _YEARS.stop) & (month >= 1) & (month <= 12)
    valid &= (day >= 1) & (day <= n_days) & (hour < 24) & (minute < 60) & (second <= 60)
    seconds = ((begin + day - 1) * 24 + hour) * 3600 + minute * 60 + second
    return seconds.astype(np.float64), valid


def _odd_time(text: str, day_first: bool | None = None) -> tuple[float, bool]:
    """Parse a time of any form: seconds, and whether they are UTC."""
    if text in NO_VALUE:
        return nan, False
    if (seconds := epoch(text)) is not None:
        return seconds or nan, True  # 0 means no time
    if (found := written(text, day_first=day_first)) is not None:
        return found
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return UNREADABLE, False
    if date.year not in _YEARS or len(text) < len("2015-06-26T13:57"):
        return UNREADABLE, False
    if date.tzinfo is not None:
        return date.timestamp(), True
    return float((date - datetime(1970, 1, 1)).total_seconds()), False
