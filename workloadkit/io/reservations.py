"""Read and write requests for reservations: processors for some time, asked for in advance.

S. J. Chapin et al. (JSSPP 1999, sections 3.1 and 4.2) propose to evaluate schedulers with
recordings of such requests. The file has the form of a file of outages: comments that describe it,
then one line of integers per request, -1 for unknown::

    ; ReservationFormat: 1
    ; Log: log.swf
    ; LogDigest: sha256 9098639e…
    1 0 3600 3600 7200 16 5 0 -1 12
    2 100 86400 172800 600 128 -1 2 1 -1

The fields are

1. number of the request: a counter from 1;
2. second at which it was made;
3. earliest start that suits;
4. latest start that suits, -1 for any later one: a deadline is this plus the duration;
5. duration;
6. number of processors;
7. user, as in the log;
8. kind: one of `RESERVATION_KINDS`;
9. answer: one of `RESERVATION_ANSWERS`;
10. and following: numbers of the jobs that run inside, or -1 for none.

Times are in seconds of the log. The labels Log and LogDigest identify the log: its name, and the
SHA-256 of its text.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from workloadkit.display import Displayed, plot_spans
from workloadkit.errors import WorkloadError, plural
from workloadkit.fields import MAX_PROCS, MAX_TIME, UNKNOWN
from workloadkit.header import Header
from workloadkit.io.files import Source, writing
from workloadkit.io.integer_files import (
    Fault,
    LineForm,
    OfLog,
    read_integers,
    wrong_integer,
    wrong_list,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kinds of the format.
RESERVATION_KINDS = {
    0: "for the jobs listed",
    1: "for jobs of the user",
    2: "maintenance",
    3: "guaranteed computing power",
}

#: Answers of the format; -1: not answered yet.
RESERVATION_ANSWERS = {0: "refused", 1: "accepted", 5: "cancelled"}

#: Version of the format.
VERSION = "1"

_LARGEST = {
    "number": 2**63 - 1,
    "asked": MAX_TIME,
    "earliest": MAX_TIME,
    "latest": MAX_TIME,
    "duration": MAX_TIME,
    "procs": MAX_PROCS,
    "user": 2**63 - 1,
    "kind": max(RESERVATION_KINDS),
    "answer": max(RESERVATION_ANSWERS),
    "jobs": 2**63 - 1,
}
_FIELDS = tuple(_LARGEST)[:-1]  # fields of every line


def reservations_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the requests of a log's users, next to the log.

    Examples
    --------
    >>> reservations_path("logs/site.swf.gz").name
    'site.swf.gz.reservations'
    """
    return Path(f"{os.fspath(path)}.reservations")


@dataclass(frozen=True)
class ReservationRequest:
    """A request for processors at a time to come; -1 is unknown.

    Parameters
    ----------
    number : int
        Number of the request, from 1.
    asked : int
        Time at which it was made. [s]
    earliest, latest : int
        Earliest and latest start that suit; a `latest` of -1 means any. [s]
    duration : int
        [s]
    procs : int
        Number of processors.
    user : int
        The user, as in the log.
    kind : int
        See `RESERVATION_KINDS`.
    answer : int
        See `RESERVATION_ANSWERS`; -1: not answered yet.
    jobs : tuple of int
        Numbers of the jobs that run inside.

    Raises
    ------
    WorkloadError
        For an invalid value, with the request and the field.

    Examples
    --------
    >>> ReservationRequest(1, 0, 3600, 3600, 7200, 16, jobs=(12,)).deadline
    10800
    >>> ReservationRequest(1, 0, 3600, 60, 7200, 16)
    Traceback (most recent call last):
        ...
    workloadkit.errors.WorkloadError: reservation 1, latest: before the earliest start, 3600 s: 60
    """

    number: int
    asked: int
    earliest: int
    latest: int
    duration: int
    procs: int
    user: int = UNKNOWN
    kind: int = 0
    answer: int = UNKNOWN
    jobs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "jobs", tuple(self.jobs))
        if fault := _fault(vars(self)):
            field, message, value = fault
            raise WorkloadError(f"reservation {self.number}, {field}: {message}: {value}")

    @property
    def deadline(self) -> int:
        """Latest end that suits [s]; -1 for none."""
        return UNKNOWN if self.latest == UNKNOWN else self.latest + self.duration


def _fault(request: Mapping[str, Any]) -> Fault | None:
    """Return field, message and value of the first invalid field; None if all are valid."""
    for field in _FIELDS:
        if wrong := wrong_integer(request[field], _LARGEST[field]):
            return field, wrong, request[field]
    if fault := wrong_list("jobs", request["jobs"], _LARGEST["jobs"], "jobs"):
        return fault
    if request["number"] < 1:
        return "number", "reservations are numbered from 1", request["number"]
    for field in ("asked", "earliest"):
        if request[field] < 0:
            return field, "must be known", request[field]
    for field in ("duration", "procs"):
        if request[field] < 1:
            return field, "must be 1 or more", request[field]
    if request["earliest"] < request["asked"]:
        asked = request["asked"]
        return "earliest", f"before the request is made, at {asked} s", request["earliest"]
    if UNKNOWN != request["latest"] < request["earliest"]:
        earliest = request["earliest"]
        return "latest", f"before the earliest start, {earliest} s", request["latest"]
    for field, known in (("kind", RESERVATION_KINDS), ("answer", RESERVATION_ANSWERS)):
        if request[field] not in (UNKNOWN, *known):
            return field, "not in the format", request[field]
    return None


_FORM = LineForm(
    "ReservationFormat", VERSION, "a reservation", "reservations", _FIELDS, "jobs", _fault
)


@dataclass(frozen=True)
class ReservationRequests(OfLog[ReservationRequest], Displayed):
    """Requests for reservations, in file order. Never changed in place.

    Parameters
    ----------
    requests : tuple of ReservationRequest
        With distinct numbers.
    header : Header
        The comments of the file.
    name : str
        File name without folder, or the origin of the requests.
    digest : str
        SHA-256 of the text that was read; empty if none was.

    Raises
    ------
    WorkloadError
        If two requests have the same number.

    Examples
    --------
    >>> requests = ReservationRequests((ReservationRequest(1, 0, 3600, -1, 7200, 16),))
    >>> requests.table[["asked", "earliest", "procs"]].to_numpy().tolist()
    [[0, 3600, 16]]
    """

    requests: tuple[ReservationRequest, ...] = ()
    header: Header = _FORM.no_header
    name: str = "reservations"
    digest: str = ""
    _form: ClassVar[LineForm] = _FORM

    @cached_property
    def identity(self) -> str:
        """Name, and SHA-256 of the text; without a text, of the numbers in it."""
        if self.digest:
            return f"{self.name} (sha256 {self.digest})"
        digest = hashlib.sha256(self.table[[*_FIELDS]].to_numpy().tobytes())
        digest.update(repr([*self.table["jobs"]]).encode())
        return f"{self.name} (content sha256 {digest.hexdigest()})"

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the processors requested at the earliest starts."""
        end = self.table["earliest"] + self.table["duration"]
        return plot_spans(self.table.assign(start=self.table["earliest"], end=end), ax)

    def _summary(self) -> str:
        return f"{self.name!r}, {plural(len(self), 'request')}"


def read_reservations(source: Source) -> ReservationRequests:
    r"""Read requests for reservations.

    Comments between requests, and after one, go to the end of the header.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. gzip, bzip2, xz and Zstandard are recognized from the content.

    Raises
    ------
    FormatError
        With the line, the field and the text of an invalid value; for a file that is missing,
        truncated, binary, empty or of another version.

    Examples
    --------
    >>> import io
    >>> text = b"; ReservationFormat: 1\n1 0 3600 -1 7200 16 5 0 -1 12\n"
    >>> read_reservations(io.BytesIO(text)).requests[0].jobs
    (12,)
    """
    things, header, name, digest = read_integers(source, _FORM)
    requests = tuple(ReservationRequest(**thing) for thing in things)
    return ReservationRequests(requests, header, name, digest)


def write_reservations(requests: ReservationRequests, path: str | os.PathLike[str]) -> None:
    """Write requests for reservations, whole or not at all.

    Parameters
    ----------
    requests : ReservationRequests
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.

    Raises
    ------
    WorkloadError
        If the file cannot be written.

    Examples
    --------
    >>> request = ReservationRequest(1, 0, 3600, 3600, 7200, 16, user=5, jobs=(12,))
    >>> write_reservations(ReservationRequests((request,)), "-")
    ; ReservationFormat: 1
    1 0 3600 3600 7200 16 5 0 -1 12
    """
    with writing(path) as stream:
        stream.write(requests.text().encode(errors="replace"))
