"""Rules for the machine: the processors of each job, and of all running jobs together."""

import numpy as np

from workloadkit.rules.rule import Breach, CheckedLog, LogRule, Offender, plain


def _size(log: CheckedLog) -> tuple[str, int] | None:
    """Return the label that states the machine's processors, and their number."""
    for label in ("MaxProcs", "MaxNodes"):
        if number := log.header.number(label):
            return label, number
    return None


def _fits(log: CheckedLog) -> Breach | None:
    """Find jobs larger than the machine; only a warning if it is known by nodes alone."""
    if (size := _size(log)) is None:
        return None
    label, machine = size
    return log.where(
        log["procs"] > machine,
        "procs",
        among=log["procs"] > 0,
        severity=None if label == "MaxProcs" else "warning",
        also={label: np.broadcast_to(machine, log.n_jobs)},
    )


def _request_fits(log: CheckedLog) -> Breach | None:
    if (size := _size(log)) is None:
        return None
    label, machine = size
    return log.where(
        log["requested_procs"] > machine,
        "requested_procs",
        among=log["requested_procs"] > 0,
        also={label: np.broadcast_to(machine, log.n_jobs)},
    )


def _fits_partition(log: CheckedLog) -> Breach | None:
    """Find jobs larger than their partition, if the header states partition sizes."""
    sizes = log.header.partition_procs
    if not sizes:
        return None
    procs = np.full(log.n_jobs, np.nan)
    for number, size in sizes.items():
        procs[log["partition"] == number] = size
    return log.where(
        log["procs"] > procs,
        "procs",
        among=(log["procs"] > 0) & (procs > 0),
        also={"partition": log["partition"], "procs of the partition": procs},
    )


def _used_once(log: CheckedLog) -> Breach | None:
    """Find starts at which more processors are busy than the machine has.

    Ends come before starts of the same second, because recorded times are rounded.
    """
    log, size = log.as_system, _size(log)
    rows = np.flatnonzero(log.trace.ran & ~np.isnan(log["wait"]) & (log["run"] > 0))
    if size is None or not rows.size:
        return None
    label, machine = size
    end = log.end[rows]
    start = log["submit"][rows] + log["wait"][rows]
    procs = log.trace.used_procs[rows]
    is_start = np.repeat([False, True], rows.size)
    order = np.lexsort((is_start, np.concatenate([end, start])))
    busy = np.cumsum(np.concatenate([-procs, procs])[order])
    over = np.flatnonzero((busy > machine) & is_start[order])
    if not over.size:
        return None
    row = rows[order[over[0]] - rows.size]
    first = Offender(
        (("second", plain(start[order[over[0]] - rows.size])), ("busy", plain(busy[over[0]]))),
        job=int(log["job"][row]),
        row=int(row) + 1,
    )
    text = f"up to {busy.max():,.0f} busy, but {label} is {machine:,}; first: {first}"
    if not log.has_other_waits:
        return Breach(over.size, rows.size, (first,), text)
    text += "; the waits are those of the original log"
    return Breach(over.size, rows.size, (first,), text, "note")


RULES = (
    LogRule("procs-machine", "error", "No job used more processors than MaxProcs.", _fits),
    LogRule(
        "procs-machine-requested",
        "warning",
        "No job requests more processors than MaxProcs.",
        _request_fits,
    ),
    LogRule(
        "procs-partition",
        "warning",
        "No job used more processors than its partition has.",
        _fits_partition,
    ),
    LogRule(
        "machine-used-once",
        "warning",
        "When a job starts, no more processors are busy than MaxProcs (unless jobs share "
        "processors).",
        _used_once,
    ),
)
