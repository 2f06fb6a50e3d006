"""The tasks of an experiment, run by workers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from workloadkit.experiments.grid import Cell, GridTask
from workloadkit.experiments.mapped import Mapped
from workloadkit.experiments.measuring import Metric, measure
from workloadkit.experiments.workloads import Source, StretchedLogs
from workloadkit.settings import Simulate
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.simulate import calibrate, simulate
from workloadkit.trace import Trace


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
    """Simulate one workload with all schedulers of a task; return a row for each."""
    source, schedulers, metrics, settings, task, calibrates = call
    workloads: Source = source.read() if isinstance(source, Mapped) else source
    log, others = workloads.log(task.load, task.run)  # type: ignore[arg-type]
    is_log = isinstance(workloads, StretchedLogs) and not workloads.redrawn
    rows: list[dict[str, Any]] = []
    for name, scheduler in schedulers.items():
        schedule = simulate(log, scheduler, settings=settings, **others)
        cell = Cell(*task[:-1], scheduler=name)
        row = {**cell._asdict(), "saturated": schedule.saturated}
        known = schedule.calibration if is_log else {}
        if calibrates is not None and calibrates[1] == name:
            known = calibrate(calibrates[0], scheduler, settings)
        row["calibration"] = known or None
        rows.append(row | {name: measure(schedule, of, name) for name, of in metrics.items()})
    return rows


def without(task: GridTask, rows: Mapping[Cell, Any]) -> GridTask:
    """Return a task without the schedulers that already have results."""
    left = (name for name in task.schedulers if Cell(*task[:-1], scheduler=name) not in rows)
    return task._replace(schedulers=tuple(left))
