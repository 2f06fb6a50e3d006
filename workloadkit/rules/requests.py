"""Rules of what jobs used, beside what they requested and what the system allowed."""

from collections.abc import Callable

import numpy as np

from workloadkit.rules.rule import Breach, Log, Rule, Severity

#: Run times are rounded to seconds: a CPU time may be so much longer. [s]
ROUNDING = 1.0


def _within_request(used: str, requested: str) -> Callable[[Log], Breach | None]:
    """Return the check that jobs used no more than they requested.

    Where the header's AllowOveruse says that they could, it is no breach; where it says that they
    could not, it is an error.
    """

    def check(log: Log) -> Breach | None:
        if log.header.overuse:
            return None
        both = ~np.isnan(log[used]) & ~np.isnan(log[requested])
        severity: Severity | None = "error" if log.header.overuse is False else None
        return log.where(log[used] > log[requested], used, requested, among=both, severity=severity)

    return check


def _within_header(label: str, *fields: str) -> Callable[[Log], Breach | None]:
    """Return the check that fields are within what the header says the system allowed."""

    def check(log: Log) -> Breach | None:
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


def _fewer_procs(log: Log) -> Breach | None:
    procs, requested = log["procs"], log["requested_procs"]
    both = (procs > 0) & ~np.isnan(requested)
    return log.where((procs > 0) & (procs < requested), "procs", "requested_procs", among=both)


def _cpu_within_run(log: Log) -> Breach | None:
    cpu, run = log["cpu"], log["run"]
    both = ~np.isnan(cpu) & ~np.isnan(run)
    return log.where(cpu > run + ROUNDING, "cpu", "run", among=both)


_OVERUSE = "unless AllowOveruse says that it may"

RULES = (
    Rule(
        "run-requested",
        "warning",
        f"No job ran longer than it requested, {_OVERUSE}.",
        _within_request("run", "requested_time"),
    ),
    Rule(
        "procs-requested",
        "warning",
        f"No job used more processors than it requested, {_OVERUSE}.",
        _within_request("procs", "requested_procs"),
    ),
    Rule(
        "memory-requested",
        "warning",
        f"No job used more memory than it requested, {_OVERUSE}.",
        _within_request("memory", "requested_memory"),
    ),
    Rule(
        "procs-fewer",
        "note",
        "Jobs have the processors that they requested, not fewer.",
        _fewer_procs,
    ),
    Rule(
        "cpu-run",
        "warning",
        "The average CPU time of a processor is no longer than the run time, but for 1 s of "
        "rounding.",
        _cpu_within_run,
    ),
    Rule(
        "max-runtime",
        "error",
        "No run time is beyond MaxRuntime.",
        _within_header("MaxRuntime", "run"),
    ),
    Rule(
        "max-runtime-requested",
        "warning",
        "No requested time is beyond MaxRuntime.",
        _within_header("MaxRuntime", "requested_time"),
    ),
    Rule(
        "max-memory",
        "error",
        "No memory used is beyond MaxMemory.",
        _within_header("MaxMemory", "memory"),
    ),
    Rule(
        "max-memory-requested",
        "warning",
        "No requested memory is beyond MaxMemory.",
        _within_header("MaxMemory", "requested_memory"),
    ),
)
