"""The tasks of an experiment: what a worker is given, and what it does."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workloadkit.experiments.grid import Cell, Task
from workloadkit.experiments.mapped import Mapped
from workloadkit.experiments.measuring import measure
from workloadkit.experiments.workloads import Source
from workloadkit.settings import Simulate
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.simulate import simulate


class Call(NamedTuple):
    """What a worker needs for a task."""

    source: Source | Mapped
    schedulers: Mapping[str, str | Policy | Scheduler]
    metrics: Sequence[str]
    settings: Simulate
    task: Task


def simulate_task(call: Call) -> list[dict[str, Any]]:
    """Simulate one workload under all schedulers of a task; return a row for each."""
    source, schedulers, metrics, settings, task = call
    workloads: Source = source.read() if isinstance(source, Mapped) else source
    log, others = workloads.log(task.load, task.run)  # type: ignore[arg-type]
    rows = []
    for name, scheduler in schedulers.items():
        schedule = simulate(log, scheduler, settings=settings, **others)
        cell = Cell(*task[:-1], scheduler=name)
        row = {**cell._asdict(), "saturated": schedule.saturated}
        rows.append(row | {metric: measure(schedule, metric) for metric in metrics})
    return rows


def without(task: Task, rows: Mapping[Cell, Any]) -> Task:
    """Return a task without the schedulers whose results are there."""
    left = (name for name in task.schedulers if Cell(*task[:-1], scheduler=name) not in rows)
    return task._replace(schedulers=tuple(left))
