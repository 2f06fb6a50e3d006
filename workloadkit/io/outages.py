"""Read and write the outages of a machine: periods in which processors were down.

S. J. Chapin et al. (JSSPP 1999, section 2.2) propose what to record of an outage of any portion of
a system: its announcement, start and end, its type, the number of nodes affected, and which. The
format follows their proposal in the style of logs: one line of integers per outage, -1 for unknown,
preceded by comments that describe the file::

    ; OutageFormat: 1
    ; Log: log.swf
    ; LogDigest: sha256 9098639e…
    ; OutageType: 7 flood
    1 -1 86400 90000 1 2 17 18
    2 0 604800 633600 5 128 -1

The fields are

1. number of the outage: a counter from 1;
2. second of the announcement, -1 if it was not announced;
3. second of the start;
4. second at which the processors were available again, -1 for never;
5. type: one of `OUTAGE_TYPES`, or defined in the header by a label OutageType;
6. number of affected processors (nodes, counted in processors as in logs);
7. and following: numbers of the processors, from 1, or -1 if unknown.

Times are in seconds of the log. The labels Log and LogDigest identify the log: its name, and the
SHA-256 of its text.
"""

import hashlib
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.display import Displayed, plot_spans
from workloadkit.errors import FormatError, WorkloadError, WorkloadWarning, plural
from workloadkit.fields import MAX_PROCS, MAX_TIME, UNKNOWN
from workloadkit.header import Header
from workloadkit.io.files import Source, log_name, source_path, text_chunks, writing
from workloadkit.io.swf.reading import (
    BLANK_LINES,
    BYTE_ORDER_MARK,
    MAX_COMMENT_LINES,
    MAX_COMMENTS,
    MAX_LINE,
)
from workloadkit.io.swf.writing import header_text
from workloadkit.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
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

_SHOWN = 5  # number of outages listed in a warning

_NO_HEADER = Header((f"; OutageFormat: {VERSION}",))

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
_INTEGER = re.compile(rb"[-+]?\d+")


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
        fixed = (getattr(self, field) for field in _FIELDS)
        return " ".join(map(str, (*fixed, *(self.components or (UNKNOWN,)))))


def _fault(outage: Mapping[str, Any]) -> tuple[str, str, object] | None:
    """Return field, message and value of the first invalid field; None if all are valid."""
    components = outage["components"]
    for field in _FIELDS:
        if wrong := _wrong(field, outage[field]):
            return field, wrong, outage[field]
    seen: set[int] = set()
    for component in components:
        if wrong := _wrong("components", component):
            return "components", wrong, component
        if component < 1:
            return "components", "processors are numbered from 1", component
        if component in seen:
            return "components", "repeated", component
        seen.add(component)
    if outage["number"] < 1:
        return "number", "outages are numbered from 1", outage["number"]
    if UNKNOWN != outage["end"] < outage["start"]:
        return "end", f"before the start at {outage['start']} s", outage["end"]
    if components and outage["procs"] != len(components):
        return "procs", f"differs from the number of components, {len(components)}", outage["procs"]
    return None


def _wrong(field: str, value: int) -> str | None:
    """Return why a single value is invalid; None if it is valid."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return "not an integer"
    if abs(value) > _LARGEST[field]:
        return "out of range"
    if value < UNKNOWN:
        return "a negative number other than -1"
    return None


@dataclass(frozen=True)
class Outages(Displayed):
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
        If two outages have the same number.

    Examples
    --------
    >>> outages = Outages((Outage(1, 3600, 7200, procs=4, announced=0),))
    >>> outages.table[["start", "end", "procs"]].to_numpy().tolist()
    [[3600, 7200, 4]]
    """

    outages: tuple[Outage, ...] = ()
    header: Header = _NO_HEADER
    name: str = "outages"
    digest: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "outages", tuple(self.outages))
        seen: set[int] = set()
        for outage in self.outages:
            if outage.number in seen:
                raise WorkloadError(f"{self.name}: outage number {outage.number} is repeated")
            seen.add(outage.number)

    def __len__(self) -> int:
        return len(self.outages)

    def __iter__(self) -> Iterator[Outage]:
        return iter(self.outages)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw which outages take how many processors, and when; those without an end have none."""
        table = self.table.assign(end=self.table["end"].where(self.table["end"] >= 0, UNKNOWN))
        known = table[table["start"] >= 0]
        return plot_spans(known.assign(end=np.maximum(known["end"], known["start"])), ax)

    def _summary(self) -> str:
        return f"{self.name!r}, {plural(len(self), 'outage')}"

    def _table(self) -> "pd.DataFrame":
        return self.table

    @cached_property
    def table(self) -> "pd.DataFrame":
        """One row per outage: `number announced start end type procs components`."""
        import pandas as pd

        columns = {
            field: np.array([getattr(outage, field) for outage in self], dtype=np.int64)
            for field in _FIELDS
        }
        return pd.DataFrame(columns | {"components": [outage.components for outage in self]})

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
        kinds = (
            (
                "announced after its start and cannot be planned around",
                lambda o: o.announced > o.start > UNKNOWN,
            ),
            ("of length 0", lambda o: o.end == o.start > UNKNOWN),
            ("without processors", lambda o: o.procs == 0),
            (
                "of an unknown type",
                lambda o: o.type not in (UNKNOWN, *self.types),
            ),
        )
        lines = []
        for what, is_odd in kinds:
            odd = [str(outage.number) for outage in self if is_odd(outage)]
            if odd:
                n_odd = plural(len(odd), "outage is", "outages are each")
                more = f" and {len(odd) - _SHOWN:,} more" if len(odd) > _SHOWN else ""
                lines.append(f"{self.name}: {n_odd} {what}: {', '.join(odd[:_SHOWN])}{more}")
        return lines

    def text(self) -> str:
        """Return the text of a file with the outages."""
        return header_text(self.header) + "".join(f"{outage.line()}\n" for outage in self)

    def tied_to(self, trace: Trace) -> "Outages":
        """Return the outages with a header that identifies a log."""
        header = self.header.replaced("Log", trace.name).without("LogDigest")
        if trace.digest:
            header = header.replaced("LogDigest", f"sha256 {trace.digest}")
        return replace(self, header=header, digest="")

    def other_log(self, trace: Trace) -> str | None:
        """Return the log that the header identifies if it is not `trace`, else None.

        Digests are compared if both are known, else names if both are.
        """
        name = self.header.get("Log")
        digest = (self.header.get("LogDigest") or "").split()[-1:]
        if digest and trace.digest:
            same = digest[0].lower() == trace.digest
        else:
            same = name in (None, "", trace.name)
        return None if same else name or f"sha256 {digest[0]}"


def read_outages(source: Source) -> Outages:
    r"""Read the outages of a machine.

    Comments between outages, and after one, go to the end of the header. Legal but suspicious
    properties (see `Outages.oddities`) cause a warning.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. gzip, bzip2, xz and Zstandard are recognized from the content.

    Returns
    -------
    Outages

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
    path = source_path(source)
    digest = hashlib.sha256()
    comments: list[str] = []
    outages: dict[int, Outage] = {}
    comment_bytes = number = 0
    for number, line in _lines(source, path, digest):
        data, semicolon, _ = line.partition(b";")
        if semicolon:
            comment = line[len(data) if data.strip() else 0 :].rstrip(b"\r\n")
            comment_bytes += len(comment)
            if comment_bytes > MAX_COMMENTS or len(comments) == MAX_COMMENT_LINES:
                raise FormatError(path, "too many comments", line=number)
            comments.append(_decoded(comment))
        if data.strip():
            outage = _parsed(data, path, number, first=not outages)
            if outage.number in outages:
                raise FormatError(
                    path, "repeated", line=number, field="number", text=str(outage.number)
                )
            outages[outage.number] = outage
    if not (comments or outages):
        raise FormatError(path, "is empty")
    header = Header(tuple(comments))
    version = header.get("OutageFormat") or VERSION
    if version.split()[0] != VERSION:  # a continuation line may follow
        raise FormatError(path, f"unsupported version of the format, not {VERSION}", text=version)
    read = Outages(tuple(outages.values()), header, log_name(path), digest.hexdigest())
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


def _lines(source: Source, path: str, digest: "hashlib._Hash") -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers; update the digest."""
    rest, number = b"", 0
    for chunk in text_chunks(source):
        digest.update(chunk)
        text = rest + chunk
        if not number:
            text = text.removeprefix(BYTE_ORDER_MARK)
        at, whole = 0, text.rfind(b"\n") + 1
        while at < whole:
            if blank := BLANK_LINES.match(text, at):  # fast path for many blank lines
                number += text.count(b"\n", at, blank.end())
                at = blank.end()
                continue
            end = text.index(b"\n", at)
            number += 1
            _check_length(end - at, path, number)
            yield number, text[at:end]
            at = end + 1
        rest = text[whole:]
        _check_length(len(rest), path, number + 1)
    if rest.strip():
        yield number + 1, rest


def _check_length(n_bytes: int, path: str, number: int) -> None:
    if n_bytes > MAX_LINE:
        raise FormatError(path, "a line of more than 1 MiB", line=number)


def _parsed(data: bytes, path: str, number: int, *, first: bool) -> Outage:
    """Parse the line of an outage, or raise an error."""
    hint = " (this does not look like a file of outages)" if first else ""

    def refuse(message: str, field: str | None, text: object) -> FormatError:
        return FormatError(path, message + hint, line=number, field=field, text=str(text))

    tokens = data.split()
    if b"\r" in data.rstrip():
        raise refuse("a carriage return within the line", None, _decoded(data.strip()))
    values = []
    for i, token in enumerate(tokens):
        field = _FIELDS[i] if i < len(_FIELDS) else "components"
        if not _INTEGER.fullmatch(token):
            raise refuse("not an integer", field, _decoded(token))
        if len(token) > 19:  # Python limits the digits of integers
            raise refuse("out of range", field, _decoded(token))
        values.append(int(token))
    if len(values) <= len(_FIELDS):
        raise refuse(
            f"{plural(len(values), 'column')}; an outage has at least 7", None, _decoded(data)
        )
    outage: dict[str, Any] = dict(zip(_FIELDS, values, strict=False))
    components = tuple(values[len(_FIELDS) :])
    outage["components"] = () if components == (UNKNOWN,) else components
    if fault := _fault(outage):
        field, message, value = fault
        raise refuse(message, field, value)
    return Outage(**outage)


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")
