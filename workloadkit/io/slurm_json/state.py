"""The state of Slurm's queue as a log of the jobs that run and wait."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.errors import WorkloadError, plural, quoted
from workloadkit.header import Header
from workloadkit.io.files import Source, log_name, source_path, text_chunks
from workloadkit.io.slurm_json import read_queue_state
from workloadkit.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

# When Slurm printed its jobs, in any layout, and the elements of an array that wait in one record.
_PRINTED = re.compile(rb'"last_update"\s*:\s*(?:\{[^{}]*"number"\s*:\s*)?(\d+)')
_ELEMENTS = re.compile(r"_\[([\d,:-]+)(?:%\d+)?\]$")

_MOST_ELEMENTS = 4_000_001  # the largest MaxArraySize of Slurm
_LONGEST = 400  # bytes of `_PRINTED`


def listed_state(source: Source) -> Trace:
    """Return the jobs of ``squeue --json`` that run or wait; the header contains the instant.

    Raises
    ------
    WorkloadError
        If there is none, or one has no processors, requested time or submit time.
    """
    name, table = log_name(source_path(source)), read_queue_state(source)
    if not len(table):
        raise WorkloadError(f"{name}: no job runs or waits")
    n_elements = [_n_elements(name, one) for one in table["id"]]
    table = table.loc[table.index.repeat(n_elements)]
    table = table.sort_values("submit", kind="stable", ignore_index=True)
    _check(name, table)
    submit, start = table["submit"].to_numpy(), table["start"].to_numpy()
    latest = np.nanmax(np.concatenate((submit, start)))
    now = max(_printed_at(source), latest) + 1
    requested = table["requested_time"].to_numpy()
    ends = np.maximum(start + requested, now)  # NaN for those that wait
    ends[(table["state"] == "COMPLETING").to_numpy()] = now
    runs, origin = ~np.isnan(start), np.floor(submit.min())
    jobs = {
        "submit": submit - origin,
        "wait": start - submit,
        "run": np.where(runs, ends - start, requested),
        "requested_time": requested,
        **{name: _numbers(table[name]) for name in ("user", "partition")},
    }
    procs = table["procs"].to_numpy()
    notes = _notes(int(runs.sum()), int((runs & (start + requested < now)).sum()))
    entries = [("UnixStartTime", f"{origin:.0f}"), ("StateTime", f"{now - origin:.15g}")]
    header = Header(("; Version: 2.2",)).appended(
        *entries, *(("Note", f"assumed: {note}") for note in notes)
    )
    trace = Trace.from_columns(
        {**jobs, "procs": procs, "requested_procs": procs}, header=header, name=name
    )
    words = ("id", "user", "account", "partition", "qos", "node_list")
    return trace.replaced(sidecar=table[[*words]].astype("category"))


def _notes(n_running: int, n_late: int) -> list[str]:
    """Return what is assumed of the run times."""
    notes = ["run times are unknown: jobs are assumed to run for their requested times"]
    if n_late:
        jobs = plural(n_late, "job has", "jobs have")
        notes.append(f"of {n_running} running, {jobs} exceeded this and {'is' * (n_late == 1)}"
                     f"{'are' * (n_late > 1)} assumed to end now")  # fmt: skip
    return notes


def _n_elements(name: str, job: str) -> int:
    """Return how many jobs a record stands for: the elements of an array, else one."""
    found = _ELEMENTS.search(job)
    if found is None:
        return 1
    total = 0
    for part in found[1].split(","):
        bounds = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?", part)
        if bounds is None or int(bounds[3] or 1) < 1:
            raise WorkloadError(f"{name}: the elements of array {quoted(job)} cannot be read")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        total += len(range(first, last + 1, int(bounds[3] or 1)))
    if not 1 <= total <= _MOST_ELEMENTS:
        raise WorkloadError(f"{name}: array {quoted(job)} has {total:,} elements")
    return total


def _check(name: str, table: "pd.DataFrame") -> None:
    """Check that all that a simulation needs is known."""
    words = {"submit": "submit time", "procs": "processors", "requested_time": "requested time"}
    for field, what in words.items():
        lacks = ~(table[field] > 0)  # False for NaN
        if lacks.any():
            jobs = plural(int(lacks.sum()), "job has", "jobs have")
            raise WorkloadError(
                f"{name}: {jobs} no {what}, first job {table['id'][lacks].iloc[0]}: how "
                "the queue goes on cannot be simulated without it"
            )
    early = table["start"] < table["submit"]
    if early.any():
        raise WorkloadError(
            f"{name}: job {table['id'][early].iloc[0]} starts before its submission"
        )


def _printed_at(source: Source) -> float:
    """Return when Slurm printed its jobs; minus infinity if it does not say so. [s]."""
    rest, found = b"", -np.inf
    for chunk in text_chunks(source):
        rest += chunk
        for match in _PRINTED.finditer(rest):
            found = max(found, float(match[1]))
        rest = rest[-_LONGEST:]
    return found


def _numbers(words: Any) -> Any:
    """Return the numbers of words, from 1; -1 for unknown."""
    known = sorted(set(words) - {""})
    numbers = {word: number for number, word in enumerate(known, 1)} | {"": -1}
    return [numbers[word] for word in words]
