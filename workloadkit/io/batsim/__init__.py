"""Read and write the workloads of Batsim, a simulator of job schedulers.

A workload is a JSON object of jobs, which state requests, and of profiles, which state what runs.
Fields of a log that Batsim does not have are stored under keys that Batsim ignores: `KEY_OF_JOB`
of each job and `KEY_OF_LOG` of the workload.
"""

import hashlib
import json
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from workloadkit.errors import FormatError, quoted
from workloadkit.fields import BY_NAME, FIELDS, NAMES, UNKNOWN
from workloadkit.header import Header
from workloadkit.intake import Repair
from workloadkit.io.batsim.writing import (
    DELAY,
    JOB_KEYS,
    KEY_OF_JOB,
    KEY_OF_LOG,
    KEY_OF_SIDECAR,
    SEQUENCE,
    sidecar_of,
    write_batsim,
)
from workloadkit.io.files import Source, log_name, source_path, text_chunks
from workloadkit.io.machine import from_dict
from workloadkit.io.names import as_whole
from workloadkit.io.sidecar import with_kinds
from workloadkit.io.strict_json import read_json
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_batsim", "write_batsim"]

#: Largest accepted text: some five million jobs, which need ten times as much memory. [bytes]
MAX_TEXT = 1 << 30

_INT64_MAX = 2**63 - 1
_MOST_KINDS = 50
_MOST_OF_HEADER = 10**18  # limit for processors
_LONGEST = BY_NAME["run"].limit
_REPEAT = ("repeat", "nb")  # `nb` up to Batsim 2
_KNOWN_TYPES = ", ".join((*DELAY.values(), *SEQUENCE.values()))


def read_batsim(source: Source) -> Trace:
    r"""Read a workload of Batsim [1]_: its jobs and their profiles.

    The run time is the delay of the job's profile, or the sum of the delays of a sequence, under
    the names of Batsim 5 (``DelayProfile``, ``SequentialCompositionProfile``) or of earlier
    versions (``delay``, ``composed``). Profiles of other types take a time that depends on a
    platform: a job with one is an error. The requested resources are both requested and used
    processors; the walltime is the requested time. Fields that `write_batsim` stores under ``swf``,
    the side-car and the machine are restored. `Trace.repairs` lists what is not read. The text is
    held in memory, about 2 kB per job.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input; compression is recognized from the content.

    Returns
    -------
    Trace
        Jobs keep their ids as numbers (``w0!12`` is 12) if these are whole and distinct; otherwise
        they are numbered in order of submission and the ids are kept in the side-car.

    Raises
    ------
    FormatError
        With the line and column of a JSON error, or the key of the invalid job or profile.

    References
    ----------
    .. [1] Batsim documentation, "Workload", https://batsim.readthedocs.io.

    Examples
    --------
    >>> import io
    >>> text = '''{"nb_res": 8, "profiles": {"short": {"type": "delay", "delay": 30}},
    ...   "jobs": [{"id": "w0!4", "subtime": 10, "res": 2, "walltime": 60, "profile": "short"}]}'''
    >>> trace = read_batsim(io.BytesIO(text.encode()))
    >>> trace.jobs[["job", "submit", "run", "procs", "requested_time"]].to_numpy().tolist()
    [[4.0, 10.0, 30.0, 2.0, 60.0]]
    >>> trace.header.procs
    8
    """
    path = source_path(source)
    digest = hashlib.sha256()
    text = _text(source, path, digest)
    return _Reader(path, read_json(text, path)).trace(digest.hexdigest())


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are those of a JSON object of jobs and profiles.

    Examples
    --------
    >>> looks_like(["", '{"nb_res": 4,']), looks_like(["; MaxProcs: 4"])
    (True, False)
    """
    return next((line.lstrip() for line in first_lines if line.strip()), "").startswith("{")


def _text(source: Source, path: str, digest: "hashlib._Hash") -> bytes:
    chunks = []
    n_bytes = 0
    for chunk in text_chunks(source):
        digest.update(chunk)
        chunks.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > MAX_TEXT:
            raise FormatError(path, "more than 1 GiB of JSON")
    return b"".join(chunks)


class _Reader:
    """A workload while its jobs are read."""

    def __init__(self, path: str, workload: Any) -> None:
        self.path = path
        if not isinstance(workload, dict):
            self.refuse("not a JSON object")
        self.jobs = self.member(workload, "jobs", list)
        self.profiles = self.member(workload, "profiles", dict)
        self.resources = self.read_resources(workload)
        stored = workload.get(KEY_OF_LOG)
        self.stored: dict[str, Any] = stored if isinstance(stored, dict) else {}
        self.found: dict[str, int] = {}
        self.largest = 0.0  # number of resources of a job
        self.run_of = self.durations()

    def refuse(self, message: str, where: str | None = None, value: Any = None) -> NoReturn:
        """Raise an error with its place in the workload."""
        text: str | None = value if isinstance(value, str) else None
        if isinstance(value, dict | list):
            text = "{…}" if isinstance(value, dict) else "[…]"
        elif value is not None and text is None:
            text = json.dumps(value)
        raise FormatError(self.path, message, field=where, text=text)

    def note(self, kind: str, count: int = 1) -> None:
        """Count an oddity or an ignored key."""
        if kind not in self.found and len(self.found) >= _MOST_KINDS:
            kind = "other keys that are not read"
        self.found[kind] = self.found.get(kind, 0) + count

    def member(self, workload: dict[str, Any], key: str, kind: type) -> Any:
        """Return a required member of the workload."""
        what = "array" if kind is list else "object"
        if key not in workload:
            self.refuse(f"the {what} {key} is missing", key)
        if not isinstance(workload[key], kind):
            self.refuse(f"not an {what}", key, workload[key])
        return workload[key]

    def read_resources(self, workload: dict[str, Any]) -> int | None:
        """Return the number of resources of the workload."""
        if "nb_res" not in workload:
            return None
        value = self.number(workload["nb_res"], "nb_res", limit=_MOST_OF_HEADER)
        if value < 1 or value != int(value):
            self.refuse("not a whole number above 0", "nb_res", workload["nb_res"])
        return int(value)

    def number(self, value: Any, where: str, *, limit: float) -> float:
        """Check and return a number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse("not a number", where, value)
        if not abs(value) <= limit:  # also true for NaN
            self.refuse("out of range", where, value)
        return value

    def durations(self) -> dict[str, float | str]:
        """Return the duration of each profile [s], or the type that depends on a platform."""
        known: dict[str, float | str] = {}
        opened: set[str] = set()
        for name in self.profiles:
            todo = [name]
            while todo:
                top = todo[-1]
                parts = self.parts(top) if top not in known else []
                if top not in known and top not in opened:
                    opened.add(top)
                    if again := next((p for p in parts if p in opened and p not in known), None):
                        self.refuse("a sequence that contains itself", _place(top), again)
                    todo += [part for part in parts if part not in known]
                    continue
                todo.pop()
                if top not in known:
                    known[top] = self.duration(top, [known[part] for part in parts])
        return known

    def parts(self, name: str) -> list[str]:
        """Return the names of the profiles in a sequence; none for other types."""
        where, profile = _place(name), self.profiles[name]
        if not isinstance(profile, dict):
            self.refuse("not an object", where, profile)
        kind = profile.get("type")
        if not isinstance(kind, str):
            self.refuse("the key type is missing", where)
        if kind not in SEQUENCE.values():
            return []
        names = profile.get("seq")
        if not isinstance(names, list) or not names:
            self.refuse("not an array of profiles", f"{where}.seq", names)
        return [self.profile(part, f"{where}.seq[{i}]") for i, part in enumerate(names)]

    def profile(self, name: Any, where: str) -> str:
        """Return the name of a profile, without the name of the workload."""
        names = (name, name.rpartition("!")[2]) if isinstance(name, str) else ()
        known = next((name for name in names if name in self.profiles), None)
        if known is None:
            self.refuse("unknown profile", where, name)
        return known

    def duration(self, name: str, parts: list[float | str]) -> float | str:
        """Return the duration of a profile [s], or the type that depends on a platform."""
        where, profile = _place(name), self.profiles[name]
        if profile["type"] in SEQUENCE.values():
            if other := next((part for part in parts if isinstance(part, str)), None):
                return other
            key = next((key for key in _REPEAT if key in profile), "repeat")
            times = self.number(profile.get(key, 1), f"{where}.{key}", limit=_INT64_MAX)
            if times < 1 or times != int(times):
                self.refuse("not a whole number above 0", f"{where}.{key}", profile[key])
            return self.number(times * sum(map(float, parts)), where, limit=_LONGEST)
        if profile["type"] not in DELAY.values():
            return str(profile["type"])
        if "delay" not in profile:
            self.refuse("the key delay is missing", where)
        seconds = self.number(profile["delay"], f"{where}.delay", limit=_LONGEST)
        if seconds < 0:
            self.refuse("a negative time", f"{where}.delay", profile["delay"])
        return seconds

    def job(self, job: Any, where: str) -> tuple[str, list[float]]:
        """Return the id and the fields of a job."""
        if not isinstance(job, dict):
            self.refuse("not an object", where, job)
        for key in JOB_KEYS:
            if key not in job and key != "walltime":
                self.refuse(f"the key {key} is missing", where)
        name, profile = job["id"], job["profile"]
        if isinstance(name, bool) or not isinstance(name, str | int):
            self.refuse("neither a string nor a whole number", f"{where}.id", name)
        run = self.run_of[self.profile(profile, f"{where}.profile")]
        if isinstance(run, str):
            message = f"takes a time that depends on a platform; known types: {_KNOWN_TYPES}"
            self.refuse(f"a profile of the type {quoted(run)} {message}", f"{where}.profile")
        submit = self.number(job["subtime"], f"{where}.subtime", limit=BY_NAME["submit"].limit)
        if submit < 0:
            self.refuse("a negative time", f"{where}.subtime", job["subtime"])
        res = self.number(job["res"], f"{where}.res", limit=BY_NAME["procs"].limit)
        if res < 0 or res != int(res):
            self.refuse("not a whole number, 0 or more", f"{where}.res", job["res"])
        walltime = np.nan
        if job.get("walltime", UNKNOWN) != UNKNOWN:
            limit = BY_NAME["requested_time"].limit
            walltime = self.number(job["walltime"], f"{where}.walltime", limit=limit)
            if walltime <= 0:
                message = "neither a positive time nor -1 (none)"
                self.refuse(message, f"{where}.walltime", job["walltime"])
        self.largest = max(self.largest, res)
        row = dict.fromkeys(NAMES, float(UNKNOWN))
        row.update(job=np.nan, submit=submit, run=run, requested_time=walltime)
        row.update(procs=res, requested_procs=res)
        if not job.keys() <= _KNOWN:
            self.note_others(job)
        if isinstance(job.get(KEY_OF_JOB), dict):
            row.update(self.more(job[KEY_OF_JOB], f"{where}.{KEY_OF_JOB}"))
        return str(name), list(row.values())

    def note_others(self, job: dict[str, Any]) -> None:
        """Count the keys of a job that are not read."""
        for key in job:
            if key not in _KNOWN:
                self.note(f"key of jobs that is not read: {key[:40]!r}")

    def more(self, rest: dict[str, Any], where: str) -> dict[str, float]:
        """Return the fields that Batsim has no key for."""
        row: dict[str, float] = {}
        for name, value in rest.items():
            field = BY_NAME.get(name)
            if field is None or name == "submit":
                self.note(f"key under {KEY_OF_JOB!r} that is not read: {name[:40]!r}")
                continue
            row[name] = self.number(value, f"{where}.{name}", limit=field.limit)
            if not field.measured and not isinstance(value, int):
                self.refuse("not an integer", f"{where}.{name}", value)
        return row

    def trace(self, digest: str) -> Trace:
        """Build the trace, sorted by submit time."""
        if not self.jobs:
            self.refuse("the workload has no jobs", "jobs")
        names: list[str] = []
        seen: set[str] = set()
        rows: list[list[float]] = []
        for i, job in enumerate(self.jobs):
            name, row = self.job(job, f"jobs[{i}]")
            if name in seen:
                self.refuse("duplicate job id", f"jobs[{i}].id", name)
            seen.add(name)
            names.append(name)
            rows.append(row)
        columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
        numbers, ids = _numbers(names, columns["job"])
        submit = np.array(columns["submit"], np.float64)
        order = np.argsort(submit, kind="stable")
        table = {"job": np.array(numbers, np.int64)[order]}
        if ids is not None:
            table["job"] = np.arange(1, len(names) + 1)
        for field in FIELDS[1:]:
            column = np.array(columns[field.name], field.dtype)[order]
            if field.measured and field.name != "submit":
                column[column == UNKNOWN] = np.nan
            table[field.name] = column
        killed = table["run"] > table["requested_time"]
        if killed.any():
            self.note(
                "jobs that Batsim stops at their walltime, kept as they are", int(killed.sum())
            )
        for reason, count in self.left_out():
            self.note(f"jobs left out when the workload was written: {reason}", count)
        beyond = sidecar_of(self.jobs, order, self.refuse)
        if ids is not None and (beyond is None or "id" not in beyond):
            own = pd.DataFrame({"id": np.array(ids, dtype=object)[order]})
            beyond = own if beyond is None else own.join(beyond)
        return Trace(
            pd.DataFrame(table, copy=False),
            self.header(),
            name=log_name(self.path),
            digest=digest,
            repairs=tuple(Repair(kind, count, 0) for kind, count in self.found.items()),
            sidecar=None if beyond is None else with_kinds(self.path, beyond),
            machine=from_dict(self.stored["machine"], self.path)
            if "machine" in self.stored
            else None,
        )

    def left_out(self) -> list[tuple[str, int]]:
        """Return the numbers of jobs left out when the workload was written, by reason."""
        stored = self.stored.get("left_out")
        if not isinstance(stored, dict):
            return []
        return [
            (reason[:60], count)
            for reason, count in stored.items()
            if isinstance(count, int) and not isinstance(count, bool) and 0 < count <= _INT64_MAX
        ]

    def header(self) -> Header:
        """Return the stored header, updated to the machine of the workload."""
        lines = self.stored.get("header")
        if not isinstance(lines, list):
            lines = []
        header = Header(tuple(line for line in lines if _is_comment(line)))
        if len(header.lines) < len(lines):
            self.note("invalid lines under 'header', left out")
        written = header.procs or self.largest if self.stored else None
        if self.resources is None or self.resources == written:
            return header
        return header.with_procs(self.resources)


_KNOWN = {*JOB_KEYS, KEY_OF_JOB, KEY_OF_SIDECAR}


def _place(name: str) -> str:
    """Return the place of a profile, for messages."""
    return f"profiles[{json.dumps(name)}]"


def _is_comment(line: Any) -> bool:
    """Whether a value is a header line."""
    return isinstance(line, str) and line.lstrip().startswith(";") and "\n" not in line


def _numbers(names: list[str], stored: tuple[float, ...]) -> tuple[list[int], list[str] | None]:
    """Return the job numbers, and the ids if these are not distinct whole numbers.

    `stored` has the numbers stored by the writer, NaN for jobs with their number as id.
    """
    numbers = []
    own = set()
    for name, number in zip(names, stored, strict=True):
        if number == number:
            numbers.append(int(number))
            continue
        own_number = as_whole(name.rpartition("!")[2])
        if own_number is None or own_number in own:
            return [0] * len(names), names
        own.add(own_number)
        numbers.append(own_number)
    return numbers, None
