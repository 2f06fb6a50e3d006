"""Read and write the outages of a machine: when which of its processors were down.

S. J. Chapin et al. (JSSPP 1999, section 2.2) propose what to record of every outage that takes any
portion of a system from operation: when it was announced, when it started and ended, its type, how
many nodes it affected, and which. The format is in the spirit of theirs for logs: a line of
integers for each outage, -1 for unknown, and before them comments that describe the whole::

    ; OutageFormat: 1
    ; Log: log.swf
    ; LogDigest: sha256 9098639e…
    ; OutageType: 7 flood
    1 -1 86400 90000 1 2 17 18
    2 0 604800 633600 5 128 -1

The fields are

1. number of the outage: a counter from 1;
2. second at which it was announced, -1 if it never was;
3. second at which it started;
4. second at which the processors were working again, -1 if they never were;
5. type: one of `OUTAGE_TYPES`, or named in the header by a label OutageType;
6. how many processors were affected (nodes, counted in processors as logs are);
7. and on: their numbers, from 1, or -1 if these are not known.

Seconds are those of the log. The labels Log and LogDigest tie the file to it: its name, and the
SHA-256 of its text.
"""

import hashlib
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.errors import FormatError, WorkloadError, WorkloadWarning
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

#: What the types of the format mean; -1 is unknown.
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

_SHOWN = 5  # outages that a warning names

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
_FIELDS = tuple(_LARGEST)[:-1]  # those that every line has
_TYPE = re.compile(r"[0-9]{1,19}")
_INTEGER = re.compile(rb"[-+]?\d+")


@dataclass(frozen=True)
class Outage:
    """Processors that were down for a while; -1 is unknown.

    Parameters
    ----------
    number : int
        Number of the outage, from 1.
    start, end : int
        When they went down and came up again; an `end` of -1: never. [s]
    procs : int
        How many; by default as many as `components`.
    components : tuple of int
        Which, from 1; empty if unknown.
    announced : int
        When it became known that they would; -1: never. [s]
    type : int
        Why, see `OUTAGE_TYPES`.

    Raises
    ------
    WorkloadError
        For a value that cannot be; it names the outage and the field.

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
        """Return the line of a file that tells of it."""
        fixed = (getattr(self, field) for field in _FIELDS)
        return " ".join(map(str, (*fixed, *(self.components or (UNKNOWN,)))))


def _fault(outage: Mapping[str, Any]) -> tuple[str, str, object] | None:
    """Find what cannot be about an outage, if anything: field, message and value."""
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
            return "components", "named twice", component
        seen.add(component)
    if outage["number"] < 1:
        return "number", "outages are numbered from 1", outage["number"]
    if UNKNOWN != outage["end"] < outage["start"]:
        return "end", f"before the start at {outage['start']} s", outage["end"]
    if components and outage["procs"] != len(components):
        return "procs", f"but the components are {len(components)}", outage["procs"]
    return None


def _wrong(field: str, value: int) -> str | None:
    """Say what is wrong with a number by itself, if anything."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return "not an integer"
    if abs(value) > _LARGEST[field]:
        return "out of range"
    if value < UNKNOWN:
        return "a negative number other than -1"
    return None


@dataclass(frozen=True)
class Outages:
    """The outages of a machine, in the order of their file. Never changed in place.

    Parameters
    ----------
    outages : tuple of Outage
        No two of one number.
    header : Header
        The comments of the file.
    name : str
        File name without folder, or what made them.
    digest : str
        SHA-256 of the text that was read, empty if none was.

    Raises
    ------
    WorkloadError
        Where two outages have one number.

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
                raise WorkloadError(f"{self.name}: outage {outage.number} is there twice")
            seen.add(outage.number)

    def __len__(self) -> int:
        return len(self.outages)

    def __iter__(self) -> Iterator[Outage]:
        return iter(self.outages)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row an outage: `number announced start end type procs components`."""
        columns = {
            field: np.array([getattr(outage, field) for outage in self], dtype=np.int64)
            for field in _FIELDS
        }
        return pd.DataFrame(columns | {"components": [outage.components for outage in self]})

    @property
    def types(self) -> dict[int, str]:
        """What the types mean: those of the format and those that the header names."""
        own = (value.partition(" ") for value in self.header.get_all("OutageType"))
        named = {int(code): title.strip() for code, _, title in own if _TYPE.fullmatch(code)}
        return OUTAGE_TYPES | named

    @property
    def oddities(self) -> list[str]:
        """What is legal in them but hardly meant, a line for each kind.

        Examples
        --------
        >>> Outages((Outage(4, 3600, 7200, procs=1, announced=5000),)).oddities
        ['outages: 1 outage is announced after its start, and never planned around: 4']
        """
        kinds = (
            (
                "announced after its start, and never planned around",
                lambda o: o.announced > o.start > UNKNOWN,
            ),
            ("over as it starts", lambda o: o.end == o.start > UNKNOWN),
            ("of no processor", lambda o: o.procs == 0),
            (
                "of a type that neither the format nor the header names",
                lambda o: o.type not in (UNKNOWN, *self.types),
            ),
        )
        lines = []
        for what, is_odd in kinds:
            odd = [str(outage.number) for outage in self if is_odd(outage)]
            if odd:
                n_odd = "1 outage is" if len(odd) == 1 else f"{len(odd):,} outages are each"
                more = f" and {len(odd) - _SHOWN:,} more" if len(odd) > _SHOWN else ""
                lines.append(f"{self.name}: {n_odd} {what}: {', '.join(odd[:_SHOWN])}{more}")
        return lines

    def text(self) -> str:
        """Return the text of a file that holds them."""
        return header_text(self.header) + "".join(f"{outage.line()}\n" for outage in self)

    def tied_to(self, trace: Trace) -> "Outages":
        """Return the outages with a header that ties them to a log."""
        header = self.header.replaced("Log", trace.name).without("LogDigest")
        if trace.digest:
            header = header.replaced("LogDigest", f"sha256 {trace.digest}")
        return replace(self, header=header, digest="")

    def other_log(self, trace: Trace) -> str | None:
        """Return the log that the header ties them to, if that is another one than `trace`.

        Texts are compared where both digests are known, else names where both are.
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

    Comments among the outages, and behind one, go to the end of the header. What is legal but
    hardly meant (see `Outages.oddities`) is worth a warning.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. gzip, bzip2, xz and Zstandard are recognised whatever the name.

    Returns
    -------
    Outages

    Raises
    ------
    FormatError
        With the line, the field and the text of what cannot be read or cannot be; for a file that
        is missing, cut short, binary, empty or of another version.

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
                raise FormatError(path, "comments without end", line=number)
            comments.append(_decoded(comment))
        if data.strip():
            outage = _parsed(data, path, number, first=not outages)
            if outage.number in outages:
                raise FormatError(
                    path, "there twice", line=number, field="number", text=str(outage.number)
                )
            outages[outage.number] = outage
    if not (comments or outages):
        raise FormatError(path, "is empty")
    header = Header(tuple(comments))
    version = header.get("OutageFormat") or VERSION
    if version.split()[0] != VERSION:  # what follows may be a continued line
        raise FormatError(path, f"not of version {VERSION} of the format", text=version)
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
    """Yield the lines that are not blank, by their numbers; take the digest of the text."""
    rest, number = b"", 0
    for chunk in text_chunks(source):
        digest.update(chunk)
        text = rest + chunk
        if not number:
            text = text.removeprefix(BYTE_ORDER_MARK)
        at, whole = 0, text.rfind(b"\n") + 1
        while at < whole:
            if blank := BLANK_LINES.match(text, at):  # a flood of them is soon over
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
    """Read the line of an outage, or say what is wrong with it."""
    hint = " (the file does not look like one of outages)" if first else ""

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
        if len(token) > 19:  # Python refuses to make an integer of thousands of digits
            raise refuse("out of range", field, _decoded(token))
        values.append(int(token))
    if len(values) <= len(_FIELDS):
        raise refuse(f"{len(values)} columns, where an outage has at least 7", None, _decoded(data))
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
