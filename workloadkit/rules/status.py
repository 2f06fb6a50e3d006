"""Rules of how jobs ended: status against run time."""

import numpy as np

from workloadkit.fields import BURST_STATUS, CANCELLED, COMPLETED, FAILED, UNKNOWN
from workloadkit.rules.rule import Breach, Log, Rule

_KNOWN = (UNKNOWN, FAILED, COMPLETED, *BURST_STATUS, CANCELLED)


def _known_values(log: Log) -> Breach | None:
    return log.where(~np.isin(log["status"], _KNOWN), "status")


def _summed_up(log: Log) -> Breach | None:
    """Jobs of status 2, 3 or 4: bursts that no line sums up, unless these are exit codes."""
    return log.where(np.isin(log["status"], BURST_STATUS) & ~log.in_parts, "status")


def _completed_ran(log: Log) -> Breach | None:
    completed = log["status"] == COMPLETED
    return log.where(completed & np.isnan(log["run"]), "status", "run", among=completed)


def _ran_on_procs(log: Log) -> Breach | None:
    """Jobs that ran on no processors; a log that knows no field 5 at all says nothing of it."""
    ran = log["run"] > 0
    return log.where(ran & ~(log.trace.used_procs > 0), "run", "procs", "status", among=ran)


def _failed_ran(log: Log) -> Breach | None:
    failed = (log["status"] == FAILED) | (log["status"] == UNKNOWN)
    return log.where(failed & np.isnan(log["run"]), "status", "run", among=failed)


def _cancelled_in_queue(log: Log) -> Breach | None:
    cancelled = log["status"] == CANCELLED
    return log.where(cancelled & log.trace.ran, "status", "run", among=cancelled)


RULES = (
    Rule(
        "status-values",
        "error",
        "The status is -1 (unknown), 0 (failed), 1 (completed), 2, 3, 4 (parts) or 5 (cancelled).",
        _known_values,
    ),
    Rule(
        "status-parts",
        "warning",
        "Each line of status 2, 3 or 4 is part of a job that another line sums up.",
        _summed_up,
    ),
    Rule("completed-ran", "warning", "Every completed job has a run time.", _completed_ran),
    Rule("ran-on-procs", "warning", "Every job that ran had processors.", _ran_on_procs),
    Rule(
        "never-ran",
        "note",
        "Only cancelled jobs never ran; no other lacks a run time.",
        _failed_ran,
    ),
    Rule("cancelled-ran", "note", "Cancelled jobs (status 5) never ran.", _cancelled_in_queue),
)
