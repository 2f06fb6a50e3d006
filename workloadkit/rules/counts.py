"""Rules for the header's counts: jobs, records, queues, partitions, parts."""

from collections.abc import Callable

import numpy as np

from workloadkit.errors import plural, quoted
from workloadkit.header import NUMBER_AND_NAME
from workloadkit.rules.rule import FIRST_FEW, Breach, CheckedLog, LogRule, distinct, in_header


def _max_jobs(log: CheckedLog) -> Breach | None:
    """Check MaxJobs, which in a cleaned log still counts the jobs that its filters removed."""
    stated = log.header.number("MaxJobs")
    parts = log["job"][log.in_parts]
    n_jobs = log.n_jobs - parts.size + distinct(parts)
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
        used = distinct(log[field][log[field] >= 0])
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


RULES = (
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
