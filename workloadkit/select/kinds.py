"""What the fields of an expression are compared with, and their other names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from workloadkit.fields import FIELDS, NAMES
from workloadkit.job_columns import DERIVED, NUMBERED, TIMES
from workloadkit.record_fields import SIDECAR_FIELDS

if TYPE_CHECKING:
    from workloadkit.trace import Trace

#: Every other accepted spelling of a field.
ALIASES = {
    "jobnumber": "job",
    "jobid": "job",
    "subtime": "submit",
    "submittime": "submit",
    "waittime": "wait",
    "runtime": "run",
    "proc": "procs",
    "processors": "procs",
    "cputime": "cpu",
    "mem": "memory",
    "reqproc": "requested_procs",
    "reqprocs": "requested_procs",
    "reqtime": "requested_time",
    "estimate": "requested_time",
    "reqmem": "requested_memory",
    "reqmemory": "requested_memory",
    "uid": "user",
    "userid": "user",
    "gid": "group",
    "groupid": "group",
    "app": "executable",
    "application": "executable",
    "exe": "executable",
    "part": "partition",
    "preceding": "preceding_job",
    "thinktime": "think_time",
}

Kind = Literal["time", "duration", "size", "number", "numbered", "word"]

#: What the fields of each kind are compared with.
COMPARED_WITH: dict[Kind, str] = {
    "time": "a date such as 2024-03-01, or a time since second 0 such as 90 or 2d",
    "duration": "a number of seconds, or a duration such as 2h",
    "size": "a number of KB, or a size such as 4GB",
    "number": "a number",
    "numbered": "a number or a name",
    "word": "a name",
}


def _kind(name: str, unit: str, *, is_word: bool = False) -> Kind:
    if name in TIMES:
        return "time"
    if name in (*NUMBERED, "status"):
        return "numbered"
    if is_word:
        return "word"
    return {"s": "duration", "KB": "size"}.get(unit, "number")  # type: ignore[return-value]


#: What every field is compared with: those of the standard, those of accounting, derived ones.
KINDS: Mapping[str, Kind] = {
    **{f.name: _kind(f.name, f.unit) for f in FIELDS},
    **{name: _kind(name, "") for name in DERIVED},
    **{
        f.name: _kind(f.name, f.unit, is_word=f.kind in ("word", "text"))
        for f in SIDECAR_FIELDS
        if f.name not in (*NAMES, *DERIVED)
    },
}


def kinds_of(trace: "Trace") -> dict[str, Kind]:
    """Return what the fields of a log are compared with; its side-car may have further ones."""
    kinds = dict(KINDS)
    if trace.sidecar is None:
        return kinds
    for name, column in trace.sidecar.items():
        if name not in NAMES:
            has_numbers = column.dtype.kind in "biuf"
            if has_numbers == (kinds.setdefault(str(name), "word") == "word"):
                kinds[str(name)] = "number" if has_numbers else "word"
    return kinds
