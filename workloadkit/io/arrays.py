"""Lists of the tasks of an array, in the grammar that all batch systems share."""

import re

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
