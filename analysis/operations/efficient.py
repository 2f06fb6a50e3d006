"""Report section on efficiency: use of processors, memory and time limits, and idle core-hours."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import count, share
from workloadkit.analysis.operations.accounting import By, accounted_jobs, hours_unit
from workloadkit.analysis.operations.groups import everyone
from workloadkit.analysis.operations.parts import (
    groupings,
    hours,
    judged,
    kind,
    listed,
    titled,
    with_main,
)
from workloadkit.analysis.operations.tables import efficiency, efficiency_of
from workloadkit.analysis.section import Columns, Section, Table, joined, part
from workloadkit.trace import Trace

_NAME, _TITLE = "efficiency", "Efficiency"


def section(trace: Trace) -> Section:
    """Report how much of what jobs were given they used, and by whom the rest was held."""
    jobs, unit = accounted_jobs(trace), hours_unit(trace)
    whole = efficiency_of(everyone(trace.n_jobs), jobs).iloc[0]
    groups = {by: efficiency(trace, by) for by in groupings(trace)}
    note = (
        "CPU in use: CPU time over allocated processor time; hardware threads can make it more "
        f"than 100 %. Wasted: {unit} of jobs without a result, and idle ones of the others. "
        f"Memory and time limits: used over requested, weighted by {unit} and by "
        "processors. CPU time and memory of 0 count as unknown: accounting writes 0 for what "
        "was not measured."
    )
    return joined(
        Section(
            _NAME,
            _TITLE,
            notes=(note,),
            values={str(name): value for name, value in whole.items()},
            tables=_tables(groups, whole, unit),
        ),
        _cpu(whole, groups, float(jobs["cpu_core_hours"].sum()), unit),
        _memory(whole, unit),
        _limits(whole, groups),
    )


def _tables(groups: Mapping[By, pd.DataFrame], whole: pd.Series, unit: str) -> tuple[Table, ...]:
    counted = {"cpu": "CPU", "memory": "memory", "limit": "time limit"}
    columns: Columns = {
        "jobs": ("jobs", count),
        "core_hours": (unit, hours),
        "cpu_efficiency": ("CPU in use", share),
        "idle_hours": (f"idle {unit}", hours),
        "wasted_hours": (f"wasted {unit}", hours),
        "memory_efficiency": ("memory in use", share),
        "limit_use": ("time limit in use", share),
        **{
            f"{name}_jobs": (f"n ({title})", count)
            for name, title in counted.items()
            if whole[f"{name}_jobs"]
        },
    }
    caption = "Use of processors, memory and time limits by {}; most wasted {} first."
    return tuple(
        listed(
            f"by_{by}",
            caption.format(kind(by), unit),
            table,
            columns,
            folded=by in ("partition", "queue", "qos"),
        )
        for by, table in groups.items()
    )


def _cpu(whole: pd.Series, groups: Mapping[By, pd.DataFrame], of: float, unit: str) -> Section:
    """Report the use of processors."""
    if not whole["cpu_jobs"]:
        gap = (
            "CPU times are unknown, so the efficiency of processors is unknown. Of Slurm, export "
            "the steps too: sacct without -X, with TotalCPU and MaxRSS."
        )
        return part(gaps=(gap,))
    unused = float(whole["idle_hours"])
    who = with_main({by: t["idle_hours"].fillna(0) for by, t in groups.items()}, f"idle {unit}")
    finding = judged(
        "cpu_idle",
        unused / of if of > 0 else np.nan,
        f"{hours(unused)} of {hours(of)} {unit} had no CPU time.{who}",
        _NAME,
        n=int(whole["cpu_jobs"]),
        weight=unused / float(whole["core_hours"]),
    )
    text = (
        f"CPU time was {share(float(whole['cpu_efficiency']))} of the allocated processor time"
        f"{_of_known(whole['cpu_jobs'], whole['jobs'])}."
    )
    return part(text, findings=(finding,))


def _memory(whole: pd.Series, unit: str) -> Section:
    """Report the use of the requested memory."""
    if not (n := int(whole["memory_jobs"])):
        gap = "Used or requested memory is unknown, so the efficiency of memory is unknown."
        return part(gaps=(gap,))
    used = float(whole["memory_efficiency"])
    effect = f"Jobs used {share(used)} of the memory that they requested, weighted by {unit}."
    finding = judged("memory_use", used, effect, _NAME, n=n, weight=1 - used)
    known = _of_known(whole["memory_jobs"], whole["jobs"])
    return part(f"{share(used)} of the requested memory was used{known}.", findings=(finding,))


def _limits(whole: pd.Series, groups: Mapping[By, pd.DataFrame]) -> Section:
    """Report the use of time limits."""
    if not (n := int(whole["limit_jobs"])):
        return part(gaps=("Requested times are unknown, so the use of time limits is unknown.",))
    used = float(whole["limit_use"])
    main: tuple[By, ...] = ("account", "user")
    by = next((by for by in main if by in groups), None)
    who = "" if by is None else _loosest(by, groups[by])
    effect = (
        f"Jobs ran for {share(used)} of the time that they requested, weighted by processors.{who}"
    )
    finding = judged("limit_use", used, effect, _NAME, n=n, weight=1 - used)
    return part(f"Jobs ran for {share(used)} of their requested time.", findings=(finding,))


def _of_known(known: float, of: float) -> str:
    """Return of how many jobs a quantity is known, unless it is known of all."""
    return f" (known for {known:,.0f} of {of:,.0f} jobs)" if known < of else ""


def _loosest(by: str, table: pd.DataFrame) -> str:
    """Return which of the groups with a tenth of the core-hours uses least of its limits."""
    large = table[table["core_hours"] >= 0.1 * table["core_hours"].sum()]["limit_use"].dropna()
    if len(large) < 2:
        return ""
    name = titled(str(large.idxmin()), by)
    return f" Of the large {by}s, {name} used the least: {share(large.min())}."
