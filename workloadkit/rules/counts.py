"""Rules of what the header counts: jobs, records, queues, partitions, parts."""

from collections.abc import Callable

import numpy as np

from workloadkit.errors import shorten
from workloadkit.header import NUMBER_AND_NAME
from workloadkit.rules.rule import FIRST_FEW, Breach, Log, Rule, distinct, in_header


def _max_jobs(log: Log) -> Breach | None:
    """MaxJobs of a cleaned log goes on counting the jobs that its filters removed."""
    stated = log.header.number("MaxJobs")
    parts = log["job"][log.in_parts]
    n_jobs = log.n_jobs - parts.size + distinct(parts)
    if stated is None or stated == n_jobs:
        return None
    text = f"MaxJobs is {stated:,}, jobs are {n_jobs:,}"
    if stated == n_jobs + log.removed:
        text += f" and the {log.removed:,} that filters removed"
        return in_header(("MaxJobs", stated), text=text, checked=n_jobs, severity="note")
    return in_header(("MaxJobs", stated), text=text, checked=n_jobs)


def _max_records(log: Log) -> Breach | None:
    """So does MaxRecords of a log that the archive cleaned before 2012."""
    records = log.n_jobs + len(log.trace.bursts)
    stated = log.header.number("MaxRecords")
    if stated is None or stated == records:
        return None
    text = f"MaxRecords is {stated:,}, lines of jobs are {records:,}"
    if log.removed and stated == records + log.removed:
        text += f" and the {log.removed:,} that filters removed"
        return in_header(("MaxRecords", stated), text=text, checked=records, severity="note")
    return in_header(("MaxRecords", stated), text=text, checked=records)


def _nodes_within_procs(log: Log) -> Breach | None:
    nodes, procs = log.header.number("MaxNodes"), log.header.number("MaxProcs")
    if not nodes or not procs or nodes <= procs:
        return None
    return in_header(
        ("MaxNodes", nodes), ("MaxProcs", procs), text=f"{nodes:,} nodes have {procs:,} processors"
    )


def _preemption(log: Log) -> Breach | None:
    """Preemption says in which form checkpointed jobs stand in the file."""
    stated = (log.header.get("Preemption") or "").strip()
    parts = len(log.trace.bursts)
    value = ("Preemption", stated)
    if stated.lower() in ("no", "yes") and parts:
        text = f"Preemption is {stated}, but {parts:,} parts of jobs are summed up: it is Double"
        return in_header(value, text=text, checked=log.n_jobs)
    if stated.lower() == "double" and not parts:
        text = "Preemption is Double, but no job stands in parts"
        return in_header(value, text=text, checked=log.n_jobs, severity="warning")
    return None


def _used_listed(field: str, label: str) -> Callable[[Log], Breach | None]:
    """Return the check that each queue (or partition) in use has a line in the header."""

    def check(log: Log) -> Breach | None:
        listed = log.header.listed(label)
        if not listed:
            return None
        used = log[field] >= 0
        return log.where(used & ~np.isin(log[field], listed), field, among=used)

    return check


def _max_used(field: str, label: str) -> Callable[[Log], Breach | None]:
    """Return the check that no more queues (or partitions) are used, or listed, than stated."""

    def check(log: Log) -> Breach | None:
        stated = log.header.number(f"Max{label}s")
        if stated is None:
            return None
        used = distinct(log[field][log[field] >= 0])
        listed = len(set(log.header.listed(label)))
        text = f"Max{label}s is {stated:,}, {used:,} are used"
        if used > stated:
            return in_header((f"Max{label}s", stated), text=text, checked=log.n_jobs)
        if listed and listed != stated:
            text = f"Max{label}s is {stated:,}, {listed:,} are listed"
            return in_header((f"Max{label}s", stated), text=text, severity="warning")
        return None

    return check


def _listed_once(log: Log) -> Breach | None:
    """Queues and partitions are listed by a number and a name, each number once."""
    wrong = []
    for label in ("Queue", "Partition"):
        seen = set()
        for value in log.header.get_all(label):
            match = NUMBER_AND_NAME.match(value)
            if not match or match[1] in seen:
                wrong.append(f"{label}: {shorten(value, 40)}")
            else:
                seen.add(match[1])
    text = "; ".join(wrong[:FIRST_FEW])
    return Breach(len(wrong), len(log.header.entries), text=text) if wrong else None


RULES = (
    Rule("max-jobs", "error", "MaxJobs is the number of jobs.", _max_jobs),
    Rule("max-records", "error", "MaxRecords is the number of lines of jobs.", _max_records),
    Rule("max-nodes", "error", "MaxNodes is no more than MaxProcs.", _nodes_within_procs),
    Rule("preemption", "error", "Preemption says how the file holds parts of jobs.", _preemption),
    Rule(
        "max-queues",
        "error",
        "No more queues are used than MaxQueues.",
        _max_used("queue", "Queue"),
    ),
    Rule(
        "max-partitions",
        "error",
        "No more partitions are used than MaxPartitions.",
        _max_used("partition", "Partition"),
    ),
    Rule(
        "queues-listed",
        "warning",
        "Every queue in use is listed in the header, if any is.",
        _used_listed("queue", "Queue"),
    ),
    Rule(
        "partitions-listed",
        "warning",
        "Every partition in use is listed in the header, if any is.",
        _used_listed("partition", "Partition"),
    ),
    Rule(
        "lists-numbered",
        "warning",
        "Queues and partitions are listed by number and name, each once.",
        _listed_once,
    ),
)
