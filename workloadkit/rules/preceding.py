"""Rules that relate lines: preceding jobs, and the bursts of checkpointed jobs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.checkpoints import summaries
from workloadkit.fields import BURST_STATUS, CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.rules.rule import FIRST_FEW, Breach, CheckedLog, LogRule, Offender, plain

#: Tolerance for times that are rounded to seconds. [s]
ROUNDING = 1.0


def _has_preceding(log: CheckedLog) -> NDArray[np.bool_]:
    return log["preceding_job"] > 0


def _there(log: CheckedLog) -> Breach | None:
    has_preceding = _has_preceding(log)
    absent = has_preceding & ~np.isin(log["preceding_job"], log["job"])
    return log.where(absent, "preceding_job", among=has_preceding)


def _counted_from_1(log: CheckedLog) -> Breach | None:
    return log.where(log["preceding_job"] == 0, "preceding_job")


def _earlier(log: CheckedLog) -> Breach | None:
    """Check that the preceding job is earlier in the order of submission.

    Its number may be higher: another rule checks the order of job numbers.
    """
    has_preceding = _has_preceding(log)
    if not has_preceding.any():
        return None
    own = has_preceding & (log["preceding_job"] == log["job"])
    later = log.preceding.place >= np.arange(log.n_jobs)
    return log.where(own | later, "preceding_job", "submit", among=has_preceding)


def _think_alone(log: CheckedLog) -> Breach | None:
    known = ~np.isnan(log["think_time"])
    return log.where(known & ~_has_preceding(log), "think_time", "preceding_job", among=known)


def _submitted_after(log: CheckedLog) -> Breach | None:
    """Compare the submit time with the end of the preceding job plus the think time."""
    if not _has_preceding(log).any():
        return None
    place = log.preceding.place
    end = np.where(place >= 0, log.end[place], np.nan)
    due = end + np.where(np.isnan(log["think_time"]), 0.0, log["think_time"])
    among = ~np.isnan(due)
    missed = np.abs(log["submit"] - due) > ROUNDING
    # without a think time, only a submission before the end is wrong
    missed &= ~np.isnan(log["think_time"]) | (log["submit"] < due)
    return log.where(
        among & missed,
        "preceding_job",
        "think_time",
        "submit",
        among=among,
        also={"preceding end": end},
    )


RULES: tuple[LogRule, ...] = (
    LogRule("preceding-present", "error", "The preceding job is in the log.", _there),
    LogRule(
        "preceding-from-1", "error", "The number of a preceding job is 1 or more.", _counted_from_1
    ),
    LogRule(
        "preceding-earlier",
        "error",
        "The preceding job is a different job that is earlier in the log.",
        _earlier,
    ),
    LogRule(
        "think-without-preceding",
        "error",
        "Only jobs with a preceding job have a think time.",
        _think_alone,
    ),
    LogRule(
        "think-time",
        "warning",
        "A job is submitted its think time after the end of the preceding job (tolerance 1 s).",
        _submitted_after,
    ),
)


# Rules for checkpointed jobs: the partial executions against the summary line.

_CONTINUED, _LAST, _KILLED = BURST_STATUS
_SAME = ("procs", "requested_procs", "user", "group", "executable", "queue", "partition")


class _Parts(NamedTuple):
    """The parts (partial executions) of checkpointed jobs, grouped by job, in file order."""

    rows: NDArray[np.int64]  # of `Trace.bursts`
    first: NDArray[np.int64]  # first part of each checkpointed job
    last: NDArray[np.int64]
    job: NDArray[np.int64]  # row of the summary line; -1 if there is none or several

    @property
    def of(self) -> NDArray[np.int64]:
        """Index of the checkpointed job of each part."""
        return np.repeat(np.arange(self.first.size), self.last - self.first + 1)


def _parts(log: CheckedLog) -> _Parts:
    number = np.asarray(log.trace.table("bursts")["job"])
    rows = np.argsort(number, kind="stable")
    numbers, first, count = np.unique(number[rows], return_index=True, return_counts=True)
    return _Parts(rows, first, first + count - 1, summaries(log["job"], numbers))


def _part(log: CheckedLog, parts: _Parts, name: str) -> NDArray:
    return np.asarray(log.trace.table("bursts")[name])[parts.rows]


def _breach(
    log: CheckedLog,
    parts: _Parts,
    violating: NDArray[np.bool_],
    shown: dict[str, NDArray],
    *,
    text: str = "",
) -> Breach | None:
    """Return the breach by jobs or by parts, depending on the size of `violating`."""
    found = np.flatnonzero(violating)
    if not found.size:
        return None
    of_parts = violating.size == parts.rows.size
    numbers = _part(log, parts, "job") if of_parts else _part(log, parts, "job")[parts.first]
    offenders = tuple(
        Offender(
            tuple((name, plain(column[i])) for name, column in shown.items()),
            job=int(numbers[i]),
            row=int(parts.rows[i if of_parts else parts.first[i]]) + 1,
        )
        for i in found[:FIRST_FEW]
    )
    return Breach(found.size, violating.size, offenders, text)


def _one_summary(log: CheckedLog) -> Breach | None:
    parts = _parts(log)
    return _breach(log, parts, parts.job < 0, {"parts": parts.last - parts.first + 1})


def _run_adds_up(log: CheckedLog) -> Breach | None:
    """Check the sum; parts of unknown run time (cancelled in the queue) may make up the rest."""
    parts = _parts(log)
    ran = _part(log, parts, "run")
    total, n_unknown = np.zeros(parts.first.size), np.zeros(parts.first.size)
    np.add.at(total, parts.of, np.nan_to_num(ran))
    np.add.at(n_unknown, parts.of, np.isnan(ran))
    run = np.where(parts.job >= 0, log["run"][parts.job] if log.n_jobs else np.nan, np.nan)
    tolerance = 1e-6 * np.maximum(np.abs(run), 1.0)  # rounding of decimals
    rest = run - total
    adds_up = (np.abs(rest) <= tolerance) | (n_unknown > 0) & ~(rest < -tolerance)
    violating = (parts.job >= 0) & ~adds_up
    return _breach(log, parts, violating, {"run": run, "parts together": total})


def _codes(log: CheckedLog) -> Breach | None:
    """Check that all parts but the last are continued, and that the last states the outcome."""
    parts = _parts(log)
    status = _part(log, parts, "status")
    is_last = np.zeros(status.size, dtype=bool)
    is_last[parts.last] = True
    violating = np.where(is_last, ~np.isin(status, (_LAST, _KILLED)), status != _CONTINUED)
    return _breach(log, parts, violating, {"status": status, "last": is_last})


def _end_agrees(log: CheckedLog) -> Breach | None:
    parts = _parts(log)
    last = _part(log, parts, "status")[parts.last]
    whole = np.where(parts.job >= 0, log["status"][parts.job] if log.n_jobs else UNKNOWN, UNKNOWN)
    completed = (last == _LAST) & (whole != COMPLETED)
    killed = (last == _KILLED) & ~np.isin(whole, (FAILED, CANCELLED))
    violating = (completed | killed) & (parts.job >= 0)
    return _breach(log, parts, violating, {"status": whole, "status of the last part": last})


def _one_submission(log: CheckedLog) -> Breach | None:
    """Check that only the first part has a submit time, equal to the job's."""
    parts = _parts(log)
    submit = _part(log, parts, "submit")
    whole = np.where(parts.job >= 0, log["submit"][parts.job] if log.n_jobs else np.nan, np.nan)
    violating = submit != UNKNOWN
    violating[parts.first] = (submit[parts.first] != whole) & (parts.job >= 0)
    return _breach(log, parts, violating, {"submit": submit, "submit of the job": whole[parts.of]})


def _same_job(log: CheckedLog) -> Breach | None:
    """Check that parts have the known processors and numbers of their job."""
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
    violating = np.any([*differs.values()], axis=0)
    return _breach(log, parts, violating, shown, text=f"the job has another {names}")


def _names(fields: Sequence[str]) -> str:
    return " or ".join(name.replace("_", " ") for name in fields)


BURST_RULES: tuple[LogRule, ...] = (
    LogRule(
        "part-summary",
        "error",
        "The parts of a checkpointed job have the job number of exactly one summary line.",
        _one_summary,
    ),
    LogRule(
        "part-run",
        "error",
        "The run time of a checkpointed job is the sum of the run times of its parts.",
        _run_adds_up,
    ),
    LogRule(
        "part-status",
        "error",
        "The parts of a checkpointed job have status 2, the last one 3 (completed) or 4 (killed).",
        _codes,
    ),
    LogRule(
        "part-end",
        "error",
        "A checkpointed job has status 1 if its last part has status 3, and 0 or 5 if it has 4.",
        _end_agrees,
    ),
    LogRule(
        "part-submit",
        "error",
        "Only the first part of a checkpointed job has a submit time, equal to the job's.",
        _one_submission,
    ),
    LogRule(
        "part-fields",
        "warning",
        "The parts of a checkpointed job have its processors, user and other numbers.",
        _same_job,
    ),
)
