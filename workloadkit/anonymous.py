"""Anonymize a log: other numbers, no names, another date; the workload stays as it is."""

import hmac
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit import __version__
from workloadkit.clock import WEEK, span
from workloadkit.errors import ParameterError
from workloadkit.fields import UNKNOWN
from workloadkit.header import Header
from workloadkit.io.names import numbers_of
from workloadkit.provenance import jobs_removed, moved_times
from workloadkit.record_fields import BY_NAME
from workloadkit.trace import Columns, Trace, check_trace

if TYPE_CHECKING:
    import pandas as pd

#: Fields of the standard with names, as numbers.
_NUMBERED = ("user", "group", "executable", "queue", "partition")

#: Fields of which the numbers follow from the key, if one is given.
_KEYED = ("user", "group", "executable")

#: Columns of the side-car with further names.
_ALSO_NUMBERED = ("account", "qos")

#: Columns of the side-car without names or instants.
_KEPT = (
    *("suspended", "nodes", "gpus", "requested_nodes", "requested_gpus", "procs_per_node"),
    *("gpu_use", "energy", "attempts"),
)

#: Labels of the header whose number is kept, or one of whose words.
_COUNTS = (
    *("MaxJobs", "MaxRecords", "MaxNodes", "MaxProcs", "MaxRuntime", "MaxMemory"),
    *("MaxQueues", "MaxPartitions"),
)
_WORDS = {
    "Preemption": ("No", "Yes", "Double", "TS"),
    "AllowOveruse": ("No", "Yes", "True", "False"),
}

#: The log begins this many weeks earlier: more than a year, at most some twenty.
_FEWEST_WEEKS, _MOST_WEEKS = 53, 1040


def anonymize(trace: Trace, *, key: bytes | None = None) -> Trace:
    """Return a log without names, ids and dates, and with the same workload.

    Jobs, users, groups, executables, queues and partitions are numbered from 1 in the order of
    their numbers, accounts and QOS by their first job. The log begins at the same hour of the same
    weekday, one to twenty years earlier, and local time becomes its only time. Times, sizes, memory
    and status of the jobs are kept, and so are sessions, batches, loads and schedules: policies
    break ties by the order of numbers.

    Parameters
    ----------
    trace : Trace
    key : bytes, optional
        Secret from which the numbers of users, groups, executables, accounts and QOS, and the
        number of weeks are derived: the same in every log.

    Returns
    -------
    Trace
        Of the header, counts are kept, and that times are not those that were recorded; of the
        side-car, amounts, and `eligible`. All else is left out, with the description of the
        machine.

    Raises
    ------
    ParameterError
        If the key is empty, or gives two names the same number.

    Examples
    --------
    >>> header = Header(("; Computer: Deep Thought", "; MaxProcs: 8"))
    >>> columns = {"job": [70, 71], "submit": [0, 60], "run": [90, 30], "user": [1042, 1007]}
    >>> log = anonymize(Trace.from_columns(columns, header=header, name="thought.swf"))
    >>> log.jobs[["job", "submit", "run", "user"]].to_numpy().astype(int).tolist()
    [[1, 0, 90, 2], [2, 60, 30, 1]]
    >>> log.name, log.header.get("MaxProcs"), log.header.get("Computer")
    ('anonymous', '8', None)
    """
    check_trace(trace)
    if key is not None and (not isinstance(key, bytes) or not key):
        raise ParameterError("key", "must be non-empty bytes")
    numbers = {name: _numbers(trace, name, key) for name in _NUMBERED}
    jobs, bursts = _renumbered(trace, numbers)
    header, shift = _header(trace, key or secrets.token_bytes())
    return trace.replaced(
        jobs=jobs,
        bursts=bursts,
        header=header,
        name="anonymous",
        digest="",
        made_from="",
        changes=(),
        repairs=(),
        dropped=(),
        sidecar=_sidecar(trace, numbers, key, shift),
        intake=None,
        machine=None,
    )


def _numbers(trace: Trace, name: str, key: bytes | None) -> NDArray[np.int64]:
    """Return the new numbers of jobs, then of bursts: in the order of the old ones, or keyed."""
    import pandas as pd

    old = np.concatenate([trace.column(name), np.asarray(trace.table("bursts")[name])])
    kept = (old < 0) | ((old == 0) & (name == "queue"))  # unknown, and the interactive queue
    known, code = np.unique(old[~kept], return_inverse=True)
    new = old.copy()
    if key is None or name not in _KEYED:
        new[~kept] = 1 + code
    else:
        words = pd.Series(pd.Categorical.from_codes(code, categories=known.astype(str)))
        new[~kept] = numbers_of(words, name, key=key)[0]
    return new


def _renumbered(trace: Trace, numbers: dict[str, NDArray[np.int64]]) -> tuple[Any, Any]:
    """Return the tables of jobs and bursts with new numbers."""
    jobs, bursts = trace.table("jobs"), trace.table("bursts")
    ids = {
        name: np.concatenate([np.asarray(jobs[name]), np.asarray(bursts[name])])
        for name in ("job", "preceding_job")
    }
    known = np.unique(np.concatenate([*ids.values()]))
    known = known[known >= 0]
    new = {
        name: np.where(old < 0, old, 1 + np.searchsorted(known, old)) for name, old in ids.items()
    } | numbers
    of_jobs = {name: column[: trace.n_jobs] for name, column in new.items()}
    of_bursts = {name: column[trace.n_jobs :] for name, column in new.items()}
    return _with(jobs, of_jobs), _with(bursts, of_bursts)


def _header(trace: Trace, secret: bytes) -> tuple[Header, float | None]:
    """Return the new header, and by how much instants in seconds since 1970 UTC are shifted."""
    old = trace.header
    start, shift = _start(old, secret)
    entries = [("Version", "2.2"), ("Conversion", f"workloadkit {__version__}, anonymized")]
    counts = ((label, old.number(label)) for label in _COUNTS)
    entries += [(label, str(number)) for label, number in counts if number is not None]
    for label, words in _WORDS.items():
        given = (old.get(label) or "").lower()
        entries += [(label, word) for word in words if word.lower() == given]
    if start is not None:
        entries.append(("UnixStartTime", str(start)))
        if old.time_zone is not None or old.wall_start is not None:
            entries += [("TimeZone", "0"), ("TimeZoneString", "UTC")]
            dates = Header().appended(*entries)
            last = span(trace)[1] if trace.n_jobs else 0.0
            for label, second in (("StartTime", 0.0), ("EndTime", last)):
                if old.get(label) is not None and (date := dates.date(second)):
                    entries.append((label, date))
    if old.window is not None:
        entries.append(("Window", Header().window_text(*old.window)))
    if removed := jobs_removed(old):
        entries.append(("Note", f"filters ({removed} jobs removed)"))
    if made := moved_times(old):
        what = "simulated" if made[-1] == "simulated" else "resampled"
        entries.append(("Note", f"{what}: workloadkit {__version__}"))
    return Header().appended(*entries), shift


def _start(old: Header, secret: bytes) -> tuple[int | None, float | None]:
    """Return the new second 0, in local time, and by how much instants since 1970 are shifted.

    The number of weeks follows from the secret, so that logs of one secret keep their distances.
    """
    begin = old.start
    wall = old.wall_start
    if begin and old.time_zone is not None:
        with suppress(ValueError, OverflowError, OSError):  # outside the range of dates
            wall = datetime.fromtimestamp(begin, old.time_zone).replace(tzinfo=None)
    if wall is None and not begin:
        return None, None
    local = int(wall.replace(tzinfo=UTC).timestamp()) if wall else int(begin or 0)
    digest = hmac.digest(secret, b"weeks", "sha256")
    weeks = _FEWEST_WEEKS + int.from_bytes(digest[:8], "big") % (_MOST_WEEKS - _FEWEST_WEEKS)
    new = local - WEEK * weeks
    if new <= 0:  # 0 is an unknown start
        new = WEEK + local % WEEK
    return new, new - begin if begin else None


def _sidecar(
    trace: Trace, numbers: dict[str, NDArray[np.int64]], key: bytes | None, shift: float | None
) -> "pd.DataFrame | None":
    """Return the side-car: amounts, numbers for names, and when jobs became eligible."""
    import pandas as pd

    known = trace.sidecar
    if known is None:
        return None
    made = {name: known[name] for name in _KEPT if name in known}
    for name in (*_NUMBERED, *_ALSO_NUMBERED):
        if name in known:
            words = pd.Series(pd.Categorical(known[name].astype(str)))
            further = name in _ALSO_NUMBERED
            number = numbers_of(words, name, key=key)[0] if further else numbers[name]
            number = number[: trace.n_jobs]
            shown = np.where(number == UNKNOWN, "", number.astype(str))
            made[name] = pd.Series(pd.Categorical(shown))
    if shift is not None and "eligible" in known:
        made["eligible"] = known["eligible"] + shift
    columns = [name for name in BY_NAME if name in made]
    return pd.DataFrame({name: made[name].array for name in columns})


def _with(table: Any, columns: dict[str, NDArray[np.int64]]) -> Columns:
    return Columns({name: columns.get(name, np.asarray(table[name])) for name in table})
