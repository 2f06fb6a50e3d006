"""Convert records of PBS to columns of jobs."""

import re
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.fields import CANCELLED, COMPLETED, FAILED, MAX_TIME, UNKNOWN
from workloadkit.io.pbs.layouts import Values
from workloadkit.io.pbs.requests import (
    GRANT_KEYS,
    REQUEST_KEYS,
    Grant,
    Request,
    grant,
    request,
)
from workloadkit.io.pbs.values import kilobytes, seconds, whole
from workloadkit.io.records import Records

_ARRAY = re.compile(r"(\d+)(?:\[(\d*)\]|-(\d+))", re.ASCII)
_KILLED = ("265", "271")  # 256 and a signal: SIGKILL, SIGTERM
_NO_PROJECT = "_pbs_project_default"
_DIGITS = 13  # maximum of a plausible number
_NO_DURATION = "x" * 8
_DIGITS_OF_DURATION, _COLONS_OF_DURATION = [0, 1, 3, 4, 6, 7], [2, 5]

_MINUTE = 60.0
_QUARTER = 900.0
_FARTHEST = 14 * 3600.0  # largest offset from UTC
_LAST_MOMENT = 9e9  # limit of pandas [s since 1970]

_SUBMISSION_KEYS = ("ctime", "qtime", "etime")
_FIELDS = (
    *_SUBMISSION_KEYS,
    *("start", "end", "Exit_status", "Resource_List.walltime", "run_count"),
    *("resources_used.walltime", "resources_used.ncpus", "resources_used.cput"),
    *("resources_used.mem", "user", "owner", "group", "account", "project", "queue"),
    *("jobname", "Resource_List.qos"),
)
_N_REQUEST, _N_GRANT = len(REQUEST_KEYS), len(GRANT_KEYS)
_FIRST_FIELD = _N_REQUEST + _N_GRANT

#: Keys that are read, in the order of the values of `row`.
KEYS = (*REQUEST_KEYS, *GRANT_KEYS, *_FIELDS)
_CTIME, _END = KEYS.index("ctime"), KEYS.index("end")

# Keys that require a start.
_OF_A_RUN = ("start", "end", "Exit_status", "run_count", *GRANT_KEYS)

#: Position, id, letter, submission, request, grant and other values.
Row = tuple[Any, ...]


def submission(values: Values) -> float:
    """Return the submission of a job: ctime, else qtime, else etime; NaN if none is recorded."""
    for text in values[_CTIME : _CTIME + len(_SUBMISSION_KEYS)]:
        second = whole(text)
        if second > 0:
            return second
    return nan


def has_ctime(values: Values) -> bool:
    """Whether a record contains the creation time of the job."""
    return values[_CTIME] is not None


def end_of(values: Values) -> float:
    """Return the end of a job; NaN if it is not recorded."""
    return whole(values[_END])


def cancelled(values: Values, end: float) -> Values:
    """Return the values of a job that was cancelled at `end`, from another record of it."""
    of_a_run = (*_OF_A_RUN, *(key for key in KEYS if key.startswith("resources_used")))
    raw = {key: value for key, value in zip(KEYS, values, strict=True) if key not in of_a_run}
    return tuple(map((raw | {"end": f"{end:.0f}"}).get, KEYS))


def row(place: int, job_id: str, letter: str, values: Values, submit: float) -> Row:
    """Return the row for a record of the end of a job or of an attempt."""
    return (
        *(place, job_id, letter, submit, request(*values[:_N_REQUEST])),
        *(grant(*values[_N_REQUEST:_FIRST_FIELD]), *values[_FIRST_FIELD:]),
    )


def columns(rows: list[Row], records: Records) -> dict[str, Any]:
    """Return the columns of records, and count oddities."""
    places, ids, letters, submit, requests, grants, *texts = zip(*rows, strict=True)
    place = np.array(places)
    raw = dict(zip(_FIELDS, texts, strict=True))
    requested = Request(*zip(*requests, strict=True))  # type: ignore[arg-type]  # columns
    got = Grant(*zip(*grants, strict=True))  # type: ignore[arg-type]

    def note(kind: str, odd: NDArray[np.bool_]) -> None:
        records.note_where(kind, odd, place)

    start, end = _known(_numbers(raw["start"])), _known(_numbers(raw["end"]))
    walltime = _durations(raw["resources_used.walltime"])
    unreadable = np.zeros(len(rows), bool)
    for name, column in (("start", start), ("end", end), ("resources_used.walltime", walltime)):
        if np.isnan(column).any():
            unreadable |= np.isnan(column) & np.array([t not in (None, "0") for t in raw[name]])
    note("start, end or walltime is invalid: taken as unknown", unreadable)
    ended = np.array(letters) == "E"
    used = walltime > 0
    late = ended & np.isnan(start) & used & ~np.isnan(end)
    note("no start recorded: end − walltime used", late)
    start = np.where(late, end - walltime, start)
    started = ~np.isnan(start)
    note("ended without a start (E): cancelled while queued", ended & ~started)
    elapsed = end - start
    gap = elapsed - walltime
    note("walltime used is 0: run time is end − start", (walltime == 0) & (elapsed > 0))
    suspended = used & (gap > _MINUTE)
    note("end − start exceeds the walltime used by over a minute: run is walltime", suspended)
    note("walltime used exceeds end − start by over a minute", used & (gap < -_MINUTE))

    vnode_procs, host_procs = np.array(got.vnode_procs), np.array(got.host_procs)
    ncpus, requested_procs = _numbers(raw["resources_used.ncpus"]), np.array(requested.procs)
    both = (vnode_procs >= 0) & (host_procs >= 0)
    note("exec_vnode and exec_host disagree: exec_vnode used", both & (vnode_procs != host_procs))
    procs = np.full(len(rows), np.nan)
    for source in (vnode_procs, host_procs, ncpus):
        procs = np.where(np.isnan(procs) & (source > 0), source, procs)
    note("resources_used.ncpus differs from the allocation", (ncpus > 0) & (ncpus != procs))
    as_requested = started & np.isnan(procs) & (requested_procs > 0)
    note("allocated processors not recorded: requested number used", as_requested)
    procs = np.where(as_requested, requested_procs, procs)
    counted_nodes = np.array(requested.counted_nodes)
    note("requested processors not recorded: number of nodes used", counted_nodes)
    status = np.array([*map(_status, letters, raw["Exit_status"])])
    gpus = np.array(got.gpus)
    return {
        **_names(ids, raw),
        "place": place,
        "submit": submit,
        "eligible": _known(_numbers(raw["etime"])),
        "start": start,
        "end": end,
        "run": np.where(used | np.isnan(elapsed), walltime, elapsed),
        "suspended": np.where(suspended, gap, np.nan),
        "procs": procs,
        "nodes": got.nodes,
        "gpus": np.where(np.isnan(gpus), requested.gpus, gpus),
        "requested_procs": requested_procs,
        "requested_nodes": requested.nodes,
        "cpu": _durations(raw["resources_used.cput"]) / procs,
        "memory": np.rint(np.array([*map(kilobytes, raw["resources_used.mem"])]) / procs),
        "requested_time": _durations(raw["Resource_List.walltime"]),
        "requested_memory": np.rint(requested.memory),
        "requested_memory_per": requested.memory_per,
        "status": np.where(started, status, CANCELLED),
        "state": letters,
        "exit_code": _words(raw["Exit_status"]),
        "attempts": _known(_numbers(raw["run_count"])),
    }


def _names(ids: Sequence[str], raw: Mapping[str, Sequence[str | None]]) -> dict[str, Any]:
    """Return the columns of ids and names."""
    cluster, array_job, array_task = [""] * len(ids), [""] * len(ids), np.full(len(ids), np.nan)
    for i, job_id in enumerate(ids):
        number, _, cluster[i] = job_id.partition(".")
        if not number.isdecimal() and (match := _ARRAY.fullmatch(number)):
            array_job[i], array_task[i] = match[1], whole(match[2] or match[3])
    owners = [owner.partition("@")[0] if owner else "" for owner in raw["owner"]]
    accounts = [
        account or (project if project and project != _NO_PROJECT else "")
        for account, project in zip(raw["account"], raw["project"], strict=True)
    ]
    return {
        "id": ids,
        "cluster": cluster,
        "array_job": array_job,
        "array_task": array_task,
        "user": [user or owner for user, owner in zip(raw["user"], owners, strict=True)],
        "group": _words(raw["group"]),
        "account": accounts,
        "queue": _words(raw["queue"]),
        "qos": _words(raw["Resource_List.qos"]),
        "executable": _words(raw["jobname"]),
    }


def _words(texts: Sequence[str | None]) -> list[str]:
    return [text or "" for text in texts]


def _status(letter: str, exit_code: str | None) -> int:
    """Return the status of a job that started."""
    if letter != "E":
        return FAILED
    if exit_code == "0":
        return COMPLETED
    if exit_code in _KILLED:
        return CANCELLED
    return FAILED if exit_code else UNKNOWN


def _numbers(texts: Sequence[str | None]) -> NDArray[np.float64]:
    """Return whole numbers, NaN if missing."""
    known = "".join(filter(None, texts))
    if not known:
        return np.full(len(texts), np.nan)
    if known.isdecimal() and len(known) <= _DIGITS * len(texts):
        column = np.array([text or None for text in texts], dtype=object).astype(np.float64)
        return np.where(column <= MAX_TIME, column, np.nan)
    return np.array([*map(whole, texts)])


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times or counts, where 0 means none."""
    return np.where(column > 0, column, np.nan)


def _durations(texts: Sequence[str | None]) -> NDArray[np.float64]:
    """Return durations [s]; the common form ``hh:mm:ss`` is vectorised."""
    common = [text if text and len(text) == 8 else _NO_DURATION for text in texts]
    code = np.array(common, dtype="U8").view(np.uint32).reshape(len(texts), -1)
    digits = code[:, _DIGITS_OF_DURATION].astype(np.int64) - ord("0")
    colons = code[:, _COLONS_OF_DURATION] == ord(":")
    plain = colons.all(axis=1) & np.all((digits >= 0) & (digits <= 9), axis=1)
    total = (digits @ (36_000, 3600, 600, 60, 10, 1)).astype(np.float64)
    for i in np.flatnonzero(~plain).tolist():
        total[i] = seconds(texts[i])
    return total


def local_seconds(dates: list[str]) -> NDArray[np.float64]:
    """Return dates of lines as seconds since 1970, as if in UTC; NaN for invalid dates.

    Examples
    --------
    >>> local_seconds(["01/02/1970 00:00:09", "no date"]).tolist()
    [86409.0, nan]
    """
    texts = [date if len(date) == 19 else "" for date in dates]
    code = np.array(texts, dtype="U19").view(np.uint32).reshape(len(dates), -1)
    digits = code.astype(np.int64) - ord("0")
    numbers = digits[:, [0, 1, 3, 4, 6, 7, 8, 9, 11, 12, 14, 15, 17, 18]]
    good = np.all((numbers >= 0) & (numbers <= 9), axis=1)
    numbers[~good] = 1
    month, day = 10 * numbers[:, [0, 2]].T + numbers[:, [1, 3]].T
    year = numbers[:, 4:8] @ (1000, 100, 10, 1)
    hour, minute, second = 10 * numbers[:, [8, 10, 12]].T + numbers[:, [9, 11, 13]].T
    first = (12 * (year - 1970) + month - 1).astype("datetime64[M]").astype("datetime64[D]")
    days = first.astype(np.int64) + day - 1
    return np.where(good, 86400.0 * days + 3600 * hour + 60 * minute + second, np.nan)


def check_zone(
    tz: str,
    places: NDArray[np.int64],
    ends: NDArray[np.float64],
    local: NDArray[np.float64],
    records: Records,
) -> None:
    """Count lines with dates (in local time) that do not match the given time zone.

    The record of an end is written at that end, so its date determines the offset from UTC.

    Parameters
    ----------
    tz : str
    places, ends, local : ndarray, shape (n_records,)
        Lines, ends since 1970 UTC, and the dates of the lines as if in UTC. [s]
    records : Records
    """
    offset = local - ends
    known = ~np.isnan(offset) & (ends < _LAST_MOMENT)
    moments = pd.to_datetime(np.where(known, ends, 0), unit="s", utc=True)
    of_tz = moments.tz_convert(tz).tz_localize(None) - moments.tz_localize(None)
    quarters = _QUARTER * np.rint(offset / _QUARTER)
    of_a_zone = (np.abs(offset - quarters) <= 2 * _MINUTE) & (np.abs(quarters) <= _FARTHEST)
    far = known & ~of_a_zone
    records.note_where("date far from the end of the job in any time zone", far, places)
    wrong = known & of_a_zone & (quarters != of_tz.total_seconds().to_numpy())
    for other in np.unique(quarters[wrong]):
        sign, (hours, rest) = "−" if other < 0 else "+", divmod(abs(int(other)), 3600)
        kind = f"date in local time of UTC{sign}{hours:02}:{rest // 60:02}, not of tz {tz}"
        records.note_where(kind, wrong & (quarters == other), places)
