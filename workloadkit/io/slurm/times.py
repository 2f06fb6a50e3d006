"""Times as printed by `sacct`: local as a rule, sometimes with an offset or in seconds."""

import re
from datetime import datetime
from math import nan
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.io.cells import Cells
from workloadkit.io.slurm.values import NO_VALUE, UNREADABLE

#: ``2015-06-26T13:57:00``, with 0 for digits.
_SHAPE = "0000-00-00T00:00:00"
_DIGITS = [i for i, c in enumerate(_SHAPE) if c == "0"]
_MARKS = [(i, ord(c)) for i, c in enumerate(_SHAPE) if c in "-:"]
_BETWEEN = 10  # position of the T or blank

_EPOCH = re.compile(r"\d{1,11}(?:\.\d{1,9})?")
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


def read_times(cells: Cells, name: str) -> PrintedTimes:
    """Read a column of times.

    Examples
    --------
    >>> texts = ["1970-01-02T00:00:01", "Unknown", "1970-01-02T01:00:00+01:00", "86400"]
    >>> cells = Cells.none().with_texts([[text] for text in texts], ["end"], np.arange(4))
    >>> read_times(cells, "end").seconds.tolist()
    [86401.0, nan, 86400.0, 86400.0]
    """
    chars, plain = cells.characters(name, len(_SHAPE))
    digits = chars - np.uint8(ord("0"))  # characters below "0" wrap around to large values
    plain = plain & (digits[_DIGITS] <= 9).all(axis=0)
    plain &= (chars[_BETWEEN] == ord("T")) | (chars[_BETWEEN] == ord(" "))
    for place, mark in _MARKS:
        plain &= chars[place] == mark
    seconds, valid = _seconds(digits[_DIGITS].astype(np.int64) * plain)
    plain &= valid
    seconds = np.where(plain, seconds, nan)
    absolute = np.zeros(plain.size, bool)
    if not plain.all():
        others = ~plain
        seconds[others], absolute[others] = cells.take(others).combined((name,), _odd_time).rows()
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


def _seconds(digits: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the seconds of dates from their digits, shape (14, n), and whether they are valid."""
    year = digits[0] * 1000 + digits[1] * 100 + digits[2] * 10 + digits[3]
    month, day, hour, minute, second = (10 * digits[i] + digits[i + 1] for i in range(4, 14, 2))
    months = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    n_days = (months + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64) - first
    valid = (year >= _YEARS.start) & (year < _YEARS.stop) & (month >= 1) & (month <= 12)
    valid &= (day >= 1) & (day <= n_days) & (hour < 24) & (minute < 60) & (second <= 60)
    seconds = ((first + day - 1) * 24 + hour) * 3600 + minute * 60 + second
    return seconds.astype(np.float64), valid


def _odd_time(text: str) -> tuple[float, bool]:
    """Parse a time of any form: seconds, and whether they are UTC."""
    if text in NO_VALUE:
        return nan, False
    if _EPOCH.fullmatch(text):
        return float(text) or nan, True  # 0 means no time
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return UNREADABLE, False
    if date.year not in _YEARS or len(text) < len("2015-06-26T13:57"):
        return UNREADABLE, False
    if date.tzinfo is not None:
        return date.timestamp(), True
    return float((date - datetime(1970, 1, 1)).total_seconds()), False
