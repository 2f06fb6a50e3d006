"""Columns of jobs by name: those of the standard, of the side-car, and times derived from them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit import record_fields
from workloadkit.automatic import looks_automatic
from workloadkit.clock import DAY, Clock
from workloadkit.distinct import coded
from workloadkit.errors import WorkloadError, among
from workloadkit.fields import BY_NAME, CANCELLED, COMPLETED, FAILED, NAMES, UNKNOWN

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.trace import Trace

#: Columns that every log has in addition to those of the standard: begin and end of the execution
#: [s]; the hour of the day of the submission, 0 to 23 in the log's time zone; and whether its user
#: looks automatic in this log, 0 or 1.
DERIVED = ("start", "end", "hour", "automatic")

#: Columns that are points in time: seconds of the log.
TIMES = ("submit", "eligible", "start", "end")

#: Fields with numbers in the log and names in the side-car.
NUMBERED = ("user", "group", "executable", "queue", "partition")

_STATUS = {FAILED: "failed", COMPLETED: "completed", CANCELLED: "cancelled"}


def known_columns(trace: "Trace") -> tuple[str, ...]:
    """Return the names of the columns of a log."""
    more = () if trace.sidecar is None else map(str, trace.sidecar.columns)
    return tuple(dict.fromkeys((*NAMES, *DERIVED, *more)))


def column_of(trace: "Trace", name: str) -> NDArray:
    """Return one column of a log; see `Trace.column`."""
    if name in BY_NAME:
        return np.asarray(trace.table("jobs")[name])
    if name == "hour":
        return _hours(trace)
    if name == "automatic":
        return looks_automatic(trace)
    sidecar = trace.sidecar
    if sidecar is not None and name in sidecar:
        column = sidecar[name]
        if column.dtype == "category":
            return column.astype(object).fillna("").to_numpy()
        values = column.to_numpy()
        return values - _second_0(trace, name) if name in TIMES else values
    if name in ("start", "end"):
        time = trace.end - trace.column("run") if name == "start" else trace.end
        return np.where(trace.ran, time, np.nan)
    if name in record_fields.BY_NAME:
        raise WorkloadError(f"{trace.name}: no {name} is known; SWF has no field for it")
    raise WorkloadError(f"not a field of a job: {name}; {among(name, known_columns(trace))}")


def _second_0(trace: "Trace", name: str) -> int:
    if trace.header.start is None:
        raise WorkloadError(f"{trace.name}: {name} requires UnixStartTime in the header")
    return trace.header.start


def _hours(trace: "Trace") -> NDArray[np.int64]:
    if not trace.n_jobs:
        return np.empty(0, np.int64)
    clock = Clock.of(trace)
    if not clock.known:
        why = clock.note.split(", so local time")[0]
        raise WorkloadError(f"{trace.name}: hour is the hour of the day. {why}")
    return (clock.local(trace.column("submit")) % DAY // 3600).astype(np.int64)


def words_of(trace: "Trace", field: str) -> "pd.Categorical | None":
    """Return the words of the jobs in a field, code -1 for unknown; None if the log has none.

    They come from the side-car, else from the queues and partitions that the header lists, or from
    the meaning of the status codes.
    """
    import pandas as pd

    sidecar = trace.sidecar
    if sidecar is not None and field in sidecar and field not in TIMES:
        if sidecar[field].dtype.kind in "biuf":
            return None
        words = pd.Categorical(sidecar[field])
        words = words.remove_categories([word for word in words.categories if word == ""])
        words = words.remove_unused_categories()
        return words if words.categories.size else None
    if field == "status":
        return _named(trace, field, _STATUS)
    listed = trace.header.names(field) if field in ("queue", "partition") else {}
    return _named(trace, field, listed) if listed else None


def _named(trace: "Trace", field: str, listed: Mapping[int, str]) -> "pd.Categorical":
    """Return the names of the numbers of a field; those without one are "queue 7"."""
    import pandas as pd

    numbers, place = coded(trace.column(field))
    words = [listed.get(number, f"{field} {number}") for number in numbers.tolist()]
    code_of = {word: code for code, word in enumerate(dict.fromkeys(words))}
    codes = np.array([code_of[word] for word in words], np.int64)
    codes[numbers == UNKNOWN] = -1
    known = pd.Categorical.from_codes(codes[place], list(code_of))
    return known.remove_unused_categories()


def names_of(trace: "Trace", field: str) -> "pd.Categorical":
    """Return the name of each job's user, account, …; see `Trace.names`."""
    words = words_of(trace, field)
    if words is None and field in NUMBERED:
        words = _named(trace, field, {})
    if words is None:
        has_words = column_of(trace, field).dtype.kind == "O"  # an unknown field is an error
        raise WorkloadError(
            f"{trace.name}: no {field} is known" if has_words else f"{field} has no names"
        )
    if not words.categories.size:
        raise WorkloadError(f"{trace.name}: no {field} is known")
    if all(map(str.isdecimal, words.categories)):  # anonymized names
        words = words.rename_categories([f"{field} {word}" for word in words.categories])
    return words
