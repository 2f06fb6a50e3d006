"""Rules for the header: its labels and their values."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from itertools import islice
from zoneinfo import ZoneInfo

from workloadkit.errors import quoted
from workloadkit.header import read_date, whole_number
from workloadkit.rules.rule import FIRST_FEW, Breach, CheckedLog, LogRule, Offender

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


RULES = (
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
