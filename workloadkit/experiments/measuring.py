"""The tasks of an experiment, and the metrics of each simulation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.custom import source_digest
from workloadkit.errors import ParameterError, WorkloadError, among, check_number, quoted
from workloadkit.executors import Mapped
from workloadkit.experiments.grid import Cell, GridTask
from workloadkit.experiments.workloads import Source, StretchedLogs
from workloadkit.settings import Simulate
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.engines import play_compiled
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.schedule.measures import MEASURES
from workloadkit.simulation.schedulers import Fcfs
from workloadkit.simulation.simulate import calibrate, simulate
from workloadkit.simulation.workload import Rules
from workloadkit.trace import Trace

LATER = "later_than_fcfs"

#: Names of all metrics.
KNOWN = (*MEASURES, LATER)

#: A custom metric.
Metric = Callable[[Schedule], float]
Metrics = Sequence[str] | Mapping[str, str | Metric]


def started_later(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which jobs started later than under first come, first served.

    Returns
    -------
    ndarray of bool, shape (n_jobs,)
        For the same jobs on the same machine, by the same rules.

    Raises
    ------
    WorkloadError
        If FCFS cannot serve the jobs: with jobs larger than the machine, or outages.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = {"submit": [0, 1, 2], "run": [10, 10, 99], "procs": [3, 4, 1]}
    >>> trace = wk.Trace.from_columns(log | {"requested_time": [10, 10, 5]})
    >>> started_later(wk.simulate(trace, "easy", procs=4, overrun="late")).tolist()
    [False, True, False]
    """
    parameters, workload = schedule.parameters, schedule.workload
    too_large = workload.procs.max() > schedule.machine
    others = [name for name in ("outages", "machine", "reservations") if name in parameters]
    if too_large or others:
        what = "jobs larger than the machine" if too_large else others[0]
        raise WorkloadError(f"FCFS cannot be simulated for comparison: the schedule has {what}")
    overrun, passes = parameters.get("overrun", "late"), parameters.get("passes", "instant")
    fcfs = play_compiled(Fcfs(), workload, Rules(schedule.machine, overrun, passes))
    return np.asarray(schedule.start > fcfs.outcome.start)


def later_than_fcfs(schedule: Schedule) -> float:
    """Share of the counted jobs that started later than under FCFS, see `started_later`.

    Examples
    --------
    >>> import workloadkit as wk
    >>> log = {"submit": [0, 1, 2], "run": [10, 10, 5], "procs": [3, 4, 1]}
    >>> later_than_fcfs(wk.simulate(wk.Trace.from_columns(log), "easy", procs=4))
    0.0
    """
    return float(started_later(schedule)[schedule.counted].mean())


def named_metrics(metrics: Metrics) -> dict[str, str | Metric]:
    """Return metrics by their names in the results.

    Parameters
    ----------
    metrics : sequence of str, or mapping of str to str or callable
        Names of metrics; or a mapping from the names in the results to these, and to functions of a
        `Schedule` that return a number.

    Raises
    ------
    ParameterError
        For an unknown metric, or a function with the name of a built-in metric.
    """
    named: dict[str, str | Metric] = (
        dict(metrics) if isinstance(metrics, Mapping) else {name: name for name in metrics}
    )
    for name, metric in named.items():
        if isinstance(metric, str):
            if metric not in KNOWN:
                raise ParameterError(f"unknown metric {quoted(metric, 40)}; {among(metric, KNOWN)}")
        elif not callable(metric) or not isinstance(name, str):
            raise ParameterError(
                f"metric {quoted(name)} is {quoted(metric)}; give a name, or a mapping of names to "
                "functions of a Schedule"
            )
        if metric != name in KNOWN:
            raise ParameterError(
                f"metric {quoted(name)} is built in; give the custom one another name"
            )
    return named


def identities(named: Mapping[str, str | Metric]) -> list[str] | dict[str, str]:
    """Return metrics for a provenance: names, or by name what they are.

    Examples
    --------
    >>> identities({"jobs": "jobs"}), identities({"n": "jobs"})
    (['jobs'], {'n': 'jobs'})
    """
    if all(name == metric for name, metric in named.items()):
        return list(named)
    return {
        name: metric if isinstance(metric, str) else _identity(metric)
        for name, metric in named.items()
    }


def _identity(metric: Metric) -> str:
    name = getattr(metric, "__qualname__", type(metric).__qualname__)
    return f"{name} (source {source_digest(metric)})"


def measure(schedule: Schedule, metric: str | Metric, name: str = "") -> float:
    """Return a metric of a schedule: built-in, by its name, or custom; `name` is for messages."""
    if metric == LATER:
        return later_than_fcfs(schedule)
    if isinstance(metric, str):
        return schedule.measure(metric)
    value = metric(schedule)
    check_number(f"metric {quoted(name)}", value)
    return float(value)


# The tasks of an experiment, run by workers.


class Call(NamedTuple):
    """Arguments of a task for a worker.

    If there is a log to calibrate, it is also simulated as it is, under one of the schedulers.
    """

    source: Source | Mapped
    schedulers: Mapping[str, str | Policy | Scheduler]
    metrics: Mapping[str, str | Metric]
    settings: Simulate
    task: GridTask
    calibrates: tuple[Trace, str] | None = None


def simulate_task(call: Call) -> list[dict[str, Any]]:
    """Simulate one workload with all schedulers of a task; return a row for each.

    If the runs draw weeks of a log, the rows of the first run also have its metrics `of_log`.
    """
    source, schedulers, metrics, settings, task, calibrates = call
    workloads: Source = source.read() if isinstance(source, Mapped) else source
    log, others = workloads.log(task.load, task.run)  # type: ignore[arg-type]
    itself = workloads.itself(task.load, task.run)  # type: ignore[arg-type]
    is_log = isinstance(workloads, StretchedLogs) and not workloads.redrawn
    rows: list[dict[str, Any]] = []
    for name, scheduler in schedulers.items():
        schedule = simulate(log, scheduler, settings=settings, **others)
        cell = Cell(*task[:-1], scheduler=name)
        row = {**cell._asdict(), "saturated": schedule.saturated}
        known = schedule.calibration if is_log else {}
        if calibrates is not None and calibrates[1] == name:
            known = calibrate(calibrates[0], scheduler, settings)
        row |= {"calibration": known or None, "of_log": None}
        if itself is not None:
            of_log = simulate(itself[0], scheduler, settings=settings, **itself[1])
            row["of_log"] = _measured(of_log, metrics)
        rows.append(row | _measured(schedule, metrics))
    return rows


def _measured(schedule: Schedule, metrics: Mapping[str, str | Metric]) -> dict[str, float]:
    return {name: measure(schedule, of, name) for name, of in metrics.items()}


def without(task: GridTask, rows: Mapping[Cell, Any]) -> GridTask:
    """Return a task without the schedulers that already have results."""
    left = (name for name in task.schedulers if Cell(*task[:-1], scheduler=name) not in rows)
    return task._replace(schedulers=tuple(left))
