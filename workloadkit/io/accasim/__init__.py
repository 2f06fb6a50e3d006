"""The schedule that AccaSim writes: ``results/sched-WORKLOAD``, a line for each job."""

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from math import nan
from typing import Any

from workloadkit.io.files import Source, source_path
from workloadkit.io.lines import line_blocks
from workloadkit.io.schedules import Repairs, trace_of_schedule
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_accasim"]


_DATE = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"
_LINE = re.compile(
    rf"([^;]{{1,80}});([^;]{{0,80}});{_DATE}__([\d;#]*)__{_DATE};{_DATE};"
    r"(\d{1,9});(\d{1,9});(\d{1,15}|NA);(-?\d{1,12}|NA);"
)
_NO_LINE = "lines that are no job of AccaSim, left out"


def read_accasim(source: Source) -> Trace:
    """Read the schedule of a simulation by AccaSim [1]_, to check or compare it.

    The default format is read: ``id;user;queued__assignments__start;end;nodes;cores;memory;
    duration;``, where cores are those of each node. Second 0 is the first submission, as in logs
    that begin with it: AccaSim writes local times. Changes of the clock of the machine that
    simulated are not known. Not tried on the output of AccaSim.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input; compression is recognized from the content.

    Returns
    -------
    Trace
        Jobs keep their ids as numbers if these are whole and distinct.

    Raises
    ------
    FormatError
        If the file cannot be read or has no job.

    References
    ----------
    .. [1] C. Galleguillos, Z. Kiziltan, A. Netti, R. Soto, "AccaSim: a customizable workload
       management simulator for job dispatching research in HPC systems", Cluster Computing 2020.

    Examples
    --------
    >>> import io
    >>> text = b"7;al;2024-05-06 08:00:00__1;4;0#2;4;0#__2024-05-06 08:01:00;"
    >>> trace = read_accasim(io.BytesIO(text + b"2024-05-06 08:11:00;2;4;0;900;"))
    >>> trace.jobs[["job", "wait", "run", "procs", "requested_time"]].to_numpy().tolist()
    [[7.0, 60.0, 600.0, 8.0, 900.0]]
    """
    path, digest = source_path(source), hashlib.sha256()
    repairs = Repairs()
    jobs = [*_jobs(source, digest, repairs)]
    begin = min((row["submit"] for _, row in jobs), default=0.0)
    since = ((name, row | {"submit": row["submit"] - begin}) for name, row in jobs)
    return trace_of_schedule(since, path, digest, repairs)


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first line of a file is a job of AccaSim.

    Examples
    --------
    >>> looks_like(["7;al;2024-05-06 08:00:00__1;4;0#__2024-05-06 08:01:00;"])
    False
    """
    return _LINE.match(next((line for line in first_lines if line.strip()), "")) is not None


def _jobs(source: Source, digest: Any, repairs: Repairs) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the id and the fields of each job; submissions are seconds since 1970."""
    for block in line_blocks(source, digest, note=repairs.note):
        for place, line in enumerate(block.lines, block.place):
            if not line.strip():
                continue
            match = _LINE.match(line)
            times = [*map(_seconds, match.group(3, 5, 6))] if match else [nan]
            if match is None or not times[0] <= times[1] <= times[2]:
                repairs.note(_NO_LINE, place)
                continue
            queued, start, end = times
            duration = match[10]
            yield (
                match[1],
                {
                    "submit": queued,
                    "wait": start - queued,
                    "run": end - start,
                    "procs": float(match[7]) * float(match[8]) or nan,
                    "requested_time": float(duration) if duration.isdecimal() else nan,
                },
            )


def _seconds(text: str) -> float:
    """Return a date as seconds since 1970; NaN if it is invalid."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return nan
