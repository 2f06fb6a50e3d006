"""The jobs of a log as a site accounts for them: hours, outcomes and names."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit.analysis.load.overview import choices
from workloadkit.analysis.waits.measures import wait_intervals
from workloadkit.errors import WorkloadError
from workloadkit.executions import WITHOUT_RESULT, executions_of, outcomes_by
from workloadkit.machine.requests import threads_of_jobs
from workloadkit.trace import Trace, check_trace
from workloadkit.units import words_of

HOUR = 3600

#: What accounting is grouped by.
By = Literal["user", "account", "partition", "queue", "qos"]

#: What jobs spend, by column: each is elapsed time × the column given here. Power is a mean.
SPENT = {"core_hours": "cores", "node_hours": "nodes", "gpu_hours": "gpus", "energy_kwh": "power"}

_JOULES = 3.6e6  # in 1 kWh


#: Sums over the executions of a job, by column.
_SUMMED = (
    *(*SPENT, "cpu_hours", "cpu_core_hours", "idle_hours"),
    *("lost_hours", "lost_gpu_hours", "wasted_hours", "requeued_hours"),
)


def accounted_jobs(trace: Trace) -> pd.DataFrame:
    """Return what a site accounts for, job by job.

    Returns
    -------
    DataFrame
        One row per job of `trace.jobs`. Of the attempt with which it ended: `submit`, `start` and
        `end` [s of the log], `wait` and `held`, its part before the job was eligible [s]; `run`
        [s]; `started`; `procs`, `cores`, `nodes`, `gpus`, and the mean `power` [kW]; `limit_hours`,
        requested time × processors, and `used_hours`, its elapsed time × processors; `memory` and
        `requested_memory`, in KB per allocated processor; and the `outcome`. Sums over all its
        attempts: `core_hours`, `node_hours` and `gpu_hours`, elapsed time × number; `energy_kwh`,
        the energy it consumed [kWh]; `cpu_hours`, CPU time, `cpu_core_hours`, the core-hours of
        which it is known, and `idle_hours`, those without CPU time; `lost_hours` and
        `lost_gpu_hours`, those without a result; `wasted_hours`, lost or idle; `requeued_hours`,
        the core-hours of attempts that another one followed. NaN is unknown; a job that never
        started has no hours. Cores are processors, divided by the hardware threads of a core if the
        description of the machine states them for all jobs; see `hours_unit`.

    Examples
    --------
    >>> log = {"submit": [0, 60], "wait": [0, 9], "run": [3600, 60], "procs": [4, 1]}
    >>> jobs = accounted_jobs(Trace.from_columns(log | {"status": [1, 0]}))
    >>> jobs[["core_hours", "outcome"]].to_numpy().tolist()
    [[4.0, 'completed'], [0.016666666666666666, 'failed']]
    """
    check_trace(trace)
    return _accounted(trace)[0].copy(deep=False)


def accounted_executions(trace: Trace) -> pd.DataFrame:
    """Return what each execution of the jobs used: one for most jobs, several for requeued ones.

    Returns
    -------
    DataFrame
        `row` of the job in `trace.jobs`, ascending; whether it `started`; `start`, `end`, `run`,
        `procs`, `nodes`, `gpus`, `power`, the hours and the `outcome` as in `accounted_jobs`, of
        this execution; and whether it was `requeued`, so that another attempt followed.
    """
    check_trace(trace)
    return _accounted(trace)[1].copy(deep=False)


#: What processors × hours are if a processor may be a hardware thread, and if it is a core.
PROCESSOR_HOURS, CORE_HOURS = "processor-hours", "core-hours"


@lru_cache(maxsize=2)  # of the two logs of a comparison
def hours_unit(trace: Trace) -> str:
    """Return what processors × hours of a log are: core-hours if its machine states the cores.

    Processors that may be hardware threads give processor-hours. A log seen in another unit has
    hours of that.
    """
    if trace.counting is not None:
        return f"{words_of(trace).hour}s"
    return PROCESSOR_HOURS if threads_of_jobs(trace) is None else CORE_HOURS


@lru_cache(maxsize=1)  # all tables of a section use it
def _accounted(trace: Trace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the jobs and their executions, which share the columns that are equal."""
    intervals = wait_intervals(trace)
    started = intervals["start_to_end"].notna().to_numpy(copy=True)  # may change
    run = np.where(started, trace.column("run"), np.nan)
    of_sidecar = _of_sidecar(trace, ("nodes", "gpus", "energy"))
    jobs = pd.DataFrame(
        {
            "submit": trace.column("submit"),
            "start": trace.end - run,
            "end": np.where(started, trace.end, np.nan),
            "wait": np.maximum(intervals["submit_to_start"].to_numpy(), 0),
            "held": intervals["submit_to_eligible"].to_numpy(),
            "run": run,
            "started": started,
            "procs": np.where(trace.used_procs > 0, trace.used_procs, np.nan),
            "nodes": of_sidecar["nodes"],
            "gpus": of_sidecar["gpus"],
            "energy": _of_known(of_sidecar["energy"], lambda known: known.where(started)),
            "cpu": trace.column("cpu"),
            "outcome": outcomes_of(trace),
        },
        copy=False,
    )
    several, threads = executions_of(trace), threads_of_jobs(trace)
    if not several.empty:
        _of_last_attempt(jobs, several[several["last"]])
    executions = _executions(jobs, several)
    row, cores = executions["row"].to_numpy(), jobs["procs"]
    executions["cores"] = executions["procs"]
    if threads is not None:
        cores, executions["cores"] = cores / threads, executions["procs"] / threads[row]
    executions = _with_hours(executions)
    jobs = jobs.assign(**{name: _sums(row, executions[name], len(jobs)) for name in _SUMMED})
    hours = jobs["run"] / HOUR
    one_each = several.empty and threads is None
    return jobs.assign(
        cores=cores,
        power=executions["power"] if one_each else _power(jobs["energy_kwh"], hours),
        used_hours=jobs["core_hours"] if one_each else hours * jobs["procs"],
        limit_hours=trace.column("requested_time") * jobs["procs"] / HOUR,
        memory=trace.column("memory"),
        requested_memory=_requested_memory(trace, jobs["procs"].to_numpy()),
    ).drop(columns=["energy", "cpu"]), executions


def _of_last_attempt(jobs: pd.DataFrame, parts: pd.DataFrame) -> None:
    """Set start, end and run of requeued and resized jobs to those of the last attempt.

    The log has the sums of all attempts if it was imported with them.
    """
    by_job = parts.groupby("row")
    run = by_job["run"].sum(min_count=1)
    of = run.index.to_numpy()
    jobs.loc[of, "run"] = run
    jobs.loc[of, "start"] = by_job["start"].first()
    jobs.loc[of, "end"] = by_job["start"].last() + by_job["run"].last()
    jobs.loc[of, "started"] = by_job["start"].first().notna()


def _executions(jobs: pd.DataFrame, several: pd.DataFrame) -> pd.DataFrame:
    """Return the executions of all jobs: the job itself, unless it has several."""
    columns = ["start", "end", "run", "procs", "nodes", "gpus", "energy", "cpu", "outcome"]
    once = jobs[["started", *columns]].assign(row=np.arange(len(jobs)), requeued=False)
    if several.empty:
        return once
    code = pd.Categorical(several["outcome"], categories=jobs["outcome"].cat.categories)
    found = several.assign(
        started=several["start"].notna(),
        end=several["start"] + several["run"],
        outcome=code,
        requeued=~several["last"].to_numpy(dtype=bool),
    )
    once = once.drop(index=several["row"].unique())
    both = pd.concat([once, found[once.columns]])
    return both.sort_values(["row", "start"], kind="stable", ignore_index=True)


def _with_hours(executions: pd.DataFrame) -> pd.DataFrame:
    """Return executions with the hours of each."""
    hours = executions["run"] / HOUR
    energy = _of_known(executions["energy"], lambda joules: joules / _JOULES)
    executions["power"] = _power(energy, hours)
    spent = {name: _of_known(executions[counted], hours.mul) for name, counted in SPENT.items()}
    core, gpu = spent["core_hours"], spent["gpu_hours"]
    cpu = _of_known(executions["cpu"], executions["cores"].mul) / HOUR
    known = (core > 0) & (cpu > 0)  # accounting writes 0 for CPU time that was not measured
    idle = (core - cpu).clip(lower=0).where(known)
    without = executions["outcome"].isin(WITHOUT_RESULT)
    return executions.drop(columns=["energy", "cpu"]).assign(
        **spent | {"energy_kwh": energy},
        cpu_hours=cpu,
        cpu_core_hours=core.where(known),
        idle_hours=idle,
        lost_hours=core.where(without, 0 * core),
        lost_gpu_hours=_of_known(gpu, lambda known: known.where(without, 0 * known)),
        wasted_hours=core.where(without, idle),
        requeued_hours=core.where(executions["requeued"], 0 * core),
    )


def _of_known(column: pd.Series, function: Callable[[pd.Series], pd.Series]) -> pd.Series:
    """Return a function of a column, itself if it is never known: so both share their memory."""
    return column if column.isna().all() else function(column)


def _power(energy: pd.Series, hours: pd.Series) -> pd.Series:
    """Return the mean power, NaN without a run time."""
    return _of_known(energy, lambda known: (known / hours).where(hours > 0))


def _sums(row: NDArray, values: pd.Series, n_jobs: int) -> pd.Series:
    """Return the sum of the known values of each job, NaN for a job without."""
    if row.size == n_jobs:  # each job has one execution
        return values
    known = values.notna().to_numpy()
    total = np.bincount(row[known], values[known], n_jobs)
    return pd.Series(total).where(np.bincount(row[known], minlength=n_jobs) > 0)


def outcomes_of(trace: Trace) -> pd.Categorical:
    """Return how each job ended, one of `OUTCOMES`: by its state, else by its status.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 60, 90], "status": [1, 0, 5]})
    >>> list(outcomes_of(log))
    ['completed', 'failed', 'cancelled']
    """
    words = names_of(trace, "state"), names_of(trace, "reason")
    return outcomes_by(trace.column("status"), *words)


def is_part(trace: Trace) -> bool:
    """Whether the jobs were chosen by fields, so that others ran on the machine, too."""
    return any("where " in choice for choice in choices(trace))


def names_of(trace: Trace, field: str) -> pd.Categorical | None:
    """Return the names of a field, None if the log does not have them."""
    try:
        return trace.names(field)
    except WorkloadError:
        return None


def _of_sidecar(trace: Trace, names: Iterable[str]) -> dict[str, pd.Series]:
    """Return columns of numbers of the side-car; those that it lacks are one, NaN for unknown."""
    unknown = pd.Series(np.full(trace.n_jobs, np.nan))
    sidecar = pd.DataFrame() if trace.sidecar is None else trace.sidecar
    return {
        name: pd.Series(sidecar[name].to_numpy(dtype=np.float64)) if name in sidecar else unknown
        for name in names
    }


def _requested_memory(trace: Trace, procs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the requested memory per allocated processor; the log has it per requested one."""
    requested = trace.column("requested_procs")
    scale = np.where(requested > 0, requested / procs, 1.0)
    if trace.sidecar is not None and "requested_memory_per" in trace.sidecar:
        # requested for each processor, it grows with the processors that a job gets
        scale[(trace.sidecar["requested_memory_per"] == "cpu").to_numpy()] = 1.0
    return trace.column("requested_memory") * scale
