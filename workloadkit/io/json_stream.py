"""Read the records in a large file of JSON one by one, in bounded memory."""

import codecs
import json
from collections.abc import Collection, Iterator
from json.decoder import WHITESPACE, JSONDecodeError  # type: ignore[attr-defined]
from math import nan
from typing import Any, NoReturn

from workloadkit.errors import FormatError
from workloadkit.io.files import Source, source_path, text_chunks

#: Longest accepted record. [characters]
LONGEST_RECORD = 1 << 24

_DEPTH = 50  # objects and lists within one another in a record
_CHUNK = 1 << 20  # [bytes]


def json_records(
    source: Source, names: Collection[str], digest: Any, others: dict[str, Any] | None = None
) -> Iterator[Any]:
    """Yield the items of lists in an object of JSON, or of a list.

    Text that is not UTF-8 is read as Latin-1, as names of jobs may be; NaN and Infinity are NaN.

    Parameters
    ----------
    source : str, path or binary file
    names : collection of str
        Keys of the lists whose items are records. A list without an object has records, too.
    digest : hash
        Of `hashlib`; updated with the text.
    others : dict, optional
        Receives the other members of the object.

    Raises
    ------
    FormatError
        If the file cannot be read, or is no JSON object or list.

    Examples
    --------
    >>> import hashlib, io
    >>> text = io.BytesIO(b'{"meta": {"a": 1}, "jobs": [{"id": 7}, {"id": 8}]}')
    >>> list(json_records(text, ["jobs"], hashlib.sha256()))
    [{'id': 7}, {'id': 8}]
    """
    text = _Text(source, digest)
    if text.takes("["):
        yield from text.items()
    elif text.takes("{"):
        for name in text.names():
            if name in names and text.takes("["):
                yield from text.items()
            elif others is not None:
                others[name] = text.value()
            else:
                text.value()
    else:
        text.refuse("not an object or a list of JSON")
    if text.peek():
        text.refuse("further text after the JSON")


def json_values(source: Source, digest: Any) -> Iterator[Any]:
    """Yield the values of a text, such as lines of JSON; those of a list are its items."""
    text = _Text(source, digest)
    while text.peek():
        if text.takes("["):
            yield from text.items()
        else:
            yield text.value()


def json_members(source: Source, digest: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object of JSON, see `json_records`."""
    text = _Text(source, digest)
    if not text.takes("{"):
        text.refuse("not an object of JSON")
    for name in text.names():
        yield name, text.value()


def printable_text(value: Any) -> str:
    """Return a scalar as text, with blanks for what cannot be printed; of others, the empty one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value != value:
        return ""
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


class _Text:
    """Text of JSON that is read as far as needed; `at` is the place of the next character."""

    def __init__(self, source: Source, digest: Any) -> None:
        self.path, self.digest = source_path(source), digest
        self.chunks = text_chunks(source, size=_CHUNK)
        decoder = codecs.getincrementaldecoder("utf-8-sig")
        self.decode = decoder(_FALLBACK).decode
        self.text, self.at, self.line, self.ended = "", 0, 1, False

    def more(self) -> bool:
        """Read more text; False at the end of the file."""
        if self.ended:
            return False
        self.line += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :], 0
        parts, n_more = [self.text], 0
        while n_more <= len(self.text):  # twice as much, so that long records are quick
            chunk = next(self.chunks, None)
            if chunk is None:
                self.ended = True
                parts.append(self.decode(b"", True))
                break
            self.digest.update(chunk)
            parts.append(self.decode(chunk))
            n_more += len(parts[-1])
        self.text = "".join(parts)
        return True

    def refuse(self, message: str, at: int | None = None) -> NoReturn:
        """Raise an error at a place, by default the next one."""
        line = self.line + self.text.count("\n", 0, self.at if at is None else at)
        raise FormatError(self.path, message, line=line)

    def peek(self) -> str:
        """Return the next character that is not blank; the empty text at the end."""
        while True:
            self.at = WHITESPACE.match(self.text, self.at).end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def takes(self, char: str) -> bool:
        """Skip a character, if it is the next one."""
        found = self.peek() == char
        self.at += found
        return found

    def items(self) -> Iterator[Any]:
        """Yield the items of a list after its bracket."""
        if not self.takes("]"):
            yield self.value()
            while self.takes(","):
                yield self.value()
            if not self.takes("]"):
                self.refuse("not JSON: the list does not end, or a comma is missing")

    def names(self) -> Iterator[str]:
        """Yield the keys of an object after its brace; the caller takes each value."""
        if self.takes("}"):
            return
        while True:
            name = self.value() if self.peek() == '"' else None
            if not isinstance(name, str) or not self.takes(":"):
                self.refuse("not JSON: a key in quotes and a colon are missing")
            yield name
            if not self.takes(","):
                break
        if not self.takes("}"):
            self.refuse("not JSON: the object does not end, or a comma is missing")

    def value(self) -> Any:
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except JSONDecodeError as error:
                fault = f"not JSON: {error.msg}", error.pos
            except RecursionError:
                self.refuse("JSON is nested too deeply")
            except ValueError:
                self.refuse("a number has too many digits")
            else:
                if end < len(self.text) or not self.more():
                    break
                continue
            if len(self.text) - self.at > LONGEST_RECORD:
                self.refuse("not JSON, or a record of more than 16 MiB")
            if not self.more():  # which else moves the place
                self.refuse(*fault)
        opened = self.text.count("[", self.at, end) + self.text.count("{", self.at, end)
        if opened > _DEPTH and _is_deep(value):
            self.refuse("JSON is nested too deeply")
        self.at = end
        return value


def _is_deep(value: Any) -> bool:
    """Whether a value has more than `_DEPTH` levels; without recursion."""
    parts = [value]
    for _ in range(_DEPTH + 1):
        parts = [part for part in parts if isinstance(part, dict | list)]
        if not parts:
            return False
        parts = [x for part in parts for x in (part.values() if isinstance(part, dict) else part)]
    return True


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


_FALLBACK = "workloadkit-latin-1"
codecs.register_error(_FALLBACK, _as_latin_1)

_DECODER = json.JSONDecoder(parse_constant=lambda _: nan)
