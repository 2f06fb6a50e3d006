"""Rules of the log's time: its beginning, its end, its time zone."""

import re
from datetime import UTC, datetime, timedelta

import numpy as np

from workloadkit.rules.rule import Breach, Log, Rule, Severity, in_header

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = "|".join(_MONTHS)
# "Tue Feb 21 18:44:15 IST 2006" of version 2.2 and "Tuesday, 1 Dec 1998, 22:00:00" of version 2
_CLOCK = r"(?P<h>\d{1,2}):(?P<m>\d{2}):(?P<s>\d{2})"
_DATES = (
    re.compile(
        rf"\w+,?\s+(?P<b>{_MONTH})\w*\s+(?P<d>\d{{1,2}}),?\s+{_CLOCK}(\s+\S+)?\s+(?P<y>\d{{4}})"
    ),
    re.compile(rf"\w+,?\s+(?P<d>\d{{1,2}})\s+(?P<b>{_MONTH})\w*,?\s+(?P<y>\d{{4}}),?\s+{_CLOCK}.*"),
)

#: Times rounded to seconds may miss one another by so much.
ROUNDING = timedelta(seconds=1)


def read_date(text: str) -> datetime | None:
    """Read a local date as headers write it, without its time zone; None if it is none.

    Examples
    --------
    >>> str(read_date("Mon Sep 23 14:00:31 CEST 1996"))
    '1996-09-23 14:00:31'
    >>> str(read_date("Tuesday, 1 Dec 1998, 22:00:00"))
    '1998-12-01 22:00:00'
    """
    for form in _DATES:
        if match := form.fullmatch(" ".join(text.split())):
            month = _MONTHS.index(match["b"]) + 1
            year, day, hour, minute, second = (int(match[name]) for name in "ydhms")
            try:
                return datetime(year, month, day, hour, minute, second)
            except ValueError:  # the 31st of February
                return None
    return None


def _start(log: Log) -> Breach | None:
    said, is_ = _stated(log, "StartTime"), _local(log, 0.0)
    if said is None or is_ is None or said == is_:
        return None
    value = log.header.get("StartTime")
    return in_header(
        ("StartTime", str(value)[:60]),
        ("UnixStartTime", log.header.start),
        text=f"StartTime is {said}, UnixStartTime {is_} in the log's time zone",
    )


def _end(log: Log) -> Breach | None:
    """Compare the stated end with the last end of a job, which filters may have removed.

    A job that left the queue without a run may have done so later, and a log end with that.
    """
    log = log.as_system
    said = _stated(log, "EndTime")
    if said is None or not log.n_jobs:
        return None
    left = log["submit"] + np.nan_to_num(log["wait"])
    ended = np.where(np.isnan(log.end), -np.inf, log.end)
    row = int(np.argmax(ended if np.isfinite(ended).any() else left))
    last = _local(log, float(max(ended[row], left[row])))
    latest = _local(log, float(max(ended[row], left.max())))
    if last is None or latest is None or last - ROUNDING <= said <= latest + ROUNDING:
        return None
    severity: Severity | None = "note" if said > last and log.removed else None
    why = f"; filters removed {log.removed:,} jobs" if severity else ""
    return in_header(
        ("EndTime", str(log.header.get("EndTime"))[:60]),
        ("last end", str(last)),
        ("job", int(log["job"][row])),
        text=f"EndTime is {said}, the last job ended {last}{why}",
        checked=log.n_jobs,
        severity=severity,
    )


def _submitted_before(log: Log) -> Breach | None:
    said, zone = _stated(log, "EndTime"), log.header.time_zone
    if said is None or zone is None or not log.header.start:
        return None
    try:  # of an hour that the clock shows twice, the second
        second = said.replace(tzinfo=zone, fold=1).timestamp() - log.header.start
    except (ValueError, OverflowError, OSError):  # beyond all calendars
        return None
    return log.where(log["submit"] > second + ROUNDING.total_seconds(), "submit")


def _zones(log: Log) -> Breach | None:
    """Compare the deprecated offset with the time zone by name, at second 0, summer or winter."""
    offset = log.header.get("TimeZone")
    start, zone = log.header.start, log.header.time_zone
    if offset is None or not log.header.get("TimeZoneString") or start is None or zone is None:
        return None
    try:
        moment = datetime.fromtimestamp(start, UTC).astimezone(zone)
        stated = timedelta(seconds=int(offset))
    except (ValueError, OverflowError, OSError):  # the rule of values tells of it
        return None
    now, summer = moment.utcoffset() or timedelta(), moment.dst() or timedelta()
    if stated in (now, now - summer):
        return None
    name = log.header.get("TimeZoneString")
    return in_header(
        ("TimeZone", offset),
        ("TimeZoneString", name),
        text=f"TimeZone is {offset} s, {name} {int((now - summer).total_seconds())} s",
    )


def _deprecated(log: Log) -> Breach | None:
    if log.header.get("TimeZone") is None or log.header.get("TimeZoneString"):
        return None
    return in_header(
        ("TimeZone", log.header.get("TimeZone")), text="TimeZone without TimeZoneString"
    )


def _stated(log: Log, label: str) -> datetime | None:
    value = log.header.get(label)
    return None if value is None else read_date(value)


def _local(log: Log, second: float) -> datetime | None:
    """Return the local date of a second of the log, None where it is not known."""
    start, zone = log.header.start, log.header.time_zone
    if not start or zone is None:
        return None
    try:
        moment = datetime.fromtimestamp(start + int(second), UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):  # beyond all calendars
        return None
    return moment.replace(tzinfo=None)


RULES = (
    Rule("start-time", "error", "StartTime is the date of UnixStartTime.", _start),
    Rule("end-time", "error", "EndTime is the date of the last end of a job.", _end),
    Rule("submit-before-end", "error", "No job is submitted after EndTime.", _submitted_before),
    Rule("time-zones", "warning", "TimeZone and TimeZoneString say the same.", _zones),
    Rule(
        "time-zone-named",
        "warning",
        "The time zone has a name (TimeZoneString): an offset (TimeZone) is deprecated.",
        _deprecated,
    ),
)
