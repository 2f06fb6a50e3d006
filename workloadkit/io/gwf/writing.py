"""Write the Grid Workloads Format."""

import os
from collections.abc import Iterator
from warnings import warn

import numpy as np
import pandas as pd

from workloadkit.errors import WorkloadWarning
from workloadkit.fields import FIELDS, MAX_TIME, UNKNOWN
from workloadkit.io.files import writing
from workloadkit.io.names import as_whole
from workloadkit.io.swf.writing import field_texts, header_text, header_without_bursts
from workloadkit.trace import Trace, check_trace

# The columns of the Grid Workloads Format, and the comments that describe them.

#: Names of the columns.
COLUMNS = (
    *("JobID", "SubmitTime", "WaitTime", "RunTime", "NProcs", "AverageCPUTimeUsed", "UsedMemory"),
    *("ReqNProcs", "ReqTime", "ReqMemory", "Status", "UserID", "GroupID", "ExecutableID"),
    *("QueueID", "PartitionID", "OrigSiteID", "LastRunSiteID", "JobStructure"),
    *("JobStructureParams", "UsedNetwork", "UsedLocalDiskSpace", "UsedResources", "ReqPlatform"),
    *("ReqNetwork", "ReqLocalDiskSpace", "ReqResources", "VOID", "ProjectID"),
)

#: Job fields that the format has columns for, in order.
SHARED = FIELDS[:16]
#: Number of columns with quantities; the status and names follow.
N_NUMBERS = 10

#: Columns without a field in SWF.
SIDECAR_COLUMNS = COLUMNS[len(SHARED) :]

#: Submit times from here on are seconds since 1970, not seconds of the log: no log has its first
#: job after three years. [s]
SINCE_1970_FROM = 10**8


#: Comments written into every file.
SINCE_1970 = "# SubmitTime: in seconds since 1970"
OF_THE_LOG = "# SubmitTime: in seconds of the log"
LEGEND = "# " + "\t".join(COLUMNS)

#: Columns of the side-car that others give, or that belong to a file of accounting.
_KNOWN_OTHERWISE = ("id", "place", "start", "end", "attempts")

_ROWS_AT_A_TIME = 1 << 16  # limits the memory for text


def write_gwf(trace: Trace, path: str | os.PathLike[str]) -> None:
    r"""Write a trace in the Grid Workloads Format, whole or not at all.

    Header lines become comments. Names, and the columns after the 16th, come from the side-car;
    without it, users and so on are numbers. JobID is the job number in the log, or the site's job
    id if some of these are not numbers. If the header states the start of the log (UnixStartTime),
    submit times are seconds since 1970, as in the archive's own logs.

    Parameters
    ----------
    trace : Trace
    path : str or path
        ``-`` is standard output; ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.

    Raises
    ------
    WorkloadError
        If the file cannot be written, or the trace contains values that the format cannot hold.

    Warns
    -----
    WorkloadWarning
        If the trace has data without a column in the format: preceding jobs and think times,
        bursts of checkpointed jobs, utility functions.

    Examples
    --------
    >>> import workloadkit as wk
    >>> wk.write_gwf(wk.Trace.from_columns({"submit": [0], "run": [2.5]}), "-")
    ... # doctest: +ELLIPSIS
    # SubmitTime: in seconds of the log
    # JobID SubmitTime WaitTime RunTime ...
    1 0 -1 2.5 -1 -1 ...
    """
    check_trace(trace)
    header = header_without_bursts(trace, trace.n_jobs)
    header_text(header)  # checks the header
    start = _start_to_add(trace)
    if lost := _lost(trace):
        text = f"{trace.name}: the Grid Workloads Format has no columns for {', '.join(lost)}"
        warn(text, WorkloadWarning, stacklevel=2)
    names = _sidecar(trace)
    with writing(path) as stream:
        lines = [line.replace(";", "#", 1) for line in header.lines]
        lines += [SINCE_1970 if start else OF_THE_LOG, LEGEND]
        stream.write(("\n".join(lines) + "\n").encode(errors="replace"))
        for first in range(0, trace.n_jobs, _ROWS_AT_A_TIME):
            rows = slice(first, first + _ROWS_AT_A_TIME)
            texts = "\n".join(_lines(trace.jobs.iloc[rows], names.iloc[rows], start))
            stream.write((texts + "\n").encode(errors="replace"))


def _start_to_add(trace: Trace) -> int:
    """Return the start of the log if it can be added to submit times without loss, else 0."""
    start = trace.header.start or 0
    submit = trace.column("submit")
    moved = submit + start
    same = (moved - start == submit) & (np.abs(moved) <= MAX_TIME)
    same &= (moved != UNKNOWN) | (submit == UNKNOWN)
    return start if start >= SINCE_1970_FROM and same.all() else 0


def _lost(trace: Trace) -> list[str]:
    """Return the data of a trace that the format has no columns for."""
    lost = []
    if (trace.column("preceding_job") != UNKNOWN).any() or trace.jobs["think_time"].notna().any():
        lost.append("preceding jobs and think times")
    if len(trace.bursts):
        lost.append("bursts of checkpointed jobs")
    if len(trace.utility):
        lost.append("utility functions")
    held = {*(field.name for field in SHARED), *SIDECAR_COLUMNS, *_KNOWN_OTHERWISE}
    known = () if trace.sidecar is None else map(str, trace.sidecar.columns)
    lost += [name for name in known if name not in held and _is_known(trace, name)]
    if trace.machine is not None:
        lost.append("the description of the machine")
    return lost


def _is_known(trace: Trace, name: str) -> bool:
    """Whether a column of the side-car has a value."""
    assert trace.sidecar is not None  # it has the column
    column = trace.sidecar[name]
    return bool((column.notna() & ~column.isin(["", UNKNOWN])).any())


def _sidecar(trace: Trace) -> pd.DataFrame:
    """Return the side-car, without ids if these are all numbers or not those of one job."""
    if trace.sidecar is None:
        return pd.DataFrame()
    if "id" in trace.sidecar and not trace.sidecar["id"].is_unique:
        return _sidecar(trace.replaced(sidecar=trace.sidecar.drop(columns="id")))
    if "id" in trace.sidecar and all(
        as_whole(str(name)) is not None for name in trace.sidecar["id"]
    ):
        return trace.sidecar.drop(columns="id")
    return trace.sidecar


def _lines(jobs: pd.DataFrame, names: pd.DataFrame, start: int) -> Iterator[str]:
    """Yield the lines of some jobs."""
    columns = []
    for field in SHARED:
        column = jobs[field.name].to_numpy()
        if field.name == "submit" and start:
            column = np.where(column == UNKNOWN, column, column + start)
        texts = field_texts(field, column)
        name = "id" if field.name == "job" else field.name
        columns.append(_names_or(names, name, texts) if not field.measured else texts)
    unknown = [str(UNKNOWN)] * len(jobs)
    columns += [_names_or(names, name, iter(unknown)) for name in SIDECAR_COLUMNS]
    return map("\t".join, zip(*columns, strict=True))


def _names_or(names: pd.DataFrame, name: str, texts: Iterator[str]) -> Iterator[str]:
    """Yield the names in the side-car, else the given texts."""
    if name not in names:
        return texts
    words = names[name].astype(object).tolist()
    return (
        word if isinstance(word, str) and word and _fits(word) else text
        for word, text in zip(words, texts, strict=True)
    )


def _fits(word: str) -> bool:
    """Whether a name can be written between tabs and read back unchanged."""
    return word.isprintable() and word == word.strip() and not word.startswith("#")
