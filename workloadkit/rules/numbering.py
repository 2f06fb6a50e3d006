"""Rules for single fields: numbers of jobs and users, ranges of values, status."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import plural
from workloadkit.fields import BURST_STATUS, CANCELLED, COMPLETED, FAILED, FIELDS, UNKNOWN
from workloadkit.rules.rule import (
    Breach,
    CheckedLog,
    LogRule,
    Offender,
    Severity,
    in_header,
    known,
    plain,
)

#: First submit times beyond this suggest missing jobs or another origin of time. [s]
YEAR = 365 * 86400

# Fields numbered from 1 without gaps; queue 0 is that of interactive jobs.
_NUMBERED = ("user", "group", "executable", "queue", "partition")


def _counted_from_1(log: CheckedLog) -> Breach | None:
    return log.where(log["job"] < 1)


def _used_once(log: CheckedLog) -> Breach | None:
    return log.where(_seen_before(log["job"]) & ~log.in_parts, "submit")


def _none_missing(log: CheckedLog) -> Breach | None:
    """Find missing job numbers; those removed according to the header are explained."""
    numbers = distinct(log["job"][log["job"] >= 1])
    if not numbers.size or numbers[-1] == numbers.size:
        return None
    missing = int(numbers[-1]) - numbers.size
    first = int(np.argmax(numbers != np.arange(1, numbers.size + 1)))
    after = int(numbers[first - 1]) if first else 0
    gap = Offender((("after job", after), ("comes job", int(numbers[first]))))
    where = f"job {numbers[first]} follows {after}" if after else f"the first is job {numbers[0]}"
    explained = missing <= log.removed + log.left_out or log.is_part
    why = f"; the header's filters removed {plural(log.removed, 'job')}" if log.removed else ""
    why += f"; the simulation left out {log.left_out:,}" if log.left_out else ""
    return Breach(
        missing,
        int(numbers[-1]),
        (gap,),
        f"{missing:,} of the numbers up to {numbers[-1]} are missing: {where}{why}",
        "note" if explained else None,
    )


def _in_order(log: CheckedLog) -> Breach | None:
    job = log["job"]
    early = np.zeros(job.size, dtype=bool)
    early[1:] = job[1:] < job[:-1]
    early &= ~(_seen_before(job) & log.in_parts)  # all parts of a job have its number
    before = {"job before": np.append(job[:1], job[:-1])}
    # a log with changed times keeps its job numbers
    severity: Severity | None = "note" if log.is_moved else None
    return log.where(early, "submit", severity=severity, also=before)


def _submit_known(log: CheckedLog) -> Breach | None:
    return log.where(log["submit"] == UNKNOWN)


def _from_zero(log: CheckedLog) -> Breach | None:
    submit = log["submit"][log["submit"] >= 0]
    if not submit.size or submit[0] == 0:
        return None
    first = plain(submit[0])
    days = f" ({submit[0] / 86400:,.1f} days)" if submit[0] >= 86400 else ""
    return in_header(
        ("first submit", first),
        text=f"the first job was submitted at second {first}{days}",
        checked=log.n_jobs,
        severity="warning" if submit[0] > YEAR else None,
    )


def _from_one(log: CheckedLog) -> Breach | None:
    zero = {name: log[name] == 0 for name in _NUMBERED if name != "queue"}
    return log.by_field(zero)


def _dense(log: CheckedLog) -> Breach | None:
    """Find numbers larger than the count of distinct numbers, as after removing jobs."""
    above = {}
    for name in _NUMBERED:
        numbers = log[name]
        above[name] = numbers > distinct(numbers[numbers > 0]).size
    return log.by_field(above, severity="note" if log.has_other_numbers else None)


def _seen_before(numbers: NDArray) -> NDArray[np.bool_]:
    """Return whether each number occurred before."""
    again = np.ones(numbers.size, dtype=bool)
    again[np.unique(numbers, return_index=True)[1]] = False
    return again


RULES: tuple[LogRule, ...] = (
    LogRule("job-from-1", "error", "Job numbers start from 1.", _counted_from_1),
    LogRule(
        "job-unique", "error", "Job numbers are unique, except for parts of one job.", _used_once
    ),
    LogRule("job-gaps", "warning", "No job number is missing.", _none_missing),
    LogRule("job-order", "warning", "Jobs are numbered in the order of submission.", _in_order),
    LogRule("submit-known", "error", "Every submit time is known.", _submit_known),
    LogRule("submit-from-0", "note", "The first job is submitted at second 0.", _from_zero),
    LogRule(
        "numbered-from-1",
        "error",
        "Users, groups, executables and partitions are numbered from 1; only interactive jobs "
        "have queue 0.",
        _from_one,
    ),
    LogRule(
        "numbered-densely",
        "warning",
        "Numbers of users, groups, executables, queues and partitions have no gaps.",
        _dense,
    ),
)


# Rules for the values of single job fields.

#: Longer times are implausible. [s]
TEN_YEARS = 10 * 365 * 86400

_LENGTHS = ("wait", "run", "requested_time", "think_time")  # without cpu, which is an average
_COUNTS = ("procs", "requested_procs")


def _not_negative(log: CheckedLog) -> Breach | None:
    return log.by_field({f.name: (log[f.name] < 0) & (log[f.name] != UNKNOWN) for f in FIELDS})


def _whole_counts(log: CheckedLog) -> Breach | None:
    return log.by_field({name: _with_decimals(log[name]) for name in _COUNTS})


def _whole_times(log: CheckedLog) -> Breach | None:
    return log.by_field({name: _with_decimals(log[name]) for name in ("submit", *_LENGTHS)})


def _plausible(log: CheckedLog) -> Breach | None:
    return log.by_field({name: log[name] > TEN_YEARS for name in _LENGTHS})


def _requests_something(log: CheckedLog) -> Breach | None:
    return log.by_field({name: log[name] == 0 for name in ("requested_procs", "requested_time")})


def _unknown(*fields: str) -> Callable[[CheckedLog], Breach | None]:
    """Return the check that fields are known for every job."""

    def check(log: CheckedLog) -> Breach | None:
        return log.where(~known(log, *fields))

    return check


def _procs_known(log: CheckedLog) -> Breach | None:
    return log.where(~(log["procs"] > 0), "procs", "run")


def _with_decimals(column: NDArray[np.float64]) -> NDArray[np.bool_]:
    return ~np.isnan(column) & (column != np.rint(column))


RANGE_RULES: tuple[LogRule, ...] = (
    LogRule("not-negative", "error", "No value is negative except -1 (unknown).", _not_negative),
    LogRule("procs-whole", "error", "Processors are whole numbers.", _whole_counts),
    LogRule(
        "times-whole",
        "note",
        "Times are whole seconds; decimals are allowed since version 2.2.",
        _whole_times,
    ),
    LogRule(
        "times-plausible",
        "warning",
        "No wait, run or requested time exceeds ten years.",
        _plausible,
    ),
    LogRule("request-zero", "warning", "No job requests 0 processors or 0 s.", _requests_something),
    LogRule("wait-known", "note", "Every wait is known.", _unknown("wait")),
    LogRule("run-known", "note", "Every run time is known.", _unknown("run")),
    LogRule(
        "procs-known", "note", "Every job has a known, positive number of processors.", _procs_known
    ),
    LogRule("user-known", "note", "Every user is known.", _unknown("user")),
    LogRule("estimate-known", "note", "Every requested time is known.", _unknown("requested_time")),
)


# Rules for the status of jobs against their run time.

_KNOWN = (UNKNOWN, FAILED, COMPLETED, *BURST_STATUS, CANCELLED)


def _known_values(log: CheckedLog) -> Breach | None:
    return log.where(~np.isin(log["status"], _KNOWN), "status")


def _summed_up(log: CheckedLog) -> Breach | None:
    """Find jobs of status 2, 3 or 4 without a summary line."""
    return log.where(np.isin(log["status"], BURST_STATUS) & ~log.in_parts, "status")


def _completed_ran(log: CheckedLog) -> Breach | None:
    completed = log["status"] == COMPLETED
    return log.where(completed & np.isnan(log["run"]), "status", "run", among=completed)


def _ran_on_procs(log: CheckedLog) -> Breach | None:
    """Find jobs that ran without processors; logs without any field 5 are exempt."""
    ran = log["run"] > 0
    return log.where(ran & ~(log.trace.used_procs > 0), "run", "procs", "status", among=ran)


def _failed_ran(log: CheckedLog) -> Breach | None:
    failed = (log["status"] == FAILED) | (log["status"] == UNKNOWN)
    return log.where(failed & np.isnan(log["run"]), "status", "run", among=failed)


def _cancelled_in_queue(log: CheckedLog) -> Breach | None:
    cancelled = log["status"] == CANCELLED
    return log.where(cancelled & log.trace.ran, "status", "run", among=cancelled)


STATUS_RULES: tuple[LogRule, ...] = (
    LogRule(
        "status-values",
        "error",
        "The status is -1 (unknown), 0 (failed), 1 (completed), 2, 3, 4 (parts) or 5 (cancelled).",
        _known_values,
    ),
    LogRule(
        "status-parts",
        "warning",
        "Each line of status 2, 3 or 4 is part of a job with a summary line.",
        _summed_up,
    ),
    LogRule("completed-ran", "warning", "Every completed job has a run time.", _completed_ran),
    LogRule("ran-on-procs", "warning", "Every job that ran had processors.", _ran_on_procs),
    LogRule(
        "never-ran",
        "note",
        "Only cancelled jobs have no run time.",
        _failed_ran,
    ),
    LogRule("cancelled-ran", "note", "Cancelled jobs (status 5) never ran.", _cancelled_in_queue),
)
