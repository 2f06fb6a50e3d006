"""Accounting of Slurm, as printed by `sacct`.

`rows` splits lines according to their `columns`, `jobs` converts them to records using `values` and
`times`, `attempts` sums up the rows of steps and distinguishes requeued jobs from reused ids, and
`log` puts the jobs together.
"""

import warnings
from collections.abc import Iterator

from workloadkit.errors import WorkloadWarning
from workloadkit.io.files import source_path
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm.columns import EXPORT, columns_at, is_row, named_columns
from workloadkit.io.slurm.log import log_of_rows
from workloadkit.io.slurm.rows import RowReader, Rows
from workloadkit.trace import Trace

__all__ = ["EXPORT", "looks_like", "read_slurm"]


def read_slurm(
    source: Sources,
    *,
    tz: str | None = None,
    procs: int | None = None,
    attempts: bool = False,
    anonymize: bool = False,
    key: bytes | None = None,
    columns: str | None = None,
) -> Trace:
    """Read the output of ``sacct --parsable2``, of any version and with any columns.

    Columns are found by their names. Start, and End or Elapsed, are required; the best export is
    `workloadkit.io.slurm.EXPORT`. `Trace.intake` reports what became of each row, and
    `Trace.sidecar` has the data without a field in the standard. The file may have been written
    by another program: with quotes (RFC 4180), or times since 1970 or with names of months.

    Parameters
    ----------
    source : str, path, binary file, or several of them in a list
        ``-`` is standard input. Each file starts with the names of its columns, perhaps after
        stray lines, is an export of Open XDMoD, or has the columns given by `columns`.
    tz : str, optional
        Time zone of the log, and of times without an offset. By default the log has the offset of
        its times, the most frequent one if there are several; times without one are UTC.
    procs : int, optional
        Processors of the machine, for the header.
    attempts : bool, default False
        Whether each attempt of a requeued job, and each part of a suspended one, becomes one of its
        partial executions; else the last attempt is the job.
    anonymize : bool, default False
        Whether to leave out names, ids and hosts.
    key : bytes, optional
        With `anonymize`: secret that makes the numbers of names the same in every log.
    columns : str, optional
        Names of the columns, in order, for files without them (``--noheader``):
        ``JobID|Submit|...``.

    Raises
    ------
    FormatError
        If a file lacks the names of columns or required columns, contains no ended job, or has
        times in no known form, or dates such as 1/5/2024 without one that shows the month.
    ParameterError

    Warns
    -----
    WorkloadWarning
        For unknown states, for columns that are missing, and for local times that are ambiguous
        or do not exist in the zone.

    Notes
    -----
    The run time is Elapsed, without suspension. CPU time is TotalCPU, else that in TRESUsageInTot,
    else UserCPU + SystemCPU, else that of the steps, divided by the job's processors. Used memory
    is that of the job's largest step, divided by its processors: MaxRSS, the memory of the step's
    largest task, times its tasks. It is too large if tasks differ. Energy is ConsumedEnergyRaw or
    ConsumedEnergy of the job, else that in AllocTRES or TRESUsageInTot, else that of its extern
    step, else of its steps. It is measured for whole nodes, so it is the job's own only if the job
    had its nodes alone. Jobs clipped by the window of the export are marked, see
    `workloadkit.io.slurm.instants`. A job without nodes (NodeList) and without run time never
    started, whatever Start and the processors are; where nodes are not exported, nor did one that
    was cancelled in no time and has no steps. Of a requeued job the side-car has all attempts;
    parts of a resized job (RESIZING) are one run. A row for several tasks of an array, cancelled
    before their start, is one job. Eligible replaces a missing Submit, or else Start; in the latter
    case the wait is unknown, and a job that never started is left out.

    Examples
    --------
    >>> import io
    >>> text = b'''JobID|Submit|Start|End|State|AllocCPUS|ReqCPUS
    ... 7|2024-05-01T08:00:00|2024-05-01T08:01:00|2024-05-01T09:01:00|COMPLETED|4|4
    ... 8|2024-05-01T08:00:30|Unknown|2024-05-01T08:02:00|CANCELLED by 1001|0|2
    ... 9|2024-05-01T09:00:00|2024-05-01T09:00:00|Unknown|RUNNING|1|1
    ... '''
    >>> trace = read_slurm(io.BytesIO(text))
    >>> trace.jobs[["submit", "wait", "run", "procs", "status"]].to_numpy().tolist()
    [[0.0, 60.0, 3600.0, 4.0, 1.0], [30.0, 90.0, nan, nan, 5.0]]
    >>> print(trace.intake)
    Slurm accounting (time zone: UTC)
      rows read             3
      not ended: RUNNING   -1  first on line 4
      jobs                  2
    """
    options = ImportOptions(tz, procs, attempts, anonymize, key)
    records = Records()
    rows = RowReader(records, named_columns(columns) if columns is not None else None)
    path = source_path(list_of_sources(source)[0])
    return log_of_rows(_rows(source, rows, path), records, options, path)


def _rows(source: Sources, reader: RowReader, path: str) -> Iterator[Rows]:
    """Yield all rows of some files."""
    for block in reader.records.line_blocks(source):
        yield from reader.read(block)
    yield from reader.finish()
    reader.check_read(path)
    if reader.unnamed is not None and reader.given is None:
        warnings.warn(
            f"{path}: no line with column names; assumed to be {reader.unnamed.line}",
            WorkloadWarning,
            stacklevel=3,
        )


def looks_like(lines: list[str]) -> bool:
    """Return whether one of the first lines of a file begins an export of `sacct`.

    Examples
    --------
    >>> looks_like(["JobID|Submit|State", "1|2024-05-01T08:00:00|COMPLETED"])
    True
    """
    filled = [line.rstrip("\r") for line in lines if line.strip()]
    # a comment of SWF may name the columns of a side-car; before rows separated by semicolons, the
    # one at the beginning follows the empty name of an index, as pandas writes it
    known = [
        line
        for line, below in zip(filled, [*filled, ""][1:], strict=True)
        if line[0] not in "#;" or (line[0] == ";" != below[:1] and ";" in below)
    ]
    at, columns = columns_at(known)
    return columns is not None or (bool(known) and is_row(known[at]))
