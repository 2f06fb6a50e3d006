"""Hours, jobs, waits, outcomes and efficiency by group of jobs."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.operations.accounting import (
    HOUR,
    SPENT,
    By,
    accounted_executions,
    accounted_jobs,
)
from workloadkit.analysis.operations.groups import (
    JobGroups,
    groups_by,
    hours_between,
    largest_first,
    ratio,
    waits_of,
)
from workloadkit.analysis.waits.measures import periods
from workloadkit.clock import DAY, Clock, interval_of
from workloadkit.errors import check_choice
from workloadkit.executions import OUTCOMES, WITHOUT_RESULT
from workloadkit.trace import Trace

#: What waits are grouped by.
WaitsBy = Literal["size", "run time", "hour"]

_RUN_EDGES = {
    "up to 1 min": 60,
    "1 to 10 min": 600,
    "10 min to 1 h": HOUR,
    "1 to 4 h": 4 * HOUR,
    "4 to 12 h": 12 * HOUR,
    "12 to 24 h": DAY,
    "1 to 3 d": 3 * DAY,
    "over 3 d": np.inf,
}


def usage(trace: Trace, by: By | Literal["month"]) -> pd.DataFrame:
    """Return the hours, jobs and waits of each group.

    Parameters
    ----------
    trace : Trace
        All of its jobs count, also those outside its window.
    by : {"user", "account", "partition", "queue", "qos", "month"}
        A month has the jobs submitted in it, and the hours that all jobs spent in it; months
        without either are left out.

    Returns
    -------
    DataFrame
        By `name`, most core-hours first, months in order: `jobs`; `started`; `core_hours`,
        `node_hours` and `gpu_hours`, elapsed time × allocated number, and the `energy_kwh` that was
        consumed [kWh], NaN if unknown; `core_share`; the number of known `waits` from submission to
        start, their `mean`, percentiles `p50`, `p90`, `p99` and the `longest` [s]. A percentile
        that fewer than five waits exceed is NaN.

    Raises
    ------
    WorkloadError
        If the log does not have such groups.

    Examples
    --------
    >>> log = {"submit": [0, 60], "wait": [0, 9], "run": [3600, 60], "procs": [4, 1]}
    >>> usage(Trace.from_columns(log | {"user": [3, 7]}), "user")[["jobs", "core_hours", "longest"]]
            jobs  core_hours  longest
    name
    user 3     1    4.000000      0.0
    user 7     1    0.016667      9.0
    """
    jobs = accounted_jobs(trace)
    groups = _months(trace) if by == "month" else groups_by(trace, by)
    spent = (
        _spent_in_months(trace)
        if by == "month"
        else {name: groups.sums(jobs[name]) for name in SPENT}
    )
    total = np.nansum(spent["core_hours"])
    table = groups.table(
        {
            "jobs": groups.counts(),
            "started": groups.counts(jobs["started"]),
            **spent,
            "core_share": spent["core_hours"] / total if total > 0 else np.nan,
            **waits_of(groups, jobs["wait"].to_numpy()),
        }
    )
    if by == "month":
        return table[(table["jobs"] > 0) | (table["core_hours"] > 0)]
    return largest_first(table, "core_hours", "jobs")


def waits_by(trace: Trace, by: WaitsBy) -> pd.DataFrame:
    """Return the waits from submission to start by a property of the jobs.

    Parameters
    ----------
    trace : Trace
    by : {"size", "run time", "hour"}
        Processors, in powers of 2; classes of run time; hour of submission in local time, or since
        second 0 if local time is unknown.

    Returns
    -------
    DataFrame
        By `name`, in order: `jobs`, `core_hours`, and the columns on waits of `usage`.

    Examples
    --------
    >>> log = {"submit": [0, 60], "wait": [5, 9], "run": [3600, 60], "procs": [4, 1]}
    >>> waits_by(Trace.from_columns(log), "size")["longest"].to_dict()
    {'1': 9.0, '3 to 4': 5.0}
    """
    check_choice("by", by, WaitsBy)
    jobs = accounted_jobs(trace)
    if by == "size":
        groups = _sizes(jobs["procs"].to_numpy())
    elif by == "run time":
        run = jobs["run"].to_numpy()
        code = np.searchsorted([*_RUN_EDGES.values()], run, side="left")
        groups = JobGroups(np.where(np.isnan(run), -1, code), [*_RUN_EDGES])
    else:
        hour = Clock.of(trace).local(trace.column("submit")) % DAY // HOUR
        groups = JobGroups(hour.astype(np.int64), [f"{h}:00" for h in range(24)])
    table = groups.table(
        {
            "jobs": groups.counts(),
            "core_hours": groups.sums(jobs["core_hours"]),
            **waits_of(groups, jobs["wait"].to_numpy()),
        }
    )
    return table[table["jobs"] > 0]


def outcomes(trace: Trace, by: By) -> pd.DataFrame:
    """Return how the jobs of each group ended, in jobs and core-hours.

    Parameters
    ----------
    trace : Trace
    by : {"user", "account", "partition", "queue", "qos"}

    Returns
    -------
    DataFrame
        By `name`: `jobs`; `failed_jobs`, those without a result (failed, timed out, out of memory,
        node failure); `core_hours`; the core-hours of each outcome; `lost_hours`, the core-hours
        without a result, and `lost_share`, their share; `lost_gpu_hours`, the GPU-hours without a
        result, NaN if unknown; and `requeued_hours`, the core-hours of attempts that were requeued.
        Hours are those of all attempts, jobs count as they ended. Most lost core-hours come first.

    Raises
    ------
    WorkloadError
        If the log does not have such groups.

    Examples
    --------
    >>> log = {"submit": [0, 60], "run": [3600, 7200], "procs": [4, 1], "status": [1, 0]}
    >>> table = outcomes(Trace.from_columns(log | {"user": [3, 3]}), "user")
    >>> table[["failed_jobs", "completed", "failed", "lost_share"]].iloc[0].tolist()
    [1.0, 4.0, 2.0, 0.3333333333333333]
    """
    jobs = accounted_jobs(trace)
    groups = groups_by(trace, by)
    executions = accounted_executions(trace)
    of_executions = JobGroups(groups.code[executions["row"]], groups.names)
    hours = executions["core_hours"].to_numpy()
    ended = executions["outcome"].cat.codes.to_numpy()
    each = {
        outcome: np.nan_to_num(of_executions.sums(np.where(ended == code, hours, np.nan)))
        for code, outcome in enumerate(OUTCOMES)
    }
    total = groups.sums(jobs["core_hours"])
    lost = np.nan_to_num(groups.sums(jobs["lost_hours"]))
    table = groups.table(
        {
            "jobs": groups.counts(),
            "failed_jobs": groups.counts(jobs["outcome"].isin(WITHOUT_RESULT)),
            "core_hours": total,
            **each,
            "lost_hours": lost,
            "lost_share": ratio(lost, total),
            "lost_gpu_hours": groups.sums(jobs["lost_gpu_hours"]),
            "requeued_hours": np.nan_to_num(groups.sums(jobs["requeued_hours"])),
        }
    )
    return largest_first(table, "lost_hours", "failed_jobs")


def efficiency(trace: Trace, by: By) -> pd.DataFrame:
    """Return how much of what jobs were given they used, by group.

    Parameters
    ----------
    trace : Trace
    by : {"user", "account", "partition", "queue", "qos"}

    Returns
    -------
    DataFrame
        By `name`: `jobs` that started and their `core_hours`; `cpu_jobs`, the number of jobs with
        known CPU time (0 is unknown: accounting writes it if nothing was measured), and their
        `cpu_efficiency`, CPU time over allocated processor time; `idle_hours`, their core-hours
        without CPU time; `wasted_hours`, those of jobs without a result and the idle ones of the
        others; `memory_jobs` and `memory_efficiency`, used over requested memory,
        weighted by core-hours; `limit_jobs` and `limit_use`, elapsed over requested time, weighted
        by processors. Most wasted core-hours come first, else most core-hours. Unknown ratios
        are NaN.

    Raises
    ------
    WorkloadError
        If the log does not have such groups.

    Examples
    --------
    >>> log = {"submit": [0], "run": [3600], "procs": [4], "cpu": [1800], "requested_time": [7200]}
    >>> table = efficiency(Trace.from_columns(log | {"user": [3]}), "user")
    >>> table[["cpu_efficiency", "idle_hours", "limit_use"]].iloc[0].tolist()
    [0.5, 2.0, 0.5]
    """
    jobs = accounted_jobs(trace)
    table = efficiency_of(groups_by(trace, by), jobs)
    return largest_first(table, "wasted_hours", "core_hours")


def efficiency_of(groups: JobGroups, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of `efficiency` for accounted jobs, in the order of the groups."""
    hours, limit = jobs["core_hours"].to_numpy(), jobs["limit_hours"].to_numpy()
    used, requested = jobs["memory"].to_numpy(), jobs["requested_memory"].to_numpy()
    by_cpu = jobs["cpu_core_hours"].notna().to_numpy()
    # accounting writes 0 for memory that was not measured
    by_memory = (hours > 0) & (used > 0) & (requested > 0)
    by_limit = (jobs["used_hours"].to_numpy() >= 0) & (limit > 0)

    def sums(values: NDArray, chosen: NDArray) -> NDArray[np.float64]:
        return groups.sums(np.where(chosen, values, np.nan))

    spent, measured = (jobs[name].to_numpy() for name in ("cpu_hours", "cpu_core_hours"))
    return groups.table(
        {
            "jobs": groups.counts(jobs["started"]),
            "core_hours": groups.sums(hours),
            "cpu_jobs": groups.counts(by_cpu),
            "cpu_efficiency": ratio(sums(spent, by_cpu), groups.sums(measured)),
            "idle_hours": groups.sums(jobs["idle_hours"]),
            "wasted_hours": groups.sums(jobs["wasted_hours"]),
            "memory_jobs": groups.counts(by_memory),
            "memory_efficiency": ratio(
                sums(used * hours, by_memory), sums(requested * hours, by_memory)
            ),
            "limit_jobs": groups.counts(by_limit),
            "limit_use": ratio(sums(jobs["used_hours"], by_limit), sums(limit, by_limit)),
        }
    )


def _sizes(procs: NDArray[np.float64]) -> JobGroups:
    known = procs > 0
    code = np.full(procs.size, -1)
    code[known] = np.ceil(np.log2(procs[known])).astype(np.int64)
    names = ["1", "2"] + [f"{2 ** (n - 1) + 1:,} to {2**n:,}" for n in range(2, code.max() + 1)]
    return JobGroups(code, names)


def _month_edges(trace: Trace) -> NDArray[np.float64]:
    """Return the edges of the months from the first submission to the last end."""
    submit, jobs = trace.column("submit"), accounted_jobs(trace)
    last = float(np.fmax(jobs["end"].max(), submit[-1]))
    clock = Clock.between(trace.header, submit[0] - 31 * DAY, last + 31 * DAY)
    return periods(clock, submit[0], last, "month")


def _months(trace: Trace) -> JobGroups:
    """Return the month of submission of each job, up to the month of the last end."""
    edges = _month_edges(trace)
    clock = Clock.between(trace.header, edges[0], edges[-1])
    if clock.known:
        names = [f"{date:%Y-%m}" for date in clock.dates(edges[:-1])]
    else:
        names = [f"day {begin / DAY:,.0f}" for begin in edges[:-1]]
    return JobGroups(interval_of(edges, trace.column("submit")), names)


def _spent_in_months(trace: Trace) -> dict[str, NDArray]:
    """Return what jobs spent in each month."""
    executions, edges = accounted_executions(trace), _month_edges(trace)
    return {name: hours_between(executions, counted, edges) for name, counted in SPENT.items()}
