"""The memory that logs may take: columns of longer ones are in files that the system maps.

The system reads and writes the pages of such a file when they are used, and gives their memory to
others when it is short. So a log may be longer than the memory, for every reader of its columns.
"""

import mmap
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf, prod
from tempfile import TemporaryFile, gettempdir
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import FIELDS

#: Share of the memory that the columns of a log may take: commands compute others from them.
_OF_COLUMNS = 0.25

_OF_JOB = sum(np.dtype(field.dtype).itemsize for field in FIELDS)  # [bytes]

_most: ContextVar[float | None] = ContextVar("_most", default=None)


@contextmanager
def at_most(n_bytes: float | None) -> Iterator[None]:
    """Limit the memory within the context.

    Parameters
    ----------
    n_bytes : float, optional
        By default half of the machine's memory.
    """
    token = _most.set(n_bytes)
    try:
        yield
    finally:
        _most.reset(token)


def most_memory() -> float:
    """Return the limit; none where the system does not state how much memory it has. [bytes]."""
    most = _most.get()
    if most is not None:
        return most
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    except (AttributeError, ValueError, OSError):
        return inf


def is_long(n_jobs: float) -> bool:
    """Whether the columns of so many jobs are in a file.

    Examples
    --------
    >>> with at_most(1 << 30):
    ...     is_long(1_000_000), is_long(2_000_000)
    (False, True)
    """
    return n_jobs * _OF_JOB > most_memory() * _OF_COLUMNS


def room(shape: tuple[int, int], dtype: Any, *, in_file: bool) -> NDArray:
    """Return a table with any values, in memory or in a file without a name.

    Parameters
    ----------
    shape : (int, int)
    dtype : dtype
    in_file : bool
        See `is_long`. The file is in the folder of temporary files; it ends with the table.

    Raises
    ------
    WorkloadError
        If the folder has no room for it.
    """
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    if not (in_file and n_bytes):
        return np.empty(shape, dtype)
    try:
        with TemporaryFile(prefix="workloadkit-") as file:
            reserve(file, n_bytes)
            return np.ndarray(shape, dtype, mmap.mmap(file.fileno(), n_bytes))
    except OSError as error:
        raise WorkloadError(
            f"{gettempdir()}: no room for columns of {n_bytes / 1e9:.1f} GB: {error.strerror}; "
            "set TMPDIR to a folder on a larger disk, or give more memory (--max-memory)"
        ) from None


def reserve(file: Any, n_bytes: int) -> None:
    """Let a mapped file have a length, and room: writing to a page without ends the process."""
    if hasattr(os, "posix_fallocate") and n_bytes:
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    file.truncate(n_bytes)


def room_for(kinds: Mapping[str, np.dtype], n_jobs: int) -> dict[str, NDArray]:
    """Return room for columns of some types, by name.

    Those of a type share a table: a large one is provided sooner.
    """
    in_file, n_of = is_long(n_jobs), Counter(kinds.values())
    tables = {kind: iter(room((n, n_jobs), kind, in_file=in_file)) for kind, n in n_of.items()}
    return {name: next(tables[kind]) for name, kind in kinds.items()}


def rows_of(columns: Mapping[str, NDArray], rows: NDArray[np.int64]) -> dict[str, NDArray]:
    """Return some rows of columns, in a file if they are many."""
    if not is_long(rows.size):
        return {name: column.take(rows) for name, column in columns.items()}
    found = room_for({name: column.dtype for name, column in columns.items()}, rows.size)
    for name, column in found.items():
        columns[name].take(rows, out=column, mode="clip")  # other modes copy the column
    return found
