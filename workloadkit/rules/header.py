"""Rules for the header: labels, dates, and the files that stand next to a log."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from itertools import islice
from zoneinfo import ZoneInfo

import numpy as np

from workloadkit.errors import WorkloadError, plural, quoted
from workloadkit.header import read_date, whole_number
from workloadkit.rules.rule import (
    FIRST_FEW,
    Breach,
    CheckedLog,
    LogRule,
    Offender,
    Severity,
    in_header,
)
from workloadkit.utility import check

# Labels of version 2.2, in the order in which the standard lists them.
_LABELS = (
    *("Version", "Computer", "Installation", "Acknowledge", "Information", "Conversion"),
    *("MaxJobs", "MaxRecords", "Preemption", "UnixStartTime", "TimeZone", "TimeZoneString"),
    *("StartTime", "EndTime", "MaxNodes", "MaxProcs", "MaxRuntime", "MaxMemory", "AllowOveruse"),
    *("MaxQueues", "Queues", "Queue", "MaxPartitions", "Partitions", "Partition", "Note"),
)
# Additional labels that this toolkit writes.
_OURS = {"window", "rareusers"}
_BY_LOWER = {label.lower(): label for label in _LABELS}
_MANY = {
    "Acknowledge",
    "Information",
    "Conversion",
    "Queue",
    "Queues",
    "Partition",
    "Partitions",
    "Note",
}
_NUMBERS = (
    *("MaxJobs", "MaxRecords", "MaxNodes", "MaxProcs", "MaxRuntime", "MaxMemory"),
    *("MaxQueues", "MaxPartitions", "UnixStartTime"),
)
# Optional labels; their absence is not reported.
_MAY_MISS = (
    *("TimeZone", "MaxRuntime", "MaxMemory", "AllowOveruse", "Note"),
    *(label for label in _LABELS if "ueue" in label or "artition" in label),
)
_OFFSET = re.compile(r"[-+]?\d{1,5}")
# Limits of the comparison with known labels: headers may have a million lines.
_LONGEST, _MOST_COMPARED = 24, 100


def _machine_known(log: CheckedLog) -> Breach | None:
    if log.header.procs:
        return None
    return _breach("neither MaxProcs nor MaxNodes states the size of the machine")


def _clock_known(log: CheckedLog) -> Breach | None:
    missing = [] if log.header.number("UnixStartTime") else ["UnixStartTime"]
    if log.header.time_zone is None:
        missing.append("TimeZoneString")
    if not missing:
        return None
    known = "only that of StartTime" if log.header.wall_start is not None else "unknown"
    return _breach(f"no {' and no '.join(missing)}: local time is {known}")


def _there(log: CheckedLog) -> Breach | None:
    labels = {label.lower() for label, _ in log.header.entries}
    missing = [label for label in _LABELS if label not in _MAY_MISS and label.lower() not in labels]
    if not missing:
        return None
    return Breach(len(missing), len(_LABELS) - len(_MAY_MISS), text=f"no {', '.join(missing)}")


def _spelt(log: CheckedLog) -> Breach | None:
    """Find labels that are close to one of the standard's, and would not be recognized."""
    found = [(label, meant) for label, meant in _unknown(log).items() if meant]
    text = ", ".join(f"{label} (for {meant})" for label, meant in found[:FIRST_FEW])
    return Breach(len(found), len(log.header.entries), text=text) if found else None


def _standard(log: CheckedLog) -> Breach | None:
    unknown = [label for label, meant in _unknown(log).items() if not meant]
    text = ", ".join(label[:40] for label in unknown[:FIRST_FEW]) + (
        ", …" if len(unknown) > FIRST_FEW else ""
    )
    return Breach(len(unknown), len(log.header.entries), text=text) if unknown else None


def _once(log: CheckedLog) -> Breach | None:
    """Find labels with several values that may have only one."""
    values: dict[str, set[str]] = {}
    for label, value in log.header.entries:
        name = _BY_LOWER.get(label.lower())
        if name and name not in _MANY:
            values.setdefault(name, set()).add(" ".join(value.split()))
    repeated = {label: sorted(found) for label, found in values.items() if len(found) > 1}
    text = "; ".join(
        f"{label} is {' and '.join(quoted(value, 40) for value in found[:FIRST_FEW])}"
        for label, found in repeated.items()
    )
    return Breach(len(repeated), len(values), text=text) if repeated else None


def _values(log: CheckedLog) -> Breach | None:
    """Find labels with values that the standard does not allow."""
    checked, wrong = 0, []
    for label, value in log.header.entries:
        name = _BY_LOWER.get(label.lower(), label)
        if name in _VALID:
            is_valid, expected = _VALID[name]
            checked += 1
            if not is_valid(value.strip()):
                wrong.append((name, value.strip(), expected))
    if not wrong:
        return None
    first = wrong[:FIRST_FEW]
    offenders = tuple(Offender(((label, value[:60]),)) for label, value, _ in first)
    text = "; ".join(
        f"{label} is {quoted(value, 40)}, not {expected}" for label, value, expected in first
    )
    return Breach(len(wrong), checked, offenders, text)


def _is_number(value: str) -> bool:
    return whole_number(value) is not None


def _is_one_of(*words: str) -> Callable[[str], bool]:
    """Return the check that a value, or its first word, is one of the given words."""
    return lambda value: (value.lower().split() or [""])[0].rstrip(".,;") in words


def _is_zone(value: str) -> bool:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _is_date(value: str) -> bool:
    return read_date(value) is not None


def _is_offset(value: str) -> bool:
    return _OFFSET.fullmatch(value) is not None


_A_DATE = (_is_date, "a date such as 'Mon Sep 23 14:00:31 CEST 1996'")
_VALID: dict[str, tuple[Callable[[str], bool], str]] = {
    **dict.fromkeys(_NUMBERS, (_is_number, "a whole number")),
    "Version": (_is_one_of("1", "1.0", "2", "2.0", "2.1", "2.2"), "1, 2, 2.1 or 2.2"),
    "Preemption": (_is_one_of("no", "yes", "double", "ts"), "No, Yes, Double or TS"),
    "AllowOveruse": (_is_one_of("yes", "no", "true", "false"), "Yes or No"),
    "TimeZone": (_is_offset, "a number of seconds"),
    "TimeZoneString": (_is_zone, "a known time zone"),
    "StartTime": _A_DATE,
    "EndTime": _A_DATE,
}


def _unknown(log: CheckedLog) -> dict[str, str]:
    """Return the unknown labels, each with the known label that it resembles, if any."""
    labels = {label: label.lower() for label, _ in log.header.entries}
    known = _BY_LOWER.keys() | _OURS
    unknown = {label: "" for label, lower in labels.items() if lower not in known}
    for label in islice((label for label in unknown if len(label) <= _LONGEST), _MOST_COMPARED):
        if close := get_close_matches(label.lower(), _BY_LOWER, 1, cutoff=0.8):
            unknown[label] = _BY_LOWER[close[0]]
    return unknown


def _breach(text: str) -> Breach:
    return Breach(1, 1, text=text)


RULES: tuple[LogRule, ...] = (
    LogRule(
        "machine-known", "warning", "The header states the size of the machine.", _machine_known
    ),
    LogRule(
        "clock-known",
        "warning",
        "The header states the date of second 0, and the time zone.",
        _clock_known,
    ),
    LogRule("labels-present", "note", "The header has the labels of the standard.", _there),
    LogRule(
        "labels-spelt", "warning", "The labels of the header are spelt as in the standard.", _spelt
    ),
    LogRule(
        "labels-known",
        "note",
        "The labels of the header are those of the standard, or of this toolkit.",
        _standard,
    ),
    LogRule("labels-once", "warning", "Labels with a single value occur once.", _once),
    LogRule(
        "label-values", "error", "The values of labels are those that the standard allows.", _values
    ),
)


# Rules for the log's start, end and time zone.

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


DATE_RULES: tuple[LogRule, ...] = (
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


# Rules for utility functions and for the side-car, the table with one record per job.

_TIMES_AGREE = 1.0  # both times are rounded to seconds


def _functions(log: CheckedLog) -> Breach | None:
    try:
        check(log.trace)
    except WorkloadError as error:
        return Breach(1, log.n_jobs, text=str(error).removeprefix(f"{log.trace.name}: "))
    return None


def _same_jobs(log: CheckedLog) -> Breach | None:
    """Check that the side-car's records belong to the jobs."""
    sidecar = log.trace.sidecar
    if sidecar is None:
        return None
    if len(sidecar) != log.n_jobs:
        return Breach(
            abs(len(sidecar) - log.n_jobs),
            log.n_jobs,
            text=f"the side-car has {plural(len(sidecar), 'record')}",
        )
    differs = np.zeros(log.n_jobs, dtype=bool)
    for name, tolerance in (("run", _TIMES_AGREE), ("procs", 0)):
        if name in sidecar:
            differs |= np.abs(sidecar[name].to_numpy(np.float64) - log[name]) > tolerance
    start = log.header.start
    if start is not None and "submit" in sidecar:
        submit = sidecar["submit"].to_numpy(np.float64) - start
        differs |= np.abs(submit - log["submit"]) > _TIMES_AGREE
    return log.where(differs, "submit", "run", "procs")


def _all_rows(log: CheckedLog) -> Breach | None:
    intake = log.trace.intake
    if intake is None:
        return None
    left_out = sum(repair.count for repair in intake.left_out)
    if intake.rows == intake.jobs + left_out:
        return None
    text = f"{plural(intake.rows, 'row')}, {plural(intake.jobs, 'job')}, {left_out:,} left out"
    return Breach(1, intake.rows, text=text)


COMPANION_RULES: tuple[LogRule, ...] = (
    LogRule(
        "utility-functions",
        "error",
        "Utility functions start at time 0; their times increase and their values never increase.",
        _functions,
    ),
    LogRule(
        "records-agree",
        "error",
        "The side-car has one record per job, with the job's submit time, run time and processors.",
        _same_jobs,
    ),
    LogRule("rows-accounted", "error", "Every accounting row is a job or left out.", _all_rows),
)
