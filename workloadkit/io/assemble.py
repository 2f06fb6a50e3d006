"""Build a log from accounting records: attempts, order, numbers, header."""

import warnings
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
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
from workloadkit.machine.observed import observed_machine
from workloadkit.metrics import use_over_time
from workloadkit.trace import Trace
from workloadkit.window import Window, window_of

#: Fields that become numbers in an anonymous side-car, so that jobs of one account stay together.
_ALSO_NUMBERED = ("account", "qos", "cluster", "array_job")
_LEFT_OUT = ("id", "reason", "exit_code", "node_list", "features", "pools")

#: Measured fields that records and logs share.
_MEASURED = ("procs", "cpu", "memory", "requested_procs", "requested_time", "requested_memory")

#: Latest accepted submission, the end of the year 9999. [s since 1970]
_LAST_SECOND = 253_402_300_799


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
    table = records.frame()
    valid = table["submit"].between(0, _LAST_SECOND).to_numpy()
    if not valid.all():
        places = table["place"].to_numpy()
        records.leave_out_where("submitted before 1970 or after 9999", ~valid, places)
        table = table[valid]
    if not len(table):
        left = ", ".join(str(repair) for repair in records.left_out[:3])
        raise FormatError(path, f"the {kind} contains no job" + (f": {left}" if left else ""))
    table, attempts = fold_attempts(table, records, summed_up=options.attempts)
    start = int(np.floor(table["submit"].min()))
    zone = records.zone or ZoneInfo(options.zone)
    begin = datetime.fromtimestamp(start, UTC).astimezone(zone)
    numbers, names = _numbers(table, options)
    jobs = _columns(table, start, records) | numbers
    trace = Trace.from_columns({"job": np.arange(1, len(table) + 1), **jobs})
    intake = Intake(
        kind=kind,
        rows=records.rows,
        jobs=len(table),
        left_out=records.left_out,
        noted=records.noted,
        settings=(("time zone", zone_name(zone)),),
    )
    if len(attempts):
        trace = replace(trace, bursts=partial_lines(attempts, trace))
    opened = None if records.opened is None else records.opened - start
    window = window_of(trace.column("submit"), trace.end[trace.ran], opened=opened)
    beside = _beside(table, numbers, options, states)
    parts = {name: beside[name] for name in ("partition", "queue")}  # in an anonymous log, numbers
    return replace(
        trace,
        header=_header(trace, table, intake, options, names, begin, window, records.suspends),
        name="anonymous" if options.anonymize else log_name(path),
        digest=records.digest.hexdigest(),
        sidecar=beside,
        intake=intake,
        machine=observed_machine(table.assign(**parts), named=not options.anonymize),
    )


def _columns(table: pd.DataFrame, start: int, records: Records) -> dict[str, NDArray]:
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
        absurd = (column < 0) | (np.abs(column) > BY_NAME[name].limit)
        title = BY_NAME[name].title
        records.note_where(f"{title} negative or out of range, taken as unknown", absurd, places)
        measured[name] = np.where(absurd, np.nan, column)
    return {"submit": submit - start, "status": table["status"].to_numpy(), **measured}


def _numbers(
    table: pd.DataFrame, options: ImportOptions
) -> tuple[dict[str, NDArray[np.int64]], dict[str, list[str]]]:
    """Return numbers for the names of each numbered field, and the names in order."""
    numbers, names = {}, {}
    for field in NUMBERED:
        numbers[field], names[field] = numbers_of(table[field], field, key=options.key)
    return numbers, names


def _header(
    trace: Trace,
    table: pd.DataFrame,
    intake: Intake,
    options: ImportOptions,
    names: dict[str, list[str]],
    begin: datetime,
    window: Window,
    suspends: bool,
) -> Header:
    """Return the header derived from the records."""
    zone, offset = begin.tzinfo, begin.utcoffset()
    n_bursts = trace.n_bursts
    parts = trace.as_bursts()
    left_queue = parts.column("submit") + np.nan_to_num(parts.column("wait"))
    last = float(np.fmax(parts.end, left_queue).max())  # jobs may leave the queue without running
    entries: list[tuple[str, str]] = [("Version", "2.2")]
    clusters = [word for word in table["cluster"].unique() if word]
    if clusters and not options.anonymize:
        entries.append(("Computer", ", ".join(clusters)))
    entries.append(("Conversion", f"workloadkit {__version__}, from {intake.kind}"))
    entries += [("MaxJobs", str(trace.n_jobs)), ("MaxRecords", str(trace.n_jobs + n_bursts))]
    # Double: summary lines and parts; TS: time slicing without parts
    entries.append(("Preemption", "Double" if n_bursts else "TS" if suspends else "No"))
    entries += [
        ("UnixStartTime", str(int(begin.timestamp()))),
        ("TimeZone", str(int(offset.total_seconds()) if offset is not None else 0)),
    ]
    if isinstance(zone, ZoneInfo):
        entries.append(("TimeZoneString", zone.key))
    dated = Header(tuple(f"; {label}: {value}" for label, value in entries))
    if date := dated.date(0):
        entries.append(("StartTime", date))
    if date := dated.date(last):
        entries.append(("EndTime", date))
    entries.append(("Window", dated.window_text(window.begin, window.until)))
    if options.procs is not None:
        entries.append(("MaxProcs", str(options.procs)))
    for label, field in (("Queue", "queue"), ("Partition", "partition")):
        if known := names[field]:
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
    if most := _most_in_use(parts):
        in_use = f"{plural(most, 'processor was', 'processors were')} in use at once"
        entries.append(("Note", f"at most {in_use}"))
        if options.procs is not None and options.procs < most:
            warnings.warn(
                f"procs is {options.procs:,}, but {in_use}",
                WorkloadWarning,
                stacklevel=4,
            )
    return Header(()).appended(*entries)


def _most_in_use(parts: Trace) -> int:
    """Return the maximum number of processors in use."""
    ran = parts.ran
    end, procs = parts.end[ran], parts.used_procs[ran]
    _, in_use = use_over_time(end - parts.column("run")[ran], end, procs)
    return int(in_use.max(initial=0))


def _beside(
    table: pd.DataFrame,
    numbers: dict[str, NDArray[np.int64]],
    options: ImportOptions,
    states: Collection[str],
) -> pd.DataFrame:
    """Return the side-car; without names if the log is anonymous."""
    table = table.assign(submit=table["submit"].where(table["submit_by"] == ""))
    if not options.anonymize:
        return table
    hidden = dict(numbers)
    for field in _ALSO_NUMBERED:
        hidden[field], _ = numbers_of(table[field], field, key=options.key)
    words = {
        field: pd.Series(np.where(number == UNKNOWN, "", number.astype(str))).astype("category")
        for field, number in hidden.items()
    }
    state = table["state"].where(table["state"].isin([*states, ""]), "")
    words["state"] = state.cat.remove_unused_categories()
    table = table.assign(**words)
    return table.drop(columns=list(_LEFT_OUT))
