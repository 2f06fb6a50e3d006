"""Rules for job numbers, the first submission, and the numbers of users, groups and so on."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import plural
from workloadkit.fields import UNKNOWN
from workloadkit.rules.rule import (
    Breach,
    CheckedLog,
    LogRule,
    Offender,
    Severity,
    distinct,
    in_header,
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
    numbers = np.unique(log["job"][log["job"] >= 1])
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
        above[name] = numbers > distinct(numbers[numbers > 0])
    return log.by_field(above, severity="note" if log.has_other_numbers else None)


def _seen_before(numbers: NDArray) -> NDArray[np.bool_]:
    """Return whether each number occurred before."""
    again = np.ones(numbers.size, dtype=bool)
    again[np.unique(numbers, return_index=True)[1]] = False
    return again


RULES = (
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
