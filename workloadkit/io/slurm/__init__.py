"""Accounting of Slurm, as printed by `sacct`.

`rows` splits lines according to their `columns`, `jobs` converts them to records using `values` and
`times`, and `attempts` sums up the rows of steps and distinguishes requeued jobs from reused ids.
"""

import warnings
from collections.abc import Iterator
from datetime import tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import FormatError, WorkloadWarning, plural, quoted
from workloadkit.header import zone_name, zone_of_offset
from workloadkit.intake import Repair
from workloadkit.io.assemble import assemble
from workloadkit.io.files import source_path
from workloadkit.io.lines import Sources, list_of_sources
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm import values
from workloadkit.io.slurm.attempts import StepTotals, link_attempts
from workloadkit.io.slurm.columns import EXPORT, columns_at, is_row, named_columns
from workloadkit.io.slurm.instants import cut_by_window
from workloadkit.io.slurm.jobs import JobReader
from workloadkit.io.slurm.rows import RowReader, Rows
from workloadkit.io.slurm.times import with_day_first
from workloadkit.trace import Trace

__all__ = ["EXPORT", "looks_like", "read_slurm"]


_KIND = "Slurm accounting"
_NEVER = "Start = End, nodes unknown: taken as never started"
_CUT = "clipped by the window of the export: marked in the side-car"


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
        Whether each attempt of a requeued job becomes one of its partial executions; else the last
        one is the job.
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
    jobs = JobReader(records, options)
    path = source_path(list_of_sources(source)[0])
    for some in with_day_first(_rows(source, rows), path, jobs.zone.day_first):
        jobs.read(some)
    if tz is None:
        records.zone = _zone_of_times(jobs.zone.offsets, records)
    rows.check_read(path)
    if rows.unnamed is not None and columns is None:
        warnings.warn(
            f"{path}: no line with column names; assumed to be {rows.unnamed.line}",
            WorkloadWarning,
            stacklevel=2,
        )
    _check_times(jobs, path)
    _warn(jobs, options)
    _revise(records, jobs, options)
    return assemble(records, kind=_KIND, path=path, options=options, states=values.STATES)


def _rows(source: Sources, reader: RowReader) -> Iterator[Rows]:
    """Yield all rows of some files."""
    for block in reader.records.line_blocks(source):
        yield from reader.read(block)
    yield from reader.finish()


def looks_like(lines: list[str]) -> bool:
    """Return whether one of the first lines of a file begins an export of `sacct`.

    Examples
    --------
    >>> looks_like(["JobID|Submit|State", "1|2024-05-01T08:00:00|COMPLETED"])
    True
    """
    # a comment of SWF may name the columns of a side-car
    known = [line.rstrip("\r") for line in lines if line.strip() and line[0] not in "#;"]
    at, columns = columns_at(known)
    return columns is not None or (bool(known) and is_row(known[at]))


def _revise(records: Records, jobs: JobReader, options: ImportOptions) -> None:
    """Update the records with information that depends on all rows."""
    table = records.frame()
    with_steps = jobs.steps.present(table["id"])
    totals = jobs.steps.of_jobs(records, table["id"])
    if len(table):
        _fill(table, totals)
        undecided = jobs.undecided + jobs.nameless * jobs.names_nodes
        _decide(table, np.concatenate(undecided), with_steps, records)
        records.suspends = bool((table["suspended"] > 0).any())
        zone = records.zone or ZoneInfo(options.zone)
        cut, records.opened = cut_by_window(table, zone)
        records.note_where(_CUT, cut != "", table["place"].to_numpy())
        table["cut"] = pd.Categorical(cut)
        table = link_attempts(table, jobs.open_rows, records)
    records.restore(table)


def _fill(table: pd.DataFrame, totals: StepTotals) -> None:
    """Fill in memory, CPU time and energy from the steps, if missing in the records."""
    memory, cpu, energy = (pd.Series(total).where(total > 0) for total in totals)
    procs = table["procs"].where(table["procs"] > 0)
    with_steps = memory / procs
    table["memory"] = np.fmax(table["memory"], with_steps)
    own = table["cpu"].where(table["cpu"] > 0)
    table["cpu"] = own.fillna(cpu / procs).fillna(table["cpu"])
    table["energy"] = table["energy"].fillna(energy)


def _check_times(jobs: JobReader, path: str) -> None:
    """Check that some time of each column is in a known form."""
    for name, (place, text) in jobs.zone.unreadable.items():
        if name not in jobs.zone.known and name != "eligible":
            reason = "no time is in a known form; use SLURM_TIME_FORMAT=standard"
            raise FormatError(path, reason, line=place, field=name.title(), text=text)


def _decide(
    table: pd.DataFrame,
    undecided: NDArray[np.int64],
    with_steps: NDArray[np.bool_],
    records: Records,
) -> None:
    """Take jobs that ended in no time, without nodes and steps, as never started."""
    never = np.zeros(len(table), bool)
    never[undecided] = True
    never &= ~with_steps
    if not never.any():
        return
    records.note_where(_NEVER, never, table["place"].to_numpy())
    for name in ("procs", "nodes"):  # they are the request
        table[f"requested_{name}"] = table[f"requested_{name}"].mask(
            never & table[f"requested_{name}"].isna(), table[name]
        )
    for name in ("start", "run", "procs", "nodes"):
        table[name] = table[name].mask(never)


def _zone_of_times(offsets: dict[float | None, Repair], records: Records) -> tzinfo | None:
    """Return the most frequent offset of the times as a zone; count and report the other times."""
    stated = {offset: found.count for offset, found in offsets.items() if offset is not None}
    if not stated:
        return None
    usual = max(stated, key=lambda offset: (stated[offset], -offset))
    zone = zone_of_offset(usual)
    others = []
    for offset, found in offsets.items():
        if offset is None:
            kind = "times without an offset: taken as UTC"
        elif offset != usual:
            kind = f"times of {zone_name(zone_of_offset(offset))}, not of {zone_name(zone)}"
        else:
            continue
        records.note(kind, found.first_line, found.count)
        others.append(f"{found.count:,} {kind}")
    if others:
        warnings.warn(
            f"the log's clock is {zone_name(zone)}, the most frequent offset of its times "
            f"({'; '.join(others)}); hours of the day may be shifted: give the time zone",
            WorkloadWarning,
            stacklevel=3,
        )
    return zone


def _warn(jobs: JobReader, options: ImportOptions) -> None:
    """Warn of missing columns, unknown states and ambiguous times."""
    for title in sorted(jobs.stand_ins):
        lost = "waits are unknown" if title == "Start" else "waits are counted from it"
        warnings.warn(
            f"no column Submit: {title} is used as the submit time; {lost}",
            WorkloadWarning,
            stacklevel=3,
        )
    for title, so in jobs.missing.items():
        warnings.warn(f"no column {title}: {so}", WorkloadWarning, stacklevel=3)
    if jobs.unknown_states:
        n_rows = sum(jobs.unknown_states.values())
        words = ", ".join(quoted(word, 30) for word, _ in jobs.unknown_states.most_common(5))
        named = "" if options.anonymize else f" ({words})"
        warnings.warn(
            f"{plural(n_rows, 'row has', 'rows have')} an unknown state{named}; jobs that ended "
            "are kept with unknown status",
            WorkloadWarning,
            stacklevel=3,
        )
    if jobs.zone.n_twice:
        warnings.warn(
            f"{plural(jobs.zone.n_twice, 'job has', 'jobs have')} a time that is ambiguous in "
            f"{options.zone} (clocks set back): the first is used unless Elapsed requires "
            "the second; export with TZ=UTC",
            WorkloadWarning,
            stacklevel=3,
        )
    if jobs.zone.n_never:
        warnings.warn(
            f"{plural(jobs.zone.n_never, 'job has', 'jobs have')} a time that does not exist in "
            f"{options.zone} (clocks set forward); check the time zone of the export",
            WorkloadWarning,
            stacklevel=3,
        )
