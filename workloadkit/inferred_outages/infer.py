"""Infer outages from a log, each with a confidence; nothing is applied."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.clock import Clock
from workloadkit.errors import ParameterError, WorkloadError, check_count, check_number
from workloadkit.fields import MAX_PROCS, MAX_TIME
from workloadkit.header import Header
from workloadkit.inferred_outages.confidence import (
    FEWEST,
    by_share,
    by_tail,
    confidence,
    expected_submissions,
)
from workloadkit.inferred_outages.stillness import Jobs, Silences, jobs_of, silences
from workloadkit.io.outages import Outage, Outages
from workloadkit.provenance import plain, provenance
from workloadkit.trace import Trace, check_trace

#: What speaks for an outage.
EVIDENCE = {
    "waiting": "no job ran, though jobs waited",
    "in line": "nothing started, though the first in line would have fitted",
    "silent": "no job ran, and none was submitted",
}

#: Stillnesses that are shorter are not proposed: schedulers pause, too. [s]
SHORTEST = 600.0

_LEAST = 0.5  # what is less sure than not is no proposal
_CRASH = 3  # jobs that fail in the second in which the machine falls idle, at the least

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
class InferredOutages:
    """Outages that a log suggests.

    Parameters
    ----------
    table : DataFrame
        One row for each, in the order of their starts: `start` and `end` [s]; `procs` that seem to
        have been down; `evidence`, a key of `EVIDENCE`; jobs that were `waiting` in that time
        and those of them that `would_fit` the free processors; jobs that failed or were cancelled
        in the one second in which the machine fell idle (`ended_together`); of the stillnesses of
        that evidence, how many are `as_long`, and how many would be `expected` by the log's
        ordinary law; `confidence`, from 0 to 1.
    procs : int
        Processors of the machine.
    trace : Trace
        The log.
    notes : tuple of str
        What the log does not tell.
    """

    table: pd.DataFrame
    procs: int
    trace: Trace
    notes: tuple[str, ...] = ()

    def outages(self, *, min_confidence: float = 0.9) -> Outages:
        """Return those of some confidence, to be simulated or written to a file.

        Comments tell of the confidence and the evidence of each.

        Parameters
        ----------
        min_confidence : float, default 0.9

        Raises
        ------
        ParameterError
        """
        chosen = self.chosen(min_confidence)
        outages, header = [], Header(("; OutageFormat: 1",))
        header = header.appended(
            ("Note", "inferred from the log, not recorded; type and announcement are unknown")
        )
        for number, row in enumerate(chosen.itertuples(), 1):
            start, end = max(int(np.ceil(row.start)), 0), int(np.floor(row.end))
            outages.append(Outage(number, start, end, procs=row.procs))
            text = (
                f"{number} confidence {shown(row.confidence)}: {EVIDENCE[row.evidence]}; "
                f"waiting {row.waiting}, would fit {row.would_fit}"
            )
            if row.ended_together:
                text += f"; ended together {row.ended_together}"
            header = header.appended(("Inferred", text))
        return Outages(tuple(outages), header, f"outages of {self.trace.name}").tied_to(self.trace)

    def chosen(self, min_confidence: float) -> pd.DataFrame:
        """Return the rows of at least some confidence.

        Raises
        ------
        ParameterError
        """
        check_number("min_confidence", min_confidence)
        if not 0 <= min_confidence <= 1:
            raise ParameterError(f"min_confidence is {min_confidence:g}; it is from 0 to 1")
        return self.table[self.table["confidence"] >= min_confidence]

    def to_dict(self, *, min_confidence: float = 0.0) -> dict[str, Any]:
        """Return all of some confidence as plain Python values.

        Raises
        ------
        ParameterError
        """
        return {
            "procs": self.procs,
            "notes": list(self.notes),
            "outages": plain(self.chosen(min_confidence).to_dict("records")),
            "provenance": provenance(self.trace, min_confidence=min_confidence),
        }


def infer_outages(trace: Trace, procs: int | None = None) -> InferredOutages:
    """Propose outages that nobody wrote down, from what the jobs of a log did.

    A stillness lasts from when something could have been started until something was:

    - *waiting*: no job runs, and one waits that starts as the stillness ends;
    - *in line*: jobs run, and the first in line, which starts as the stillness ends, would have
      fitted all the while into the processors that the others leave free;
    - *silent*: no job runs, and none is submitted, for an unusual part of the log's weekly cycle.
      Where no wait is known, there is only this.

    Ordinary is how long others had to wait though they fitted, and between how many submissions a
    working machine sees none: `confidence` says how many stillnesses are longer than that allows.
    Below ten minutes nothing is proposed. Jobs of unknown wait are left aside where others are
    known, and checkpointed jobs are taken by their bursts. A machine of which parts are down, while
    others go on starting jobs, is not found: smaller jobs fit the room that seems to be free in any
    log.

    Parameters
    ----------
    trace : Trace
    procs : int, optional
        Processors of the machine. By default those of the header, else the most ever used.

    Returns
    -------
    InferredOutages

    Raises
    ------
    WorkloadError
        If no job ran.
    ParameterError

    Examples
    --------
    >>> import workloadkit as wk
    >>> submit = 600 * np.arange(200)
    >>> wait = np.maximum(60_000 - submit, 0) * (submit > 48_000)  # 3 hours of nothing
    >>> log = {"submit": submit, "wait": wait, "run": np.full(200, 500), "procs": np.ones(200)}
    >>> found = wk.infer_outages(wk.Trace.from_columns(log), procs=20)
    >>> found.table[["start", "end", "waiting", "confidence"]].round(2).values.tolist()
    [[48600.0, 60000.0, 19.0, 0.99]]
    """
    check_trace(trace)
    # between its bursts, a checkpointed job leaves its processors to others
    played = trace.as_bursts()
    unknown = np.isnan(played.column("wait")[played.ran])
    waits_known = not unknown.all()
    jobs = jobs_of(played, waits=waits_known)
    if not jobs.start.size:
        raise WorkloadError(f"{trace.name}: no job ran, so nothing tells when the machine did not")
    if procs is not None:
        procs = check_count("procs", procs, least=1)
    notes = []
    if not waits_known:
        notes.append(
            "No wait is known: jobs are taken to have started when they were submitted, and only "
            "times without jobs speak for an outage."
        )
    elif n_aside := np.count_nonzero(unknown):
        aside = (
            "1 job of unknown wait is" if n_aside == 1 else f"{n_aside:,} jobs of unknown wait are"
        )
        notes.append(
            f"{aside} left aside: nobody knows when {'it' if n_aside == 1 else 'they'} ran."
        )
    most = most_used(jobs)
    machine = procs or trace.header.procs
    if not machine:
        machine = int(np.ceil(most))
        notes.append(f"The header tells no size of the machine: the most ever used, {machine:,}.")
    machine = min(machine, MAX_PROCS)
    table = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _COLUMNS.items()})
    if np.ptp(jobs.start) > 0:
        quiet = silences(jobs, min(machine, most))
        found = _silent(played, jobs, quiet, machine)
        if waits_known:
            waiting = _waiting(jobs, quiet, machine)
            stops = {row["start"] for row in waiting}
            # One stop is proposed once: before one that is planned, the machine drains; a crash
            # may begin in silence.
            found = [row for row in found if row["start"] not in stops]
            found += [row for row in _in_line(jobs, quiet) if row["end"] not in stops]
            found += waiting
        if found:
            table = pd.DataFrame(found, columns=list(_COLUMNS)).sort_values(["start", "end"])
    return InferredOutages(table.reset_index(drop=True), machine, trace, tuple(notes))


def most_used(jobs: Jobs) -> float:
    """Return the most processors that ever were in use at once."""
    times = np.concatenate([jobs.end, jobs.start])
    change = np.concatenate([-jobs.procs, jobs.procs])
    order = np.lexsort((change, times))  # at one second, ends come first
    return float(max(np.cumsum(change[order]).max(), jobs.procs.max()))


def shown(sure: float) -> str:
    """Write a confidence, which is never rounded up to certainty.

    Examples
    --------
    >>> shown(0.9996), shown(0.905)
    ('0.999', '0.905')
    """
    return f"{np.floor(1000 * sure) / 1000:.3f}"


def _waiting(jobs: Jobs, quiet: Silences, machine: int) -> list[dict[str, Any]]:
    """Find where no job runs though jobs wait."""
    length = quiet.end - np.maximum(quiet.idle, quiet.fits)
    ordinary = quiet.idle - quiet.fits  # of others, on a machine at work
    kind = np.flatnonzero(length > 0)
    expected = by_share(length[kind], np.maximum(ordinary[length <= 0], 0))
    start = np.maximum(quiet.idle, quiet.fits)
    crashed = quiet.together >= _CRASH
    start[crashed] = quiet.idle[crashed]  # since the crash, though the first job came later
    return _rows(jobs, quiet, kind, start, quiet.end, machine, "waiting", (length[kind], expected))


def _in_line(jobs: Jobs, quiet: Silences) -> list[dict[str, Any]]:
    """Find where the first in line would fit, beside jobs that run."""
    until = quiet.idle
    length = until - quiet.fits_first
    kind = np.flatnonzero(length > 0)
    ordinary = np.maximum(until - quiet.fits, 0)[length <= 0]
    expected = by_share(length[kind], ordinary)
    if kind.size >= FEWEST:  # it may have ordinary causes of its own
        expected = np.maximum(expected, by_tail(length[kind], length[kind]))
    # Nothing starts meanwhile, so what is free as the first in line begins to fit stays free.
    free = quiet.free + _ended(jobs, quiet.begin, quiet.fits_first)
    return _rows(
        jobs, quiet, kind, quiet.fits_first, until, free, "in line", (length[kind], expected)
    )


def _silent(trace: Trace, jobs: Jobs, quiet: Silences, machine: int) -> list[dict[str, Any]]:
    """Find where no job runs and none is submitted for longer than the cycle explains."""
    submit = trace.column("submit")
    clock = Clock.of(trace)
    after = np.searchsorted(submit, quiet.idle, side="right")
    coming = submit[np.minimum(after, submit.size - 1)]
    until = np.minimum(coming, quiet.end)
    nobody = (quiet.fits >= until) & (until > quiet.idle)
    kind = np.flatnonzero(nobody)
    if not kind.size:
        return []
    n = kind.size
    times = np.concatenate([quiet.idle[kind], until[kind], submit])
    passed = expected_submissions(submit, clock, times)
    length, gaps = passed[n : 2 * n] - passed[:n], np.diff(passed[2 * n :])
    expected = by_tail(length, gaps[np.diff(submit) > 0])
    return _rows(jobs, quiet, kind, quiet.idle, until, machine, "silent", (length, expected))


def _ended(jobs: Jobs, since: NDArray, until: NDArray) -> NDArray[np.float64]:
    """Count the processors of the jobs that end after one time and up to another."""
    order = np.argsort(jobs.end, kind="stable")
    released = np.append(0, np.cumsum(jobs.procs[order]))
    ends = jobs.end[order]
    low, high = (np.searchsorted(ends, time, side="right") for time in (since, until))
    return released[high] - released[low]


def _rows(
    jobs: Jobs,
    quiet: Silences,
    kind: NDArray[np.intp],
    start: NDArray,
    end: NDArray,
    procs: Any,
    evidence: str,
    law: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> list[dict[str, Any]]:
    """Describe the stillnesses of a kind that are long, and not surely ordinary."""
    lengths, expected = law
    sure, as_long = confidence(lengths, expected)
    free = np.broadcast_to(procs, quiet.end.shape)
    rows = []
    long = (end[kind] - start[kind] >= SHORTEST) & (end[kind] <= MAX_TIME)
    whole = free[kind] >= 1  # of one that jobs share, a free part is not down
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
