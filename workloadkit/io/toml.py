"""Read TOML files: experiments, and defaults of options."""

import os
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from workloadkit.errors import FormatError, quoted
from workloadkit.io.files import text_chunks

_LARGEST = 1 << 20  # [bytes]
_DEEPEST = 20  # tables and lists within one another
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_TOO_LARGE = "an integer of TOML has 64 bit"
_HUGE = re.compile(r"[+-]?\d[\d_]{4000,}", re.ASCII)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the keys of a TOML file of at most 1 MiB.

    Raises
    ------
    FormatError
        If the file cannot be read, is not TOML, or has an integer that does not fit into 64 bit.
    """
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
        raise FormatError(name, f"not TOML: {error}") from None
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
