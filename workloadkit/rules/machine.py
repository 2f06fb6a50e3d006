"""Rules of the machine: what jobs have of it, and what all of them have at one time."""

import numpy as np

from workloadkit.rules.rule import Breach, Log, Offender, Rule, plain


def _size(log: Log) -> tuple[str, int] | None:
    """Return the label that tells the processors of the machine, and how many they are."""
    for label in ("MaxProcs", "MaxNodes"):
        if number := log.header.number(label):
            return label, number
    return None


def _fits(log: Log) -> Breach | None:
    """Jobs larger than the machine; nodes may have several processors, so these only warn."""
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


def _request_fits(log: Log) -> Breach | None:
    if (size := _size(log)) is None:
        return None
    label, machine = size
    return log.where(
        log["requested_procs"] > machine,
        "requested_procs",
        among=log["requested_procs"] > 0,
        also={label: np.broadcast_to(machine, log.n_jobs)},
    )


def _fits_partition(log: Log) -> Breach | None:
    """Jobs larger than their partition, where the header tells how large partitions are."""
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


def _used_once(log: Log) -> Breach | None:
    """Jobs that start while, with them, more processors are busy than there are.

    Of jobs of one second, all ends come first, as on a machine whose times are rounded.
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
    text = f"up to {busy.max():,.0f} busy; {label} is {machine:,}; first: {first}"
    if not log.has_other_waits:
        return Breach(over.size, rows.size, (first,), text)
    text += "; the waits are those of the log that this one was made from"
    return Breach(over.size, rows.size, (first,), text, "note")


RULES = (
    Rule("procs-machine", "error", "No job has more processors than MaxProcs.", _fits),
    Rule(
        "procs-machine-requested",
        "warning",
        "No job requests more processors than MaxProcs.",
        _request_fits,
    ),
    Rule(
        "procs-partition",
        "warning",
        "No job has more processors than its partition.",
        _fits_partition,
    ),
    Rule(
        "machine-used-once",
        "warning",
        "When a job starts, no more processors are busy than MaxProcs; where jobs share "
        "processors there are.",
        _used_once,
    ),
)
