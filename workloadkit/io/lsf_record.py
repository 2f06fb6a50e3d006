"""One JOB_FINISH record of LSF's accounting, field by field.

The order is that of IBM's page on lsb.acct [1]_, with what records of LSF 9 and 10 show to be
otherwise: a host's usage takes six fields, and the run limit comes before options3.

References
----------
.. [1] IBM Spectrum LSF 10.1.0, configuration reference, "lsb.acct".
"""

import csv
from typing import NamedTuple

#: Places of fields from the first one.
VERSION, _END, _ID, _NUM_PROCS, _SUBMIT, _BEGIN, _START = 1, 2, 3, 6, 7, 8, 10
_USER, _QUEUE, _N_ASKED = 11, 12, 22

#: Places from the job's state, which stands behind the hosts.
_STATE, _NAME, _COMMAND, _USER_TIME, _SYSTEM_TIME = 0, 2, 3, 4, 5
_PROJECT, _EXIT_STATUS, _INDEX, _MAX_MEMORY, _SLA, _EXIT_INFO = 24, 25, 29, 30, 35, 38
_N_EXTENSIONS = 53

#: Places from the run limit, which stands behind the usage of each host.
_RUN_LIMIT, _RUN_TIME, _N_NETWORKS = 0, 13, 15

#: Of the fields behind the run limit, the numbers; what is none shows another order.
_NUMBERS_BEHIND = (0, 1, 2, 5, 7, 8, 10, 11, 13)

#: Fields that a record of any version has, from its state.
_LEAST = _INDEX + 1

#: Fields that one host's usage takes; of some versions, the page's five.
_HOST_FIELDS = (6, 5)

_NO_LIMIT = 2**31 - 1


class Malformed(ValueError):
    """A line that is no record, and why."""


class Finish(NamedTuple):
    """What a JOB_FINISH record tells; None where it does not.

    Times in seconds since 1970. `extent` is how far it goes: records of one version go equally
    far, unless they are cut short.
    """

    version: str
    extent: int
    known_order: bool
    id: str
    index: int
    submit: int
    begin: int
    start: int
    end: int
    requested_procs: int
    hosts: list[str]
    state: int
    user_time: float
    system_time: float
    max_memory: int
    exit_info: int
    run_limit: int
    run_time: int
    ineligible: int
    user: str
    queue: str
    name: str
    command: str
    project: str
    exit_status: str
    service_class: str


def fields_of(line: str) -> list[str]:
    r"""Part a record into its fields: at blanks, but for those in double quotes.

    Raises
    ------
    Malformed
        If quotes do not match.

    Examples
    --------
    >>> fields_of('"JOB_FINISH" 16 "say ""hi"" twice" ""')
    ['JOB_FINISH', '16', 'say "hi" twice', '']
    """
    try:
        return next(csv.reader((line,), delimiter=" ", skipinitialspace=True, strict=True))
    except csv.Error:
        raise Malformed("quotes that do not match") from None


def parse(fields: list[str]) -> Finish:
    """Find the fields of a JOB_FINISH record in their places, which hosts shift.

    Raises
    ------
    Malformed
        If it is cut short, or has no numbers where numbers are.
    """
    n_fields = len(fields)
    try:
        hosts_at = _N_ASKED + 1 + _count(fields[_N_ASKED], n_fields)
        state_at = hosts_at + 1 + _count(fields[hosts_at], n_fields)
        hosts = fields[hosts_at + 1 : state_at]
        rest = fields[state_at:]
        numbers = (
            *(fields[i] for i in (_END, _ID, _NUM_PROCS, _SUBMIT, _BEGIN, _START)),
            *(rest[i] for i in (_STATE, _INDEX, _USER_TIME, _SYSTEM_TIME)),
        )
        more = (*rest[_MAX_MEMORY : _MAX_MEMORY + 1], *rest[_EXIT_INFO : _EXIT_INFO + 1])
        if not _plain((*numbers, *more)):
            raise Malformed("no numbers where JOB_FINISH has numbers")
        end, _, requested, submit, begin, start, state, index = map(int, numbers[:8])
        tail_at = _tail(rest)
        tail = rest[tail_at:] if tail_at else []
        known = len(tail) > _RUN_TIME
        return Finish(
            version=fields[VERSION],
            extent=min(len(rest), _N_EXTENSIONS) + min(len(tail), _RUN_TIME + 2),
            known_order=tail_at is not None or len(rest) <= _N_EXTENSIONS,
            id=fields[_ID],
            index=index,
            submit=submit,
            begin=begin,
            start=start,
            end=end,
            requested_procs=requested,
            hosts=hosts,
            state=state,
            user_time=float(numbers[8]),
            system_time=float(numbers[9]),
            max_memory=int(more[0]) if more else -1,
            exit_info=int(more[1]) if len(more) > 1 else 0,
            run_limit=_limit(tail[_RUN_LIMIT]) if known else -1,
            run_time=int(tail[_RUN_TIME]) if known else -1,
            ineligible=_ineligible(tail) if known else -1,
            user=fields[_USER],
            queue=fields[_QUEUE],
            name=rest[_NAME],
            command=rest[_COMMAND],
            project=rest[_PROJECT],
            exit_status=rest[_EXIT_STATUS],
            service_class=rest[_SLA] if len(rest) > _SLA else "",
        )
    except IndexError:
        raise Malformed("cut short") from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, Malformed):
            raise
        raise Malformed("no numbers where JOB_FINISH has numbers") from None


def _count(text: str, most: int) -> int:
    """Return how many fields are said to follow; more than there are means that some are lost."""
    if not (text.isascii() and text.isdecimal()):
        raise Malformed("no numbers where JOB_FINISH has numbers")
    if len(text) > 9 or int(text) > most:
        raise IndexError
    return int(text)


def _plain(texts: tuple[str, ...]) -> bool:
    """Whether all are numbers without exponents, NaN and the like."""
    digits = "".join(texts).replace("-", "").replace(".", "")
    return digits.isascii() and digits.isdecimal()


def _tail(rest: list[str]) -> int | None:
    """Return where the run limit stands, from the state; None if it is not to be found.

    The usage of hosts stands before it, and takes more or fewer fields from version to version.
    """
    if len(rest) <= _N_EXTENSIONS:
        return None
    try:
        at = _N_EXTENSIONS + 1 + 2 * _count(rest[_N_EXTENSIONS], len(rest))
        n_hosts = _count(rest[at], len(rest))
    except (IndexError, Malformed):
        return None
    for n_fields in _HOST_FIELDS if n_hosts else (0,):
        begins = at + 1 + n_fields * n_hosts
        behind = rest[begins : begins + _RUN_TIME + 1]
        numbers = [behind[i] for i in _NUMBERS_BEHIND if i < len(behind)]
        if behind and all(_plain((text,)) and "." not in text for text in numbers):
            return begins
    return None


def _limit(text: str) -> int:
    limit = int(text)
    return limit if 0 < limit < _NO_LIMIT else -1


def _ineligible(tail: list[str]) -> int:
    """Return the seconds in which the job could not have started; -1 if they are not told."""
    try:
        slots_at = _N_NETWORKS + 1 + 2 * _count(tail[_N_NETWORKS], len(tail)) + 6
        text = tail[slots_at + 1 + _count(tail[slots_at], len(tail))]
        return int(text) if _plain((text,)) else -1
    except (IndexError, ValueError):
        return -1
