"""Rules of checkpointed jobs: their parts against the line that sums them up."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.checkpoints import summaries
from workloadkit.fields import BURST_STATUS, CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.rules.rule import FIRST_FEW, Breach, Log, Offender, Rule, plain

_CONTINUED, _LAST, _KILLED = BURST_STATUS
_SAME = ("procs", "requested_procs", "user", "group", "executable", "queue", "partition")


class _Parts(NamedTuple):
    """The parts of checkpointed jobs, those of a job together in file order."""

    rows: NDArray[np.int64]  # of `Trace.bursts`
    first: NDArray[np.int64]  # where the parts of each checkpointed job begin
    last: NDArray[np.int64]
    job: NDArray[np.int64]  # row of the job that sums them up; -1 for none or several

    @property
    def of(self) -> NDArray[np.int64]:
        """Which checkpointed job each part is of."""
        return np.repeat(np.arange(self.first.size), self.last - self.first + 1)


def _parts(log: Log) -> _Parts:
    number = log.trace.bursts["job"].to_numpy()
    rows = np.argsort(number, kind="stable")
    numbers, first, count = np.unique(number[rows], return_index=True, return_counts=True)
    return _Parts(rows, first, first + count - 1, summaries(log["job"], numbers))


def _part(log: Log, parts: _Parts, name: str) -> NDArray:
    return log.trace.bursts[name].to_numpy()[parts.rows]


def _breach(
    log: Log,
    parts: _Parts,
    broken: NDArray[np.bool_],
    shown: dict[str, NDArray],
    *,
    text: str = "",
) -> Breach | None:
    """Return the breach by some checkpointed jobs, or by some parts, whichever `broken` is of."""
    found = np.flatnonzero(broken)
    if not found.size:
        return None
    of_parts = broken.size == parts.rows.size
    numbers = _part(log, parts, "job") if of_parts else _part(log, parts, "job")[parts.first]
    offenders = tuple(
        Offender(
            tuple((name, plain(column[i])) for name, column in shown.items()),
            job=int(numbers[i]),
            row=int(parts.rows[i if of_parts else parts.first[i]]) + 1,
        )
        for i in found[:FIRST_FEW]
    )
    return Breach(found.size, broken.size, offenders, text)


def _one_summary(log: Log) -> Breach | None:
    parts = _parts(log)
    return _breach(log, parts, parts.job < 0, {"parts": parts.last - parts.first + 1})


def _run_adds_up(log: Log) -> Breach | None:
    """Check the sum; parts of unknown run time, cancelled in the queue, may have run the rest."""
    parts = _parts(log)
    ran = _part(log, parts, "run")
    total, n_unknown = np.zeros(parts.first.size), np.zeros(parts.first.size)
    np.add.at(total, parts.of, np.nan_to_num(ran))
    np.add.at(n_unknown, parts.of, np.isnan(ran))
    run = np.where(parts.job >= 0, log["run"][parts.job] if log.n_jobs else np.nan, np.nan)
    tolerance = 1e-6 * np.maximum(np.abs(run), 1.0)  # decimals add up but for their last digits
    rest = run - total
    adds_up = (np.abs(rest) <= tolerance) | (n_unknown > 0) & ~(rest < -tolerance)
    broken = (parts.job >= 0) & ~adds_up
    return _breach(log, parts, broken, {"run": run, "parts together": total})


def _codes(log: Log) -> Breach | None:
    """All parts but the last are to be continued; the last tells how the whole job ended."""
    parts = _parts(log)
    status = _part(log, parts, "status")
    is_last = np.zeros(status.size, dtype=bool)
    is_last[parts.last] = True
    broken = np.where(is_last, ~np.isin(status, (_LAST, _KILLED)), status != _CONTINUED)
    return _breach(log, parts, broken, {"status": status, "last": is_last})


def _end_agrees(log: Log) -> Breach | None:
    parts = _parts(log)
    last = _part(log, parts, "status")[parts.last]
    whole = np.where(parts.job >= 0, log["status"][parts.job] if log.n_jobs else UNKNOWN, UNKNOWN)
    completed = (last == _LAST) & (whole != COMPLETED)
    killed = (last == _KILLED) & ~np.isin(whole, (FAILED, CANCELLED))
    broken = (completed | killed) & (parts.job >= 0)
    return _breach(log, parts, broken, {"status": whole, "status of the last part": last})


def _one_submission(log: Log) -> Breach | None:
    """Check that the first part is submitted with the job, and no other has a submit time."""
    parts = _parts(log)
    submit = _part(log, parts, "submit")
    whole = np.where(parts.job >= 0, log["submit"][parts.job] if log.n_jobs else np.nan, np.nan)
    broken = submit != UNKNOWN
    broken[parts.first] = (submit[parts.first] != whole) & (parts.job >= 0)
    return _breach(log, parts, broken, {"submit": submit, "submit of the job": whole[parts.of]})


def _same_job(log: Log) -> Breach | None:
    """Processors and numbers of the parts are those of the job, where both are known."""
    parts = _parts(log)
    whole = parts.job[parts.of]
    differs: dict[str, NDArray[np.bool_]] = {}
    for name in _SAME:
        part = _part(log, parts, name)
        job = log[name][whole] if log.n_jobs else part
        known = (part >= 0) & (job >= 0) & (whole >= 0)
        if (other := known & (part != job)).any():
            differs[name] = other
    if not differs:
        return None
    shown = {name: _part(log, parts, name) for name in differs}
    names = _names([*differs])
    broken = np.any([*differs.values()], axis=0)
    return _breach(log, parts, broken, shown, text=f"the job has another {names}")


def _names(fields: Sequence[str]) -> str:
    return " or ".join(name.replace("_", " ") for name in fields)


RULES = (
    Rule(
        "part-summary",
        "error",
        "The parts of a checkpointed job have the number of one line that sums them up.",
        _one_summary,
    ),
    Rule(
        "part-run",
        "error",
        "The run time of a checkpointed job is the sum of those of its parts.",
        _run_adds_up,
    ),
    Rule(
        "part-status",
        "error",
        "The parts of a checkpointed job have status 2, the last one 3 (completed) or 4 (killed).",
        _codes,
    ),
    Rule(
        "part-end",
        "error",
        "A checkpointed job whose last part has status 3 has status 1, and 0 or 5 for status 4.",
        _end_agrees,
    ),
    Rule(
        "part-submit",
        "error",
        "Of the parts of a checkpointed job only the first has a submit time, that of the job.",
        _one_submission,
    ),
    Rule(
        "part-fields",
        "warning",
        "The parts of a checkpointed job have its processors, user and other numbers.",
        _same_job,
    ),
)
