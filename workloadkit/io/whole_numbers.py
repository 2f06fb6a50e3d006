"""Distinguish whole numbers from names."""

import re

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_INT64_MAX = 2**63 - 1


def as_whole(text: str) -> int | None:
    """Return the value of a text that is a whole number in canonical form; None for a name.

    Examples
    --------
    >>> as_whole("12"), as_whole("-1"), as_whole("012"), as_whole("U12"), as_whole("1" * 20)
    (12, -1, None, None, None)
    """
    if not _WHOLE.fullmatch(text):
        return None
    number = int(text)
    return number if abs(number) <= _INT64_MAX else None
