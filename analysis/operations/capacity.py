"""Report section on whether the machine is big enough."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.calibration import failed_calibration
from workloadkit.analysis.finding import Finding
from workloadkit.analysis.formats import count, duration, number, share, upper
from workloadkit.analysis.load.over_time import dated, waits_known
from workloadkit.analysis.load.summary import contradiction
from workloadkit.analysis.operations.accounting import accounted_jobs, is_part
from workloadkit.analysis.operations.machine import (
    LargerMachine,
    full_hours,
    larger_machine,
    of_hours,
)
from workloadkit.analysis.operations.needs import recorded_use
from workloadkit.analysis.operations.parts import judged, listed, shorter
from workloadkit.analysis.section import Columns, Figure, Section, Table, joined, part, unanswered
from workloadkit.clock import Clock
from workloadkit.errors import WorkloadError, plural
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME, _TITLE = "capacity", "Is the machine big enough?"
_FEWEST_HOURS, _FEWEST_JOBS = 24, 100
_POINTS = 500  # of a figure
_USE: Columns = {
    "capacity": ("capacity", number),
    "in_use": ("in use", number),
    "utilization": ("utilization", share),
}
_HOURS: Columns = {
    "in_use": ("processors in use", number),
    "used_share": ("of the machine", share),
    "gpus_in_use": ("GPUs in use", number),
    "waiting": ("jobs waiting", number),
    "waiting_procs": ("processors requested", number),
    "backlog": ("in machines", number),
}
_PARTITIONS: Columns = {
    "jobs": ("jobs", count),
    "procs": ("processors", count),
    "utilization": ("utilization", share),
    "mean_wait": ("mean wait", duration),
}


def section(trace: Trace) -> Section:
    """Report use and queue at percentiles of the hours, and what a larger machine would do."""
    if is_part(trace):
        gap = (
            "The jobs are chosen by their fields, so the use of the machine, its queue and a "
            "larger machine are not measured."
        )
        return unanswered(_NAME, _TITLE, gap)
    hours = full_hours(trace)
    if len(hours) < _FEWEST_HOURS or not waits_known(trace):
        why = (
            "its waits are unknown"
            if len(hours) >= _FEWEST_HOURS
            else f"the window has {plural(len(hours), 'full hour')}, less than a day"
        )
        gap = f"Whether the machine is big enough cannot be answered: {why}."
        return unanswered(_NAME, _TITLE, gap)
    machine = trace.header.procs
    table = of_hours(trace)
    table.index = [f"{percent} % of the hours, at most" for percent in table.index]
    caption = "Use and queue at percentiles of the full hours, each column by itself."
    own = "gpus_in_use" if trace.unit == "gpus" else ""  # those in use
    columns = {name: column for name, column in _HOURS.items() if name != own}
    mean = float(hours["in_use"].mean())
    used = f"{share(mean / machine)} of the processors" if machine else f"{number(mean)} processors"
    waiting = hours["waiting"] > 0
    whole = Section(
        _NAME,
        _TITLE,
        f"On average {used} were in use; jobs waited in {share(float(waiting.mean()))} of the "
        "hours.",
        tuple(filter(None, [contradiction(trace)])),
        {"hours": len(hours), "waiting_hours": int(waiting.sum())},
        tables=(listed("hours", caption, table, columns), *_of_parts(trace)),
        figures=(_figure(hours, trace),),
    )
    if machine is None:  # the section on hours names the gap
        note = "Free capacity and a larger machine require the size of the machine."
        return joined(whole, part(notes=(note,)))
    return joined(whole, _free(trace, hours, table, machine), _larger(trace))


def _free(trace: Trace, hours: pd.DataFrame, table: pd.DataFrame, machine: int) -> Section:
    """Report the capacity that was free while jobs waited, and the queue."""
    free = hours["free"].clip(lower=0) * hours["fits"]
    idle = float(free.sum() / (machine * len(hours)))
    fitting = float(hours["fits"].mean())
    jobs = accounted_jobs(trace)
    n_jobs = int((jobs["started"] & jobs["procs"].notna() & jobs["wait"].notna()).sum())
    findings = [
        judged(
            "idle_while_waiting",
            idle,
            f"In {share(fitting)} of the hours a job waited that needed no more than the free "
            f"processors. What was free in these hours is {share(idle)} of all capacity.",
            _NAME,
            n=n_jobs,
            weight=idle,
            series=shorter(free / machine),
            series_title="share of the machine free while a job waited that fits",
        )
    ]
    if "backlog" in table and (at := [i for i in table.index if i.startswith("90 %")]):
        backlog = float(table.loc[at[0], "backlog"])
        findings.append(
            judged(
                "backlog",
                backlog,
                f"In a tenth of the hours, waiting jobs requested {number(backlog)} times the "
                "machine or more.",
                _NAME,
                n=n_jobs,
                weight=min(backlog, 1.0),
                series=shorter(hours["waiting_procs"] / machine),
                series_title="processors requested by waiting jobs, in machines",
            )
        )
    note = (
        "A free processor next to a waiting job that fits is not always an error of the "
        "scheduler: partitions, memory, limits and reservations are not in accounting."
    )
    values = {"idle_while_waiting": idle, "hours_with_a_fitting_job": fitting}
    return part(notes=(note,), values=values, findings=tuple(findings))


def _larger(trace: Trace) -> Section:
    """Report what more processors would do, by simulation."""
    if trace.n_jobs < _FEWEST_JOBS:
        return part()
    try:
        simulated = larger_machine(trace)
    except WorkloadError as error:
        return part(gaps=(f"A larger machine cannot be simulated: {error}.",))
    text, findings = _forecast(simulated)
    values = {
        "simulated_over_recorded": simulated.ratio,
        "calibration_holds": simulated.is_calibrated,
    }
    tables = (_simulated(simulated),)
    return part(notes=(text,), values=values, tables=tables, findings=findings)


def _forecast(simulated: LargerMachine) -> tuple[str, tuple[Finding, ...]]:
    """Return what the simulation says, and the finding if it reproduces the recorded waits."""
    means = simulated.waits["mean"]
    before, after = (float(value) for value in means.iloc[1:3])
    reduction = (before - after) / before if before > 0 else 0.0
    left = f" {plural(simulated.n_left_out, 'job')} left out." if simulated.n_left_out else ""
    if not simulated.is_calibrated:
        failure = failed_calibration(simulated.calibration, "simulated on the machine as it is")
        return (
            f"{upper(failure)}. As it does not reproduce the recorded waits, it "
            f"does not forecast what more processors would do.{left}"
        ), ()
    text = (
        f"By simulation, 10 % more processors change the mean wait from {duration(before)} to "
        f"{duration(after)}; the recorded mean wait is {duration(float(means.iloc[0]))}.{left}"
    )
    n = int(simulated.waits["jobs"].iloc[0])
    weight = max(reduction, 0.0)
    return text, (judged("more_processors", reduction, text, _NAME, n=n, weight=weight),)


def _simulated(simulated: LargerMachine) -> Table:
    columns: Columns = {
        "procs": ("processors", count),
        "jobs": ("jobs", count),
        "mean": ("mean wait", duration),
        "p50": ("median", duration),
        "p90": ("90th percentile", duration),
        "p99": ("99th percentile", duration),
        "longest": ("longest", duration),
    }
    caption = (
        "Waits after jobs were eligible: recorded, simulated on the same machine, and with more "
        "processors. EASY backfilling on one pool, without partitions, limits and priorities."
    )
    return listed("larger_machine", caption, simulated.waits, columns)


def _figure(hours: pd.DataFrame, trace: Trace) -> Figure:
    each = int(np.ceil(len(hours) / _POINTS))
    kept = hours[: len(hours) // each * each]
    grouped = kept.groupby(np.arange(len(kept)) // each)
    data = pd.DataFrame({"begin": grouped["begin"].first()})
    data["end"] = data["begin"] + 3600 * each
    data["in_use"] = grouped["in_use"].mean()
    data["waiting_procs"] = grouped["waiting_procs"].mean()
    data["machine"] = float(trace.header.procs or np.nan)
    long = "hour" if each == 1 else f"{each} hours"
    return Figure(
        "use",
        "Processors in use and requested by waiting jobs",
        f"Mean of each {long}. The dashed line is the machine.",
        dated(data, Clock.of(trace)),
        plot_use,
        alt=f"On average {number(hours['in_use'].mean())} processors are in use, at most "
        f"{number(hours['in_use'].max())}; waiting jobs request "
        f"{number(hours['waiting_procs'].mean())} on average, at most "
        f"{number(hours['waiting_procs'].max())}.",
    )


def plot_use(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw processors in use, and those requested by waiting jobs.

    Parameters
    ----------
    data : DataFrame
        `begin` and `end` [s], `date` if known, `in_use`, `waiting_procs` and `machine`.
    """
    ax = style.current_axes(ax)
    edges = style.date_edges(data)
    ax.stairs(data["in_use"], edges, fill=True, color=style.PALE, label="in use")
    ax.stairs(
        data["waiting_procs"],
        edges,
        color=style.ORANGE,
        linewidth=1,
        label="requested by waiting jobs",
    )
    if (machine := float(data["machine"].iloc[0])) == machine:
        ax.axhline(machine, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("processors")
    ax.margins(x=0)
    style.count_axis(ax.yaxis)
    style.date_axis(ax.xaxis, data)
    style.legend_above(ax)
    return ax


def _of_parts(trace: Trace) -> list[Table]:
    """Return the use by resource and partition, if the machine has a description."""
    if trace.machine is None:
        return []
    resources, partitions = recorded_use(trace)
    caption = (
        "What jobs requested, in use on the mean, without attempts that were requeued; memory "
        "in KB. Not all requests may be known."
    )
    tables = [listed("by_resource", caption, resources, _USE)]
    if len(partitions):
        caption = "Partitions: processors on which their jobs can run, and their use by these jobs."
        tables.append(listed("by_partition", caption, partitions, _PARTITIONS))
    return tables
