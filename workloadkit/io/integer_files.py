"""Files of integers in the style of logs: header comments, then a line for each thing.

A line has a fixed number of integers and a list of further ones, -1 for unknown. The label Log of
the header is the name of the log that the file belongs to, LogDigest the SHA-256 of its text.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from workloadkit.errors import FormatError, WorkloadError, plural
from workloadkit.fields import UNKNOWN
from workloadkit.header import Header
from workloadkit.io.files import Source, log_name, source_path, text_chunks
from workloadkit.io.lines import decoded_line
from workloadkit.io.swf.reading import (
    BLANK_LINES,
    BYTE_ORDER_MARK,
    MAX_COMMENT_LINES,
    MAX_COMMENTS,
    MAX_LINE,
)
from workloadkit.io.swf.writing import header_text

if TYPE_CHECKING:
    import pandas as pd

    from workloadkit.trace import Trace

_INTEGER = re.compile(rb"[-+]?\d+")

_Thing = TypeVar("_Thing")

#: Field, message and value of what is invalid.
Fault = tuple[str, str, object]


class LineForm(NamedTuple):
    """The form of a kind of file.

    Parameters
    ----------
    label, version : str
        Label of the header that states the version, and the version.
    thing, things : str
        What a line describes, in messages: "an outage", "outages".
    fields : tuple of str
        Names of the integers of each line.
    rest : str
        Name of the list of further ones.
    fault : function
        Returns what is invalid in a thing, given by the names of its fields; None if nothing is.
    """

    label: str
    version: str
    thing: str
    things: str
    fields: tuple[str, ...]
    rest: str
    fault: Callable[[Mapping[str, Any]], Fault | None]

    @property
    def no_header(self) -> Header:
        """The header of a new file."""
        return Header((f"; {self.label}: {self.version}",))

    def line(self, thing: object) -> str:
        """Return a thing as a line of a file."""
        fixed = (getattr(thing, field) for field in self.fields)
        return " ".join(map(str, (*fixed, *(getattr(thing, self.rest) or (UNKNOWN,)))))

    def table(self, things: Any) -> "pd.DataFrame":
        """Return things as a table, one row each."""
        import pandas as pd

        columns = {
            field: np.array([getattr(thing, field) for thing in things], dtype=np.int64)
            for field in self.fields
        }
        return pd.DataFrame(columns | {self.rest: [getattr(thing, self.rest) for thing in things]})


class OfLog(Generic[_Thing]):
    """A file that belongs to a log: base of dataclasses whose first field is a tuple of things.

    Raises
    ------
    WorkloadError
        If two things have the same number.
    """

    header: Header
    name: str
    digest: str
    _form: ClassVar[LineForm]

    def __post_init__(self) -> None:
        object.__setattr__(self, self._field, tuple(self))
        seen: set[int] = set()
        for number in (getattr(thing, "number") for thing in self):  # noqa: B009  # of any type
            if number in seen:
                what = self._form.thing.split()[-1]
                raise WorkloadError(f"{self.name}: {what} number {number} is repeated")
            seen.add(number)

    @property
    def _field(self) -> str:
        return fields(self)[0].name  # type: ignore[arg-type]  # subclasses are dataclasses

    def __len__(self) -> int:
        return len(getattr(self, self._field))

    def __iter__(self) -> Iterator[_Thing]:
        return iter(getattr(self, self._field))

    @cached_property
    def table(self) -> "pd.DataFrame":
        """One row each, in file order, by the names of the fields; times in seconds."""
        return self._form.table(self)

    def _table(self) -> "pd.DataFrame":
        return self.table

    def text(self) -> str:
        """Return the text of a file with all of it."""
        return header_text(self.header) + "".join(f"{self._form.line(each)}\n" for each in self)

    def tied_to(self, trace: "Trace") -> Self:
        """Return the same with a header that identifies a log."""
        header = self.header.replaced("Log", trace.name).without("LogDigest")
        if trace.digest:
            header = header.replaced("LogDigest", f"sha256 {trace.digest}")
        return replace(self, header=header, digest="")  # type: ignore[type-var]

    def other_log(self, trace: "Trace") -> str | None:
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


def wrong_integer(value: int, largest: int) -> str | None:
    """Return why a single value is invalid; None if it is valid."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return "not an integer"
    if abs(value) > largest:
        return "out of range"
    if value < UNKNOWN:
        return "a negative number other than -1"
    return None


def wrong_list(field: str, values: Any, largest: int, what: str) -> Fault | None:
    """Return what is invalid in a list of distinct numbers from 1; None if nothing is."""
    seen: set[int] = set()
    for value in values:
        if wrong := wrong_integer(value, largest):
            return field, wrong, value
        if value < 1:
            return field, f"{what} are numbered from 1", value
        if value in seen:
            return field, "repeated", value
        seen.add(value)
    return None


def read_integers(source: Source, form: LineForm) -> tuple[list[dict[str, Any]], Header, str, str]:
    """Read the lines of a file.

    Comments between lines, and after one, go to the end of the header.

    Returns
    -------
    things : list of dict
        The fields of each thing by name; all are valid, and their numbers are distinct.
    header : Header
    name, digest : str
        Name of the file, and SHA-256 of its text.

    Raises
    ------
    FormatError
        With the line, the field and the text of an invalid value; for a file that is missing,
        truncated, binary, empty or of another version.
    """
    path = source_path(source)
    digest = hashlib.sha256()
    comments: list[str] = []
    things: dict[int, dict[str, Any]] = {}
    comment_bytes = number = 0
    for number, line in _lines(source, path, digest):
        data, semicolon, _ = line.partition(b";")
        if semicolon:
            comment = line[len(data) if data.strip() else 0 :].rstrip(b"\r\n")
            comment_bytes += len(comment)
            if comment_bytes > MAX_COMMENTS or len(comments) == MAX_COMMENT_LINES:
                raise FormatError(path, "too many comments", line=number)
            comments.append(decoded_line(comment))
        if data.strip():
            thing = _parsed(data, path, number, form, first=not things)
            if thing["number"] in things:
                raise FormatError(
                    path, "repeated", line=number, field="number", text=str(thing["number"])
                )
            things[thing["number"]] = thing
    if not (comments or things):
        raise FormatError(path, "is empty")
    header = Header(tuple(comments))
    version = header.get(form.label) or form.version
    if version.split()[0] != form.version:  # a continuation line may follow
        raise FormatError(
            path, f"unsupported version of the format, not {form.version}", text=version
        )
    return [*things.values()], header, log_name(path), digest.hexdigest()


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


def _parsed(data: bytes, path: str, number: int, form: LineForm, *, first: bool) -> dict[str, Any]:
    """Parse a line, or raise an error."""
    hint = f" (this does not look like a file of {form.things})" if first else ""

    def refuse(message: str, field: str | None, text: object) -> FormatError:
        return FormatError(path, message + hint, line=number, field=field, text=str(text))

    tokens = data.split()
    if b"\r" in data.rstrip():
        raise refuse("a carriage return within the line", None, decoded_line(data.strip()))
    values = []
    for i, token in enumerate(tokens):
        field = form.fields[i] if i < len(form.fields) else form.rest
        if not _INTEGER.fullmatch(token):
            raise refuse("not an integer", field, decoded_line(token))
        if len(token) > 19:  # Python limits the digits of integers
            raise refuse("out of range", field, decoded_line(token))
        values.append(int(token))
    least = len(form.fields) + 1
    if len(values) < least:
        columns = plural(len(values), "column")
        raise refuse(f"{columns}; {form.thing} has at least {least}", None, decoded_line(data))
    thing: dict[str, Any] = dict(zip(form.fields, values, strict=False))
    rest = tuple(values[len(form.fields) :])
    thing[form.rest] = () if rest == (UNKNOWN,) else rest
    if fault := form.fault(thing):
        field, message, value = fault
        raise refuse(message, field, value)
    return thing
