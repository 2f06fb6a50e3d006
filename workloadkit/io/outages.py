"""Read and write the outages of a machine: periods in which processors were down.

S. J. Chapin et al. (JSSPP 1999, section 2.2) propose what to record of an outage of any portion of
a system: its announcement, start and end, its type, the number of nodes affected, and which. The
format follows their proposal in the style of logs: one line of integers per outage, -1 for unknown,
preceded by comments that describe the file::

    ; OutageFormat: 1
    ; Log: log.swf
    ; LogDigest: sha256 9098639e…
    ; OutageType: 7 flood
    ; OutageUsers: 3 12 17
    ; OutagePercentage: 4 12.5
    ; OutagePart: 5 leaf2
    1 -1 86400 90000 1 2 17 18
    2 0 604800 633600 5 128 -1
    3 -1 700000 703600 3 0 -1
    4 -1 800000 803600 4 -1 -1
    5 -1 900000 903600 2 -1 -1

The fields are

1. number of the outage: a counter from 1;
2. second of the announcement, -1 if it was not announced;
3. second of the start;
4. second at which the processors were available again, -1 for never;
5. type: one of `OUTAGE_TYPES`, or defined in the header by a label OutageType;
6. number of affected processors (nodes, counted in processors as in logs);
7. and following: numbers of the processors, from 1, or -1 if unknown.

Times are in seconds of the log. Labels state what an outage takes that is no number of processors,
see `workloadkit.io.outage_labels`. The labels Log and LogDigest identify the log: its name, and the
SHA-256 of its text.
"""

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from workloadkit.display import Displayed, plot_spans
from workloadkit.errors import WorkloadError, WorkloadWarning, plural
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
from workloadkit.io.odd_outages import oddities_of
from workloadkit.io.outage_labels import PART, PERCENTAGE, USERS, Labelled, labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Types of the format; -1 is unknown.
OUTAGE_TYPES = {
    0: "other",
    1: "CPU failure",
    2: "network failure",
    3: "disk failure",
    4: "facility",
    5: "maintenance",
    6: "dedicated time",
}

#: Version of the format.
VERSION = "1"

_LARGEST = {
    "number": 2**63 - 1,
    "announced": MAX_TIME,
    "start": MAX_TIME,
    "end": MAX_TIME,
    "type": 2**63 - 1,
    "procs": MAX_PROCS,
    "components": MAX_PROCS,
}
_FIELDS = tuple(_LARGEST)[:-1]  # fields of every line
_TYPE = re.compile(r"[0-9]{1,19}")


def outages_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the outages of a log's machine, next to the log.

    Examples
    --------
    >>> outages_path("logs/site.swf.gz").name
    'site.swf.gz.outages'
    """
    return Path(f"{os.fspath(path)}.outages")


@dataclass(frozen=True)
class Outage:
    """Processors that were down for some time; -1 is unknown.

    Parameters
    ----------
    number : int
        Number of the outage, from 1.
    start, end : int
        Start and end; an `end` of -1 means never. [s]
    procs : int
        Number of processors; by default the number of `components`.
    components : tuple of int
        Numbers of the processors, from 1; empty if unknown.
    announced : int
        Time of the announcement; -1: not announced. [s]
    type : int
        Cause, see `OUTAGE_TYPES`.

    Raises
    ------
    WorkloadError
        For an invalid value, with the outage and the field.

    Examples
    --------
    >>> Outage(1, 3600, 7200, components=(3, 4)).procs
    2
    >>> Outage(1, 3600, 60, procs=2)
    Traceback (most recent call last):
        ...
    workloadkit.errors.WorkloadError: outage 1, end: before the start at 3600 s: 60
    """

    number: int
    start: int
    end: int = UNKNOWN
    procs: int = UNKNOWN
    components: tuple[int, ...] = ()
    announced: int = UNKNOWN
    type: int = UNKNOWN

    def __post_init__(self) -> None:
        components = tuple(self.components)
        object.__setattr__(self, "components", components)
        if self.procs == UNKNOWN and components:
            object.__setattr__(self, "procs", len(components))
        if fault := _fault(vars(self)):
            field, message, value = fault
            raise WorkloadError(f"outage {self.number}, {field}: {message}: {value}")

    @property
    def planned(self) -> bool:
        """Whether it was announced before it started."""
        return UNKNOWN != self.announced < self.start

    def line(self) -> str:
        """Return the outage as a line of a file."""
        return _FORM.line(self)


def _fault(outage: Mapping[str, Any]) -> Fault | None:
    """Return field, message and value of the first invalid field; None if all are valid."""
    components = outage["components"]
    for field in _FIELDS:
        if wrong := wrong_integer(outage[field], _LARGEST[field]):
            return field, wrong, outage[field]
    largest = _LARGEST["components"]
    if fault := wrong_list("components", components, largest, "processors"):
        return fault
    if outage["number"] < 1:
        return "number", "outages are numbered from 1", outage["number"]
    if UNKNOWN != outage["end"] < outage["start"]:
        return "end", f"before the start at {outage['start']} s", outage["end"]
    if components and outage["procs"] != len(components):
        return "procs", f"differs from the number of components, {len(components)}", outage["procs"]
    return None


_FORM = LineForm("OutageFormat", VERSION, "an outage", "outages", _FIELDS, "components", _fault)


@dataclass(frozen=True)
class Outages(OfLog[Outage], Displayed):
    """The outages of a machine, in file order. Never changed in place.

    Parameters
    ----------
    outages : tuple of Outage
        With distinct numbers.
    header : Header
        The comments of the file.
    name : str
        File name without folder, or the origin of the outages.
    digest : str
        SHA-256 of the text that was read; empty if none was.

    Raises
    ------
    WorkloadError
        If two outages have the same number, or if a label is invalid, such as one with users of an
        outage that does not exist or takes processors.

    Examples
    --------
    >>> outages = Outages((Outage(1, 3600, 7200, procs=4, announced=0),))
    >>> outages.table[["start", "end", "procs"]].to_numpy().tolist()
    [[3600, 7200, 4]]
    """

    outages: tuple[Outage, ...] = ()
    header: Header = _FORM.no_header
    name: str = "outages"
    digest: str = ""
    _form: ClassVar[LineForm] = _FORM

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._labelled  # which checks the labels

    @cached_property
    def _labelled(self) -> Labelled:
        return labelled(self.header, self.name, {outage.number: outage.procs for outage in self})

    @property
    def users(self) -> Mapping[int, tuple[int, ...]]:
        """Users whom outages of users hit, by the number of the outage."""
        return self._labelled.users

    @property
    def percentages(self) -> Mapping[int, Decimal]:
        """Percentages of the machine that outages take, by the number of the outage."""
        return self._labelled.percentages

    @property
    def parts(self) -> Mapping[int, tuple[str, ...]]:
        """Parts of the network or the machine that outages take, by the number of the outage."""
        return self._labelled.parts

    def of_users(self, number: int, users: Iterable[int]) -> "Outages":
        """Return the same, with an outage that hits some users only.

        Parameters
        ----------
        number : int
            Number of the outage, which takes no processors.
        users : iterable of int

        Raises
        ------
        WorkloadError
            If there is no such outage, or it takes processors.

        Examples
        --------
        >>> Outages((Outage(1, 3600, 7200, procs=0),)).of_users(1, [17, 12]).users
        {1: (12, 17)}
        """
        return self._with_label(USERS, number, users)

    def of_percentage(self, number: int, percentage: float | Decimal) -> "Outages":
        """Return the same, with an outage of a percentage of the machine.

        Parameters
        ----------
        number : int
            Number of the outage; its number of processors is unknown.
        percentage : float or Decimal
            More than 0, at most 100; up to 9 decimals.

        Raises
        ------
        WorkloadError
            If there is no such outage, or its number of processors is known.

        Examples
        --------
        >>> Outages((Outage(1, 3600, 7200),)).of_percentage(1, 12.5).percentages
        {1: Decimal('12.5')}
        """
        return self._with_label(PERCENTAGE, number, [f"{Decimal(str(percentage)):f}"])

    def of_part(self, number: int, names: Iterable[str]) -> "Outages":
        """Return the same, with an outage of a part of the network.

        Parameters
        ----------
        number : int
            Number of the outage; its number of processors is unknown.
        names : iterable of str
            Names of switches of the machine's description, with all nodes below them, and lists of
            node names such as ``n[001-016]``.

        Raises
        ------
        WorkloadError
            If there is no such outage, or its number of processors is known.

        Examples
        --------
        >>> Outages((Outage(1, 3600, 7200, type=2),)).of_part(1, ["leaf2"]).parts
        {1: ('leaf2',)}
        """
        return self._with_label(PART, number, names)

    def _with_label(self, label: str, number: int, words: Iterable[object]) -> "Outages":
        value = " ".join(map(str, (number, *words)))
        return replace(self, header=self.header.appended((label, value)), digest="")

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw which outages take how many processors, and when, where both are known."""
        table = self.table.assign(end=self.table["end"].where(self.table["end"] >= 0, UNKNOWN))
        known = table[(table["start"] >= 0) & (table["procs"] >= 0)]
        return plot_spans(known.assign(end=np.maximum(known["end"], known["start"])), ax)

    def _summary(self) -> str:
        return f"{self.name!r}, {plural(len(self), 'outage')}"

    @property
    def types(self) -> dict[int, str]:
        """Meaning of the types, of the format and of the header."""
        own = (value.partition(" ") for value in self.header.get_all("OutageType"))
        named = {int(code): title.strip() for code, _, title in own if _TYPE.fullmatch(code)}
        return OUTAGE_TYPES | named

    @property
    def oddities(self) -> list[str]:
        """Legal but suspicious properties, one line per kind.

        Examples
        --------
        >>> Outages((Outage(4, 3600, 7200, procs=1, announced=5000),)).oddities
        ['outages: 1 outage is announced after its start and cannot be planned around: 4']
        """
        return oddities_of(self, self.name, self.users, self.types)


def read_outages(source: Source) -> Outages:
    r"""Read the outages of a machine.

    Comments between outages, and after one, go to the end of the header. Legal but suspicious
    properties (see `Outages.oddities`) cause a warning.

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
    >>> outages = read_outages(io.BytesIO(b"; OutageFormat: 1\n1 0 3600 7200 5 2 7 8\n"))
    >>> outages.outages[0].components
    (7, 8)
    """
    things, header, name, digest = read_integers(source, _FORM)
    read = Outages(tuple(Outage(**thing) for thing in things), header, name, digest)
    for oddity in read.oddities:
        warnings.warn(oddity, WorkloadWarning, stacklevel=2)
    return read


def write_outages(outages: Outages, path: str | os.PathLike[str]) -> None:
    """Write the outages of a machine, whole or not at all.

    Parameters
    ----------
    outages : Outages
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.

    Raises
    ------
    WorkloadError
        If the file cannot be written.

    Examples
    --------
    >>> write_outages(Outages((Outage(1, 3600, 7200, components=(7, 8), type=1),)), "-")
    ; OutageFormat: 1
    1 -1 3600 7200 1 2 7 8
    """
    text = outages.text()
    with writing(path) as stream:
        stream.write(text.encode(errors="replace"))
