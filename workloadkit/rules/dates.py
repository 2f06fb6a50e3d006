"""Rules for the log's start, end and time zone."""

from datetime import UTC, datetime, timedelta

import numpy as np

from workloadkit.errors import plural
from workloadkit.header import read_date
from workloadkit.rules.rule import Breach, CheckedLog, LogRule, Severity, in_header

#: Tolerance for times that are rounded to seconds.
ROUNDING = timedelta(seconds=1)


def _start(log: CheckedLog) -> Breach | None:
    stated, actual = _stated(log, "StartTime"), _local(log, 0.0)
    if stated is None or actual is None or stated == actual:
        return None
    value = log.header.get("StartTime")
    return in_header(
        ("StartTime", str(value)[:60]),
        ("UnixStartTime", log.header.start),
        text=f"StartTime is {stated}, but UnixStartTime is {actual} in the log's time zone",
    )


def _end(log: CheckedLog) -> Breach | None:
    """Compare EndTime with the last end of a job, which filters may have removed.

    The log may also end when a job leaves the queue without having run.
    """
    log = log.as_system
    stated = _stated(log, "EndTime")
    if stated is None or not log.n_jobs:
        return None
    left = log["submit"] + np.nan_to_num(log["wait"])
    ended = np.where(np.isnan(log.end), -np.inf, log.end)
    row = int(np.argmax(ended if np.isfinite(ended).any() else left))
    last = _local(log, float(max(ended[row], left[row])))
    latest = _local(log, float(max(ended[row], left.max())))
    if last is None or latest is None or last - ROUNDING <= stated <= latest + ROUNDING:
        return None
    severity: Severity | None = "note" if stated > last and log.removed else None
    why = f"; filters removed {plural(log.removed, 'job')}" if severity else ""
    return in_header(
        ("EndTime", str(log.header.get("EndTime"))[:60]),
        ("last end", str(last)),
        ("job", int(log["job"][row])),
        text=f"EndTime is {stated}, but the last job ended {last}{why}",
        checked=log.n_jobs,
        severity=severity,
    )


def _submitted_before(log: CheckedLog) -> Breach | None:
    stated, zone = _stated(log, "EndTime"), log.header.time_zone
    if stated is None or zone is None or not log.header.start:
        return None
    try:  # fold=1: in an hour that occurs twice, use the second
        second = stated.replace(tzinfo=zone, fold=1).timestamp() - log.header.start
    except (ValueError, OverflowError, OSError):  # outside the range of dates
        return None
    return log.where(log["submit"] > second + ROUNDING.total_seconds(), "submit")


def _zones(log: CheckedLog) -> Breach | None:
    """Compare the deprecated UTC offset with the named time zone at second 0."""
    offset = log.header.get("TimeZone")
    start, zone = log.header.start, log.header.time_zone
    if offset is None or not log.header.get("TimeZoneString") or start is None or zone is None:
        return None
    try:
        moment = datetime.fromtimestamp(start, UTC).astimezone(zone)
        stated = timedelta(seconds=int(offset))
    except (ValueError, OverflowError, OSError):  # reported by the rule on label values
        return None
    now, summer = moment.utcoffset() or timedelta(), moment.dst() or timedelta()
    if stated in (now, now - summer):
        return None
    name = log.header.get("TimeZoneString")
    return in_header(
        ("TimeZone", offset),
        ("TimeZoneString", name),
        text=f"TimeZone is {offset} s, but {name} is {int((now - summer).total_seconds())} s",
    )


def _deprecated(log: CheckedLog) -> Breach | None:
    if log.header.get("TimeZone") is None or log.header.get("TimeZoneString"):
        return None
    return in_header(
        ("TimeZone", log.header.get("TimeZone")), text="TimeZone without TimeZoneString"
    )


def _stated(log: CheckedLog, label: str) -> datetime | None:
    value = log.header.get(label)
    return None if value is None else read_date(value)


def _local(log: CheckedLog, second: float) -> datetime | None:
    """Return the local date of a second of the log; None if it is unknown."""
    start, zone = log.header.start, log.header.time_zone
    if not start or zone is None:
        return None
    try:
        moment = datetime.fromtimestamp(start + int(second), UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):  # outside the range of dates
        return None
    return moment.replace(tzinfo=None)


RULES = (
    LogRule("start-time", "error", "StartTime is the local date of UnixStartTime.", _start),
    LogRule("end-time", "error", "EndTime is the local date of the last end of a job.", _end),
    LogRule("submit-before-end", "error", "No job is submitted after EndTime.", _submitted_before),
    LogRule("time-zones", "warning", "TimeZone and TimeZoneString agree.", _zones),
    LogRule(
        "time-zone-named",
        "warning",
        "The time zone is given by name (TimeZoneString); an offset (TimeZone) is deprecated.",
        _deprecated,
    ),
)
