"""Which jobs of a schedule count, and the aggregates over them."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.clock import DAY, Clock
from workloadkit.errors import ParameterError, WorkloadError, among, plural, quoted
from workloadkit.simulation.schedule.calibration import calibration
from workloadkit.simulation.schedule.measures import (
    FURTHER,
    MEASURED,
    MEASURES,
    OF_JOBS,
    OF_UTILITIES,
    PRODUCTIVITY,
    PROMISES,
    UTILITY,
    ServedJobs,
)
from workloadkit.simulation.schedule.productivity import (
    NAMES,
    Productivity,
    arrival_sessions,
    measure_productivity,
)
from workloadkit.simulation.workload import never
from workloadkit.utility import start_value

if TYPE_CHECKING:
    from workloadkit.simulation.schedule import Schedule


def counted_jobs(schedule: "Schedule") -> NDArray[np.bool_]:
    """Return which jobs the metrics include."""
    submit, warmup, cooldown = schedule.workload.submit, schedule.warmup, schedule.cooldown
    counted = np.ones(submit.size, dtype=bool)
    if warmup > 0 or cooldown > 0:
        inside = submit[_in_window(schedule)]
        begin, until = inside.min() + warmup, inside.max() - cooldown
        counted = (submit >= begin) & (submit <= until)
        if not counted.any():
            raise WorkloadError(
                f"a warm-up of {warmup / DAY:.3g} d and a cool-down of {cooldown / DAY:.3g} d "
                f"leave no job: the submissions span {np.ptp(inside) / DAY:.3g} d"
            )
    if len(schedule.uncounted):
        counted &= ~np.isin(schedule.workload.user, schedule.uncounted)
        if not counted.any():
            raise WorkloadError(
                f"{schedule.source.name}: all jobs that would count are of the "
                f"{plural(len(schedule.uncounted), 'uncounted user')}"
            )
    if (begun := schedule.workload.begun) is not None:
        counted &= begun == never(begun.dtype)
        if not counted.any():
            raise WorkloadError(
                f"{schedule.source.name}: no job waits in the state or arrives later"
            )
    return counted


def _in_window(schedule: "Schedule") -> NDArray[np.bool_]:
    """Return whether each job was recorded in the window of the log."""
    recorded = schedule.source.column("submit")[schedule.workload.row]
    return schedule.source.window.contains(recorded)


def served_jobs(schedule: "Schedule") -> ServedJobs:
    """Return the counted jobs, with their service."""
    w, counted, promised = schedule.workload, schedule.counted, schedule.promised
    requested = schedule.source.column("requested_time")[w.row]
    requested = np.where(requested >= 0, requested, w.run)  # also for NaN
    nothing = np.broadcast_to(np.nan, w.submit.size)
    jobs = ServedJobs(
        w.submit,
        schedule.wait,
        w.run,
        requested,
        w.user,
        schedule.held,
        utility=nothing if schedule.utility is None else schedule.utility,
        start_value=nothing if w.utilities is None else start_value(w.utilities),
        promise_error=nothing
        if promised is None
        else metrics.promise_error(schedule.start, promised),
    )
    return jobs if counted.all() else jobs.take(counted)


def window_of(schedule: "Schedule") -> tuple[float, float]:
    """Return the window of utilization and throughput."""
    jobs, until = schedule.served, schedule.history.get("until")
    if until is not None:
        return float(jobs.submit[0]), float(until) - schedule.cooldown
    inside = _in_window(schedule)[schedule.counted]
    if inside.any() and not inside.all():
        jobs = jobs.take(inside)
    ends = jobs.submit + jobs.wait + jobs.run
    if schedule.begin is None:
        return metrics.submission_window(jobs.submit, ends)
    later = jobs.submit > schedule.begin
    return schedule.begin, float((jobs.submit[later] if later.any() else ends).max())


def productivity_of(schedule: "Schedule") -> Productivity:
    """Measure the productivity of the users."""
    w, counted, jobs = schedule.workload, schedule.counted, schedule.served
    if "sessions" in schedule.history:
        session = np.asarray(schedule.columns["session"])
    else:
        session = arrival_sessions(w.submit, w.user)
    clock = Clock.between(schedule.source.header, float(w.submit[0]), float(schedule.end.max()))
    return measure_productivity(
        jobs.submit,
        jobs.submit + jobs.wait + jobs.run,
        jobs.user,
        session=session[counted],
        period=schedule.window,
        clock=clock,
    )


def metrics_of(schedule: "Schedule") -> dict[str, float]:
    """Return the metrics."""
    w, counted, jobs = schedule.workload, schedule.counted, schedule.served
    begin, last = schedule.span
    return {
        "jobs": jobs.submit.size,
        "left_out": w.left_out,
        "killed": int(w.killed[counted].sum()),
        **_n_cancelled(schedule),
        "makespan": last - begin,
        "utilization": _busy(schedule, schedule.window),
        "throughput_per_hour": _throughput(schedule, schedule.window),
        **{name: OF_JOBS[name](jobs) for name in MEASURED},
        **_interruptions(schedule),
        **(schedule.predictions.summary if schedule.predicted else {}),
        **({} if w.utilities is None else {n: OF_UTILITIES[n](jobs) for n in UTILITY}),
        **({} if schedule.promised is None else {n: of(jobs) for n, of in PROMISES.items()}),
    }


def _n_cancelled(schedule: "Schedule") -> dict[str, int]:
    """Return the number of jobs that were cancelled while they waited, if they were kept.

    As jobs that ran, they count from the end of the warm-up to the begin of the cool-down.
    """
    if schedule.cancelled is None:
        return {}
    w, submit = schedule.cancelled.workload, schedule.served.submit
    counted = ~np.isin(w.user, schedule.uncounted)
    if schedule.warmup > 0 or schedule.cooldown > 0:
        counted &= (w.submit >= submit[0]) & (w.submit <= submit[-1])
    return {"cancelled": int(counted.sum())}


def _interruptions(schedule: "Schedule") -> dict[str, float]:
    """Return the effects of outages, if there were any."""
    if "interruptions" not in schedule.columns:
        return {}
    columns = {"interrupted": "interruptions", "lost": "lost", "lost_work": "lost_work"}
    counted = schedule.counted
    return {k: schedule.columns[name][counted].sum().item() for k, name in columns.items()}


def _busy(schedule: "Schedule", window: tuple[float, float]) -> float:
    """Return the utilization between two instants."""
    held, capacity = schedule.held, schedule.capacity
    return metrics.utilization(schedule.start, schedule.end, held, capacity, *window)


def _throughput(schedule: "Schedule", window: tuple[float, float]) -> float:
    """Return the throughput of the counted jobs between two instants."""
    jobs = schedule.served
    return metrics.throughput_per_hour(jobs.submit + jobs.wait + jobs.run, *window)


def _mean_queue_length(schedule: "Schedule") -> float:
    submit, until = [schedule.workload.submit], [schedule.start]
    if schedule.cancelled is not None:
        submit.append(schedule.cancelled.workload.submit)
        until.append(schedule.cancelled.waited_until)
    joined, ends = np.concatenate(submit), np.concatenate(until)
    return metrics.utilization(joined, ends, np.ones(joined.size), 1, *schedule.span)


def _of_tail(schedule: "Schedule", name: str) -> float:
    """Return the tail, its work, or a measure of the whole makespan."""
    span, (_, until) = schedule.span, schedule.window
    if name == "tail":
        return max(span[1] - until, 0.0)
    if name == "tail_work":
        return metrics.work_after(schedule.start, schedule.end, schedule.held, until)
    if name == "makespan_utilization":
        return _busy(schedule, span)
    return _throughput(schedule, schedule.window if "until" in schedule.history else span)


_OF_TAIL = ("tail", "tail_work", "makespan_utilization", "makespan_throughput_per_hour")


def measure(schedule: "Schedule", name: str) -> float:
    """Return one of the aggregates of `describe`."""
    if name in OF_JOBS:
        return OF_JOBS[name](schedule.served)
    if name in OF_UTILITIES:
        if schedule.workload.utilities is None:
            raise WorkloadError(
                f"{schedule.source.name}: {name} requires jobs with utility functions; the log has "
                "none"
            )
        return OF_UTILITIES[name](schedule.served)
    if name in PROMISES:
        return PROMISES[name](schedule.served)
    if name in schedule.metrics:
        return schedule.metrics[name]
    if name == "mean_queue_length":
        return _mean_queue_length(schedule)
    if name in _OF_TAIL:
        return _of_tail(schedule, name)
    if name == "backlog_growth":
        return schedule.saturation.growth
    if name in NAMES:
        return schedule.productivity.summary[name]
    if name == "aborted_share":
        return schedule.aborted_share
    raise ParameterError(f"unknown metric {quoted(name)}; {among(name, MEASURES)}")


def describe(schedule: "Schedule") -> dict[str, float]:
    """Return the metrics, and further aggregates."""
    names = [*FURTHER]
    if schedule.workload.utilities is not None:
        names += OF_UTILITIES
    if schedule.reacting:
        names += NAMES if np.isnan(schedule.aborted_share) else PRODUCTIVITY
    return schedule.metrics | {name: measure(schedule, name) for name in names}


def calibration_of(schedule: "Schedule") -> dict[str, Any]:
    """Judge whether the simulation reproduces the recorded service of its jobs."""
    scaled = any(name.startswith(("scale_", "offered_load")) for name in schedule.parameters)
    if scaled or schedule.reacting or not schedule.recorded:
        return {}
    w, in_window = schedule.workload, _in_window(schedule)
    same = schedule.counted & (schedule.source.column("wait")[w.row] >= 0)
    inside = same & in_window if (same & in_window).any() else same
    window = metrics.submission_window(w.submit[inside], schedule.end[inside])
    start, end, held = (values[same] for values in (schedule.start, schedule.end, schedule.held))
    simulated = {
        "mean_wait": float(schedule.wait[same].mean()),
        "utilization": metrics.utilization(start, end, held, schedule.capacity, *window),
    }
    return calibration(simulated, schedule.recorded, outages="outages" in schedule.parameters)
