"""Split lines of Grid Engine's accounting into fields: whole blocks, or odd lines one by one.

Lines of another form, with colons in names, as JSON or with characters outside ASCII, are split one
by one.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from math import nan
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.cells import DECIMAL, WHOLE
from workloadkit.io.cells import Cells
from workloadkit.io.lines import PAD, Lines

# Split lines of Grid Engine's accounting into fields, which may contain the delimiter.


class AccountingLine(NamedTuple):
    """Fields of a line of a job or of a parallel task, as text."""

    qname: str
    hostname: str
    group: str
    owner: str
    job_name: str
    job_number: str
    account: str
    submission_time: str
    start_time: str
    end_time: str
    failed: str
    exit_status: str
    ru_utime: str
    ru_stime: str
    ru_maxrss: str
    project: str
    department: str
    granted_pe: str
    slots: str
    task_number: str
    cpu: str
    category: str
    pe_taskid: str
    maxvmem: str
    qdelinfo: str
    maxrss: str


class CategoryRequest(NamedTuple):
    """Resources requested in the category of a job; NaN if not specified.

    Parameters
    ----------
    procs : float
    time : float
        [s]
    memory : float
        Per slot. [KB]
    gpus : float
        As specified, per slot at some sites.
    exclusive : str
        "yes" for whole hosts, else empty.
    """

    procs: float
    time: float
    memory: float
    gpus: float
    exclusive: str


#: Values that mean none.
NOTHING = ("", "NONE", "none")

# Default values of numbers missing in a JSON object.
_UNTOLD = dict.fromkeys(
    ("task_number", "slots", "cpu", "ru_utime", "ru_stime", "ru_maxrss", "maxvmem", "maxrss"), "0"
)

# Positions in a line without extra colons, and without fields after maxvmem.
_BEFORE_CATEGORY = (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 14, 15, 16, 31, 32, 33, 34, 35, 36)
_PRIORITY = 7
_CATEGORY, _IOW = 39, 40
_PLAIN = itemgetter(*_BEFORE_CATEGORY, _CATEGORY, 41, 42)
FEWEST = 43  # fields of a line
_QDELINFO, _MAXRSS = 46, 47  # of Univa Grid Engine
_UNIVA_PLACES = (*_BEFORE_CATEGORY, _CATEGORY, 41, 42, _QDELINFO, _MAXRSS)
_UNIVA = itemgetter(*_UNIVA_PLACES)

#: Positions of fields in a line without extra colons; the last two only of Univa Grid Engine.
PLACES = dict(zip(AccountingLine._fields, _UNIVA_PLACES, strict=True))

_A_NUMBER = r"[-+]?\d{1,40}(?:\.\d{0,40})?(?:[eE][-+]?\d{1,3})?"
_NUMBER = re.compile(_A_NUMBER, re.ASCII)
_AFTER_CATEGORY = re.compile(
    rf"{_A_NUMBER}:(?:NONE|none||[^:]*\.[^:]*)(?::{_A_NUMBER}){{1,3}}", re.ASCII
)
_ANCHOR = re.compile(r"-?\d{1,9}(?::(?:0|\d{9,18})){3}(?::\d{1,4}){2}", re.ASCII)
_RESOURCES = re.compile(r"(?:^|\s)-l\s+(\S+)")
_PARALLEL = re.compile(r"(?:^|\s)-pe\s+\S+\s+(\d{1,9})(?=\s|$)", re.ASCII)
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{0,18})?)([kKmMgGtT]?)", re.ASCII)
_CLOCK = re.compile(r"(?:(?:(\d{1,9}):)?(\d{1,9}):)?(\d{1,12})", re.ASCII)
_UNITS = {"": 1.0} | {
    letter: float(base ** (power + 1))
    for base, letters in ((1000, "kmgt"), (1024, "KMGT"))
    for power, letter in enumerate(letters)
}
_RUN_LIMITS = ("h_rt", "s_rt")
_MEMORY = ("h_vmem", "mem_free", "m_mem_free", "virtual_free", "s_vmem")
_EXCLUSIVE, _TRUE = ("exclusive", "excl"), ("true", "TRUE", "1")
_GPUS = ("gpu", "gpus", "ngpus")


def parted(text: str) -> AccountingLine | None:
    """Split a line into its fields; None if it is not a line of accounting.

    Names of jobs, accounts, categories and commands may contain colons. Numeric fields separate
    them: priority, submission, start, end, failure and exit status stand between account and
    resource usage, and I/O wait and maxvmem follow the category.

    Examples
    --------
    >>> usage = "0:" * 17 + "NONE:dep:NONE:1:0:5.5:0:0:-l h_rt=1:00:00:0.0:NONE:99"
    >>> line = parted(f"q:host:grp:al:a:b:77:sge:0:1310761621:1310761700:1310761760:0:0:60:{usage}")
    >>> line.job_name, line.job_number, line.slots, line.category, line.maxvmem
    ('a:b', '77', '1', '-l h_rt=1:00:00', '99')
    """
    if text.startswith("{"):
        return _of_json(text)
    fields = text.split(":")
    if len(fields) < FEWEST:
        return None
    if not _is_anchor(fields, _PRIORITY) or not fields[5].isdecimal():
        places = range(_PRIORITY + 1, len(fields) - (FEWEST - _PRIORITY) + 1)
        priority = next((place for place in places if _is_anchor(fields, place)), None)
        if priority is None:
            return None
        number = next((i for i in range(priority - 2, 4, -1) if fields[i].isdecimal()), None)
        if number is None:
            return None
        name, account = ":".join(fields[4:number]), ":".join(fields[number + 1 : priority])
        fields[4:priority] = [name, fields[number], account]
    if not _is_iow(fields, _IOW):
        iow = next((i for i in range(_IOW + 1, len(fields) - 2) if _is_iow(fields, i)), None)
        if iow is None:
            return None
        fields[_CATEGORY:iow] = [":".join(fields[_CATEGORY:iow])]
    if len(fields) > _MAXRSS and _NUMBER.fullmatch(fields[_MAXRSS]):
        return AccountingLine._make(_UNIVA(fields))
    return AccountingLine._make((*_PLAIN(fields), "", "0"))


def _is_anchor(fields: Sequence[str], place: int) -> bool:
    """Whether priority, submission, start, end and two codes stand at `place`."""
    # a time is 0 or has at least 9 digits, as since 1973
    return _ANCHOR.fullmatch(":".join(fields[place : place + 6])) is not None


def _is_iow(fields: Sequence[str], place: int) -> bool:
    """Whether I/O wait, task, maxvmem and optionally a reservation stand at `place`."""
    return _AFTER_CATEGORY.fullmatch(":".join(fields[place : place + 5])) is not None


def _of_json(text: str) -> AccountingLine | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    usage = _inner(record, "usage")
    rusage = _inner(usage, "rusage")
    measured = _inner(usage, "usage") or _inner(usage, "eusage") or _inner(record, "eusage")
    found = {**measured, **rusage, **record}
    found.setdefault("pe_taskid", found.get("pe_task_id", ""))
    line = AccountingLine(
        *(_word(found.get(name, _UNTOLD.get(name, ""))) for name in AccountingLine._fields)
    )
    anchor = ("0", line.submission_time, line.start_time, line.end_time)
    whole = _is_anchor((*anchor, line.failed, line.exit_status), 0) and line.job_number.isdecimal()
    return line if whole else None


def _inner(record: Any, name: str) -> dict[str, Any]:
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, dict) else {}


def _word(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


def requested(category: str) -> CategoryRequest:
    """Return the resources requested by a job's category.

    Lower-case suffixes of sizes are powers of 1000, upper-case ones powers of 1024.

    Examples
    --------
    >>> requested("-l h_rt=36000,mem_free=1.5G,gpu=2 -pe mpi 16")
    CategoryRequest(procs=16.0, time=36000.0, memory=1572864.0, gpus=2.0, exclusive='')
    """
    return (
        _requested(category) if len(category) <= _LONGEST_KEPT else _requested.__wrapped__(category)
    )


_LONGEST_KEPT = 1000  # longest category that is cached, in characters


@lru_cache(maxsize=1 << 14)
def _requested(category: str) -> CategoryRequest:
    resources: dict[str, str] = {}
    for listed in _RESOURCES.findall(category):
        resources |= dict(part.split("=", 1) for part in listed.split(",") if "=" in part)
    parallel = _PARALLEL.search(category)
    return CategoryRequest(
        float(parallel[1]) if parallel else nan,
        next((_seconds(resources[name]) for name in _RUN_LIMITS if name in resources), nan),
        next((_kilobytes(resources[name]) for name in _MEMORY if name in resources), nan),
        next((_count(resources[name]) for name in _GPUS if name in resources), nan),
        "yes" if any(resources.get(name) in _TRUE for name in _EXCLUSIVE) else "",
    )


def _seconds(text: str) -> float:
    match = _CLOCK.fullmatch(text)
    if not match:
        return nan  # INFINITY
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


def _kilobytes(text: str) -> float:
    match = _SIZE.fullmatch(text)
    return float(match[1]) * _UNITS[match[2]] / 1024 if match else nan


def _count(text: str) -> float:
    return float(text) if text.isdecimal() and len(text) < 10 else nan


# Other fields that must have their usual form.
_CHECKED = {"priority": 7, "iow": 40, "reservation": 43, "reserved": 44}
_TIMES = ("submission_time", "start_time", "end_time")
_CODES = ("failed", "exit_status")


def lex(lines: Lines) -> tuple[NDArray[np.int64], Cells]:
    """Split the lines for which `workloadkit.io.sge.lexer.parted` gives the same fields.

    Returns
    -------
    found : ndarray of int64, shape (n_found,)
        The lines, from 0.
    cells : Cells
        By the fields of `AccountingLine`.
    """
    fields = lines.fields(b":")
    n_fields, starts = fields.n_fields, lines.chars[lines.begin]
    usual = ~fields.odd & (n_fields >= FEWEST) & (starts != ord("#")) & (starts != ord("{"))
    found, at = np.flatnonzero(usual), PLACES | _CHECKED
    begin, end = fields.pick(found, at.values())
    end[[*at].index("qdelinfo"), n_fields[found] <= at["maxrss"]] = PAD - 1
    cells = Cells.of_lines(lines, at, begin, end)
    good = np.flatnonzero(_are_usual(cells)) if found.size else found
    return found[good], cells.take(good)


def _are_usual(cells: Cells) -> NDArray[np.bool_]:
    """Return which lines have numbers where there must be, and no colons in names."""
    usual = cells.digits("job_number") & cells.digits("priority")
    usual &= cells.lengths("priority") <= 9
    for name in _TIMES:
        number, plain = cells.read(name, WHOLE)
        length = cells.lengths(name)
        usual &= plain & ((length >= 9) | (number == 0) & (length == 1))
    for name in _CODES:
        usual &= cells.digits(name) & (cells.lengths(name) <= 4)
    for name in ("iow", "maxvmem", "reservation", "reserved", "maxrss"):
        usual &= cells.read(name, DECIMAL)[1] | cells.missing(name)
    of_task = cells.combined(("pe_taskid",), lambda text: text in NOTHING or "." in text)
    return usual & of_task.column(bool)
