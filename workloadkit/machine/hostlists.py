"""Lists of node names in the grammar of Slurm: ``n[001-016,020],m[1-4]``.

A list has names separated by commas. Brackets contain numbers and ranges; leading zeros give a
fixed number of digits. A name may have several brackets, of which the last varies fastest. A name
preceded by ``4*`` states 4 processors on each of its nodes, as in the accounting of LSF.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from workloadkit.errors import WorkloadError, quoted

#: Largest number of names in a list.
MOST_NAMES = 1 << 20

_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_COUNT = re.compile(r"(\d{1,9})\*(.+)", re.ASCII | re.DOTALL)
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
_LAST_NUMBER = re.compile(r"(.*?)(\d{1,18})(\D*)", re.ASCII | re.DOTALL)


def expand(text: str) -> list[str]:
    """Return the names of a list.

    Raises
    ------
    WorkloadError
        If the text is not a list, or has more than `MOST_NAMES` names.

    Examples
    --------
    >>> expand("n[08-10,20],m1"), expand("r[0-1]b[1-2]")
    (['n08', 'n09', 'n10', 'n20', 'm1'], ['r0b1', 'r0b2', 'r1b1', 'r1b2'])
    """
    return [name for name, _ in expand_counted(text)]


def expand_counted(text: str, most: int = MOST_NAMES) -> list[tuple[str, int]]:
    """Return the names of a list with the processors of each; 0 if they are not stated.

    Raises
    ------
    WorkloadError
        As `expand`; if the list has more than `most` names.

    Examples
    --------
    >>> expand_counted("4*n[1-2],2*m1,x")
    [('n1', 4), ('n2', 4), ('m1', 2), ('x', 0)]
    """
    found: list[tuple[str, int]] = []
    end = 0
    for match in _PART.finditer(text):
        between = text[end : match.start()]
        if between != ("," if end else ""):
            raise _invalid(text)
        end = match.end()
        part, count = match[0], 0
        if counted := _COUNT.fullmatch(part):
            count, part = int(counted[1]), counted[2]
        if "*" in part:
            raise _invalid(text)
        found += [(name, count) for name in _names(part, text, most - len(found))]
    if end < len(text) or not found:
        raise _invalid(text)
    return found


def _invalid(text: str) -> WorkloadError:
    return WorkloadError(f"not a list of nodes such as n[01-16],m1: {quoted(text)}")


def _names(part: str, text: str, most: int) -> list[str]:
    """Return the names of a list without commas outside brackets."""
    if "[" not in part:
        choices = [[part]]
    else:
        pieces = re.split(r"[\[\]]", part)
        choices = [
            [piece] if i % 2 == 0 else _numbers(piece, text, most) for i, piece in enumerate(pieces)
        ]
    n_names = 1
    for choice in choices:
        n_names *= len(choice)
    if n_names > most:
        raise WorkloadError(f"a list of too many nodes: {quoted(text)}")
    return ["".join(parts) for parts in product(*choices)]


def _numbers(piece: str, text: str, most: int) -> list[str]:
    """Return the numbers in brackets, with their leading zeros."""
    found: list[str] = []
    for one in piece.split(","):
        match = _RANGE.fullmatch(one.strip())
        if not match:
            raise _invalid(text)
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise _invalid(text)
        if last - first + 1 > most - len(found):
            raise WorkloadError(f"a list of too many nodes: {quoted(text)}")
        found += [f"{number:0{len(match[1])}}" for number in range(first, last + 1)]
    return found


def compress(names: Iterable[str]) -> str:
    """Return a list of names in their order; successive numbers become ranges.

    The last number of a name that differs from that of the name before is put in brackets.

    Examples
    --------
    >>> compress(["n08", "n09", "n10", "n20", "m1"]), compress(["a", "a1"]), compress([])
    ('n[08-10,20],m1', 'a,a1', '')
    """
    groups: list[tuple[str, str, list[list[str]]]] = []  # prefix, suffix, first and last of ranges
    for name in names:
        head, number, tail = _split(name)
        first, last = groups[-1][2][-1] if groups else ("", "")
        if number and first and groups[-1][:2] == (head, tail):
            ranges = groups[-1][2]
            following = f"{int(last) + 1:0{len(first)}}"
            if number == following and len(number) >= len(first):
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        else:
            groups.append((head, tail, [[number, number]]))
    return ",".join(_group(*group) for group in groups)


def _split(name: str) -> tuple[str, str, str]:
    """Return a name as the part before its last number, the number, and the part after it."""
    match = _LAST_NUMBER.fullmatch(name)
    return (match[1], match[2], match[3]) if match else (name, "", "")


def _group(head: str, tail: str, ranges: list[list[str]]) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return f"{head}{ranges[0][0]}{tail}"
    parts = (first if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{head}[{','.join(parts)}]{tail}"


@lru_cache(maxsize=1 << 16)
def stem(name: str) -> str:
    """Return a name without its digits: nodes of one kind usually differ in them alone.

    Examples
    --------
    >>> stem("gpu-a07-12")
    'gpu-a-'
    """
    return re.sub(r"\d", "", name)
