"""Rules of the preceding job and the think time after it (fields 17 and 18)."""

import numpy as np
from numpy.typing import NDArray

from workloadkit.rules.rule import Breach, Log, Rule

#: Times rounded to seconds may miss one another by so much. [s]
ROUNDING = 1.0


def _asks(log: Log) -> NDArray[np.bool_]:
    return log["preceding_job"] > 0


def _there(log: Log) -> Breach | None:
    asks = _asks(log)
    absent = asks & ~np.isin(log["preceding_job"], log["job"])
    return log.where(absent, "preceding_job", among=asks)


def _counted_from_1(log: Log) -> Breach | None:
    return log.where(log["preceding_job"] == 0, "preceding_job")


def _earlier(log: Log) -> Breach | None:
    """Check that what a job waits for stands before it, in the order of submission.

    It need not have a lower number: that jobs are numbered in this order is a rule of its own.
    """
    asks = _asks(log)
    if not asks.any():
        return None
    own = asks & (log["preceding_job"] == log["job"])
    later = log.preceding.place >= np.arange(log.n_jobs)
    return log.where(own | later, "preceding_job", "submit", among=asks)


def _think_alone(log: Log) -> Breach | None:
    known = ~np.isnan(log["think_time"])
    return log.where(known & ~_asks(log), "think_time", "preceding_job", among=known)


def _submitted_after(log: Log) -> Breach | None:
    """Compare the submission with the end of the job before and the think time."""
    if not _asks(log).any():
        return None
    place = log.preceding.place
    end = np.where(place >= 0, log.end[place], np.nan)
    due = end + np.where(np.isnan(log["think_time"]), 0.0, log["think_time"])
    among = ~np.isnan(due)
    missed = np.abs(log["submit"] - due) > ROUNDING
    # without a think time, it is only known that the end comes first
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
    Rule("preceding-there", "error", "The preceding job is in the log.", _there),
    Rule(
        "preceding-from-1", "error", "The number of a preceding job is 1 or more.", _counted_from_1
    ),
    Rule(
        "preceding-earlier",
        "error",
        "The preceding job is another, and stands before the job.",
        _earlier,
    ),
    Rule(
        "think-alone",
        "error",
        "Think times stand only where there is a preceding job.",
        _think_alone,
    ),
    Rule(
        "think-time",
        "warning",
        "A job is submitted its think time after the end of the preceding job, but for 1 s.",
        _submitted_after,
    ),
)
