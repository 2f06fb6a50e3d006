"""Convert records of PBS to columns of jobs."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit._kernels.cells import CLOCK, DECIMAL, KILOBYTES
from workloadkit.distinct import distinct
from workloadkit.fields import CANCELLED, COMPLETED, FAILED, MAX_TIME, UNKNOWN
from workloadkit.io.cells import Cells, Words
from workloadkit.io.names import n_tasks
from workloadkit.io.pbs.lexer import N_DATE, Values
from workloadkit.io.pbs.requests import (
    GRANT_KEYS,
    REQUEST_KEYS,
    Grant,
    Request,
    grant,
    kilobytes,
    request,
    seconds,
    whole,
)
from workloadkit.io.records import Records
from workloadkit.io.resizing import RunPart

#: Counts an oddity where it is true.
_Note = Callable[[str, NDArray[np.bool_]], None]

_ARRAY = re.compile(r"(\d+)(?:\[([\d,:-]*)\]|-(\d+))", re.ASCII)
_KILLED = ("265", "271")  # 256 and a signal: SIGKILL, SIGTERM
_NO_PROJECT = "_pbs_project_default"
_DIGITS_OF_DATE = [0, 1, 3, 4, 6, 7, 8, 9, 11, 12, 14, 15, 17, 18]

_MOST_DECIMALS = 9  # of a time
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

#: Letters of the records that become jobs.
STATES = ("E", "R", "D", "A")

#: Keys that are read, in the order of the values of a record.
KEYS = (*REQUEST_KEYS, *GRANT_KEYS, *_FIELDS)
_CTIME, _END = KEYS.index("ctime"), KEYS.index("end")

# Keys that require a start.
_OF_A_RUN = ("start", "end", "Exit_status", "run_count", *GRANT_KEYS)


def moment(text: str | None) -> float:
    """Return a plausible time, perhaps with decimals; NaN for anything else.

    Examples
    --------
    >>> moment("1714982400.12"), moment("1714982400"), moment("-2.0")
    (1714982400.12, 1714982400.0, nan)
    """
    second, _, decimals = (text or "").partition(".")
    if not decimals.isdecimal() or len(decimals) > _MOST_DECIMALS:
        return whole(text)
    return whole(second) + float(f"0.{decimals}")


def submission(values: Values) -> float:
    """Return the submission of a job: ctime, else qtime, else etime; NaN if none is recorded."""
    for text in values[_CTIME : _CTIME + len(_SUBMISSION_KEYS)]:
        second = moment(text)
        if second > 0:
            return second
    return nan


def submissions(cells: Cells) -> NDArray[np.float64]:
    """Return `submission` for many records."""
    submit = _known(_moments(cells, _SUBMISSION_KEYS[0]))
    for name in _SUBMISSION_KEYS[1:]:
        if np.isnan(submit).any():
            submit = np.where(np.isnan(submit), _known(_moments(cells, name)), submit)
    return submit


def ends(cells: Cells) -> NDArray[np.float64]:
    """Return the ends of many jobs; NaN if they are not recorded."""
    return _moments(cells, "end")


def has_ctime(values: Values) -> bool:
    """Whether a record contains the creation time of the job."""
    return values[_CTIME] is not None


def end_of(values: Values) -> float:
    """Return the end of a job; NaN if it is not recorded."""
    return moment(values[_END])


def cancelled(values: Values, end: float) -> Values:
    """Return the values of a job that was cancelled at `end`, from another record of it."""
    of_a_run = (*_OF_A_RUN, *(key for key in KEYS if key.startswith("resources_used")))
    raw = {key: value for key, value in zip(KEYS, values, strict=True) if key not in of_a_run}
    return tuple(map((raw | {"end": f"{end:.0f}"}).get, KEYS))


def columns(
    cells: Cells,
    place: NDArray[np.int64],
    letters: NDArray[np.str_],
    submit: NDArray[np.float64],
    records: Records,
) -> dict[str, Any]:
    """Return the columns of records, and count oddities."""
    requested: Any = Request(*cells.combined(REQUEST_KEYS, request).rows())
    got: Any = Grant(*cells.combined(GRANT_KEYS, grant).rows())
    note = partial(records.note_where, places=place)
    ended = letters == "E"
    exit_status = cells.combined(("Exit_status",), _status_by_exit).column(np.int64)
    on_nodes = (got.nodes > 0) | (got.vnode_procs > 0) | (got.host_procs > 0)
    times = _times(cells, ended, ~on_nodes & (exit_status != COMPLETED), note)
    started = ~np.isnan(times["start"])
    procs = _processors(cells, started, got, requested, note)
    status = np.where(ended, exit_status, FAILED)
    return {
        **_names(cells, place, records),
        "place": place,
        "submit": submit,
        "eligible": _known(_moments(cells, "etime")),
        **times,
        "procs": procs,
        "nodes": got.nodes,
        "gpus": np.where(np.isnan(got.gpus), requested.gpus, got.gpus),
        "requested_procs": requested.procs,
        "requested_nodes": requested.nodes,
        "requested_gpus": requested.gpus,
        "procs_per_node": requested.per_node,
        "features": requested.features,
        "exclusive": requested.exclusive,
        "node_list": got.node_list,
        "cpu": cells.numbers("resources_used.cput", seconds, CLOCK) / procs,
        "memory": np.rint(cells.numbers("resources_used.mem", kilobytes, KILOBYTES) / procs),
        "requested_time": cells.numbers("Resource_List.walltime", seconds, CLOCK),
        "requested_memory": np.rint(requested.memory),
        "requested_memory_per": requested.memory_per,
        "status": np.where(started, status, CANCELLED),
        "state": Words(np.select([letters == x for x in STATES], range(len(STATES))), [*STATES]),
        "exit_code": cells.words("Exit_status"),
        "attempts": _known(_numbers(cells, "run_count")),
    }


def _times(
    cells: Cells, ended: NDArray[np.bool_], idle: NDArray[np.bool_], note: _Note
) -> dict[str, NDArray[np.float64]]:
    """Return the columns of times; `idle` jobs had no nodes, and did not succeed."""
    start, end = _known(_moments(cells, "start")), _known(_moments(cells, "end"))
    walltime = cells.numbers("resources_used.walltime", seconds, CLOCK)
    unreadable = np.zeros(ended.size, bool)
    for name, column in (("start", start), ("end", end), ("resources_used.walltime", walltime)):
        if np.isnan(column).any():
            none = cells.combined((name,), lambda text: text == "0").column(bool)
            unreadable |= np.isnan(column) & ~(none | cells.missing(name))
    note("start, end or walltime is invalid: taken as unknown", unreadable)
    used = walltime > 0
    late = ended & np.isnan(start) & used & ~np.isnan(end)
    note("no start recorded: end − walltime used", late)
    start = np.where(late, end - walltime, start)
    note("ended without a start (E): cancelled while queued", ended & np.isnan(start))
    never = (start >= end) & ~used & idle
    note("without nodes and run time: never started", never)
    start = np.where(never, np.nan, start)
    elapsed = end - start
    gap = elapsed - walltime
    note("walltime used is 0: run time is end − start", (walltime == 0) & (elapsed > 0))
    suspended = used & (gap > _MINUTE)
    note("end − start exceeds the walltime used by over a minute: run is walltime", suspended)
    note("walltime used exceeds end − start by over a minute", used & (gap < -_MINUTE))
    return {
        "start": start,
        "end": end,
        "run": np.where(used | np.isnan(elapsed), walltime, elapsed),
        "suspended": np.where(suspended, gap, np.nan),
    }


def _processors(
    cells: Cells, started: NDArray[np.bool_], got: Any, requested: Any, note: _Note
) -> NDArray[np.float64]:
    """Return the allocated processors."""
    vnode_procs, host_procs = got.vnode_procs, got.host_procs
    ncpus, requested_procs = _numbers(cells, "resources_used.ncpus"), requested.procs
    both = (vnode_procs >= 0) & (host_procs >= 0)
    note("exec_vnode and exec_host disagree: exec_vnode used", both & (vnode_procs != host_procs))
    procs = np.full(started.size, np.nan)
    for source in (vnode_procs, host_procs, ncpus):
        procs = np.where(np.isnan(procs) & (source > 0), source, procs)
    note("resources_used.ncpus differs from the allocation", (ncpus > 0) & (ncpus != procs))
    as_requested = started & np.isnan(procs) & (requested_procs > 0)
    note("allocated processors not recorded: requested number used", as_requested)
    procs = np.where(as_requested, requested_procs, procs)
    note("requested processors not recorded: number of nodes used", requested.counted_nodes)
    return procs


def _names(cells: Cells, place: NDArray[np.int64], records: Records) -> dict[str, Any]:
    """Return the columns of ids and names, and note ids of several tasks, such as 12[3-9]."""
    cells = cells.partitioned("id", ".")
    array_job, array_task = {}, {}
    odd = np.flatnonzero(~cells.digits("id:before"))
    numbers = cells.only("id:before").take(odd).texts("id:before")
    for i, number in zip(odd.tolist(), numbers, strict=True):
        if not number.isdecimal() and (match := _ARRAY.fullmatch(number)):
            array_job[i], tasks = match[1], match[2] or match[3]
            if tasks and not tasks.isdecimal():
                records.note_array(int(place[i]), n_tasks(tasks))
            else:
                array_task[i] = whole(tasks)
    names = {
        "id": cells.strings("id"),
        "cluster": cells.words("id:after"),
        "user": cells.combined(("user", "owner"), lambda user, owner: user or _user(owner)),
        "group": cells.words("group"),
        "account": cells.combined(("account", "project"), _account),
        "queue": cells.words("queue"),
        "qos": cells.words("Resource_List.qos"),
        "executable": cells.words("jobname"),
    }
    if array_job:
        rows = range(cells.n_records)
        names["array_job"] = [array_job.get(i, "") for i in rows]
        names["array_task"] = [array_task.get(i, nan) for i in rows]
    return names


def _user(owner: str) -> str:
    return owner.partition("@")[0]


def _account(account: str, project: str) -> str:
    return account or (project if project != _NO_PROJECT else "")


def _status_by_exit(exit_code: str) -> int:
    """Return the status of a job that started and ended."""
    if exit_code == "0":
        return COMPLETED
    if exit_code in _KILLED:
        return CANCELLED
    return FAILED if exit_code else UNKNOWN


def _numbers(cells: Cells, name: str) -> NDArray[np.float64]:
    """Return whole numbers, NaN if missing or implausible."""
    column = cells.numbers(name, whole)
    return np.where(column <= MAX_TIME, column, np.nan)


def _moments(cells: Cells, name: str) -> NDArray[np.float64]:
    """Return times, NaN if missing or implausible."""
    column = cells.numbers(name, moment, DECIMAL)
    return np.where(column <= MAX_TIME, column, np.nan)


def _known(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return times or counts, where 0 means none."""
    return np.where(column > 0, column, np.nan)


def local_seconds(dates: list[str]) -> NDArray[np.float64]:
    """Return dates of lines as seconds since 1970, as if in UTC; NaN for invalid dates.

    Examples
    --------
    >>> local_seconds(["01/02/1970 00:00:09", "no date"]).tolist()
    [86409.0, nan]
    """
    texts = [date if len(date) == N_DATE else "" for date in dates]
    code = np.array(texts, dtype=f"U{N_DATE}").view(np.uint32).reshape(len(dates), -1)
    return seconds_of_dates(code.T)


def seconds_of_dates(code: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return `local_seconds` for dates as characters, shape (19, n_dates)."""
    numbers = code[_DIGITS_OF_DATE].astype(np.int32) - ord("0")
    good = np.all((numbers >= 0) & (numbers <= 9), axis=0)
    numbers[:, ~good] = 1
    month, day, century, years, hour, minute, second = 10 * numbers[::2] + numbers[1::2]
    year = 100 * century + years
    first = (12 * (year - 1970) + month - 1).astype("datetime64[M]").astype("datetime64[D]")
    days = first.astype(np.int64) + day - 1
    return np.where(good, 86400.0 * days + (3600 * hour + 60 * minute + second), np.nan)


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
    for other in distinct(quarters[wrong]):
        sign, (hours, rest) = "−" if other < 0 else "+", divmod(abs(int(other)), 3600)
        kind = f"date in local time of UTC{sign}{hours:02}:{rest // 60:02}, not of tz {tz}"
        records.note_where(kind, wrong & (quarters == other), places)


# Phases of PBS jobs that released nodes: their records, as parts of runs.

#: Letters of records of phases: one that ended, the next one, and the last one.
ENDED, NEXT, LAST = "u", "c", "e"

_START, _WALLTIME = KEYS.index("start"), KEYS.index("resources_used.walltime")
_GRANT = [KEYS.index(key) for key in GRANT_KEYS]


class Phase(NamedTuple):
    """A record of a phase, with the second of its line."""

    second: float
    place: int
    letter: str
    id: str
    values: Values


def parts_of(phases: list[Phase]) -> Iterator[RunPart]:
    """Yield the parts of runs.

    A record contains what the job had in a phase. The phases that ended follow each other from the
    start of the job, each as long as its ``resources_used.walltime``, else up to the date of its
    line. The record of the end of a job has the nodes from which none had been released, therefore
    those of the last phase are yielded, too; without them, nothing is known.
    """
    runs: dict[tuple[str, float], list[Phase]] = {}
    for phase in sorted(phases, key=lambda phase: phase[:2]):
        runs.setdefault((phase.id, whole(phase.values[_START])), []).append(phase)
    for (_, start), some in runs.items():
        complete = some[-1].letter != ENDED
        ended = 0.0 if complete else nan
        known: dict[tuple[float, Values], tuple[float, float]] = {}  # in files that overlap
        for phase in some:
            if phase.letter != ENDED:
                continue
            if (record := (phase.second, phase.values)) not in known:
                lasted = seconds(phase.values[_WALLTIME])
                until = ended + lasted if lasted > 0 else phase.second - start
                known[record], ended = (ended, until), until
            yield _part(phase, start, *known[record])
        if complete:
            yield _part(some[-1], start, nan, inf)


def _part(phase: Phase, start: float, begins: float, ends: float) -> RunPart:
    got = grant(*(phase.values[at] for at in _GRANT))
    procs = got.vnode_procs if got.vnode_procs > 0 else got.host_procs
    return RunPart(
        phase.place, phase.id, start, begins, ends, procs, got.nodes, got.gpus, got.node_list
    )
