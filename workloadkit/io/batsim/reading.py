"""Read a workload of Batsim."""

import hashlib
import json
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from workloadkit.errors import FormatError
from workloadkit.fields import BY_NAME, FIELDS, NAMES, UNKNOWN
from workloadkit.header import Header
from workloadkit.intake import Repair
from workloadkit.io.batsim.keys import JOB_KEYS, KEY_OF_JOB, KEY_OF_LOG
from workloadkit.io.files import Source, log_name, source_path, text_chunks
from workloadkit.io.whole_numbers import as_whole
from workloadkit.trace import Trace

#: More text is refused: some five million jobs, which take ten times as much memory. [bytes]
MAX_TEXT = 1 << 30

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_INT64_MAX = 2**63 - 1
_MOST_KINDS = 50
_MOST_OF_HEADER = 10**18  # processors that a header may name


def read_batsim(source: Source) -> Trace:
    r"""Read a workload of Batsim [1]_: its jobs and their profiles.

    A delay is the run time. Profiles of other types have none without a platform: the run time is
    then unknown. The resources asked for are requested and used; the walltime is the requested
    time. What `write_batsim` put under ``swf`` is read back. What is not read is listed in
    `Trace.repairs`. The whole text is in memory while it is read, some 2 kB a job.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input; compressed files are known by their first bytes.

    Returns
    -------
    Trace
        Jobs keep their ids as numbers (``w0!12`` is 12) if those are whole and different; else
        they are numbered by submission and the ids stand beside the log.

    Raises
    ------
    FormatError
        With the line and column of what is no JSON, or the job or profile at fault and its key.

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
    workload = _parsed(text, path)
    reader = _Reader(path, workload)
    return reader.trace(digest.hexdigest())


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first lines of a file are those of a JSON object of jobs and profiles.

    Examples
    --------
    >>> looks_like(["", '{"nb_res": 4,']), looks_like(["; MaxProcs: 4"])
    (True, False)
    """
    return next((line.lstrip() for line in first_lines if line.strip()), "").startswith("{")


def _text(source: Source, path: str, digest: "hashlib._Hash") -> str:
    chunks = []
    n_bytes = 0
    for chunk in text_chunks(source):
        digest.update(chunk)
        chunks.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > MAX_TEXT:
            raise FormatError(path, "more than 1 GiB of JSON")
    whole = b"".join(chunks).removeprefix(_BYTE_ORDER_MARK)
    try:
        return whole.decode()
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        raise FormatError(path, "not UTF-8, as JSON is", line=line) from None


def _parsed(text: str, path: str) -> Any:
    def refuse_constant(constant: str) -> NoReturn:
        raise FormatError(path, "not a number of JSON", text=constant)

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            again = next(key for key in keys if keys.count(key) > 1)
            raise FormatError(path, "a key that comes again in its object", text=again)
        return made

    if not text.strip():
        raise FormatError(path, "is empty")
    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=as_object)
    except json.JSONDecodeError as error:
        message = f"not JSON, from column {error.colno} on: {error.msg}"
        raise FormatError(path, message, line=error.lineno) from None
    except RecursionError:
        raise FormatError(path, "JSON that is nested too deep") from None
    except ValueError:  # Python makes no integer of so many digits
        raise FormatError(path, "a number of more than 4,300 digits") from None


class _Reader:
    """A workload while its jobs are read."""

    def __init__(self, path: str, workload: Any) -> None:
        self.path = path
        if not isinstance(workload, dict):
            self.refuse("no JSON object, as a workload is")
        self.jobs = self.member(workload, "jobs", list)
        self.profiles = self.member(workload, "profiles", dict)
        self.resources = self.read_resources(workload)
        told = workload.get(KEY_OF_LOG)
        self.told: dict[str, Any] = told if isinstance(told, dict) else {}
        self.found: dict[str, int] = {}
        self.largest = 0.0  # number of resources of a job
        self.delays = {name: self.delay(name) for name in self.profiles}

    def refuse(self, message: str, where: str | None = None, value: Any = None) -> NoReturn:
        """Raise the error about a place of the workload."""
        text: str | None = value if isinstance(value, str) else None
        if isinstance(value, dict | list):
            text = "{…}" if isinstance(value, dict) else "[…]"
        elif value is not None and text is None:
            text = json.dumps(value)
        raise FormatError(self.path, message, field=where, text=text)

    def note(self, kind: str, count: int = 1) -> None:
        """Count what is odd, or not read."""
        if kind not in self.found and len(self.found) >= _MOST_KINDS:
            kind = "other keys that are not read"
        self.found[kind] = self.found.get(kind, 0) + count

    def member(self, workload: dict[str, Any], key: str, kind: type) -> Any:
        """Return a part that every workload has."""
        what = "array" if kind is list else "object"
        if key not in workload:
            self.refuse(f"a workload without the {what} {key}", key)
        if not isinstance(workload[key], kind):
            self.refuse(f"no {what}", key, workload[key])
        return workload[key]

    def read_resources(self, workload: dict[str, Any]) -> int | None:
        """Return how many resources the workload is made for."""
        if "nb_res" not in workload:
            return None
        value = self.number(workload["nb_res"], "nb_res", limit=_MOST_OF_HEADER)
        if value < 1 or value != int(value):
            self.refuse("not a whole number of 1 or more", "nb_res", workload["nb_res"])
        return int(value)

    def number(self, value: Any, where: str, *, limit: float) -> float:
        """Return a number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse("not a number", where, value)
        if not abs(value) <= limit:  # written so that it is true of NaN
            self.refuse("out of range", where, value)
        return value

    def delay(self, name: str) -> float:
        """Return the seconds that a profile takes; NaN where only a platform tells."""
        where = f"profiles[{json.dumps(name)}]"
        profile = self.profiles[name]
        if not isinstance(profile, dict):
            self.refuse("no object", where, profile)
        kind = profile.get("type")
        if not isinstance(kind, str):
            self.refuse("a profile without a type", where)
        if kind != "delay":
            return np.nan
        if "delay" not in profile:
            self.refuse("a delay without its seconds", where)
        seconds = self.number(profile["delay"], f"{where}.delay", limit=BY_NAME["run"].limit)
        if seconds < 0:
            self.refuse("a negative time", f"{where}.delay", profile["delay"])
        return seconds

    def job(self, job: Any, where: str) -> tuple[str, list[float]]:
        """Return the id of a job and its fields."""
        if not isinstance(job, dict):
            self.refuse("no object", where, job)
        for key in JOB_KEYS:
            if key not in job and key != "walltime":
                self.refuse(f"a job without its {key}", where)
        name, profile = job["id"], job["profile"]
        if isinstance(name, bool) or not isinstance(name, str | int):
            self.refuse("neither a string nor a whole number", f"{where}.id", name)
        if not isinstance(profile, str) or profile not in self.delays:
            self.refuse("no profile of this name", f"{where}.profile", profile)
        submit = self.number(job["subtime"], f"{where}.subtime", limit=BY_NAME["submit"].limit)
        if submit < 0:
            self.refuse("a negative time", f"{where}.subtime", job["subtime"])
        res = self.number(job["res"], f"{where}.res", limit=BY_NAME["procs"].limit)
        if res < 0 or res != int(res):
            self.refuse("not a whole number of 0 or more", f"{where}.res", job["res"])
        walltime = np.nan
        if job.get("walltime", UNKNOWN) != UNKNOWN:
            limit = BY_NAME["requested_time"].limit
            walltime = self.number(job["walltime"], f"{where}.walltime", limit=limit)
            if walltime <= 0:
                message = "neither a time above 0 nor -1, for none"
                self.refuse(message, f"{where}.walltime", job["walltime"])
        run = self.delays[profile]
        if np.isnan(run):
            kind = self.profiles[profile]["type"]
            self.note(f"run time unknown without a platform: profile of type {kind[:40]!r}")
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
        """Put the jobs together, sorted."""
        if not self.jobs:
            self.refuse("a workload without jobs", "jobs")
        names: list[str] = []
        seen: set[str] = set()
        rows: list[list[float]] = []
        for i, job in enumerate(self.jobs):
            name, row = self.job(job, f"jobs[{i}]")
            if name in seen:
                self.refuse("an id that another job has", f"jobs[{i}].id", name)
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
            self.note(f"jobs of the log that are not in the workload: {reason}", count)
        beside = pd.DataFrame({"id": np.array(ids, dtype=object)[order]}) if ids else None
        return Trace(
            pd.DataFrame(table, copy=False),
            self.header(),
            name=log_name(self.path),
            digest=digest,
            repairs=tuple(Repair(kind, count, 0) for kind, count in self.found.items()),
            sidecar=beside,
        )

    def left_out(self) -> list[tuple[str, int]]:
        """Return how many jobs were left out when the workload was written, and why."""
        told = self.told.get("left_out")
        if not isinstance(told, dict):
            return []
        return [
            (reason[:60], count)
            for reason, count in told.items()
            if isinstance(count, int) and not isinstance(count, bool) and 0 < count <= _INT64_MAX
        ]

    def header(self) -> Header:
        """Return the header that was written, true of the machine that the workload is for."""
        lines = self.told.get("header")
        if not isinstance(lines, list):
            lines = []
        header = Header(tuple(line for line in lines if _is_comment(line)))
        if len(header.lines) < len(lines):
            self.note("lines under 'header' that are none of a header, left out")
        written = header.procs or self.largest if self.told else None
        if self.resources is None or self.resources == written:
            return header
        return header.with_procs(self.resources)


_KNOWN = {*JOB_KEYS, KEY_OF_JOB}


def _is_comment(line: Any) -> bool:
    """Whether something is a line of a header."""
    return isinstance(line, str) and line.lstrip().startswith(";") and "\n" not in line


def _numbers(names: list[str], told: tuple[float, ...]) -> tuple[list[int], list[str] | None]:
    """Return the numbers of jobs; where their ids are no different whole numbers, the ids.

    `told` are the numbers that the log gave them, NaN where their ids are those numbers.
    """
    numbers = []
    own = set()
    plain = [name.encode(errors="replace").decode() for name in names]  # as files can hold them
    for name, number in zip(names, told, strict=True):
        if number == number:
            numbers.append(int(number))
            continue
        own_number = as_whole(name.rpartition("!")[2])
        if own_number is None or own_number in own:
            return [0] * len(names), plain
        own.add(own_number)
        numbers.append(own_number)
    return numbers, None
