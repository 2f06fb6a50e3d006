"""The schedule that Batsim writes: a table of jobs in CSV, ``PREFIX_jobs.csv``."""

import csv
import hashlib
import re
from collections.abc import Callable, Iterator
from math import inf, nan
from typing import Any

from workloadkit.errors import FormatError, plural
from workloadkit.fields import CANCELLED, FAILED, MAX_PROCS, MAX_TIME, UNKNOWN
from workloadkit.io.files import Source, source_path
from workloadkit.io.lines import line_blocks
from workloadkit.io.schedules import Repairs, trace_of_schedule
from workloadkit.trace import Trace

__all__ = ["looks_like", "read_batsim_jobs"]


# Columns by field, with their names in early versions.
_COLUMNS = {
    "job": ("job_id", "jobID"),
    "submit": ("submission_time",),
    "requested_procs": ("requested_number_of_resources", "requested_number_of_processors"),
    "requested_time": ("requested_time",),
    "start": ("starting_time",),
    "run": ("execution_time",),
    "state": ("final_state",),
    "procs": ("allocated_resources", "allocated_processors"),
}
_NEEDED = ("job", "submit", "requested_procs", "start", "run")
_NUMBERS = ("submit", "requested_procs", "requested_time", "start", "run")

# A job that ran to its end has no status: Batsim does not know whether the job of the log failed.
_STATUS = {
    **dict.fromkeys(("COMPLETED_WALLTIME_REACHED", "COMPLETED_KILLED", "REJECTED"), CANCELLED),
    "COMPLETED_FAILED": FAILED,
}
_MARKS = ("submission_time", "starting_time", "execution_time", "turnaround_time")


def read_batsim_jobs(source: Source) -> Trace:
    r"""Read the schedule of a simulation by Batsim [1]_, to check or compare it.

    A job waits from its submission to its start. Its processors are the number of its allocated
    resources; requested ones are stated where they differ. The status is 5 for jobs that were
    stopped (``COMPLETED_WALLTIME_REACHED``, ``COMPLETED_KILLED``) or never started (``REJECTED``),
    0 for ``COMPLETED_FAILED``, and unknown for others. Times are seconds of the simulation.

    Parameters
    ----------
    source : str, path or binary file
        ``-`` is standard input; compression is recognized from the content.

    Returns
    -------
    Trace
        Jobs keep their ids as numbers if these are whole and distinct, as `check_schedule` requires
        them; otherwise they are numbered in order of submission, and the ids are in the side-car:
        several workloads may have the same ids.

    Raises
    ------
    FormatError
        With the line and the column of a value that is not a number, or if a column is missing.

    References
    ----------
    .. [1] Batsim documentation, "Outputs", https://batsim.readthedocs.io.

    Examples
    --------
    >>> import io
    >>> names = "job_id,submission_time,requested_number_of_resources,starting_time"
    >>> text = f"{names},execution_time,allocated_resources\n0,10.0,2,15.0,600.5,0-1\n"
    >>> trace = read_batsim_jobs(io.BytesIO(text.encode()))
    >>> trace.jobs[["job", "submit", "wait", "run", "procs"]].to_numpy().tolist()
    [[0.0, 10.0, 5.0, 600.5, 2.0]]
    """
    path, digest = source_path(source), hashlib.sha256()
    repairs = Repairs()
    jobs = _jobs(source, path, digest, repairs.note)
    return trace_of_schedule(jobs, path, digest, repairs)


def looks_like(first_lines: list[str]) -> bool:
    """Whether the first line of a file has the names of Batsim's columns.

    Examples
    --------
    >>> looks_like(["job_id,submission_time,starting_time,execution_time,turnaround_time"])
    True
    """
    first = next((line for line in first_lines if line.strip()), "").split(",")
    return all(mark in first for mark in _MARKS)


def _jobs(
    source: Source, path: str, digest: Any, note: Callable[..., None]
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the id and the fields of each job."""
    rows = _rows(source, path, digest, note)
    first, names = next(rows, (1, []))
    at = {
        field: names.index(known)
        for field, titles in _COLUMNS.items()
        for known in titles
        if known in names
    }
    for field in _NEEDED:
        if field not in at:
            title = _COLUMNS[field][0]
            raise FormatError(path, f"the column {title} of Batsim is missing", line=first)
    for line, cells in rows:
        if len(cells) != len(names):
            message = f"{plural(len(cells), 'field')}; the table has {len(names)}"
            raise FormatError(path, message, line=line)
        job = {field: cells[place] for field, place in at.items()}
        numbers = {n: _number(job.get(n, ""), path, line, _COLUMNS[n][0]) for n in _NUMBERS}
        if not numbers["submit"] >= 0:
            reason = "not a submission time"
            raise FormatError(path, reason, line=line, field="submission_time", text=job["submit"])
        yield job["job"], _fields(job, numbers)


def _rows(
    source: Source, path: str, digest: Any, note: Callable[..., None]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row, with its first line."""

    def lines() -> Iterator[str]:
        for block in line_blocks(source, digest, note=note):
            yield from block.lines

    reader = csv.reader(lines())
    line = 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(path, f"not CSV: {error}", line=line) from None


def _fields(job: dict[str, str], numbers: dict[str, float]) -> dict[str, float]:
    """Return the fields of the log for a job."""
    state = job.get("state", "")
    started = numbers["start"] >= 0 and state != "REJECTED"
    requested = numbers["requested_procs"]
    found = _n_resources(job.get("procs", ""))
    procs = found if found > 0 else requested
    return {
        "submit": numbers["submit"],
        "wait": max(round(numbers["start"] - numbers["submit"], 6), 0.0) if started else nan,
        "run": numbers["run"] if started and numbers["run"] >= 0 else nan,
        "procs": procs if started else nan,
        "requested_procs": nan if started and procs == requested else requested,
        "requested_time": numbers["requested_time"] if numbers["requested_time"] > 0 else nan,
        "status": _STATUS.get(state, UNKNOWN),
    }


def _number(text: str, path: str, line: int, column: str) -> float:
    """Return a number; NaN for an empty cell."""
    if not text.strip():
        return nan
    try:
        number = float(text)
    except ValueError:
        number = inf
    if not abs(number) <= (MAX_PROCS if column in _COLUMNS["requested_procs"] else MAX_TIME):
        raise FormatError(path, "not a number in range", line=line, field=column, text=text)
    return number


def _n_resources(text: str) -> float:
    """Return the number of resources in a list of intervals; NaN if it is no such list.

    Examples
    --------
    >>> _n_resources("0-3,5"), _n_resources("0-3 5"), _n_resources("")
    (5.0, 5.0, nan)
    """
    total = 0
    for part in text.replace(",", " ").split():
        match = _INTERVAL.fullmatch(part)
        if not match:
            return nan
        total += int(match[2] or match[1]) - int(match[1]) + 1
    return float(total) if 0 < total <= MAX_PROCS else nan


_INTERVAL = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
