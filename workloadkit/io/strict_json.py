"""Strict JSON, whose parts know their places and are checked, and TOML."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from math import isfinite, isinf
from typing import Any, NoReturn

from workloadkit.errors import FormatError, among, quoted
from workloadkit.io.files import Source, source_path, text_chunks

#: Objects and lists within one another; a limit of its own, as Python's depends on the caller.
MAX_DEPTH = 100

#: Largest file that `read_json_file` reads by default. [bytes]
MAX_SIZE = 1 << 24

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURELY_IN_RANGE = 300  # digits


def read_json_file(source: Source, *, most: int = MAX_SIZE) -> Any:
    """Read a file of JSON, see `read_json`.

    Parameters
    ----------
    source : str, path or binary file
        Compressed or not; ``-`` is standard input.
    most : int, default 16 MiB
        Size of the largest file that is read. [bytes]
    """
    return read_json(json_text(source, most=most), source_path(source))


def json_text(source: Source, *, most: int = MAX_SIZE) -> bytes:
    """Return the text of a file for `read_json`.

    Raises
    ------
    FormatError
        If the file cannot be read, or is larger than `most`.
    """
    path, text = source_path(source), bytearray()
    for chunk in text_chunks(source):
        text += chunk
        if len(text) > most:
            raise FormatError(path, f"has more than {most >> 20:,} MiB of JSON")
    return bytes(text)


def read_json(text: bytes | str, path: str) -> Any:
    r"""Parse JSON of other people; there is no second reading of what is returned.

    Refused are repeated keys, NaN and Infinity, numbers beyond the range of a float, lone
    surrogates, which no encoding can write, and more than `MAX_DEPTH` levels.

    Parameters
    ----------
    text : bytes or str
        A byte-order mark is skipped.
    path : str
        For messages.

    Examples
    --------
    >>> read_json('{"runs": 10}', "a.json")
    {'runs': 10}
    >>> read_json('{"runs": 10, "runs": 3}', "a.json")
    Traceback (most recent call last):
        ...
    workloadkit.errors.FormatError: a.json: repeated key: 'runs'
    """

    def refuse(message: str, shown: str | None = None) -> NoReturn:
        raise FormatError(path, message, text=shown)

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = [key for key, _ in pairs]
            refuse("repeated key", next(key for key in made if keys.count(key) > 1))
        return made

    def as_float(word: str) -> float:
        value = float(word)
        if isinf(value):
            refuse("a number is out of range", word)
        return value

    def as_integer(word: str) -> int:
        if len(word) > _SURELY_IN_RANGE:
            as_float(word)
        return int(word)

    if isinstance(text, str):
        text = text.encode(errors="surrogatepass")
    if not text.strip():
        refuse("is empty")
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise FormatError(path, "is not UTF-8, which JSON requires", line=line) from None
    try:
        found = json.loads(
            decoded,
            parse_constant=lambda word: refuse("not a JSON number", word),
            parse_float=as_float,
            parse_int=as_integer,
            object_pairs_hook=as_object,
        )
    except json.JSONDecodeError as error:
        message = f"not JSON at column {error.colno}: {error.msg}"
        raise FormatError(path, message, line=error.lineno) from None
    except RecursionError:
        refuse(_TOO_DEEP)
    if _depth_exceeds(found, MAX_DEPTH):
        refuse(_TOO_DEEP)
    if _SURROGATE.search(decoded):
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            refuse("a lone surrogate is no character", error.object[error.start : error.end])
    return found


_TOO_DEEP = f"JSON is nested too deeply, more than {MAX_DEPTH} levels"


def _depth_exceeds(value: Any, most: int) -> bool:
    """Whether a value has more than `most` levels of dicts and lists; without recursion."""
    parts = [value]
    for _ in range(most + 1):
        parts = [part for part in parts if isinstance(part, dict | list)]
        if not parts:
            return False
        parts = [x for part in parts for x in (part.values() if isinstance(part, dict) else part)]
    return True


# Parts of JSON with their places: each is checked where it is read, and errors name it.

_LONGEST_TEXT = 4096
_SHA256 = re.compile(r"[0-9a-f]{64}")


class JsonValue:
    """A value with its place in a file, for messages."""

    def __init__(self, path: str, place: str, value: Any) -> None:
        self.path, self.place, self.value = path, place, value

    def refuse(self, message: str) -> NoReturn:
        """Raise an error about this part."""
        shown = None
        if not isinstance(self.value, dict | list):
            shown = self.value if isinstance(self.value, str) else repr(self.value)
        raise FormatError(self.path, message, field=self.place or None, text=shown)

    def of(self, kind: type) -> Any:
        """Return the value, which is of this type."""
        if type(self.value) is not kind:
            self.refuse(f"is not {_CALLED[kind]}")
        return self.value

    def member(self, name: str) -> "JsonValue":
        """Return a member of an object."""
        given, place = self.of(dict), f"{self.place}.{cut(name)}".lstrip(".")
        if name not in given:
            raise FormatError(self.path, "is missing", field=place)
        return JsonValue(self.path, place, given[name])

    def members(
        self, required: Iterable[str], optional: Iterable[str] = ()
    ) -> dict[str, "JsonValue"]:
        """Return the members of an object, which has these and no others."""
        given, known = self.of(dict), [*required, *optional]
        for name in required:
            self.member(name)
        for name in given:
            if name not in known:
                raise FormatError(
                    self.path,
                    f"is not known; {among(name[:80], known)}",
                    field=self.member(name).place,
                )
        return {name: self.member(name) for name in given}

    def named(self) -> dict[str, "JsonValue"]:
        """Return the members of an object by names, of which there is at least one."""
        given = self.of(dict)
        if not given:
            self.refuse("is empty")
        return {name: self.member(name) for name in given}

    def items(self) -> list["JsonValue"]:
        """Return the items of a list."""
        return [
            JsonValue(self.path, f"{self.place}[{i}]", value)
            for i, value in enumerate(self.of(list))
        ]

    def text(self, known: Iterable[str] | None = None) -> str:
        """Return a text: one of several, or one line that can be shown."""
        found: str = self.of(str)
        if known is not None and found not in known:
            self.refuse("is not known here")
        if not (found.strip() and found.isprintable() and len(found) <= _LONGEST_TEXT):
            self.refuse("is not a line of printable characters")
        return found

    def matching(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Return the match of a text."""
        match = pattern.fullmatch(self.of(str))
        if match is None:
            self.refuse(f"is not {what}")
        return match

    def digest(self) -> None:
        """Check that the value is a SHA-256."""
        self.matching(_SHA256, "a SHA-256")

    def whole(self, *, least: int, most: int | None = None) -> int:
        """Return a whole number."""
        found: int = self.of(int)
        if found < least or (most is not None and found > most):
            self.refuse(
                f"is not from {least} to {most}" if most is not None else f"is below {least}"
            )
        return found

    def number(self, *, least: float | None = None, most: float | None = None) -> float:
        """Return a finite number."""
        found: float = self.value
        if type(found) not in (int, float) or not isfinite(found):
            self.refuse("is not a number")
        if (least is not None and found < least) or (most is not None and found > most):
            self.refuse("is out of range")
        return found

    def interval(self, n_values: int, *, signed: bool) -> None:
        """Check a mean over runs, and the ends of its interval; null where there is none."""
        mean, low, high = self.items()
        for part, known in ((mean, n_values > 0), (low, n_values > 1), (high, n_values > 1)):
            if not known:
                if part.value is not None:
                    part.refuse("is not null, although there are too few values")
            else:
                part.number(least=None if signed else 0)
        if n_values > 1 and not low.value <= mean.value <= high.value:
            self.refuse("the interval does not contain the mean")


_CALLED = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


def cut(name: str) -> str:
    """Return a name as a place in messages shows it."""
    return name if len(name) <= 60 else f"{name[:59]}…"


# Read TOML files: experiments, and defaults of options.


_LARGEST = 1 << 20  # [bytes]
_DEEPEST = 20  # tables and lists within one another
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_TOO_LARGE = "an integer of TOML has 64 bit"
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")
_LONG_KEY = re.compile(r"(['(][^']{40})[^']+(['),])")
_HUGE = re.compile(r"[+-]?\d[\d_]{4000,}", re.ASCII)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the keys of a TOML file of at most 1 MiB.

    Raises
    ------
    FormatError
        If the file cannot be read, is not TOML, or has an integer that does not fit into 64 bit.
    """
    import tomllib

    name = os.fspath(path)
    data = b""
    for chunk in text_chunks(path):
        data += chunk
        if len(data) > _LARGEST:
            raise FormatError(name, "not TOML of at most 1 MiB")
    try:
        text = data.decode()
        keys = tomllib.loads(text)
    except RecursionError:
        raise FormatError(name, "not TOML: tables or lists are nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        place = _PLACE.search(str(error))
        why = _LONG_KEY.sub(r"\1…\2", _PLACE.sub(r" at column \2", str(error)))
        line = int(place[1]) if place else None
        raise FormatError(name, f"not TOML: {why}", line=line) from None
    except ValueError:  # of an integer that Python does not convert
        match = _HUGE.search(text)
        line = text.count("\n", 0, match.start()) + 1 if match else None
        raise FormatError(name, _TOO_LARGE, line=line, text=match and match[0]) from None
    for key, value, depth in _values(keys):
        if depth > _DEEPEST:
            raise FormatError(name, f"{key[:80]}: tables or lists are nested too deeply")
        if isinstance(value, int) and not _LEAST <= value <= _MOST:
            raise FormatError(name, f"{key} is {quoted(value)}; {_TOO_LARGE}")
    return keys


def _values(keys: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    """Yield the values of a table, with their keys and depths; those within others as well."""
    left = [(key, value, 1) for key, value in reversed(keys.items())]
    while left:
        key, value, depth = left.pop()
        yield key, value, depth
        if isinstance(value, dict):
            left += [(f"{key}.{inner}", x, depth + 1) for inner, x in reversed(value.items())]
        elif isinstance(value, list):
            left += [(key, x, depth + 1) for x in reversed(value)]
