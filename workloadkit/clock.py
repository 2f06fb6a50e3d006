"""Local time of a log."""

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloadkit.header import Header, zone_name

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit._kernels.local_time import ZoneArrays
    from workloadkit.trace import Trace

DAY = 86400
WEEK = 7 * DAY

_YEAR_2, _YEAR_9000 = -62_104_060_800, 221_845_392_000  # limits of Python's calendar
_WALL = (
    "Local time is that of StartTime; its time zone is unknown, so changes of the clock (daylight "
    "saving) are not known."
)
_CONSTANT = (
    "The log's clock is {}, without daylight saving; hours of the day are shifted if its users "
    "live in another time zone."
)
_MONDAY = 3 * DAY  # 1 January 1970 was a Thursday, three days after a Monday


def enclosing(first: float, last: float, step: float) -> NDArray[np.float64]:
    """Return the edges of intervals of equal length from `first` that enclose `last`.

    Parameters
    ----------
    first, last, step : float
        Of any unit of time.

    Returns
    -------
    ndarray of float, shape (n_intervals + 1,)
        The last edge lies after `last`, so that an event at `last` is in an interval.

    Examples
    --------
    >>> enclosing(10, 7210, 3600).tolist()
    [10.0, 3610.0, 7210.0, 10810.0]
    """
    edges = first + step * np.arange(int((last - first) // step) + 2.0)
    return edges if edges[-1] > last else np.append(edges, edges[-1] + step)  # after rounding


def equal_parts(first: float, last: float, n: int) -> NDArray[np.float64]:
    """Return the edges of `n` intervals of equal length, of which the last one contains `last`.

    Examples
    --------
    >>> interval_of(equal_parts(0, 100, 4), [0, 25, 100]).tolist()
    [0, 1, 3]
    """
    edges = np.linspace(first, last, n + 1)
    edges[-1] = np.nextafter(last, np.inf)
    return edges


def interval_of(edges: NDArray, times: ArrayLike) -> NDArray[np.int64]:
    """Return the interval, [edge, next edge), of each time.

    Parameters
    ----------
    edges : ndarray, shape (n_intervals + 1,)
        Ascending.
    times : array_like, shape (n_times,)
        Of the same unit.

    Returns
    -------
    ndarray of int, shape (n_times,)
        0, 1, …; -1 for times outside of the edges.

    Examples
    --------
    >>> interval_of(np.array([0, 10, 20]), [-1, 0, 10, 20]).tolist()
    [-1, 0, 1, -1]
    """
    place = np.searchsorted(edges, times, side="right") - 1
    return np.where(place < edges.size - 1, place, -1)


@dataclass(frozen=True, eq=False)
class Clock:
    """The clock of a log: local time if the header specifies it, else time since second 0.

    Parameters
    ----------
    start : float
        Second 0 of the log, in seconds since 1970 UTC; 0 if unknown.
    begins : ndarray of float, shape (n_offsets,)
        Start of each UTC offset, since 1970 UTC; the first is -inf. [s]
    offsets : ndarray of float, shape (n_offsets,)
        Local time minus UTC. [s]
    zone : str
        Name of the time zone, empty if local time is unknown.
    note : str
        What is unknown of local time, in a sentence; empty if it is known with its changes.
    """

    start: float
    begins: NDArray[np.float64]
    offsets: NDArray[np.float64]
    zone: str
    note: str = ""

    @classmethod
    def of(cls, trace: "Trace", *, beyond: float = 0.0) -> "Clock":
        """Return the clock of a log.

        Parameters
        ----------
        trace : Trace
        beyond : float, default 0
            Time after the log for which the clock is needed, too, within the years that Python
            supports. [s]

        Examples
        --------
        >>> from workloadkit import Header, Trace
        >>> header = Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
        >>> clock = Clock.of(Trace.from_columns({"submit": [0]}, header=header))
        >>> str(clock.dates([0])[0])
        '1996-09-23 14:00:31'
        """
        first, last = span(trace)
        if trace.header.window is not None:  # it may begin before the jobs, and end after them
            first, last = min(first, trace.window.begin), max(last, trace.window.until)
        known = _YEAR_9000 - 1 - (trace.header.start or 0)
        return cls.between(trace.header, first, max(last, min(last + beyond, known)))

    @classmethod
    def between(cls, header: Header, first: float, last: float) -> "Clock":
        """Return the clock of a header, valid from second `first` to second `last` of its log."""
        start, zone = header.start, header.time_zone
        if header.wall_start is not None and start != 0 and zone is None:
            wall = (header.wall_start - datetime(1970, 1, 1)).total_seconds()
            begin = wall if start is None else float(start)
            return cls(begin, np.array([-np.inf]), np.array([wall - begin]), "wall time", _WALL)
        if not start:  # synthetic logs have 0
            note = "The header has no UnixStartTime, so local time is unknown"
        elif zone is None:
            note = "The header has no usable TimeZoneString or TimeZone, so local time is unknown"
        elif not _YEAR_2 < start + first <= start + last < _YEAR_9000:
            note = "The log extends beyond the years 2 to 9000, so local time is unknown"
        else:
            begins, offsets = _offsets(zone, start + first, start + last)
            name, constant = zone_name(zone), zone.utcoffset(None) is not None
            note = _CONSTANT.format(name) if constant else ""
            return cls(float(start), begins, offsets, name, note)
        note += "; times are counted from the log's second 0."
        return cls(0.0, np.array([-np.inf]), np.zeros(1), "", note)

    @property
    def known(self) -> bool:
        """Whether local time is known."""
        return bool(self.zone)

    def local(self, time: ArrayLike) -> NDArray[np.float64]:
        """Return local time, in seconds since Monday 0:00 of an unspecified week.

        If local time is unknown, second 0 of the log counts as that Monday.

        Parameters
        ----------
        time : array_like
            Seconds of the log.
        """
        unix = np.asarray(time, dtype=np.float64) + self.start
        offset = self.offsets[np.searchsorted(self.begins, unix, side="right") - 1]
        return unix + offset + (_MONDAY if self.known else 0)

    def seconds(self, local: ArrayLike) -> NDArray[np.float64]:
        """Return the first second of the log with a given local time, the inverse of `local`.

        A local time that is skipped (daylight saving) maps to the second of the change.

        Parameters
        ----------
        local : array_like
            As returned by `local`. [s]

        Examples
        --------
        >>> from workloadkit import Header
        >>> header = Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
        >>> clock = Clock.between(header, 0, 300 * DAY)
        >>> clock.seconds(clock.local([0, 200 * DAY])).tolist()
        [0.0, 17280000.0]
        """
        shown = np.asarray(local, dtype=np.float64) - (_MONDAY if self.known else 0)
        if self.begins.size == 1:
            return shown - self.offsets[0] - self.start
        # An offset is valid up to the local time at which the next one starts.
        piece = np.searchsorted(self.begins[1:] + self.offsets[:-1], shown, side="right")
        return np.maximum(shown - self.offsets[piece], self.begins[piece]) - self.start

    def dates(self, time: ArrayLike) -> "pd.DatetimeIndex":
        """Return local dates and times, to the second; valid only if `known`."""
        import pandas as pd

        return pd.DatetimeIndex(self._seconds(time))

    def datetimes(self, time: ArrayLike) -> list[datetime]:
        """Return what `dates` does, without pandas."""
        found: list[datetime] = self._seconds(time).tolist()
        return found

    def _seconds(self, time: ArrayLike) -> NDArray[np.datetime64]:
        local = np.floor(self.local(time) - _MONDAY).astype(np.int64)
        return local.astype("datetime64[s]")

    def midnights(self, first: float, last: float, *, days: int = 1) -> NDArray[np.float64]:
        """Return the midnights, every `days` days, that enclose `first` to `last`.

        Parameters
        ----------
        first, last : float
            Seconds of the log.
        days : int, default 1
            Days between two midnights. If these are whole weeks, the midnights are Mondays'.

        Returns
        -------
        ndarray of float, shape (n_intervals + 1,)
            Seconds of the log: the first at or before `first`, the last after `last`.
        """
        step = days * DAY
        day_one, day_last = (float(np.floor(self.local(t) / DAY)) for t in (first, last))
        if days % 7 == 0:
            day_one -= day_one % 7
        local = enclosing(day_one * DAY, day_last * DAY, step) - (_MONDAY if self.known else 0)
        # A midnight is the end of all seconds with an earlier local time; this also covers
        # midnights that are skipped or occur twice.
        unix = np.full(local.size, -np.inf)
        for begin, end, offset in self.pieces():
            passed = np.minimum(local - offset, end)
            unix = np.where(passed > begin, passed, unix)
        return unix - self.start

    def for_kernels(self) -> "ZoneArrays":
        """Return the clock in the form used by kernels and for single seconds.

        Examples
        --------
        >>> from workloadkit import Header
        >>> from workloadkit._kernels.local_time import local_time, seconds
        >>> header = Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm"))
        >>> zone = Clock.between(header, 0, 300 * DAY).for_kernels()
        >>> float(seconds(*zone, local_time(*zone, 60)))
        60.0
        """
        from workloadkit._kernels.local_time import ZoneArrays

        return ZoneArrays(self.begins, self.offsets + (_MONDAY if self.known else 0), self.start)

    def pieces(self) -> list[tuple[float, float, float]]:
        """Return (begin, end, offset) of each period of constant UTC offset."""
        ends = np.append(self.begins[1:], np.inf)
        return list(zip(self.begins.tolist(), ends.tolist(), self.offsets.tolist(), strict=True))


def span(trace: "Trace") -> tuple[float, float]:
    """Return the first submission, and the later of the last submission and the last end. [s].

    Examples
    --------
    >>> from workloadkit import Trace
    >>> span(Trace.from_columns({"submit": [5, 60], "run": [900, 30], "procs": [1, 1]}))
    (5.0, 905.0)
    """
    submit = trace.column("submit")
    ends = trace.end[trace.ran]
    return float(submit.min()), float(max(submit.max(), ends.max(initial=-np.inf)))


def _offsets(zone: tzinfo, first: float, last: float) -> tuple[NDArray, NDArray]:
    """Find the changes of a zone's offset by bisection; zones change at most once a week."""

    def offset(unix: float) -> float:
        delta = datetime.fromtimestamp(unix, zone).utcoffset()
        return delta.total_seconds() if delta else 0.0

    begins, offsets = [-np.inf], [offset(int(first))]
    for week in range(int(first), int(last) + 1, WEEK):
        low, high = week, week + WEEK
        if offset(high) != offsets[-1]:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
            begins.append(float(high))
            offsets.append(offset(high))
    return np.array(begins), np.array(offsets)
