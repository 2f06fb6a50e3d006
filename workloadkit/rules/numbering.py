"""Rules of the job numbers, of the first submission, and of the numbers of users and the like."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.fields import UNKNOWN
from workloadkit.rules.rule import Breach, Log, Offender, Rule, Severity, distinct, in_header, plain

#: A log whose jobs begin later than this began before them, or counts from another origin. [s]
YEAR = 365 * 86400

# Numbered from 1, each number used; queue 0 is that of interactive jobs.
_NUMBERED = ("user", "group", "executable", "queue", "partition")


def _counted_from_1(log: Log) -> Breach | None:
    return log.where(log["job"] < 1)


def _used_once(log: Log) -> Breach | None:
    return log.where(_seen_before(log["job"]) & ~log.in_parts, "submit")


def _none_missing(log: Log) -> Breach | None:
    """Numbers from 1 to the last that no job has; those that the header knows of are explained."""
    numbers = np.unique(log["job"][log["job"] >= 1])
    if not numbers.size or numbers[-1] == numbers.size:
        return None
    missing = int(numbers[-1]) - numbers.size
    first = int(np.argmax(numbers != np.arange(1, numbers.size + 1)))
    after = int(numbers[first - 1]) if first else 0
    gap = Offender((("after job", after), ("comes job", int(numbers[first]))))
    where = (
        f"job {numbers[first]} comes after {after}" if after else f"the first is job {numbers[0]}"
    )
    explained = missing <= log.removed + log.left_out
    why = f"; the header's filters removed {log.removed:,} jobs" if log.removed else ""
    why += f"; {log.left_out:,} were left out of the simulation" if log.left_out else ""
    return Breach(
        missing,
        int(numbers[-1]),
        (gap,),
        f"{missing:,} missing of the numbers up to {numbers[-1]}: {where}{why}",
        "note" if explained else None,
    )


def _in_order(log: Log) -> Breach | None:
    job = log["job"]
    early = np.zeros(job.size, dtype=bool)
    early[1:] = job[1:] < job[:-1]
    early &= ~(_seen_before(job) & log.in_parts)  # a later part has the number of the first
    before = {"job before": np.append(job[:1], job[:-1])}
    # jobs of a log that come in another order keep its numbers
    severity: Severity | None = "note" if log.is_moved else None
    return log.where(early, "submit", severity=severity, also=before)


def _submit_known(log: Log) -> Breach | None:
    return log.where(log["submit"] == UNKNOWN)


def _from_zero(log: Log) -> Breach | None:
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


def _from_one(log: Log) -> Breach | None:
    zero = {name: log[name] == 0 for name in _NUMBERED if name != "queue"}
    return log.by_field(zero)


def _dense(log: Log) -> Breach | None:
    """Numbers above how many there are, such as jobs that are left out leave behind."""
    above = {}
    for name in _NUMBERED:
        numbers = log[name]
        above[name] = numbers > distinct(numbers[numbers > 0])
    return log.by_field(above, severity="note" if log.has_other_numbers else None)


def _seen_before(numbers: NDArray) -> NDArray[np.bool_]:
    """Whether a number stands further up already."""
    again = np.ones(numbers.size, dtype=bool)
    again[np.unique(numbers, return_index=True)[1]] = False
    return again


RULES = (
    Rule("job-from-1", "error", "Job numbers count from 1.", _counted_from_1),
    Rule(
        "job-unique", "error", "No two jobs have the same number; parts of one job do.", _used_once
    ),
    Rule("job-gaps", "warning", "No job number is missing.", _none_missing),
    Rule("job-order", "warning", "Jobs are numbered in the order of submission.", _in_order),
    Rule("submit-known", "error", "Every submit time is known.", _submit_known),
    Rule("submit-from-0", "note", "The first job is submitted at second 0.", _from_zero),
    Rule(
        "numbered-from-1",
        "error",
        "Users, groups, executables and partitions are numbered from 1; only interactive jobs "
        "have queue 0.",
        _from_one,
    ),
    Rule(
        "numbered-densely",
        "warning",
        "Users, groups, executables, queues and partitions have numbers up to how many there are.",
        _dense,
    ),
)
