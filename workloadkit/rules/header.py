"""Rules of the header: its labels and what they may say."""

import re
from difflib import get_close_matches
from zoneinfo import ZoneInfo

from workloadkit.rules.dates import read_date
from workloadkit.rules.rule import FIRST_FEW, Breach, Log, Offender, Rule
from workloadkit.trace import Header

# Labels of version 2.2, in the order in which the standard lists them.
_LABELS = (
    *("Version", "Computer", "Installation", "Acknowledge", "Information", "Conversion"),
    *("MaxJobs", "MaxRecords", "Preemption", "UnixStartTime", "TimeZone", "TimeZoneString"),
    *("StartTime", "EndTime", "MaxNodes", "MaxProcs", "MaxRuntime", "MaxMemory", "AllowOveruse"),
    *("MaxQueues", "Queues", "Queue", "MaxPartitions", "Partitions", "Partition", "Note"),
)
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
# Nothing is said by leaving these out, and models have no site.
_MAY_MISS = (
    *("TimeZone", "MaxRuntime", "MaxMemory", "AllowOveruse", "Note"),
    *(label for label in _LABELS if "ueue" in label or "artition" in label),
)
_VERSIONS = ("1", "1.0", "2", "2.0", "2.1", "2.2")
_PREEMPTION = ("no", "yes", "double", "ts")
_BOOLEAN = ("yes", "no", "true", "false")
_OFFSET = re.compile(r"[-+]?\d{1,5}")


def _machine_known(log: Log) -> Breach | None:
    if log.header.procs:
        return None
    return _said("neither MaxProcs nor MaxNodes says how large the machine is")


def _clock_known(log: Log) -> Breach | None:
    missing = [] if log.header.start else ["UnixStartTime"]
    if log.header.time_zone is None:
        missing.append("TimeZoneString")
    if not missing:
        return None
    return _said(f"no {' and no '.join(missing)}: the time of day is unknown")


def _there(log: Log) -> Breach | None:
    labels = {label.lower() for label, _ in log.header.entries}
    missing = [label for label in _LABELS if label not in _MAY_MISS and label.lower() not in labels]
    if not missing:
        return None
    return Breach(len(missing), len(_LABELS) - len(_MAY_MISS), text=", ".join(missing))


def _spelt(log: Log) -> Breach | None:
    """Labels that are nearly one of the standard's, which no program will find."""
    found = [(label, meant) for label, meant in _unknown(log).items() if meant]
    text = ", ".join(f"{label} (for {meant})" for label, meant in found[:FIRST_FEW])
    return Breach(len(found), len(log.header.entries), text=text) if found else None


def _standard(log: Log) -> Breach | None:
    unknown = [label for label, meant in _unknown(log).items() if not meant]
    text = ", ".join(unknown[:FIRST_FEW]) + (", …" if len(unknown) > FIRST_FEW else "")
    return Breach(len(unknown), len(log.header.entries), text=text) if unknown else None


def _once(log: Log) -> Breach | None:
    """Labels that can say one thing only and say two."""
    values: dict[str, set[str]] = {}
    for label, value in log.header.entries:
        values.setdefault(_BY_LOWER.get(label.lower(), ""), set()).add(" ".join(value.split()))
    repeated = [
        label for label, said in values.items() if label not in ("", *_MANY) and len(said) > 1
    ]
    text = "; ".join(
        f"{label}: {', '.join(sorted(values[label])[:FIRST_FEW])}" for label in repeated
    )
    return Breach(len(repeated), len(values), text=text) if repeated else None


def _values(log: Log) -> Breach | None:
    """Labels whose value is not what the standard says it is."""
    wrong = []
    for label, value in log.header.entries:
        name = _BY_LOWER.get(label.lower(), label)
        if (asked := _fault(name, value)) is not None:
            wrong.append((name, value, asked))
    if not wrong:
        return None
    offenders = tuple(Offender(((label, value[:60]),)) for label, value, _ in wrong[:FIRST_FEW])
    text = "; ".join(
        f"{label} is {value[:40]!r}, not {asked}" for label, value, asked in wrong[:FIRST_FEW]
    )
    return Breach(len(wrong), len(log.header.entries), offenders, text)


def _fault(label: str, value: str) -> str | None:
    """Return what a value should be, None if it is."""
    word = value.split()[0].lower().rstrip(".,;") if value.split() else ""
    if label in _NUMBERS:
        return "a whole number" if Header((f";{label}: {value}",)).number(label) is None else None
    if label == "Version":
        return f"one of {', '.join(_VERSIONS[::2])}, 2.2" if word not in _VERSIONS else None
    if label == "Preemption":
        return "No, Yes, Double or TS" if word not in _PREEMPTION else None
    if label == "AllowOveruse":
        return "Yes or No" if word not in _BOOLEAN else None
    if label == "TimeZone":
        return "a number of seconds" if not _OFFSET.fullmatch(value.strip()) else None
    if label == "TimeZoneString":
        return "a known time zone" if not _is_zone(value.strip()) else None
    if label in ("StartTime", "EndTime"):
        return (
            "a date such as 'Mon Sep 23 14:00:31 CEST 1996'" if read_date(value) is None else None
        )
    return None


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _unknown(log: Log) -> dict[str, str]:
    """Return labels that the standard does not know, each with the one that was meant, if any."""
    labels = {label: label.lower() for label, _ in log.header.entries}
    close = {
        label: get_close_matches(lower, _BY_LOWER, 1, cutoff=0.8)
        for label, lower in labels.items()
        if lower not in _BY_LOWER
    }
    return {label: _BY_LOWER[found[0]] if found else "" for label, found in close.items()}


def _said(text: str) -> Breach:
    return Breach(1, 1, text=text)


RULES = (
    Rule("machine-known", "warning", "The header says how large the machine is.", _machine_known),
    Rule("clock-known", "warning", "The header says when second 0 was, and where.", _clock_known),
    Rule("labels-there", "note", "The header has the labels of the standard.", _there),
    Rule(
        "labels-spelt", "warning", "The labels of the header are spelt as in the standard.", _spelt
    ),
    Rule(
        "labels-known",
        "note",
        "The header has no labels that the standard does not know.",
        _standard,
    ),
    Rule("labels-once", "warning", "Labels that say one thing stand once.", _once),
    Rule("label-values", "error", "The values of labels are what the standard asks for.", _values),
)
