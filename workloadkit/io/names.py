"""Names and numbers in accounting: names of users and queues as numbers, lists of array tasks."""

import hmac
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import ParameterError
from workloadkit.fields import UNKNOWN

#: Bits of a number derived from a key: floats hold it exactly. A million names get distinct numbers
#: under 99.98 % of keys.
KEYED_BITS = 51


def numbers_of(
    names: pd.Series, kind: str, *, key: bytes | None = None
) -> tuple[NDArray[np.int64], list[str]]:
    """Return numbers for names: 1, 2, … by first appearance, or derived from a key.

    Parameters
    ----------
    names : Series of categories, shape (n_jobs,)
        The empty name is unknown.
    kind : str
        Kind of name; with a key, equal names of different kinds get different numbers.
    key : bytes, optional
        The number is then derived from 51 bits of the name's HMAC-SHA256: the same in every log,
        and names cannot be recovered without the key.

    Returns
    -------
    numbers : ndarray of int64, shape (n_jobs,)
        -1 for unknown.
    known : list of str
        The names in order of first appearance.

    Raises
    ------
    ParameterError
        If the key gives two names the same number.

    Examples
    --------
    >>> numbers, known = numbers_of(pd.Series(["bo", "", "al", "bo"], dtype="category"), "user")
    >>> numbers.tolist(), known
    ([1, -1, 2, 1], ['bo', 'al'])
    """
    code = names.cat.codes.to_numpy()
    words = [*map(str, names.cat.categories.tolist())]
    in_order = [int(c) for c in pd.unique(code) if words[c]]
    known = [words[c] for c in in_order]
    of_code = np.full(len(words) + 1, UNKNOWN)
    of_code[in_order] = np.arange(1, len(known) + 1) if key is None else _keyed(known, kind, key)
    return of_code[code], known


def _keyed(names: Sequence[str], kind: str, key: bytes) -> NDArray[np.int64]:
    digests = (
        hmac.digest(key, f"{kind}\0{name}".encode(errors="surrogatepass"), "sha256")
        for name in names
    )
    numbers = [1 + (int.from_bytes(d[:8], "big") >> (64 - KEYED_BITS)) for d in digests]
    if len(set(numbers)) < len(numbers):
        raise ParameterError(f"key gives two {kind} names the same number; use another key")
    return np.array(numbers, np.int64)


# Lists of the tasks of an array, in the grammar that all batch systems share.

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


def n_tasks(tasks: str) -> int:
    """Count the tasks of a list; a lower bound, at least 1, if the list is truncated.

    Examples
    --------
    >>> n_tasks("1-3,9%2"), n_tasks("0-20:5"), n_tasks("")
    (4, 5, 1)
    """
    total = 0
    for part in tasks.partition("%")[0].split(","):
        if match := _RANGE.fullmatch(part):
            first, last, step = match[1], match[2] or match[1], match[3] or 1
            total += len(range(int(first), int(last) + 1, int(step) or 1))
    return max(total, 1)


# Distinguish whole numbers from names.

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
