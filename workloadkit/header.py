"""The header of a log: labels and their values, in order, and their interpretation."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cached_property
from math import ceil, floor
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from workloadkit.display import Displayed
from workloadkit.errors import plural

if TYPE_CHECKING:
    import pandas as pd

_LABEL = re.compile(r"^;[ \t]?([A-Za-z][A-Za-z0-9_]*):(.*)$")
_CONTINUED = re.compile(r"^;(?:[ ]{2,}|[ ]*\t)[ \t]*(\S.*)$")
# 1664 of "1664 (72, 1368, 224)" and of "1,664"; nothing of "4k", "1.5" or 400 digits
_WHOLE_NUMBER = re.compile(r"\s*\+?(\d{1,3}(?:,\d{3}){1,5}|\d{1,18})(?![\w]|[.,]\d)")
#: Form of the entries that list queues and partitions.
NUMBER_AND_NAME = re.compile(r"\s*(\d{1,18})(?!\d)")
_EACH = re.compile(r"\s*[\d,]+\s*\(((?:\s*\d{1,18}\s*,)+\s*\d{1,18}\s*)\)")
_WINDOW = re.compile(r"\s*(-?\d{1,15})\s+(-?\d{1,15})(?!\S)")
_YES, _NO = ("yes", "true"), ("no", "false")
_OFFSET = re.compile(r"\s*([-+]?\d{1,5})(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<b>{'|'.join(_MONTHS)})[a-z]*\.?"
_CLOCK = r"(?P<h>\d{1,2}):(?P<m>\d{2}):(?P<s>\d{2})"
# "Tue Feb 21 18:44:15 IST 2006" of version 2.2 and "Tuesday, 1 Dec 1998, 22:00:00" of 1999
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"[a-z]+,?\s+{_MONTH}\s+(?P<d>\d{{1,2}}),?\s+{_CLOCK}(\s+\S+)?\s+(?P<y>\d{{4}})",
        rf"[a-z]+,?\s+(?P<d>\d{{1,2}})\s+{_MONTH},?\s+(?P<y>\d{{4}}),?\s+{_CLOCK}.*",
    )
)


def whole_number(text: str) -> int | None:
    """Return the whole number at the beginning of a text.

    Thousands may be separated by commas. None if there is no number, it is negative, has more than
    18 digits, or is directly followed by letters or decimals.

    Examples
    --------
    >>> whole_number("1,664 (72, 1368, 224)"), whole_number("4k")
    (1664, None)
    """
    match = _WHOLE_NUMBER.match(text)
    return int(match[1].replace(",", "")) if match else None


def read_date(text: str) -> datetime | None:
    """Parse a local date as written in headers, without its time zone; None if it is not a date.

    Examples
    --------
    >>> str(read_date("Mon Sep 23 14:00:31 CEST 1996"))
    '1996-09-23 14:00:31'
    >>> str(read_date("Tuesday, 1 Dec 1998, 22:00:00"))
    '1998-12-01 22:00:00'
    """
    for form in _DATES:
        if match := form.fullmatch(" ".join(text.split())):
            month = _MONTHS.index(match["b"].lower()) + 1
            year, day, hour, minute, second = (int(match[name]) for name in "ydhms")
            try:
                return datetime(year, month, day, hour, minute, second)
            except ValueError:  # such as 31 February
                return None
    return None


def zone_of_offset(seconds: float) -> tzinfo:
    """Return the time zone of a UTC offset; it has a name if the offset is a whole hour."""
    hours, rest = divmod(seconds, 3600)
    if rest or not -12 <= hours <= 14:
        return timezone(timedelta(seconds=seconds))
    return ZoneInfo(f"Etc/GMT{-int(hours):+}" if hours else "UTC")  # these names invert the sign


def zone_name(zone: tzinfo) -> str:
    """Return the name of a time zone; that of a constant offset is, for example, UTC+08:00.

    Examples
    --------
    >>> zone_name(zone_of_offset(28800)), zone_name(ZoneInfo("Europe/Stockholm"))
    ('UTC+08:00', 'Europe/Stockholm')
    """
    key = getattr(zone, "key", None)
    if key is None or key.startswith("Etc/GMT"):
        return str(timezone(zone.utcoffset(None) or timedelta()))
    return str(key)


@dataclass(frozen=True)
class Header(Displayed):
    """The header comments of a log, complete and in order.

    Parameters
    ----------
    lines : tuple of str
        The comment lines as in the file, with their semicolons.

    Examples
    --------
    >>> header = Header((
    ...     "; MaxProcs: 1664 (72, 1368, 224)",
    ...     "; Information: http://a.example/",
    ...     ";              http://b.example/",
    ... ))
    >>> header.number("MaxProcs")
    1664
    >>> header.get("Information")
    'http://a.example/ http://b.example/'
    """

    lines: tuple[str, ...] = ()

    @cached_property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """Labels and values in order, continued values joined by a blank."""
        entries: list[tuple[str, list[str]]] = []  # labels, and their values line by line
        open_label = False  # whether the previous line can be continued
        for line in map(str.lstrip, self.lines):
            if match := _LABEL.match(line):
                entries.append((match[1], [match[2].strip()]))
                open_label = True
            elif open_label and (match := _CONTINUED.match(line)):
                entries[-1][1].append(match[1].strip())
            else:
                open_label = False
        return tuple((label, " ".join(values).strip()) for label, values in entries)

    @cached_property
    def _by_label(self) -> dict[str, list[str]]:
        """Values in order, by label in lower case."""
        values: dict[str, list[str]] = {}
        for label, value in self.entries:
            values.setdefault(label.lower(), []).append(value)
        return values

    def _summary(self) -> str:
        return f"{plural(len(self.lines), 'line')}, procs={self.procs}"

    def _table(self) -> "pd.DataFrame":
        import pandas as pd

        return pd.DataFrame(self.entries, columns=["label", "value"])

    def get(self, label: str, default: str | None = None) -> str | None:
        """Return the first value of `label` (in any case), or `default`."""
        return next(iter(self._by_label.get(label.lower(), ())), default)

    def get_all(self, label: str) -> list[str]:
        """Return all values of a label that may be repeated, in order."""
        return [*self._by_label.get(label.lower(), ())]

    def number(self, label: str) -> int | None:
        """Return the whole number at the start of the value of `label`; see `whole_number`."""
        return whole_number(self.get(label) or "")

    def appended(self, *entries: tuple[str, str]) -> "Header":
        """Return a header with labels and values appended."""
        added = tuple(f"; {label}: {' '.join(value.split())}" for label, value in entries)
        return Header(self.lines + added)

    def replaced(self, label: str, value: str) -> "Header":
        """Return a header with another value for the first `label`, appended if it is missing."""
        lines = list(self.lines)
        for i, line in enumerate(lines):
            match = _LABEL.match(line.lstrip())
            if match and match[1].lower() == label.lower():
                if match[2].strip() == value:  # keep the original spelling
                    return self
                lines[i] = f"; {match[1]}: {value}"
                return Header(tuple(lines))
        return self.appended((label, value))

    def without(self, label: str) -> "Header":
        """Return a header without a label and its continuation lines.

        Examples
        --------
        >>> Header(("; Note: a", ";       and b", "; MaxProcs: 8")).without("Note").lines
        ('; MaxProcs: 8',)
        """
        lines: list[str] = []
        left_out = False
        for line in self.lines:
            if match := _LABEL.match(line.lstrip()):
                left_out = match[1].lower() == label.lower()
            elif not _CONTINUED.match(line.lstrip()):
                left_out = False
            if not left_out:
                lines.append(line)
        return Header(tuple(lines))

    def date(self, second: float) -> str | None:
        """Return the local date of a second of the log in the header's format; None if unknown.

        Examples
        --------
        >>> Header(("; UnixStartTime: 843480031", "; TimeZoneString: Europe/Stockholm")).date(0)
        'Mon Sep 23 14:00:31 CEST 1996'
        """
        if not self.start or self.time_zone is None:
            return None
        try:
            date = datetime.fromtimestamp(self.start + second, self.time_zone)
        except (ValueError, OverflowError, OSError):  # outside the range of dates
            return None
        return date.strftime("%a %b %d %H:%M:%S %Z %Y")

    def without_parts(self) -> "Header":
        """Return the header of a log that has no parts of jobs next to their summary lines."""
        double = (self.get("Preemption") or "").strip().lower() == "double"
        return self.without("Preemption") if double else self

    def with_jobs(self, n_jobs: int, n_parts: int = 0, **dates: float) -> "Header":
        """Return the header with its counts and dates updated to other jobs.

        Parameters
        ----------
        n_jobs : int
            The number of jobs.
        n_parts : int, default 0
            The number of parts of checkpointed jobs.
        **dates : float
            Seconds of the log by label, StartTime or EndTime. If the local date is unknown, the
            label is removed. With dates, the window is removed, too. [s]

        Examples
        --------
        >>> header = Header(("; MaxJobs: 99", "; EndTime: Mon Sep 23 14:00:31 CEST 1996"))
        >>> header.with_jobs(5, EndTime=60.0).lines
        ('; MaxJobs: 5',)
        """
        header = self if n_parts else self.without_parts()
        for label, number in (("MaxJobs", n_jobs), ("MaxRecords", n_jobs + n_parts)):
            if header.get(label) is not None:
                header = header.replaced(label, str(number))
        for label, second in dates.items():
            if header.get(label) is not None:
                date = header.date(second)
                header = header.replaced(label, date) if date else header.without(label)
        return header.without("Window") if dates else header

    def with_procs(self, procs: int) -> "Header":
        """Return a header for a machine of `procs` processors.

        It sets MaxProcs; MaxNodes is updated if both were equal, and otherwise removed if the
        machine differs.

        Examples
        --------
        >>> Header(("; MaxNodes: 4", "; MaxProcs: 8")).with_procs(16).lines
        ('; MaxProcs: 16',)
        """
        if self.number("MaxProcs") == procs:
            return self
        header = self
        if (nodes := self.number("MaxNodes")) is not None and nodes != procs:
            if nodes == self.procs:
                header = header.replaced("MaxNodes", str(procs))
            else:
                header = header.without("MaxNodes")
        return header.replaced("MaxProcs", str(procs))

    @property
    def procs(self) -> int | None:
        """Processors of the machine: MaxProcs, else MaxNodes; None if neither is known."""
        return self.number("MaxProcs") or self.number("MaxNodes") or None

    @property
    def overuse(self) -> bool | None:
        """Whether jobs may use more than they request (AllowOveruse); None if it is not stated."""
        word = (self.get("AllowOveruse") or "").lower()
        return True if word.startswith(_YES) else False if word.startswith(_NO) else None

    def listed(self, label: str) -> list[int]:
        """Return the numbers of listed queues or partitions (one label per number and name).

        Examples
        --------
        >>> Header(("; Queue: 0 interactive", "; Queue: 3 batch")).listed("Queue")
        [0, 3]
        """
        found = (NUMBER_AND_NAME.match(value) for value in self.get_all(label))
        return [int(match[1]) for match in found if match]

    def names(self, label: str) -> dict[int, str]:
        """Return the names of listed queues or partitions by number: the first words.

        Examples
        --------
        >>> Header(("; Queue: 0 interactive", "; Queue: 3  batch (8 nodes)")).names("Queue")
        {0: 'interactive', 3: 'batch'}
        """
        parts = (value.split() for value in self.get_all(label))
        found = ((whole_number(part[0]), part[1]) for part in parts if len(part) > 1)
        return {number: name for number, name in found if number is not None}

    @property
    def partition_procs(self) -> dict[int, int]:
        """Processors of each partition, if MaxProcs states them for all listed partitions.

        Examples
        --------
        >>> Header(("; MaxProcs: 5 (1, 4)", "; Partition: 1 a", "; Partition: 2 b")).partition_procs
        {1: 1, 2: 4}
        """
        numbers = self.listed("Partition")
        each = _EACH.match(self.get("MaxProcs") or "")
        sizes = [int(size) for size in each[1].split(",")] if each else []
        return dict(zip(numbers, sizes, strict=True)) if len(numbers) == len(sizes) else {}

    @property
    def start(self) -> int | None:
        """Second 0 of the log, in seconds since 1970 UTC; None if unknown.

        It is UnixStartTime; without this label, StartTime in the log's time zone.

        Examples
        --------
        >>> Header(("; StartTime: Mon Sep 23 14:00:31 1996", "; TimeZone: 7200")).start
        843480031
        """
        if self.get("UnixStartTime") is not None:
            return self.number("UnixStartTime")
        wall, zone = self.wall_start, self.time_zone
        if wall is None or zone is None:
            return None
        try:
            return int(wall.replace(tzinfo=zone).timestamp())
        except (ValueError, OverflowError):  # outside the range of dates
            return None

    @cached_property
    def wall_start(self) -> datetime | None:
        """Local date and time of second 0 (StartTime); None if unknown."""
        return read_date(self.get("StartTime") or "")

    @property
    def window(self) -> tuple[float, float] | None:
        """The period in which the log is complete; None if the header does not state it. [s].

        Examples
        --------
        >>> Header(("; Window: 86400 604800 (Mon Jan 1 …)",)).window
        (86400.0, 604800.0)
        """
        match = _WINDOW.match(self.get("Window") or "")
        begin, until = (float(match[1]), float(match[2])) if match else (0.0, -1.0)
        return (begin, until) if begin <= until else None

    @property
    def state_time(self) -> float | None:
        """The instant of a log that is the state of a queue (StateTime); None in others. [s]."""
        try:
            return float(self.get("StateTime") or "")
        except ValueError:
            return None

    def window_text(self, begin: float, until: float) -> str:
        """Return the value of the label Window, with dates if local time is known.

        Examples
        --------
        >>> Header().window_text(0.5, 99.5)
        '0 100'
        """
        first, last = floor(begin), ceil(until)
        dates = f" ({self.date(first)} to {self.date(last)})" if self.date(last) else ""
        return f"{first} {last}{dates}"

    @cached_property
    def time_zone(self) -> tzinfo | None:
        """The log's time zone (TimeZoneString, else the offset TimeZone); None if unknown."""
        name = (self.get("TimeZoneString") or "").strip()
        if name:
            try:
                return ZoneInfo(name)
            except (KeyError, ValueError, OSError):  # unknown name: try the offset
                pass
        match = _OFFSET.match(self.get("TimeZone") or "")
        if match and abs(int(match[1])) < 86400:
            return timezone(timedelta(seconds=int(match[1])))
        return None
