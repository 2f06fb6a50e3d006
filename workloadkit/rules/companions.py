"""Rules for utility functions and for the side-car, the table with one record per job."""

import numpy as np

from workloadkit.errors import WorkloadError, plural
from workloadkit.rules.rule import Breach, CheckedLog, LogRule
from workloadkit.utility import check

_TIMES_AGREE = 1.0  # both times are rounded to seconds


def _functions(log: CheckedLog) -> Breach | None:
    try:
        check(log.trace)
    except WorkloadError as error:
        return Breach(1, log.n_jobs, text=str(error).removeprefix(f"{log.trace.name}: "))
    return None


def _same_jobs(log: CheckedLog) -> Breach | None:
    """Check that the side-car's records belong to the jobs."""
    sidecar = log.trace.sidecar
    if sidecar is None:
        return None
    if len(sidecar) != log.n_jobs:
        return Breach(
            abs(len(sidecar) - log.n_jobs),
            log.n_jobs,
            text=f"the side-car has {plural(len(sidecar), 'record')}",
        )
    differs = np.zeros(log.n_jobs, dtype=bool)
    for name, tolerance in (("run", _TIMES_AGREE), ("procs", 0)):
        if name in sidecar:
            differs |= np.abs(sidecar[name].to_numpy(np.float64) - log[name]) > tolerance
    start = log.header.start
    if start is not None and "submit" in sidecar:
        submit = sidecar["submit"].to_numpy(np.float64) - start
        differs |= np.abs(submit - log["submit"]) > _TIMES_AGREE
    return log.where(differs, "submit", "run", "procs")


def _all_rows(log: CheckedLog) -> Breach | None:
    intake = log.trace.intake
    if intake is None:
        return None
    left_out = sum(repair.count for repair in intake.left_out)
    if intake.rows == intake.jobs + left_out:
        return None
    text = f"{plural(intake.rows, 'row')}, {plural(intake.jobs, 'job')}, {left_out:,} left out"
    return Breach(1, intake.rows, text=text)


RULES = (
    LogRule(
        "utility-functions",
        "error",
        "Utility functions start at time 0; their times increase and their values never increase.",
        _functions,
    ),
    LogRule(
        "records-agree",
        "error",
        "The side-car has one record per job, with the job's submit time, run time and processors.",
        _same_jobs,
    ),
    LogRule("rows-accounted", "error", "Every accounting row is a job or left out.", _all_rows),
)
