"""Rules for resource use against requests and system limits."""

from collections.abc import Callable

import numpy as np

from workloadkit.following import ROUNDING
from workloadkit.rules.rule import Breach, CheckedLog, LogRule, Severity


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

RULES = (
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
