"""Rules for the preceding job and the think time after it (fields 17 and 18)."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.rules.rule import Breach, CheckedLog, LogRule

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


RULES = (
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
