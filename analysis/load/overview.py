"""Overview of a log: its machine, time span, jobs and the coverage of each field."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import count, day, duration, number, share
from workloadkit.analysis.section import Columns, Section, Table, facts, shown
from workloadkit.clock import Clock, span
from workloadkit.errors import plural
from workloadkit.fields import FIELDS, UNKNOWN
from workloadkit.intake import IRREGULAR, ROWS_READ, Repair
from workloadkit.trace import Trace, check_trace
from workloadkit.units import words_of

_ABOUT = {
    "Computer": "computer",
    "Installation": "installation",
    "Acknowledge": "acknowledgement",
    "Version": "format version",
}

_COVERED = ("wait", "run", "procs", "cpu", "memory", "requested_time", "status", "user")

_DATES = {
    "first_submit_date": "first submission",
    "last_submit_date": "last submission",
    "last_end_date": "last end",
}

_STATUS = {
    -1: "unknown",
    0: "failed",
    1: "completed",
    2: "partial, to be continued",
    3: "partial, completed",
    4: "partial, failed",
    5: "cancelled",
}


def coverage(trace: Trace) -> pd.DataFrame:
    """Report how many jobs have a known value in each field.

    Returns
    -------
    DataFrame
        By `field`: its `column` in a file, `title` and `unit`; the number of jobs with a `known`
        value and their `share` of all; the number of `distinct` known values; `min` and `max`, NaN
        if no value is known.

    Examples
    --------
    >>> table = coverage(Trace.from_columns({"submit": [0, 5], "user": [3, -1]}))
    >>> table.loc[["submit", "user", "wait"], ["known", "share", "min"]]
            known  share  min
    field
    submit      2    1.0  0.0
    user        1    0.5  3.0
    wait        0    0.0  NaN
    """
    check_trace(trace)
    rows = []
    for field in FIELDS:
        values = trace.column(field.name)
        known = values[~np.isnan(values)] if field.measured else values[values != UNKNOWN]
        rows.append(
            {
                "field": field.name,
                "column": field.column,
                "title": field.title,
                "unit": field.unit,
                "known": known.size,
                "share": known.size / max(values.size, 1),
                "distinct": pd.unique(known).size,
                "min": float(known.min()) if known.size else np.nan,
                "max": float(known.max()) if known.size else np.nan,
            }
        )
    return pd.DataFrame(rows).set_index("field")


def count_status(trace: Trace) -> pd.DataFrame:
    """Count jobs by status: `jobs` and their `share`, by ascending `status`.

    Examples
    --------
    >>> count_status(Trace.from_columns({"submit": [0, 1], "status": [5, 1]}))["jobs"].to_dict()
    {1: 1, 5: 1}
    """
    status, jobs = np.unique(trace.column("status"), return_counts=True)
    table = {"jobs": jobs, "share": jobs / max(trace.n_jobs, 1)}
    return pd.DataFrame(table, index=pd.Index(status, name="status"))


def lead(trace: Trace, seen: Trace | None = None) -> tuple[tuple[str, str], ...]:
    """Return what the log is, in a few lines: window, jobs, machine, coverage, repairs.

    `seen` is the log in another unit, in which its machine is described.

    Examples
    --------
    >>> dict(lead(Trace.from_columns({"submit": [0, 5], "user": [3, -1]})))["Jobs"]
    '2, none of which ran'
    """
    ran = int(trace.ran.sum())
    part = "all" if ran == trace.n_jobs else count(ran) if ran else "none"
    jobs = f"{count(trace.n_jobs)}, {part} of which ran"
    values: dict[str, Any] = {
        "first_submit": float(trace.column("submit").min()),
        "last_submit": float(trace.column("submit").max()),
        **_values_of_window(trace),
    }
    window = _rows_of_window(trace, Clock.of(trace), values)["complete from"][1]
    if outside := values["n_before_window"] + values["n_after_window"]:
        jobs += f"; {count(outside)} submitted outside the window"
    return (
        ("Window", window),
        *(("Choice", text) for text in choices(trace)),
        ("Jobs", jobs),
        ("Machine", _size(trace if seen is None else seen)),
        *_unit(seen),
        ("Coverage", _coverage(trace)),
        ("Repairs", _repairs(trace)),
    )


def _unit(seen: Trace | None) -> tuple[tuple[str, str], ...]:
    """State in what sizes are counted, if that is not processors."""
    return () if seen is None or seen.counting is None else (("Sizes", str(seen.counting)),)


def _size(trace: Trace) -> str:
    """Describe the size of the machine: as the header states it, else as it is described."""
    machine, described = trace.header.procs, trace.machine
    if machine is not None:
        return plural(machine, words_of(trace).one)
    if described is None:
        return "of unknown size: give it with --procs"
    size = plural(described.procs, "processor")
    what = f"at least {size}, inferred from jobs" if described.is_inferred else f"{size}, described"
    return f"{what}; --procs sets the size for utilization"


def choices(trace: Trace) -> list[str]:
    """Return how the jobs were chosen from a log, as its header records it.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 60], "user": [3, 5]})
    >>> choices(log.where("user=3"))
    ['where user=3, jobs 1 of 2']
    """
    notes = [note for note in trace.header.get_all("Note") if note.startswith("chosen: ")]
    return [note.partition("), ")[2] for note in notes]


def _coverage(trace: Trace) -> str:
    """Describe which of the main fields are unknown, or known of some jobs."""
    shares = {}
    for field in FIELDS:
        if field.name in _COVERED:
            values = trace.column(field.name)
            known = ~np.isnan(values) if field.measured else values != UNKNOWN
            shares[field.title] = float(known.mean())
    unknown = [title for title, part in shares.items() if not part]
    partial = [f"{title} ({share(part)})" for title, part in shares.items() if 0 < part < 1]
    parts = [f"unknown: {', '.join(unknown)}"] * bool(unknown)
    parts += [f"known of some jobs: {', '.join(partial)}"] * bool(partial)
    return "; ".join(parts) or "all main fields are known of all jobs"


def _repairs(trace: Trace) -> str:
    """Describe what reading and importing changed or left out."""
    parts = _rows_read(trace)
    if (irregular := _irregular(trace)) and parts:
        kinds = plural(len(irregular), "kind")
        parts.append(f"{kinds} of irregular rows, listed under Repairs made while reading")
    if trace.repairs:
        total = sum(repair.count for repair in trace.repairs)
        parts.append(f"{plural(total, 'repair')} while reading")
    return "; ".join(parts) or "none were necessary"


def _rows_read(trace: Trace) -> list[str]:
    """Return what became of the rows when the log was imported, as the header records it."""
    return [note for note in trace.header.get_all("Note") if note.startswith(ROWS_READ)][:1]


def _irregular(trace: Trace) -> dict[str, str]:
    """Return how often each kind of irregular row was imported, as the header records it."""
    notes = [n for n in trace.header.get_all("Note") if n.startswith(IRREGULAR)][:1]
    kinds = [kind for note in notes for kind in note.removeprefix(IRREGULAR).split("; ")]
    return {kind: number for number, _, kind in (text.partition(" ") for text in kinds)}


def section(trace: Trace) -> Section:
    """Report the machine, the time span and the jobs of the log."""
    clock, machine, fields = Clock.of(trace), trace.header.procs, coverage(trace)
    users = int(fields.loc["user", "distinct"])
    first, last = span(trace)
    values: dict[str, Any] = {
        "n_jobs": trace.n_jobs,
        "n_ran": int(trace.ran.sum()),
        "n_users": users,
        "machine": machine,
        "first_submit": first,
        "last_submit": first + float(np.ptp(trace.column("submit"))),
        "last_end": last,
        **_values_of_window(trace),
    }
    dates = ""
    if clock.known:
        ends = clock.dates([first, values["last_submit"], last])
        values |= dict(zip(_DATES, ends, strict=True)) | {"time_zone": clock.zone}
        opened, closed = map(day, clock.dates([trace.window.begin, trace.window.until]))
        dates = f" ({opened} to {closed})" if opened != closed else f" ({opened})"
    of_users = f" of {plural(users, 'user')}" if users else ""
    on_machine = f" on {plural(machine, 'processor')}" if machine else ""
    finding = (
        f"{plural(trace.n_jobs, 'job')}{of_users} over {duration(trace.window.length)}{dates}"
        f"{on_machine}."
    )
    if outside := values["n_before_window"] + values["n_after_window"]:
        finding += (
            f" {plural(outside, 'of them was', 'of them were')} submitted outside this window. "
            "Rates are measured within the window, where the log is complete."
        )
    if never := trace.n_jobs - values["n_ran"]:
        finding += f" {plural(never, 'job')} never ran."
    tables = [
        facts("summary", "Log, machine and jobs.", _rows(trace, clock, values, fields)),
        _table_of_status(trace),
        _table_of_fields(fields),
    ]
    if trace.header.entries:
        tables.append(_table_of_header(trace))
    notes = (clock.note,) if clock.note else ()
    return Section("overview", "Overview", finding, notes, values, tuple(tables))


def _values_of_window(trace: Trace) -> dict[str, Any]:
    submit, window = trace.column("submit"), trace.window
    return {
        "window_begin": window.begin,
        "window_until": window.until,
        "window_is_stated": window.is_stated,
        "n_before_window": int((submit < window.begin).sum()),
        "n_after_window": int((submit > window.until).sum()),
    }


def _rows(
    trace: Trace, clock: Clock, values: dict[str, Any], fields: pd.DataFrame
) -> dict[str, tuple[Any, str]]:
    """Return the rows of the summary."""
    machine = values["machine"]
    rows: dict[str, tuple[Any, str]] = {
        "log": (trace.name, trace.name),
        **_rows_of_window(trace, clock, values),
    }
    for label, title in _ABOUT.items():
        if text := "; ".join(filter(None, trace.header.get_all(label))):
            rows[title] = (text, text)
    size, stated = count(machine) if machine else "unknown", trace.header.get("MaxProcs") or ""
    rows["processors"] = (machine, size if stated in ("", str(machine)) else stated)
    if clock.known:
        for name, title in _DATES.items():
            date = values[name]
            rows[title] = (date, f"{day(date)}, {date:%H:%M}")
        rows["time zone"] = (clock.zone, clock.zone)
    length = float(np.ptp(trace.column("submit")))
    rows["submissions span"] = (length, duration(length))
    rows["jobs"] = (trace.n_jobs, count(trace.n_jobs))
    rows |= _jobs_that_never_ran(trace)
    for name in ("user", "group", "executable", "queue", "partition"):
        distinct = int(fields.loc[name, "distinct"])
        rows[f"{name}s"] = (distinct, count(distinct) if distinct else "unknown")
    if len(trace.bursts):
        rows["bursts"] = (len(trace.bursts), f"{count(len(trace.bursts))} of checkpointed jobs")
    if len(trace.utility):
        n_utilities = trace.utility["row"].nunique()
        rows["utility functions"] = (n_utilities, plural(n_utilities, "job"))
    if trace.digest:
        rows["SHA-256"] = (trace.digest, trace.digest)
    return rows


def reading_section(trace: Trace) -> Section:
    """Report the rows of an import that are no jobs, and the repairs made while reading the log."""
    title = "Repairs made while reading"
    tables, notes, findings = [], [], []
    values: dict[str, Any] = {}
    if intake := trace.intake:
        left_out = sum(repair.count for repair in intake.left_out)
        settings = "".join(f"; {name}: {value}" for name, value in intake.settings)
        findings.append(
            f"{intake.kind}{settings}: {count(intake.jobs)} of {plural(intake.rows, 'row')} are "
            f"jobs, {count(left_out)} are left out."
        )
        values |= {"n_rows": intake.rows, "n_left_out": left_out}
        if intake.left_out:
            caption = "Rows of the accounting export that are not jobs of the log."
            tables.append(_table_of_repairs("left_out", caption, intake.left_out))
        if intake.noted:
            caption = "Irregular rows of jobs, and how they were read."
            tables.append(_table_of_repairs("noted", caption, intake.noted))
    if trace.repairs:
        total = sum(repair.count for repair in trace.repairs)
        kinds = len(trace.repairs)
        findings.append(f"{plural(total, 'repair')} of {plural(kinds, 'kind')} were made.")
        values["n_repairs"] = total
        caption = "Each kind of repair."
        tables.append(_table_of_repairs("repairs", caption, trace.repairs))
    if not trace.intake:
        findings += [f"When the log was imported: {rows}." for rows in _rows_read(trace)]
        if irregular := _irregular(trace):
            caption = "Irregular rows of jobs when the log was imported, and how they were read."
            tables.append(facts("noted", caption, {k: (n, n) for k, n in irregular.items()}))
    if not (tables or any("; left out: " in row for row in _rows_read(trace))):
        notes.append("No repairs were necessary to read the log.")
    return Section("reading", title, " ".join(findings), tuple(notes), values, tuple(tables))


def _table_of_repairs(name: str, caption: str, repairs: Sequence[Repair]) -> Table:
    data = pd.DataFrame(
        [(r.kind, r.count, r.first_line) for r in repairs],
        columns=["kind", "count", "first_line"],
    )
    columns: Columns = {
        "kind": ("repair", str),
        "count": ("count", count),
        "first_line": ("first line", count),
    }
    text = shown(data, columns)
    text.index = pd.RangeIndex(1, len(text) + 1)
    return Table(name, caption, data, text, words=True)


def _rows_of_window(
    trace: Trace, clock: Clock, values: dict[str, Any]
) -> dict[str, tuple[Any, str]]:
    """Describe the period in which the log is complete, and count the jobs outside it."""
    window = trace.window
    ends = [window.begin, window.until]
    begin, until = (
        [f"{day(date)}, {date:%H:%M}" for date in clock.dates(ends)]
        if clock.known
        else [f"second {count(second)}" for second in ends]
    )
    imported = (trace.header.get("Conversion") or "").startswith("workloadkit")
    stated = "found at the import" if imported else "stated in the header"
    how = stated if window.is_stated else "estimated"
    text = f"{begin} to {until} ({duration(window.length)}; {how})"
    rows: dict[str, tuple[Any, str]] = {"complete from": (text, text)}
    if n := values["n_before_window"]:
        earlier = duration(window.begin - values["first_submit"])
        rows["submitted earlier"] = (n, f"{plural(n, 'job')}, up to {earlier} before")
    if n := values["n_after_window"]:
        later = duration(values["last_submit"] - window.until)
        rows["submitted later"] = (n, f"{plural(n, 'job')}, up to {later} after")
    ended = trace.end[trace.ran & (trace.column("submit") <= window.until)]
    if n := int((ended > window.until).sum()):
        rows["ended later"] = (n, plural(n, "job"))
    return rows


def _jobs_that_never_ran(trace: Trace) -> dict[str, tuple[Any, str]]:
    ran = trace.ran
    rows: dict[str, tuple[Any, str]] = {"jobs that ran": (int(ran.sum()), count(int(ran.sum())))}
    if not ran.all():
        never = int((~ran).sum())
        without_run = int((~(trace.column("run") >= 0)).sum())
        reasons = {"run time": without_run, "processors": never - without_run}
        text = "; ".join(f"{count(n)} without {what}" for what, n in reasons.items() if n)
        rows["jobs that never ran"] = (never, text)
    return rows


def _table_of_fields(fields: pd.DataFrame) -> Table:
    columns: Columns = {
        "known": ("known", count),
        "share": ("share", share),
        "distinct": ("distinct", count),
        "min": ("minimum", number),
        "max": ("maximum", number),
    }
    text = shown(fields, columns)
    text.index = [
        f"{row.column} {row.title}{f' [{row.unit}]' if row.unit else ''}"
        for row in fields.itertuples()
    ]
    caption = "Known values in each of the 18 fields of the SWF standard."
    return Table("coverage", caption, fields, text)


def _table_of_status(trace: Trace) -> Table:
    data = count_status(trace)
    text = shown(data, {"jobs": ("jobs", count), "share": ("share", share)})
    names = {**_STATUS, 2: "", 3: "", 4: ""} if trace.bursts.empty else _STATUS
    text.index = [f"{status} {names.get(status, '')}".strip() for status in data.index]
    return Table("status", "Jobs by status.", data, text)


def _table_of_header(trace: Trace) -> Table:
    entries = pd.DataFrame(trace.header.entries, columns=["label", "value"], dtype=object)
    data = entries.set_index("label")
    text = data.rename(columns={"value": ""})
    return Table("header", "Header of the log.", data, text, words=True, folded=True)
