"""Strict JSON: every JSON file is read by this one function, as RFC 8259 defines it and no more."""

import json
import re
from math import isinf
from typing import Any, NoReturn

from workloadkit.errors import FormatError
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

    Raises
    ------
    FormatError
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

    Raises
    ------
    FormatError

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
