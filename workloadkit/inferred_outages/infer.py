"""Infer outages from a log, each with a confidence, without applying them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.clock import Clock
from workloadkit.columns import Columns, HoldsTables
from workloadkit.display import Displayed, plot_spans
from workloadkit.errors import ParameterError, WorkloadError, check_count, check_number
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.header import Header
from workloadkit.inferred_outages.idle_periods import (
    FEWEST,
    Silences,
    StartedJobs,
    by_share,
    by_tail,
    confidence,
    expected_submissions,
    jobs_of,
    silences,
)
from workloadkit.io.outages import Outage, Outages
from workloadkit.provenance import plain, provenance
from workloadkit.trace import Trace, check_trace
from workloadkit.window import Window

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Kinds of evidence for an outage.
EVIDENCE = {
    "waiting": "no job ran although jobs waited",
    "in line": "nothing started although the first job in the queue would have fitted",
    "silent": "no job ran, and none was submitted",
}

#: Shorter idle periods are not proposed, because schedulers pause, too. [s]
SHORTEST = 600.0

_LEAST = 0.5  # proposals have at least this confidence
_CRASH = 3  # minimum number of jobs that fail in the second in which the machine falls idle

_COLUMNS: dict[str, type] = {
    "start": float,
    "end": float,
    "procs": int,
    "evidence": str,
    "waiting": int,
    "would_fit": int,
    "ended_together": int,
    "expected": float,
    "as_long": int,
    "confidence": float,
}


@dataclass(frozen=True, eq=False)
class InferredOutages(HoldsTables, Displayed):
    """Outages suggested by a log.

    Parameters
    ----------
    table : DataFrame
        One row per outage, sorted by start: `start` and `end` [s]; `procs` that seem to have been
        down; `evidence`, a key of `EVIDENCE`; the number of jobs `waiting` in that time, and of
        those that `would_fit` the free processors; the number of jobs that failed or were
        cancelled in the second in which the machine fell idle (`ended_together`); among the idle
        periods with this evidence, the number at least `as_long`, and the number `expected` from
        the log's ordinary distribution; `confidence`, from 0 to 1.
    procs : int
        Processors of the machine.
    trace : Trace
        The log.
    notes : tuple of str
        Limitations of the log.
    """

    _TABLES = ("table",)

    table: "pd.DataFrame"
    procs: int
    trace: Trace
    notes: tuple[str, ...] = ()

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw which outages take how many processors, and when."""
        return plot_spans(self.table, ax)

    def _summary(self) -> str:
        n = len(self._columns_of("table"))
        return f"{self.trace.name!r}, {n:,} outages, {self.procs:,} processors"

    def outages(self, *, min_confidence: float = 0.9) -> Outages:
        """Return the outages of a minimum confidence, for simulation or for a file.

        Comments state the confidence and the evidence of each.

        Parameters
        ----------
        min_confidence : float, default 0.9
        """
        outages, header = [], Header(("; OutageFormat: 1",))
        header = header.appended(
            ("Note", "inferred from the log, not recorded; type and announcement are unknown")
        )
        for number, row in enumerate(self.rows(min_confidence), 1):
            start, end = max(int(np.ceil(row["start"])), 0), int(np.floor(row["end"]))
            outages.append(Outage(number, start, end, procs=row["procs"]))
            text = (
                f"{number} confidence {shown(row['confidence'])}: {EVIDENCE[row['evidence']]}; "
                f"waiting {row['waiting']}, would fit {row['would_fit']}"
            )
            if row["ended_together"]:
                text += f"; ended together {row['ended_together']}"
            header = header.appended(("Inferred", text))
        return Outages(tuple(outages), header, f"outages of {self.trace.name}").tied_to(self.trace)

    def chosen(self, min_confidence: float) -> "pd.DataFrame":
        """Return the rows of a minimum confidence."""
        return self.table[self._sure(min_confidence)]

    def rows(self, min_confidence: float) -> list[dict[str, Any]]:
        """Return the rows of a minimum confidence as plain Python values."""
        table, sure = self._columns_of("table"), self._sure(min_confidence)
        columns = [np.asarray(table[name])[sure].tolist() for name in table]
        return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]

    def _sure(self, min_confidence: float) -> NDArray[np.bool_]:
        check_number("min_confidence", min_confidence)
        if not 0 <= min_confidence <= 1:
            raise ParameterError(
                "min_confidence", f"is {min_confidence:g}; it must lie between 0 and 1"
            )
        return np.asarray(self._columns_of("table")["confidence"]) >= min_confidence

    def to_dict(self, *, min_confidence: float = 0.0) -> dict[str, Any]:
        """Return the outages of a minimum confidence as plain Python values."""
        return {
            "procs": self.procs,
            "notes": list(self.notes),
            "outages": plain(self.rows(min_confidence)),
            "provenance": provenance(self.trace, min_confidence=min_confidence),
        }


def infer_outages(trace: Trace, procs: int | None = None) -> InferredOutages:
    """Propose unrecorded outages, from the behaviour of a log's jobs.

    An idle period lasts from the time when a job could have been started until one was:

    - *waiting*: no job runs, and a job waits that starts when the period ends;
    - *in line*: jobs run, and the first job in the queue, which starts when the period ends,
      would have fitted into the free processors all the time;
    - *silent*: no job runs and none is submitted, for unusually long given the log's weekly cycle.
      If no wait is known, this is the only evidence.

    The reference is how long other jobs waited although they fitted, and how many submissions a
    working machine usually misses between jobs: the confidence compares the number of longer idle
    periods with the expected number. Periods below ten minutes are not proposed, nor are those that
    reach out of the log's window, where jobs that the log lacks may run. Jobs of unknown wait are
    excluded if other waits are known, and checkpointed jobs are split into their bursts.
    A partial outage during which other jobs start is not found, because smaller jobs would fit the
    seemingly free processors in any log.

    Parameters
    ----------
    trace : Trace
    procs : int, optional
        Processors of the machine. By default the number in the header, else the maximum ever used.

    Raises
    ------
    WorkloadError
        If no job ran.
    ParameterError

    Examples
    --------
    >>> import workloadkit as wk
    >>> submit = 600 * np.arange(200)
    >>> wait = np.maximum(60_000 - submit, 0) * (submit > 48_000)  # nothing starts for 3 hours
    >>> log = {"submit": submit, "wait": wait, "run": np.full(200, 500), "procs": np.ones(200)}
    >>> found = wk.infer_outages(wk.Trace.from_columns(log), procs=20)
    >>> found.table[["start", "end", "waiting", "confidence"]].round(2).values.tolist()
    [[48600.0, 60000.0, 19.0, 0.99]]
    """
    check_trace(trace)
    # a checkpointed job frees its processors between its bursts
    played = trace.as_bursts()
    unknown = np.isnan(played.column("wait")[played.ran])
    waits_known = not unknown.all()
    jobs = jobs_of(played, waits=waits_known)
    if not jobs.start.size:
        raise WorkloadError(f"{trace.name}: no job ran, so outages cannot be inferred")
    if procs is not None:
        procs = check_count("procs", procs, least=1)
    notes = []
    if not waits_known:
        notes.append(
            "All waits are unknown: jobs are assumed to start when submitted, and only periods "
            "without jobs are evidence of an outage."
        )
    elif n_aside := np.count_nonzero(unknown):
        notes.append(
            "1 job of unknown wait is excluded."
            if n_aside == 1
            else f"{n_aside:,} jobs of unknown wait are excluded."
        )
    most = most_used(jobs)
    machine = procs or trace.header.procs
    if not machine:
        machine = int(np.ceil(most))
        notes.append(
            f"The header does not state the machine's size: the maximum ever used is {machine:,}."
        )
    machine = min(machine, MAX_PROCS)
    found: list[dict[str, Any]] = []
    if np.ptp(jobs.start) > 0:
        quiet = _within(trace.window, silences(jobs, min(machine, most)))
        found = _silent(played, jobs, quiet, machine)
        if waits_known:
            waiting = _waiting(jobs, quiet, machine)
            stops = {row["start"] for row in waiting}
            # Propose each stop once: the machine drains before a planned one; a crash may begin
            # with a silence.
            found = [row for row in found if row["start"] not in stops]
            found += [row for row in _in_line(jobs, quiet) if row["end"] not in stops]
            found += waiting
    found.sort(key=lambda row: (row["start"], row["end"]))
    table = Columns(
        (name, np.array([row[name] for row in found], dtype)) for name, dtype in _COLUMNS.items()
    )
    return InferredOutages(table, machine, trace, tuple(notes))


def _within(window: Window, quiet: Silences) -> Silences:
    """Return the periods in which the log is complete: outside, jobs that it lacks may run."""
    inside = (quiet.begin >= window.begin) & (quiet.end <= window.until)
    return Silences._make(column[inside] for column in quiet)


def most_used(jobs: StartedJobs) -> float:
    """Return the maximum number of processors in use."""
    times = np.concatenate([jobs.end, jobs.start])
    change = np.concatenate([-jobs.procs, jobs.procs])
    order = np.lexsort((change, times))  # at one second, ends come first
    return float(max(np.cumsum(change[order]).max(), jobs.procs.max()))


def shown(sure: float) -> str:
    """Format a confidence, rounded down so that it never shows certainty.

    Examples
    --------
    >>> shown(0.9996), shown(0.905)
    ('0.999', '0.905')
    """
    return f"{np.floor(1000 * sure) / 1000:.3f}"


def _waiting(jobs: StartedJobs, quiet: Silences, machine: int) -> list[dict[str, Any]]:
    """Find the periods in which no job runs although jobs wait."""
    length = quiet.end - np.maximum(quiet.idle, quiet.fits)
    ordinary = quiet.idle - quiet.fits  # waits of jobs that fit, on a working machine
    kind = np.flatnonzero(length > 0)
    expected = by_share(length[kind], np.maximum(ordinary[length <= 0], 0))
    start = np.maximum(quiet.idle, quiet.fits)
    crashed = quiet.together >= _CRASH
    start[crashed] = quiet.idle[
        crashed
    ]  # the outage starts at the crash, although the first job arrived later
    return _rows(jobs, quiet, kind, start, quiet.end, machine, "waiting", (length[kind], expected))


def _in_line(jobs: StartedJobs, quiet: Silences) -> list[dict[str, Any]]:
    """Find the periods in which jobs run and the first job in the queue would fit."""
    until = quiet.idle
    length = until - quiet.fits_first
    kind = np.flatnonzero(length > 0)
    ordinary = np.maximum(until - quiet.fits, 0)[length <= 0]
    expected = by_share(length[kind], ordinary)
    if kind.size >= FEWEST:  # such periods may have other, ordinary causes
        expected = np.maximum(expected, by_tail(length[kind], length[kind]))
    # Nothing starts meanwhile, so the processors free when the first job begins to fit stay free.
    free = quiet.free + _ended(jobs, quiet.begin, quiet.fits_first)
    return _rows(
        jobs, quiet, kind, quiet.fits_first, until, free, "in line", (length[kind], expected)
    )


def _silent(trace: Trace, jobs: StartedJobs, quiet: Silences, machine: int) -> list[dict[str, Any]]:
    """Find the periods without running jobs and submissions that the cycle does not explain."""
    submit = trace.column("submit")
    clock = Clock.of(trace)
    after = np.searchsorted(submit, quiet.idle, side="right")
    coming = submit[np.minimum(after, submit.size - 1)]
    until = np.minimum(coming, quiet.end)
    silent = (quiet.fits >= until) & (until > quiet.idle)
    kind = np.flatnonzero(silent)
    if not kind.size:
        return []
    n = kind.size
    times = np.concatenate([quiet.idle[kind], until[kind], submit])
    passed = expected_submissions(submit, clock, times)
    length, gaps = passed[n : 2 * n] - passed[:n], np.diff(passed[2 * n :])
    expected = by_tail(length, gaps[np.diff(submit) > 0])
    return _rows(jobs, quiet, kind, quiet.idle, until, machine, "silent", (length, expected))


def _ended(jobs: StartedJobs, since: NDArray, until: NDArray) -> NDArray[np.float64]:
    """Return the processors of the jobs that end in the interval (since, until]."""
    order = np.argsort(jobs.end, kind="stable")
    released = np.append(0, np.cumsum(jobs.procs[order]))
    ends = jobs.end[order]
    low, high = (np.searchsorted(ends, time, side="right") for time in (since, until))
    return released[high] - released[low]


def _rows(
    jobs: StartedJobs,
    quiet: Silences,
    kind: NDArray[np.intp],
    start: NDArray,
    end: NDArray,
    procs: Any,
    evidence: str,
    law: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> list[dict[str, Any]]:
    """Return the long idle periods of a kind that are significant."""
    lengths, expected = law
    sure, as_long = confidence(lengths, expected)
    free = np.broadcast_to(procs, quiet.end.shape)
    rows = []
    long = (end[kind] - start[kind] >= SHORTEST) & (end[kind] <= MAX_TIME)
    whole = free[kind] >= 1  # a free fraction of a shared processor is not down
    for i in np.flatnonzero((sure >= _LEAST) & long & whole).tolist():
        at = kind[i]
        waited = (jobs.submit < end[at]) & (jobs.start >= end[at])
        rows.append(
            {
                "start": float(start[at]),
                "end": float(end[at]),
                "procs": int(free[at]),
                "evidence": evidence,
                "waiting": int(np.count_nonzero(waited)),
                "would_fit": int(np.count_nonzero(jobs.procs[waited] <= free[at])),
                "ended_together": int(quiet.together[at]) if evidence != "in line" else 0,
                "expected": float(expected[i]),
                "as_long": int(as_long[i]),
                "confidence": float(sure[i]),
            }
        )
    return rows
