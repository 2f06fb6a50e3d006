"""Read and write allocations: the nodes on which each job of a schedule ran.

The allocations of a schedule stand next to its log, in a file with the log's whole name plus
``.allocations``: comments, then a line for each run, in the order of the ends. Times are seconds of
the log::

    ; AllocationFormat: 1
    1 0 255 1:1
    2 40 100.5 3:2 4:2

The fields are job number, start, end, and the processors on each node, as node:processors. Nodes
are numbered from 1, in the order of the machine's description.
"""

import os
import re
from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

from workloadkit.errors import FormatError
from workloadkit.io.files import Source, source_path, text_chunks, write_text

SUFFIX = ".allocations"

#: Version of the format.
VERSION = "1"

_LINE = re.compile(r"(\d{1,18}) (-?[\d.e+]{1,40}) (-?[\d.e+]{1,40})((?: \d{1,15}:\d{1,15})+)")
_VERSION = re.compile(r"; *AllocationFormat: *(\S+)")


class Allocation(NamedTuple):
    """The nodes of a run of a job.

    Parameters
    ----------
    job : int
        Job number.
    start, end : int or float
        [s]
    nodes : tuple of (int, int)
        Numbers of the nodes, from 1, and the processors on each.
    """

    job: int
    start: Any
    end: Any
    nodes: tuple[tuple[int, int], ...]


def write_allocations(runs: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Write the nodes of runs, whole or not at all.

    Parameters
    ----------
    runs : iterable of Run or Allocation
        As in `Schedule.runs`; those without nodes are left out.
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.

    Raises
    ------
    WorkloadError
        If the file cannot be written.

    Examples
    --------
    >>> write_allocations([Allocation(1, 0, 255, ((1, 4), (2, 1)))], "-")
    ; AllocationFormat: 1
    1 0 255 1:4 2:1
    """
    lines = (
        f"{run.job} {run.start} {run.end} {' '.join(f'{node}:{n}' for node, n in run.nodes)}\n"
        for run in runs
        if run.nodes
    )
    write_text(path, "".join(chain([f"; AllocationFormat: {VERSION}\n"], lines)))


def read_allocations(source: Source) -> list[Allocation]:
    r"""Read the nodes of runs.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input. gzip, bzip2, xz and Zstandard are recognized from the content.

    Returns
    -------
    list of Allocation

    Raises
    ------
    FormatError
        With the line and the text of an invalid one; for a file that is missing, truncated, or of
        another version.

    Examples
    --------
    >>> import io
    >>> read_allocations(io.BytesIO(b"; AllocationFormat: 1\n1 0 255 1:4 2:1\n"))
    [Allocation(job=1, start=0, end=255, nodes=((1, 4), (2, 1)))]
    """
    path = source_path(source)
    text = b"".join(text_chunks(source)).decode(errors="replace")
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if version := _VERSION.match(line):
            if version[1] != VERSION:
                raise FormatError(
                    path, f"unsupported version of the format, not {VERSION}", text=version[1]
                )
            continue
        if not line.strip() or line.startswith(";"):
            continue
        fields = _LINE.fullmatch(line.strip())
        try:
            if fields is None:
                raise ValueError
            job, start, end, nodes = fields.groups()
            parts = (part.split(":") for part in nodes.split())
            places = tuple((int(node), int(procs)) for node, procs in parts)
            found.append(Allocation(int(job), _time(start), _time(end), places))
        except ValueError:
            raise FormatError(
                path, "not a job, start, end and nodes", line=number, text=line[:80]
            ) from None
    return found


def _time(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)
