"""Rules of what rides along with the jobs: utility functions, and what stands beside the log."""

import numpy as np

from workloadkit.errors import WorkloadError
from workloadkit.rules.rule import Breach, Log, Rule
from workloadkit.utility import check

_TIMES_AGREE = 1.0  # both are rounded to seconds


def _functions(log: Log) -> Breach | None:
    try:
        check(log.trace)
    except WorkloadError as error:
        return Breach(1, log.n_jobs, text=str(error).removeprefix(f"{log.trace.name}: "))
    return None


def _same_jobs(log: Log) -> Breach | None:
    """Whether the records beside the log are those of its jobs."""
    beside = log.trace.sidecar
    if beside is None:
        return None
    if len(beside) != log.n_jobs:
        return Breach(
            abs(len(beside) - log.n_jobs),
            log.n_jobs,
            text=f"{len(beside):,} records beside the log",
        )
    differs = np.zeros(log.n_jobs, dtype=bool)
    for name, apart in (("run", _TIMES_AGREE), ("procs", 0)):
        if name in beside:
            differs |= np.abs(beside[name].to_numpy(np.float64) - log[name]) > apart
    start = log.header.start
    if start is not None and "submit" in beside:
        submit = beside["submit"].to_numpy(np.float64) - start
        differs |= np.abs(submit - log["submit"]) > _TIMES_AGREE
    return log.where(differs, "submit", "run", "procs")


def _all_rows(log: Log) -> Breach | None:
    intake = log.trace.intake
    if intake is None:
        return None
    left_out = sum(repair.count for repair in intake.left_out)
    if intake.rows == intake.jobs + left_out:
        return None
    text = f"{intake.rows:,} rows, {intake.jobs:,} jobs, {left_out:,} left out"
    return Breach(1, intake.rows, text=text)


RULES = (
    Rule(
        "utility-functions",
        "error",
        "Points of utility functions begin at 0, their times rise, their values never do.",
        _functions,
    ),
    Rule(
        "records-agree",
        "error",
        "What stands beside the log is one record a job, with its submit time, run time and "
        "processors.",
        _same_jobs,
    ),
    Rule("all-rows-told", "error", "Every row of the accounting is a job or left out.", _all_rows),
)
