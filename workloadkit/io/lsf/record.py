"""One record of LSF's accounting, JOB_FINISH or JOB_RESIZE, field by field.

The order is that of IBM's page on lsb.acct [1]_, corrected by records of LSF 9 and 10: the usage of
a host has six fields, and the run limit precedes options3.

References
----------
.. [1] IBM Spectrum LSF 10.1.0, configuration reference, "lsb.acct".
"""

import csv
import re
from functools import lru_cache
from math import nan
from operator import itemgetter
from typing import NamedTuple

from workloadkit.io.resizing import RunPart

#: Positions of fields from the first one.
VERSION, _END, _ID, _OPTIONS, _NUM_PROCS, _SUBMIT, _BEGIN, _START = 1, 2, 3, 5, 6, 7, 8, 10
_USER, _QUEUE, _REQUIREMENTS, N_ASKED = 11, 12, 13, 22

#: Positions from the job's state, which follows the hosts.
_STATE, _NAME, _COMMAND, _USER_TIME, _SYSTEM_TIME = 0, 2, 3, 4, 5
_PROJECT, _EXIT_STATUS, _INDEX, _MAX_MEMORY, _SLA, EXIT_INFO = 24, 25, 29, 30, 35, 38
LAST_RESIZE, N_EXTENSIONS = 50, 53

#: Positions from the run limit, which follows the usage of each host.
_RUN_LIMIT, RUN_TIME, N_NETWORKS = 0, 13, 15

_pick_numbers = itemgetter(_END, _OPTIONS, _NUM_PROCS, _SUBMIT, _BEGIN, _START)
_pick_old_numbers_behind = itemgetter(_STATE, _INDEX, _USER_TIME, _SYSTEM_TIME)
_pick_numbers_behind = itemgetter(_STATE, _INDEX, _USER_TIME, _SYSTEM_TIME, _MAX_MEMORY, EXIT_INFO)

# If one of these is not a number, the fields have another order.
WHOLE_IN_TAIL = (0, 1, 2, 5, 7, 8, 10, 11, RUN_TIME)
_pick_numbers_of_tail = itemgetter(*WHOLE_IN_TAIL)

# Positions in a JOB_RESIZE record: its time, the job, the start of its run, the previous change.
_pick_of_resize = itemgetter(2, 4, 5, 9)
_JOB, _N_BEFORE = 3, 10

#: Number of fields of one host's usage; five in some versions, as documented.
HOST_FIELDS = (6, 5)

#: Positions of numbers and texts by their names in `Finish`: from the first field, from the state,
#: and (names by positions) from the run limit.
NUMBERS = {
    "end": _END,
    "options": _OPTIONS,
    "requested_procs": _NUM_PROCS,
    "submit": _SUBMIT,
    "begin": _BEGIN,
    "start": _START,
}
NUMBERS_BEHIND = {
    "state": _STATE,
    "array_index": _INDEX,
    "user_time": _USER_TIME,
    "system_time": _SYSTEM_TIME,
    "max_memory": _MAX_MEMORY,
    "exit_info": EXIT_INFO,
}
NUMBERS_OF_TAIL = {_RUN_LIMIT: "run_limit", RUN_TIME: "run_time"}
TEXTS = {
    "version": VERSION,
    "id": _ID,
    "user": _USER,
    "queue": _QUEUE,
    "requirements": _REQUIREMENTS,
}
TEXTS_BEHIND = {
    "name": _NAME,
    "command": _COMMAND,
    "project": _PROJECT,
    "exit_status": _EXIT_STATUS,
    "service_class": _SLA,
}

#: Larger numbers are unknown.
ABSURD = 1e18

# Most counts are small; looking them up is fast.
_COUNTS = {str(count): count for count in range(1000)}

_NO_NAME = re.compile(r"[\[\],*]")
_CUT_SHORT = "truncated"
_NO_NUMBERS = "a numeric field is not a number"


class MalformedError(ValueError):
    """Reason why a line is not a record."""


class Finish(NamedTuple):
    """Fields of a JOB_FINISH record: -1, 0 or empty if missing.

    Times in seconds since 1970, memory in KB. `extent` is the number of fields, without those that
    vary: it is constant for a version, except in truncated records. `known_order` is whether the
    fields after the usage of hosts are in the known order.
    """

    version: str
    extent: int
    known_order: bool
    id: str
    array_index: float
    submit: float
    begin: float
    start: float
    end: float
    options: float
    requested_procs: float
    slots: float
    nodes: float
    state: float
    user_time: float
    system_time: float
    max_memory: float
    exit_info: float
    last_resize: float
    run_limit: float
    run_time: float
    ineligible: float
    user: str
    queue: str
    requirements: str
    hosts: str
    name: str
    command: str
    project: str
    exit_status: str
    service_class: str


def fields_of(line: str) -> list[str]:
    r"""Split a record into its fields at blanks outside double quotes.

    Raises
    ------
    MalformedError
        If quotes do not match.

    Examples
    --------
    >>> fields_of('"JOB_FINISH" 16 "say ""hi"" twice" ""')
    ['JOB_FINISH', '16', 'say "hi" twice', '']
    """
    try:
        return next(csv.reader((line,), delimiter=" ", skipinitialspace=True, strict=True))
    except csv.Error:
        raise MalformedError("unbalanced quotes") from None


def parse(fields: list[str]) -> Finish:
    """Return the fields of a JOB_FINISH record; their positions depend on the hosts.

    Raises
    ------
    MalformedError
        If it is truncated, or a numeric field is not a number.
    """
    try:
        hosts_at = N_ASKED + 1 + _count(fields[N_ASKED])
        state_at = hosts_at + 1 + _count(fields[hosts_at])
        rest = fields[state_at:]
        n_rest = len(rest)
        if n_rest > EXIT_INFO:
            numbers = _pick_numbers(fields) + _pick_numbers_behind(rest)
        else:
            memory = rest[_MAX_MEMORY] if n_rest > _MAX_MEMORY else "-1"
            numbers = (*_pick_numbers(fields), *_pick_old_numbers_behind(rest), memory, "0")
        if not _plain(numbers):
            raise MalformedError(_NO_NUMBERS)
        hosts = " ".join(map(_quoted, fields[hosts_at + 1 : state_at]))
        slots, nodes, _ = hosts_of(hosts)
        tail = _tail(rest) if n_rest > N_EXTENSIONS else []
        known = len(tail) > RUN_TIME
        end, options, requested, submit, begin, start, *behind = map(float, numbers)
        state, array_index, user_time, system_time, max_memory, exit_info = behind
        return Finish(
            fields[VERSION],
            min(n_rest, N_EXTENSIONS) + min(len(tail), RUN_TIME + 2),
            known or n_rest <= N_EXTENSIONS,
            fields[_ID],
            array_index,
            submit,
            begin,
            start,
            end,
            options,
            requested,
            slots,
            nodes,
            state,
            user_time,
            system_time,
            max_memory,
            exit_info,
            _number(rest[LAST_RESIZE]) if n_rest > LAST_RESIZE else -1.0,
            float(tail[_RUN_LIMIT]) if known else -1.0,
            float(tail[RUN_TIME]) if known else -1.0,
            _ineligible(tail) if known else -1.0,
            fields[_USER],
            fields[_QUEUE],
            fields[_REQUIREMENTS],
            hosts,
            rest[_NAME],
            rest[_COMMAND],
            rest[_PROJECT],
            rest[_EXIT_STATUS],
            rest[_SLA] if n_rest > _SLA else "",
        )
    except IndexError:
        raise MalformedError(_CUT_SHORT) from None
    except ValueError:
        raise MalformedError(_NO_NUMBERS) from None


def parse_resize(fields: list[str], place: int) -> RunPart:
    """Return what a job had before a change of its size, from a JOB_RESIZE record.

    The record contains the time of this change and of the previous one, which is the start of the
    job at first, and the hosts between them.

    Raises
    ------
    MalformedError
        If it is truncated, or a numeric field is not a number.

    Examples
    --------
    >>> record = '"JOB_RESIZE" "10.1" 460 7 0 160 500 "ann" 1 160 2 "4*n1" "4*n2" 1 "4*n2"'
    >>> part = parse_resize(fields_of(record), 1)
    >>> part.id, part.start, part.begins, part.ends, part.procs, part.node_list
    ('7', 160.0, 0.0, 300.0, 8.0, '4*n1,4*n2')
    """
    try:
        numbers = _pick_of_resize(fields)
        n_hosts = _count(fields[_N_BEFORE])
        hosts = fields[_N_BEFORE + 1 :][:n_hosts]
        if len(hosts) < n_hosts:
            raise IndexError
        if not _plain(numbers):
            raise ValueError
        now, index, start, before = map(float, numbers)
        if max(map(abs, (now, index, start, before))) >= ABSURD:
            raise ValueError
    except IndexError:
        raise MalformedError(_CUT_SHORT) from None
    except ValueError:
        raise MalformedError(_NO_NUMBERS) from None
    slots, nodes, names = hosts_of(" ".join(map(_quoted, hosts)))
    name = with_index(fields[_JOB], index)
    return RunPart(place, name, start, before - start, now - start, slots, nodes, nan, names)


def with_index(job: str, index: float) -> str:
    """Return a job id, with the index appended for an element of an array."""
    return f"{job}[{index:.0f}]" if index > 0 else job


def _number(text: str) -> float:
    """Return a number, -1 for anything else."""
    try:
        return float(text) if _plain((text,)) else -1.0
    except ValueError:
        return -1.0


def _count(text: str) -> int:
    """Return the stated number of following fields."""
    if text in _COUNTS:
        return _COUNTS[text]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise MalformedError(_NO_NUMBERS)
    return int(text)


def _quoted(field: str) -> str:
    """Return a field as `fields_of` reads it."""
    return '"' + field.replace('"', '""') + '"'


@lru_cache(maxsize=1 << 12)
def hosts_of(text: str) -> tuple[float, float, str]:
    """Return the slots of a job, the number of its hosts and the slots on each, from their fields.

    Examples
    --------
    >>> hosts_of('"16*n1" "16*n2"'), hosts_of("n1 n1 n2")
    ((32.0, 2.0, '16*n1,16*n2'), (3.0, 2.0, '2*n1,1*n2'))
    """
    slots: dict[str, int] = {}
    for host in fields_of(text) if text else []:
        count, star, name = host.partition("*")
        if not (star and count.isascii() and count.isdecimal() and len(count) < 10):
            count, name = "1", host
        slots[name] = slots.get(name, 0) + int(count)
    named = [f"{n}*{name}" for name, n in slots.items() if name and not _NO_NAME.search(name)]
    return float(sum(slots.values())), float(len(slots)), ",".join(named)


def _plain(texts: tuple[str, ...]) -> bool:
    """Whether all texts are numbers without exponents, NaN and the like."""
    digits = "".join(texts).replace("-", "").replace(".", "")
    return digits.isascii() and digits.isdecimal()


def _tail(rest: list[str]) -> list[str]:
    """Return the fields from the run limit on; empty if they are not found.

    The usage of hosts precedes it, with a number of fields that depends on the version.
    """
    try:
        at = N_EXTENSIONS + 1 + 2 * _count(rest[N_EXTENSIONS])
        n_hosts = _count(rest[at])
        for n_fields in HOST_FIELDS:
            tail = rest[at + 1 + n_fields * n_hosts :]
            if _whole(_pick_numbers_of_tail(tail)):
                return tail
    except (IndexError, MalformedError):
        pass
    return []


def _whole(texts: tuple[str, ...]) -> bool:
    """Whether all texts are whole numbers."""
    digits = "".join(texts).replace("-", "")
    return digits.isascii() and digits.isdecimal()


def _ineligible(tail: list[str]) -> float:
    """Return the time in which the job was ineligible [s]; -1 if it is not recorded."""
    try:
        slots_at = N_NETWORKS + 1 + 2 * _count(tail[N_NETWORKS]) + 6
        text = tail[slots_at + 1 + _count(tail[slots_at])]
        return float(text)
    except (IndexError, ValueError):
        return -1.0
