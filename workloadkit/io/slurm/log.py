"""The log of rows of Slurm's records, in whatever form they were written."""

import warnings
from collections.abc import Iterable
from datetime import tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.errors import FormatError, WorkloadWarning, plural, quoted
from workloadkit.header import zone_name, zone_of_offset
from workloadkit.intake import Repair
from workloadkit.io.assemble import assemble
from workloadkit.io.records import ImportOptions, Records
from workloadkit.io.slurm import values
from workloadkit.io.slurm.attempts import StepTotals, link_attempts
from workloadkit.io.slurm.instants import cut_by_window
from workloadkit.io.slurm.jobs import JobReader
from workloadkit.io.slurm.rows import Rows
from workloadkit.io.slurm.times import with_day_first
from workloadkit.trace import Trace

_NEVER = "Start = End, nodes unknown: taken as never started"


def log_of_rows(
    rows: Iterable[Rows],
    records: Records,
    options: ImportOptions,
    path: str,
    *,
    kind: str = "Slurm accounting",
) -> Trace:
    """Build a log from rows of jobs and steps.

    Parameters
    ----------
    rows : iterable of Rows
    records : Records
        Counts the rows.
    options : ImportOptions
    path : str
        Path of the file, for messages.
    kind : str
        Name of the format.
    """
    jobs = JobReader(records, options)
    for some in with_day_first(rows, path, jobs.zone.day_first):
        jobs.read(some)
    if options.tz is None:
        records.zone = _zone_of_times(jobs.zone.offsets, records)
    _check_times(jobs, path)
    _warn(jobs, options)
    _revise(records, jobs, options)
    return assemble(records, kind=kind, path=path, options=options, states=values.STATES)


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
        _note_cut(table, cut, records)
        table["cut"] = pd.Categorical(cut)
        table = link_attempts(table, jobs.open_rows, records)
    records.restore(table)


def _note_cut(table: pd.DataFrame, cut: NDArray[np.object_], records: Records) -> None:
    """Count the jobs across the ends of the export, and the hours that are before it or left."""
    start, run, procs = (table[name].to_numpy() for name in ("start", "run", "procs"))
    at_begin = np.isin(cut, ("begin", "both"))
    before = records.opened - start if records.opened is not None else np.zeros(len(table))
    whole = at_begin & (before > 0)
    moved = (cut == "end") | (at_begin & ~whole) | (cut == "both")

    def hours(seconds: NDArray[np.float64], which: NDArray[np.bool_]) -> str:
        return f"{np.nansum((seconds * procs)[which]) / 3600:,.0f} processor-hours"

    outside = hours(np.minimum(before, run), whole)
    for kind, which in (
        (f"began before the export (sacct -S): {outside} of them lie before it", whole),
        (f"cut at an end of the export (sacct -T): {hours(run, moved)} in it count", moved),
    ):
        records.note_where(kind, which, table["place"].to_numpy())


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
