"""Rules for the machine: processors in use, the header's counts, requests and limits."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from workloadkit.distinct import distinct
from workloadkit.errors import plural, quoted
from workloadkit.following import ROUNDING
from workloadkit.header import NUMBER_AND_NAME
from workloadkit.rules.rule import (
    FIRST_FEW,
    Breach,
    CheckedLog,
    LogRule,
    Offender,
    Severity,
    in_header,
    plain,
)

#: Jobs between whose submissions starts and ends are sorted at once.
_AT_ONCE = 1 << 22


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
    ran = log.trace.ran & ~np.isnan(log["wait"]) & (log["run"] > 0)
    if size is None or not ran.any():
        return None
    label, machine = size
    start, end, procs = log["submit"] + log["wait"], log.end, log.trace.used_procs
    n_over, most, before, first = 0, 0.0, 0.0, None
    for begin, until in pairwise([-np.inf, *log["submit"][_AT_ONCE::_AT_ONCE], np.nan]):
        begun = np.flatnonzero(ran & (start >= begin) & ~(start >= until))
        ended = np.flatnonzero(ran & (end >= begin) & ~(end >= until))
        is_start = np.repeat([False, True], [ended.size, begun.size])
        order = np.lexsort((is_start, np.concatenate([end[ended], start[begun]])))
        busy = before + np.cumsum(np.concatenate([-procs[ended], procs[begun]])[order])
        over = np.flatnonzero((busy > machine) & is_start[order])
        if over.size and first is None:
            row = begun[order[over[0]] - ended.size]
            values = (("second", plain(start[row])), ("busy", plain(busy[over[0]])))
            first = Offender(values, job=int(log["job"][row]), row=int(row) + 1)
        n_over, most = n_over + over.size, max(most, busy.max(initial=0))
        before = busy[-1] if busy.size else before
    if first is None:
        return None
    n_ran = int(np.count_nonzero(ran))
    text = f"up to {most:,.0f} busy, but {label} is {machine:,}; first: {first}"
    if not log.has_other_waits:
        return Breach(n_over, n_ran, (first,), text)
    text += "; the waits are those of the original log"
    return Breach(n_over, n_ran, (first,), text, "note")


RULES: tuple[LogRule, ...] = (
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


# Rules for the header's counts: jobs, records, queues, partitions, parts.


def _max_jobs(log: CheckedLog) -> Breach | None:
    """Check MaxJobs, which in a cleaned log still counts the jobs that its filters removed."""
    stated = log.header.number("MaxJobs")
    parts = log["job"][log.in_parts]
    n_jobs = log.n_jobs - parts.size + distinct(parts).size
    if stated is None or stated == n_jobs:
        return None
    text = f"MaxJobs is {stated:,}, but the log has {plural(n_jobs, 'job')}"
    if stated == n_jobs + log.removed:
        text += f" and filters removed {log.removed:,}"
        return in_header(("MaxJobs", stated), text=text, checked=n_jobs, severity="note")
    return in_header(("MaxJobs", stated), text=text, checked=n_jobs)


def _max_records(log: CheckedLog) -> Breach | None:
    """Check MaxRecords, which counts removed jobs in logs that the archive cleaned before 2012."""
    records = log.n_jobs + log.trace.n_bursts
    stated = log.header.number("MaxRecords")
    if stated is None or stated == records:
        return None
    text = f"MaxRecords is {stated:,}, but the log has {plural(records, 'job line')}"
    if log.removed and stated == records + log.removed:
        text += f" and filters removed {log.removed:,}"
        return in_header(("MaxRecords", stated), text=text, checked=records, severity="note")
    return in_header(("MaxRecords", stated), text=text, checked=records)


def _nodes_within_procs(log: CheckedLog) -> Breach | None:
    nodes, procs = log.header.number("MaxNodes"), log.header.number("MaxProcs")
    if not nodes or not procs or nodes <= procs:
        return None
    return in_header(
        ("MaxNodes", nodes),
        ("MaxProcs", procs),
        text=f"MaxNodes is {nodes:,}, more than MaxProcs, {procs:,}",
    )


def _preemption(log: CheckedLog) -> Breach | None:
    """Check Preemption, which states how checkpointed jobs are recorded."""
    stated = (log.header.get("Preemption") or "").strip()
    parts = log.trace.n_bursts
    value = ("Preemption", stated)
    if stated.lower() in ("no", "yes") and parts:
        there = plural(parts, "part of a job has", "parts of jobs have")
        text = f"Preemption is {stated}, but {there} a summary line: use Double"
        return in_header(value, text=text, checked=log.n_jobs)
    if stated.lower() == "double" and not parts:
        text = "Preemption is Double, but no job is split into parts"
        return in_header(value, text=text, checked=log.n_jobs, severity="warning")
    return None


def _used_listed(field: str, label: str) -> Callable[[CheckedLog], Breach | None]:
    """Return the check that each used queue (or partition) is listed in the header."""

    def check(log: CheckedLog) -> Breach | None:
        listed = log.header.listed(label)
        if not listed:
            return None
        used = log[field] >= 0
        return log.where(used & ~np.isin(log[field], listed), field, among=used)

    return check


def _max_used(field: str, label: str) -> Callable[[CheckedLog], Breach | None]:
    """Return the check that no more queues (or partitions) are used or listed than stated."""

    def check(log: CheckedLog) -> Breach | None:
        stated = log.header.number(f"Max{label}s")
        if stated is None:
            return None
        used = distinct(log[field][log[field] >= 0]).size
        listed = len(set(log.header.listed(label)))
        text = f"Max{label}s is {stated:,}, but {used:,} are used"
        if used > stated:
            return in_header((f"Max{label}s", stated), text=text, checked=log.n_jobs)
        if listed and listed != stated:
            text = f"Max{label}s is {stated:,}, but {listed:,} are listed"
            return in_header((f"Max{label}s", stated), text=text, severity="warning")
        return None

    return check


def _listed_once(log: CheckedLog) -> Breach | None:
    """Check that queues and partitions are listed by number and name, each number once."""
    wrong = []
    for label in ("Queue", "Partition"):
        seen = set()
        for value in log.header.get_all(label):
            match = NUMBER_AND_NAME.match(value)
            if not match or match[1] in seen:
                wrong.append(f"{label}: {quoted(value, 40)}")
            else:
                seen.add(match[1])
    text = "; ".join(wrong[:FIRST_FEW])
    return Breach(len(wrong), len(log.header.entries), text=text) if wrong else None


COUNT_RULES: tuple[LogRule, ...] = (
    LogRule("max-jobs", "error", "MaxJobs is the number of jobs.", _max_jobs),
    LogRule("max-records", "error", "MaxRecords is the number of job lines.", _max_records),
    LogRule("max-nodes", "error", "MaxNodes does not exceed MaxProcs.", _nodes_within_procs),
    LogRule(
        "preemption", "error", "Preemption states how the file records parts of jobs.", _preemption
    ),
    LogRule(
        "max-queues",
        "error",
        "The number of queues in use does not exceed MaxQueues.",
        _max_used("queue", "Queue"),
    ),
    LogRule(
        "max-partitions",
        "error",
        "The number of partitions in use does not exceed MaxPartitions.",
        _max_used("partition", "Partition"),
    ),
    LogRule(
        "queues-listed",
        "warning",
        "If the header lists queues, it lists every queue in use.",
        _used_listed("queue", "Queue"),
    ),
    LogRule(
        "partitions-listed",
        "warning",
        "If the header lists partitions, it lists every partition in use.",
        _used_listed("partition", "Partition"),
    ),
    LogRule(
        "lists-numbered",
        "warning",
        "Queues and partitions are listed by number and name, each once.",
        _listed_once,
    ),
)


# Rules for resource use against requests and system limits.


def _within_request(used: str, requested: str) -> Callable[[CheckedLog], Breach | None]:
    """Return the check that jobs used no more than they requested.

    AllowOveruse in the header decides: Yes permits it, No makes it an error.
    """

    def check(log: CheckedLog) -> Breach | None:
        if log.header.overuse:
            return None
        both = ~np.isnan(log[used]) & ~np.isnan(log[requested])
        severity: Severity | None = "error" if log.header.overuse is False else None
        return log.where(log[used] > log[requested], used, requested, among=both, severity=severity)

    return check


def _within_header(label: str, *fields: str) -> Callable[[CheckedLog], Breach | None]:
    """Return the check that fields do not exceed a limit in the header."""

    def check(log: CheckedLog) -> Breach | None:
        limit = log.header.number(label)
        if not limit:
            return None
        return log.where(
            np.any([log[name] > limit for name in fields], axis=0),
            *fields,
            among=np.any([~np.isnan(log[name]) for name in fields], axis=0),
            also={label: np.broadcast_to(limit, log.n_jobs)},
        )

    return check


def _fewer_procs(log: CheckedLog) -> Breach | None:
    procs, requested = log["procs"], log["requested_procs"]
    both = (procs > 0) & ~np.isnan(requested)
    return log.where((procs > 0) & (procs < requested), "procs", "requested_procs", among=both)


def _cpu_within_run(log: CheckedLog) -> Breach | None:
    cpu, run = log["cpu"], log["run"]
    both = ~np.isnan(cpu) & ~np.isnan(run)
    return log.where(cpu > run + ROUNDING, "cpu", "run", among=both)


_OVERUSE = "unless AllowOveruse is Yes"

REQUEST_RULES: tuple[LogRule, ...] = (
    LogRule(
        "run-requested",
        "warning",
        f"No job ran longer than it requested, {_OVERUSE}.",
        _within_request("run", "requested_time"),
    ),
    LogRule(
        "procs-requested",
        "warning",
        f"No job used more processors than it requested, {_OVERUSE}.",
        _within_request("procs", "requested_procs"),
    ),
    LogRule(
        "memory-requested",
        "warning",
        f"No job used more memory than it requested, {_OVERUSE}.",
        _within_request("memory", "requested_memory"),
    ),
    LogRule(
        "procs-fewer",
        "note",
        "Jobs have as many processors as they requested, not fewer.",
        _fewer_procs,
    ),
    LogRule(
        "cpu-run",
        "warning",
        "The average CPU time per processor does not exceed the run time (tolerance 1 s).",
        _cpu_within_run,
    ),
    LogRule(
        "max-runtime",
        "error",
        "No run time exceeds MaxRuntime.",
        _within_header("MaxRuntime", "run"),
    ),
    LogRule(
        "max-runtime-requested",
        "warning",
        "No requested time exceeds MaxRuntime.",
        _within_header("MaxRuntime", "requested_time"),
    ),
    LogRule(
        "max-memory",
        "error",
        "No used memory exceeds MaxMemory.",
        _within_header("MaxMemory", "memory"),
    ),
    LogRule(
        "max-memory-requested",
        "warning",
        "No requested memory exceeds MaxMemory.",
        _within_header("MaxMemory", "requested_memory"),
    ),
)
