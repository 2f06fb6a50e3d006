"""The mapping with which a table that this package wrote is read again."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.fields import BY_NAME as LOG_FIELDS
from workloadkit.fields import CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.io.machine import as_dict
from workloadkit.job_columns import NUMBERED, TIMES
from workloadkit.record_fields import BY_NAME
from workloadkit.trace import Trace

#: First line of a mapping that stands next to a table.
MARK = "# The columns of a log that workloadkit wrote as a table."

_STATES = {COMPLETED: "completed", FAILED: "failed", CANCELLED: "cancelled"}

#: Columns of the side-car that a mapping makes itself, or has no field for.
_NOT_MAPPED = ("place", "submit_by", "status", "requested_memory_per", "executions")

_MEASURED = (
    "run",
    "procs",
    "cpu",
    "memory",
    "requested_procs",
    "requested_time",
    "requested_memory",
)


def named(name: str, unit: str) -> str:
    """Return the name of a column with its unit.

    Examples
    --------
    >>> named("requested_memory", "KB"), named("procs", "")
    ('requested_memory_kb', 'procs')
    """
    return f"{name}_{unit.lower()}" if unit else name


def mapping_text(trace: Trace, columns: Mapping[str, Any], name: str) -> tuple[str, list[str]]:
    """Return the text of the mapping of a table, and the columns that it does not read."""
    fields = _fields(trace, columns)
    read = {column for sql in fields.values() for column in columns if _uses(sql, column)}
    numbers = [column for column in read if _is_number(columns[column])]
    start = trace.header.start
    zone = trace.header.time_zone
    sections: dict[str, dict[str, Any]] = {
        "source": {"format": "csv", "shared_ids": True, "numbers": sorted(numbers)},
        "times": {
            "origin": "unknown" if start is None else _iso(start),
            "zone": _zone_name(zone, start),
        },
        "fields": fields,
    }
    if "status" in fields["state"]:
        known = distinct(trace.column("status")).tolist()
        of = {str(code): _STATES.get(code, "unknown") for code in known if code != UNKNOWN}
        sections["states"] = of or {"1": "completed"}
    machine, lost = _machine(trace)
    if machine:
        sections["machine"] = machine
    if trace.header.lines:
        sections["provenance"] = {"notes": [line.lstrip("; ") for line in trace.header.lines]}
    lines = [MARK, f"title = {_value(f'{name}, a log')}"]
    for section, keys in sections.items():
        lines += ["", f"[{section}]", *(f"{_key(key)} = {_value(v)}" for key, v in keys.items())]
    unread = [column for column in columns if column not in read and _has_values(columns[column])]
    return "\n".join(lines) + "\n", lost + [c for c in unread if not _is_known_otherwise(c, fields)]


def _fields(trace: Trace, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the mapping, by expression."""
    seconds = {"unit": "s"}
    wait, run = trace.column("wait"), trace.column("run")
    submit = "submit_s"
    if (np.isnan(wait) & ~np.isnan(run)).any():  # the reader takes the start for both
        submit = "CASE WHEN wait_s IS NOT NULL OR run_s IS NULL THEN submit_s END"
    start = "CASE WHEN run_s IS NOT NULL THEN submit_s + coalesce(wait_s, 0) END"
    fields: dict[str, Any] = {
        "id": "id" if "id" in columns else "job",
        "submit": {"sql": submit, **seconds},
        "start": {"sql": start, **seconds},
        "end": {"sql": "CASE WHEN run_s IS NULL THEN submit_s + wait_s END", **seconds},
        "state": _state(trace, columns),
    }
    for name in _MEASURED:
        column = named(name, LOG_FIELDS[name].unit)
        if _has_values(columns[column]):
            fields[name] = _with_unit(trace, name, column)
    for name in NUMBERED:
        words = f"{name}_name"
        number = trace.column(name)
        if words in columns and _is_one_to_one(number, columns[words]):
            fields[name] = words
        elif (number != UNKNOWN).any():
            fields[name] = f'"{name}"'  # a word of SQL
    for name, field in BY_NAME.items():
        column = named(name, field.unit)
        if name in fields or name in _NOT_MAPPED or column not in columns or name in LOG_FIELDS:
            continue
        if _has_values(columns[column]):
            fields[name] = {"sql": column, "unit": field.unit} if field.unit else column
    return fields


def _with_unit(trace: Trace, name: str, column: str) -> Any:
    """Return the expression of a measured field."""
    unit = LOG_FIELDS[name].unit
    if not unit:
        return column
    if unit != "KB":
        return {"sql": column, "unit": unit}
    if name == "requested_memory" and _per(trace) == "job":
        wanted = "coalesce(CASE WHEN requested_procs > 0 THEN requested_procs END, procs)"
        return {"sql": f"{column} * {wanted}", "unit": unit, "per": "job"}
    return {"sql": column, "unit": unit, "per": "proc"}


def _per(trace: Trace) -> str:
    """Return the unit of memory requests; "cpu" if they have several."""
    if trace.sidecar is None or "requested_memory_per" not in trace.sidecar:
        return "cpu"
    units = set(trace.sidecar["requested_memory_per"]) - {""}
    return str(units.pop()) if len(units) == 1 else "cpu"


def _state(trace: Trace, columns: Mapping[str, Any]) -> str:
    """Return the expression of the state: in words where these give the status, else the status."""
    from workloadkit.io.slurm.values import STATES, state, status

    if "state" not in columns:
        return "status"
    words, place = np.unique(columns["state"], return_inverse=True)
    known = [state(word) for word in words.tolist()]
    of = [status(word) if word in STATES else None for word in known]
    same = all(
        code is not None and (trace.column("status")[place == i] == code).all()
        for i, code in enumerate(of)
    )
    return "state" if same else "status"


def _is_one_to_one(number: NDArray[np.int64], words: NDArray) -> bool:
    """Whether each number has a name of its own, and each name a number."""
    pairs = set(zip(number.tolist(), words.tolist(), strict=True))
    known = [(number, word) for number, word in pairs if number != UNKNOWN or word]
    numbers, names = {number for number, _ in known}, {word for _, word in known}
    return bool(known) and len(numbers) == len(known) == len(names)


def _machine(trace: Trace) -> tuple[dict[str, Any], list[str]]:
    """Return the machine as a mapping has it, and what it has no key for."""
    machine: dict[str, Any] = {}
    if computer := trace.header.get("Computer"):
        machine["name"] = computer
    if procs := trace.header.procs:
        machine["procs"] = procs
    if trace.machine is None:
        return machine, []
    described = as_dict(trace.machine)
    others = ("partitions", "pools", "switches")
    if described["nodes"]:
        kept = [{k: v for k, v in kind.items() if k not in others} for kind in described["nodes"]]
        machine["nodes"] = kept
    return machine, [f"{key} of the machine" for key in others if described[key]]


def _iso(second: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)).isoformat()


def _zone_name(zone: Any, start: int | None) -> str:
    """Return the name of a time zone; an offset of whole hours has one, too."""
    if zone is None or start is None:
        return "UTC"
    if isinstance(zone, ZoneInfo):
        return zone.key
    hours, rest = divmod(zone.utcoffset(None).total_seconds(), 3600)
    return f"Etc/GMT{-int(hours):+d}" if hours and not rest and -14 <= hours <= 12 else "UTC"


def _uses(sql: Any, column: str) -> bool:
    text = sql["sql"] if isinstance(sql, dict) else sql
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", text) is not None


def _is_number(column: Any) -> bool:
    return column.dtype.kind in "iuf"


def _has_values(column: Any) -> bool:
    """Whether a column has a value that is not empty."""
    if not _is_number(column):
        return bool((column != "").any())
    known = ~column._mask if hasattr(column, "_mask") else column == column
    return bool(known.any())


def _is_known_otherwise(column: str, fields: Mapping[str, Any]) -> bool:
    """Whether the reader finds the values of a column again without it."""
    instants = tuple(f"{name}_s" for name in TIMES if name != "eligible")
    if column == "requested_memory_per":
        return fields["requested_memory"].get("per") == "job"
    return column in ("job", "status", *instants) or (column in NUMBERED and column in fields)


def _key(key: str) -> str:
    return key if key.replace("_", "").isalnum() and key.isascii() else _value(key)


def _value(value: Any) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value).replace("\x7f", "\\u007f")
