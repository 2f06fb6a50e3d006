"""Report sections on who used the machine: hours by group and month, and fair-share."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.formats import count, number, share, upper
from workloadkit.analysis.load.over_time import dated, drawn_days, name_of_days
from workloadkit.analysis.operations.accounting import (
    PROCESSOR_HOURS,
    SPENT,
    accounted_executions,
    accounted_jobs,
    hours_unit,
    is_part,
)
from workloadkit.analysis.operations.groups import fair_share
from workloadkit.analysis.operations.machine import full_days
from workloadkit.analysis.operations.parts import (
    WAITS,
    groupings,
    hours,
    judged,
    kind,
    listed,
    of_requeued,
    requeued_hours,
    shorter,
    titled,
    with_main,
)
from workloadkit.analysis.operations.tables import usage
from workloadkit.analysis.section import Columns, Figure, Section, joined, part
from workloadkit.clock import DAY, Clock
from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workloadkit.analysis.finding import Finding

_NAME = "usage"
_NOTES = (
    "Hours are elapsed time × allocated number of all jobs of the log, also of those outside its "
    "window, and of all attempts of requeued jobs. Jobs that had not ended when the log was "
    "exported are not in it, so the last days lack their part.",
)
_ON_PROCESSOR_HOURS = (
    "Processor-hours count processors as the log does: cores, or hardware threads. They become "
    "core-hours if the description of the machine states the threads of a core (--slurm-conf, or "
    "threads_per_core)."
)


def _hours(unit: str) -> Columns:
    return {
        "core_hours": (unit, hours),
        "core_share": ("share", share),
        "node_hours": ("node-hours", hours),
        "gpu_hours": ("GPU-hours", hours),
        "energy_kwh": ("energy, kWh", hours),
    }


def section(trace: Trace) -> Section:
    """Report jobs, core-, node- and GPU-hours and energy by group, month and day."""
    jobs, executions = accounted_jobs(trace), accounted_executions(trace)
    unit = hours_unit(trace)
    groups: dict[str, pd.DataFrame] = {by: usage(trace, by) for by in groupings(trace)}
    total = {name: float(jobs[name].sum(min_count=1)) for name in SPENT}
    days = full_days(trace)
    whole = Section(
        _NAME,
        _title(unit),
        f"{_who(jobs)} used {hours(total['core_hours'])} {unit}.{of_requeued(executions, unit)}",
        values={**total, **requeued_hours(executions), "hours_unit": unit, "full_days": len(days)},
    )
    size = (
        "The size of the machine is unknown, so utilization, free capacity and a larger machine "
        "are not measured: give it with --procs."
    )
    return joined(
        whole,
        _by_group_and_month(trace, groups, unit),
        _by_day(trace, days, unit),
        part(gaps=(size,) if trace.header.procs is None else ()),
        _known(jobs),
        _gpus_and_energy(executions, total, groups, unit),
        _largest_user(jobs, groups, total["core_hours"], unit),
        part(notes=_NOTES + ((_ON_PROCESSOR_HOURS,) if unit == PROCESSOR_HOURS else ())),
    )


def _who(jobs: pd.DataFrame) -> str:
    """Return how many jobs used something, of all."""
    started = int(jobs["started"].sum())
    of = f"{started:,} of " if started < len(jobs) else ""
    return f"{of}{plural(len(jobs), 'job')}"


def _title(unit: str) -> str:
    """Return the title: the hours of the unit, and those of nodes and GPUs."""
    others = [f"{name}-" for name in ("node", "GPU") if not unit.startswith(name)]
    first = ", ".join([upper(unit.removesuffix("hours")), *others[:-1]])
    return f"{first} and {others[-1]}hours"


def _by_group_and_month(trace: Trace, groups: Mapping[str, pd.DataFrame], unit: str) -> Section:
    tables = [
        listed(
            f"by_{by}",
            f"Jobs and hours by {kind(by)}; most {unit} first.",
            table,
            {"jobs": ("jobs", count), "started": ("started", count), **_hours(unit)},
            folded=by == "qos",
        )
        for by, table in groups.items()
    ]
    months = usage(trace, "month")
    caption = (
        "Jobs submitted in each month with their waits, and the hours that all jobs spent in it."
    )
    columns = {"jobs": ("jobs", count), **_hours(unit), **WAITS}
    tables.append(listed("by_month", caption, months, columns, latest=True))
    return part(notes=tuple(_on_months(months, trace)), tables=tuple(tables))


def _by_day(trace: Trace, days: pd.DataFrame, unit: str) -> Section:
    if days.empty:
        gap = (
            "The window has no full day from midnight to midnight, so jobs a day and utilization "
            "a day are not measured."
        )
        return part(gaps=(gap,))
    clock = Clock.of(trace)
    begins = (
        [f"{date:%Y-%m-%d}" for date in clock.dates(days["begin"])]
        if clock.known
        else [f"day {begin / DAY:,.0f}" for begin in days["begin"]]
    )
    columns = {"jobs": ("jobs", count), **_hours(unit), "utilization": ("utilization", share)}
    del columns["core_share"]
    caption = "Jobs submitted and hours spent on each full day of the window."
    shown = days.set_axis(begins).rename_axis("day")
    table = listed("by_day", caption, shown, columns, folded=True, latest=True)
    findings: tuple[Finding, ...] = ()
    mean = float(days["utilization"].mean())
    if not (np.isnan(mean) or is_part(trace)):
        text = (
            f"On {plural(len(days), 'full day')} the machine was used to {share(mean)}, "
            f"from {share(days['utilization'].min())} to {share(days['utilization'].max())} a day."
        )
        one = judged(
            "unused",
            mean,
            text,
            _NAME,
            n=int(days["jobs"].sum()),
            weight=1 - mean,
            series=shorter(days["utilization"]),
            series_title="utilization of the full days",
        )
        findings = (one,)
    return part(tables=(table,), figures=(_figure(days, clock, trace),), findings=findings)


def _known(jobs: pd.DataFrame) -> Section:
    """State of how many jobs the nodes, GPUs and energy are known."""
    started = jobs[jobs["started"]]
    gaps, notes = [], []
    for name, title in (
        ("node_hours", "Allocated nodes are"),
        ("gpu_hours", "Allocated GPUs are"),
        ("energy_kwh", "Energy is"),
    ):
        known = int(started[name].notna().sum())
        if not known:
            gaps.append(f"{title} unknown.")
        elif known < len(started):
            notes.append(f"{title} known for {known:,} of {len(started):,} jobs that started.")
    return part(notes=tuple(notes), gaps=tuple(gaps))


def _gpus_and_energy(
    executions: pd.DataFrame,
    total: Mapping[str, float],
    groups: Mapping[str, pd.DataFrame],
    unit: str,
) -> Section:
    sentences: list[str] = []
    notes: tuple[str, ...] = ()
    if total["gpu_hours"] > 0 and unit != "GPU-hours":
        by_hours = {by: table["gpu_hours"].fillna(0) for by, table in groups.items()}
        again, main = of_requeued(executions, "GPU-hours"), with_main(by_hours, "GPU-hours")
        sentences.append(f"{hours(total['gpu_hours'])} GPU-hours were used.{again}{main}")
    if total["energy_kwh"] > 0:
        by_energy = {by: table["energy_kwh"].fillna(0) for by, table in groups.items()}
        main = with_main(by_energy, "energy")
        sentences.append(f"The jobs consumed {hours(total['energy_kwh'])} kWh.{main}")
        notes = (
            "Energy is measured for whole nodes: it is a job's own if the job had its nodes alone.",
        )
    return part(" ".join(sentences), notes)


def _largest_user(
    jobs: pd.DataFrame, groups: Mapping[str, pd.DataFrame], total: float, unit: str
) -> Section:
    if not ("user" in groups and total > 0 and len(groups["user"]) > 1):
        return part()
    first, name = groups["user"].iloc[0], titled(str(groups["user"].index[0]), "user")
    finding = judged(
        "largest_user",
        float(first["core_share"]),
        f"{upper(name)} used {share(first['core_share'])} "
        f"of the {unit}, with {plural(int(first['jobs']), 'job')} of {len(jobs):,}.",
        _NAME,
        n=int((jobs["core_hours"] > 0).sum()),
        weight=float(first["core_share"]),
    )
    return part(findings=(finding,))


def _on_months(months: pd.DataFrame, trace: Trace) -> list[str]:
    """Return how to compare the last two months."""
    last = months.index[months["jobs"] > 0][-2:]
    if len(last) < 2 or not Clock.of(trace).known:
        return []
    return [
        f"Run workloadkit compare LOG --since {last[0]} --at {last[1]} to see what changed from "
        f"{last[0]} to {last[1]}."
    ]


def shares_section(trace: Trace, shares: Mapping[str, float] | None = None) -> Section | None:
    """Report the shares that accounts were given and used; None without all jobs or accounts."""
    if is_part(trace):
        return None
    try:
        table = fair_share(trace, shares)
    except ParameterError:  # the shares
        raise
    except WorkloadError:
        return None
    unit = hours_unit(trace)
    columns: Columns = {
        "jobs": ("jobs", count),
        "users": ("users", count),
        "core_hours": (unit, hours),
        "given": ("share given", share),
        "used": ("share used", share),
        "ratio": ("used / given", number),
    }
    gaps: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    given = table["given"].notna()
    if not given.any():
        gaps = (
            "The shares that accounts were given are not in accounting: give them with --shares "
            "(the output of sshare -aP).",
        )
        name = upper(titled(str(table.index[0]), "account"))
        finding = f"{name} used {share(table['used'].iloc[0])} of the {unit}."
    else:
        large = table[given & (table["used"] >= 0.05)]
        finding = f"Shares are known of {given.sum()} of {plural(len(table), 'account')}."
        if len(large) and large["ratio"].notna().any():
            name = large["ratio"].idxmax()
            row = large.loc[name]
            text = (
                f"{upper(titled(str(name), 'account'))} used {share(row['used'])} "
                f"of the {unit}; its share is {share(row['given'])}."
            )
            finding = f"{finding} {text}"
            findings = (
                judged(
                    "share_ratio",
                    float(row["ratio"]),
                    text,
                    "shares",
                    n=int((accounted_jobs(trace)["core_hours"] > 0).sum()),
                    weight=row["used"],
                ),
            )
    return Section(
        "shares",
        "Fair-share: given and used",
        finding,
        gaps,
        {"accounts": len(table), "accounts_with_share": int(given.sum())},
        (listed("by_account", "Shares by account; most used first.", table, columns),),
        findings=findings,
        gaps=gaps,
    )


def _figure(days: pd.DataFrame, clock: Clock, trace: Trace) -> Figure:
    known = trace.header.procs is not None
    column = "utilization" if known else "core_hours"
    form = share if known else hours
    most = form(days[column].max())
    unit = hours_unit(trace)
    what = "Utilization" if known else upper(unit)
    each = drawn_days(days["begin"].iloc[0], days["end"].iloc[-1])
    grouped = days.groupby(np.arange(len(days)) // each)
    data = grouped.mean(numeric_only=True)
    data = data.assign(begin=grouped["begin"].first(), end=grouped["end"].last())
    period = "each full day" if each == 1 else f"a day, mean of each {name_of_days(each)}"
    return Figure(
        "by_day",
        f"{what} of {period}",
        f"{what} of {period} of the window.",
        dated(data, clock),
        partial(plot_days, column=column, unit=unit),
        alt=f"{what} a day: mean {form(days[column].mean())}, at most {most}; "
        f"{number(days['jobs'].mean())} jobs a day on average.",
    )


def plot_days(
    data: pd.DataFrame,
    ax: "Axes | None" = None,
    *,
    column: str = "utilization",
    unit: str = "core-hours",
) -> "Axes":
    """Draw the utilization or the core-hours of each full day, or their means, from `full_days`.

    Parameters
    ----------
    data : DataFrame
    column : {"utilization", "core_hours"}
    unit : str, default "core-hours"
        Unit of the hours, for the label; see `analysis.operations.accounting.hours_unit`.
    """
    ax = style.current_axes(ax)
    edges = style.date_edges(data)
    ax.stairs(data[column], edges, fill=True, color=style.PALE)
    ax.stairs(data[column], edges, color=style.BLUE, linewidth=0.8, baseline=None)
    if column == "utilization":
        style.share_axis(ax.yaxis)
        ax.set_ylabel("share of the machine")
    else:
        style.count_axis(ax.yaxis)
        ax.set_ylabel(f"{unit} per day")
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    style.date_axis(ax.xaxis, data)
    return ax
