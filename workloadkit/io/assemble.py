"""Build a log from accounting records: attempts, order, numbers, header."""

import warnings
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit import __version__
from workloadkit.errors import FormatError, WorkloadWarning, plural
from workloadkit.fields import BY_NAME, UNKNOWN
from workloadkit.header import Header, zone_name
from workloadkit.intake import IRREGULAR, ROWS_READ, Intake
from workloadkit.io.attempts import fold_attempts, partial_lines
from workloadkit.io.files import log_name
from workloadkit.io.names import numbers_of
from workloadkit.io.records import ImportOptions, Records
from workloadkit.job_columns import NUMBERED
from workloadkit.machine.description import MachineDescription
from workloadkit.machine.observed import observed_machine
from workloadkit.metrics import UseBySecond, use_over_time
from workloadkit.trace import Trace
from workloadkit.window import Window, window_of

#: Fields that become numbers in an anonymous side-car, so that jobs of one account stay together.
_ALSO_NUMBERED = ("account", "qos", "cluster", "array_job")
_LEFT_OUT = ("id", "reason", "exit_code", "node_list", "features", "pools")

#: Measured fields that records and logs share.
_MEASURED = ("procs", "cpu", "memory", "requested_procs", "requested_time", "requested_memory")

#: Fields that all records have.
NEEDED = (
    *("place", "submit", "submit_by", "start", "end", "run", "status", "state"),
    *(*_MEASURED, *NUMBERED, *_ALSO_NUMBERED),
)

# What a float can hold of seconds since 1970; further decimals are noise.
_DECIMALS = 6

#: Latest accepted submission, the end of the year 9999. [s since 1970]
LAST_SECOND = 253_402_300_799


class Origin(NamedTuple):
    """From where the jobs of a log come.

    Parameters
    ----------
    kind : str
        Name of the format.
    path : str
        Path of the file, for messages; the log is named after the file.
    states : collection of str
        States that the format defines; an anonymous log contains no others.
    is_dated : bool
        Whether times are seconds since 1970; else since an unknown instant.
    machine : MachineDescription, optional
        By default observed from the jobs, unless `is_table`.
    computer : str
        Name of the machine.
    procs : int, optional
        Processors of the machine.
    is_table : bool
        Whether each record is a job of its own.
    columns : tuple of str
        Columns of the side-car; by default all.
    """

    kind: str
    path: str
    states: Collection[str] = ()
    is_dated: bool = True
    machine: MachineDescription | None = None
    computer: str = ""
    procs: int | None = None
    is_table: bool = False
    columns: tuple[str, ...] = ()


class Extent(NamedTuple):
    """What the header of a log says of its jobs.

    Parameters
    ----------
    n_jobs, n_bursts : int
    start : int
        Second 0 of the log. [s since 1970]
    last : float
        Last end, or last time at which a job left the queue. [s]
    window : Window
    most : int
        Maximum number of processors in use; 0 if it is unknown.
    names : dict of str to list of str
        Names of queues and partitions, in the order of their numbers.
    clusters : list of str
    suspends : bool
    """

    n_jobs: int
    n_bursts: int
    start: int
    last: float
    window: Window
    most: int
    names: dict[str, list[str]]
    clusters: list[str]
    suspends: bool


def assemble(
    records: Records,
    *,
    kind: str,
    path: str,
    options: ImportOptions,
    states: Collection[str] = (),
) -> Trace:
    """Build a log from accounting records.

    Jobs are numbered 1, 2, … in order of (submission, position in the file). Records with the
    same cluster, id and submission are attempts of one job: the last one is the job or, depending
    on the options, all are its partial executions. Second 0 is the first submission.

    Parameters
    ----------
    records : Records
        All have a submit time.
    kind : str
        Name of the format.
    path : str
        Path of the file, for messages; the log is named after the file.
    options : ImportOptions
    states : collection of str
        States that the format defines; an anonymous log contains no others.

    Raises
    ------
    FormatError
        If there is no job.
    """
    return assemble_from(records, Origin(kind, path, states), options)


def assemble_from(records: Records, origin: Origin, options: ImportOptions) -> Trace:
    """Build a log from records with an origin; see `assemble`."""
    table = records.frame()
    valid = table["submit"].between(0, LAST_SECOND).to_numpy()
    if not valid.all():
        places = table["place"].to_numpy()
        records.leave_out_where("submitted before 1970 or after 9999", ~valid, places)
        table = table[valid]
    if not len(table):
        raise no_job(records, origin)
    if origin.is_table:
        attempts = table.iloc[:0]
    else:
        table, attempts = fold_attempts(table, records, summed_up=options.attempts)
    start = second_0(table, origin)
    numbers, names = _numbers(table, options)
    jobs = columns_of(table, start, records) | numbers
    trace = Trace.from_columns({"job": np.arange(1, len(table) + 1), **jobs})
    if len(attempts):
        trace = replace(trace, bursts=partial_lines(attempts, trace))
    opened = None if records.opened is None else records.opened - start
    parts = trace.as_bursts()
    left_queue = parts.column("submit") + np.nan_to_num(parts.column("wait"))
    extent = Extent(
        n_jobs=len(table),
        n_bursts=trace.n_bursts,
        start=start,
        # jobs may leave the queue without running
        last=float(np.fmax(parts.end, left_queue).max()),
        window=window_of(trace.column("submit"), trace.end[trace.ran], opened=opened),
        most=_most_of_table(trace) if origin.is_table else _most_in_use(parts),
        names=names,
        clusters=[word for word in table["cluster"].unique() if word],
        suspends=records.suspends,
    )
    intake = intake_of(records, extent, origin, options)
    sidecar = sidecar_of(table, numbers, options, origin)
    machine = origin.machine
    if not origin.is_table:
        part_of = {name: sidecar[name] for name in ("partition", "queue")}  # numbers, if anonymous
        machine = observed_machine(table.assign(**part_of), named=not options.anonymize)
    return replace(
        trace,
        header=header_of(extent, intake, origin, options, records),
        name="anonymous" if options.anonymize else log_name(origin.path),
        digest=records.digest.hexdigest(),
        sidecar=sidecar,
        intake=intake,
        machine=machine,
    )


def no_job(records: Records, origin: Origin) -> FormatError:
    """Return the error of records without a job."""
    left = ", ".join(repair.text(records.unit) for repair in records.left_out[:3])
    of = "" if origin.is_table else f"the {origin.kind} "
    why = f"{of}contains no job" + (f": {left}" if left else "")
    return FormatError(origin.path, why)


def second_0(table: pd.DataFrame, origin: Origin) -> int:
    """Return second 0 of a log: its first submission, if times have a date. [s since 1970]."""
    return int(np.floor(table["submit"].min())) if origin.is_dated else 0


def intake_of(records: Records, extent: Extent, origin: Origin, options: ImportOptions) -> Intake:
    """Return what became of the rows."""
    zone = zone_name(records.zone or ZoneInfo(options.zone)) if origin.is_dated else "unknown"
    return Intake(
        kind=origin.kind,
        rows=records.rows,
        jobs=extent.n_jobs,
        left_out=records.left_out,
        noted=records.noted,
        settings=(("time zone", zone),),
        unit=records.unit,
    )


def columns_of(table: pd.DataFrame, start: int, records: Records) -> dict[str, NDArray]:
    """Return the measured fields of the jobs."""
    places = table["place"].to_numpy()
    submit = table["submit"].to_numpy()
    started = table["start"].notna().to_numpy()
    left = table["start"].fillna(table["end"]).to_numpy()  # when the job left the queue
    wait = np.where(table["submit_by"] == "start", np.nan, left - submit)
    early = wait < 0
    records.note_where("left the queue before its submission: wait taken as 0", early, places)
    measured = {
        "wait": np.where(early, 0.0, wait),
        "run": np.where(started, table["run"], np.nan),
        **{name: table[name].to_numpy() for name in _MEASURED},
        # averages over processors, rounded to the standard's whole KB
        **{name: np.rint(table[name].to_numpy()) for name in ("memory", "requested_memory")},
    }
    for name, column in measured.items():
        absurd = (column < 0) | (column > BY_NAME[name].limit)
        if absurd.any():
            kind = f"{BY_NAME[name].title} negative or out of range, taken as unknown"
            records.note_where(kind, absurd, places)
            measured[name] = np.where(absurd, np.nan, column)
    for name in ("wait", "run"):
        measured[name] = np.round(measured[name], _DECIMALS)
    return {
        "submit": np.round(submit - start, _DECIMALS),
        "status": table["status"].to_numpy(),
        **measured,
    }


def _numbers(
    table: pd.DataFrame, options: ImportOptions
) -> tuple[dict[str, NDArray[np.int64]], dict[str, list[str]]]:
    """Return numbers for the names of each numbered field, and the names in order."""
    numbers, names = {}, {}
    for field in NUMBERED:
        numbers[field], names[field] = numbers_of(table[field], field, key=options.key)
    return numbers, names


def header_of(
    extent: Extent, intake: Intake, origin: Origin, options: ImportOptions, records: Records
) -> Header:
    """Return the header of a log."""
    entries: list[tuple[str, str]] = [("Version", "2.2")]
    clusters = extent.clusters or [origin.computer] * bool(origin.computer)
    if clusters and not options.anonymize:
        entries.append(("Computer", ", ".join(clusters)))
    entries.append(("Conversion", f"workloadkit {__version__}, from {intake.kind}"))
    n_records = extent.n_jobs + extent.n_bursts
    entries += [("MaxJobs", str(extent.n_jobs)), ("MaxRecords", str(n_records))]
    # Double: summary lines and parts; TS: time slicing without parts
    entries.append(
        ("Preemption", "Double" if extent.n_bursts else "TS" if extent.suspends else "No")
    )
    entries += _dates(extent, origin, records.zone or ZoneInfo(options.zone))
    procs = options.procs or origin.procs or (origin.machine.procs if origin.machine else None)
    if procs:
        entries.append(("MaxProcs", str(procs)))
    for label, field in (("Queue", "queue"), ("Partition", "partition")):
        if known := extent.names[field]:
            entries.append((f"Max{label}s", str(len(known))))
        if not options.anonymize:
            entries += [(label, f"{n} {name}") for n, name in enumerate(known, 1)]
    kept = f"{ROWS_READ}{intake.rows:,}, jobs kept {intake.jobs:,}"
    left = "; ".join(f"{r.count:,} {r.kind}" for r in intake.left_out)
    entries.append(("Note", f"{kept}; left out: {left}" if left else kept))
    if intake.noted:
        odd = "; ".join(f"{r.count:,} {r.kind}" for r in intake.noted)
        entries.append(("Note", f"{IRREGULAR}{odd}"))
    if len(clusters) > 1:
        entries.append(("Note", f"the jobs of {len(clusters)} machines"))
    if most := extent.most:
        in_use = f"{plural(most, 'processor was', 'processors were')} in use at once"
        entries.append(("Note", f"at most {in_use}"))
        if procs and procs < most:
            warnings.warn(
                f"procs is {procs:,}, but {in_use}",
                WorkloadWarning,
                stacklevel=5,
            )
    return Header(()).appended(*entries)


def _dates(extent: Extent, origin: Origin, zone: tzinfo) -> list[tuple[str, str]]:
    """Return the header's entries of times; 0 is an unknown start in the standard."""
    entries = [("UnixStartTime", str(extent.start))]
    if origin.is_dated:
        begin = datetime.fromtimestamp(extent.start, UTC).astimezone(zone)
        offset = begin.utcoffset()
        entries.append(("TimeZone", str(int(offset.total_seconds()) if offset is not None else 0)))
        if isinstance(zone, ZoneInfo):
            entries.append(("TimeZoneString", zone.key))
    dated = Header(tuple(f"; {label}: {value}" for label, value in entries))
    for label, time in (("StartTime", 0.0), ("EndTime", extent.last)):
        if origin.is_dated and (date := dated.date(time)):
            entries.append((label, date))
    entries.append(("Window", dated.window_text(extent.window.begin, extent.window.until)))
    return entries


def _most_in_use(parts: Trace) -> int:
    """Return the maximum number of processors in use."""
    ran = parts.ran
    end, procs = parts.end[ran], parts.used_procs[ran]
    _, in_use = use_over_time(end - parts.column("run")[ran], end, procs)
    return int(in_use.max(initial=0))


def _most_of_table(trace: Trace) -> int:
    """Return the maximum number of processors in use, as for tables that do not fit into memory."""
    use, ran = UseBySecond(), trace.ran
    end = trace.end[ran]
    use.add(end - trace.column("run")[ran], end, trace.used_procs[ran])
    return use.most


def sidecar_of(
    table: pd.DataFrame,
    numbers: dict[str, NDArray[np.int64]],
    options: ImportOptions,
    origin: Origin,
) -> pd.DataFrame:
    """Return the side-car; without names if the log is anonymous."""
    table = table.assign(submit=table["submit"].where(table["submit_by"] == ""))
    if options.anonymize:
        hidden = dict(numbers)
        for field in _ALSO_NUMBERED:
            hidden[field], _ = numbers_of(table[field], field, key=options.key)
        words = {
            field: pd.Series(np.where(number == UNKNOWN, "", number.astype(str))).astype("category")
            for field, number in hidden.items()
        }
        state = table["state"].where(table["state"].isin([*origin.states, ""]), "")
        words["state"] = state.cat.remove_unused_categories()
        table = table.assign(**words).drop(columns=list(_LEFT_OUT), errors="ignore")
    return table[[n for n in table if n in origin.columns]] if origin.columns else table
