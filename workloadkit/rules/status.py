"""Rules for the status of jobs against their run time."""

import numpy as np

from workloadkit.fields import BURST_STATUS, CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.rules.rule import Breach, CheckedLog, LogRule

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


RULES = (
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
