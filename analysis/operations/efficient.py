"""Report section on efficiency: use of processors, memory and time limits, and idle core-hours."""

from typing import Any

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import count, share
from workloadkit.analysis.operations.accounting import accounted_jobs, hours_unit
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
from workloadkit.analysis.section import Columns, Section
from workloadkit.trace import Trace

_NAME, _TITLE = "efficiency", "Efficiency"


def section(trace: Trace) -> Section:
    """Report how much of what jobs were given they used, and by whom the rest was held."""
    jobs, unit = accounted_jobs(trace), hours_unit(trace)
    all_jobs = efficiency_of(everyone(trace.n_jobs), jobs).iloc[0]
    by_group = {by: efficiency(trace, by) for by in groupings(trace)}
    values: dict[str, Any] = {str(name): value for name, value in all_jobs.items()}
    columns: Columns = {
        "jobs": ("jobs", count),
        "core_hours": (unit, hours),
        "cpu_efficiency": ("CPU in use", share),
        "idle_hours": (f"idle {unit}", hours),
        "wasted_hours": (f"wasted {unit}", hours),
        "memory_efficiency": ("memory in use", share),
        "limit_use": ("time limit in use", share),
    }
    counted = {"cpu": "CPU", "memory": "memory", "limit": "time limit"}
    measured = {
        f"{name}_jobs": (f"n ({title})", count)
        for name, title in counted.items()
        if all_jobs[f"{name}_jobs"]
    }
    tables = [
        listed(
            f"by_{by}",
            f"Use of processors, memory and time limits by {kind(by)}; most wasted {unit} first.",
            table,
            {**columns, **measured},
            folded=by in ("partition", "queue", "qos"),
        )
        for by, table in by_group.items()
    ]
    gaps, findings, sentences = [], [], []
    if all_jobs["cpu_jobs"]:
        unused = float(all_jobs["idle_hours"])
        of = float(jobs["cpu_core_hours"].sum())
        idle = unused / of if of > 0 else np.nan
        who = with_main(
            {by: t["idle_hours"].fillna(0) for by, t in by_group.items()}, f"idle {unit}"
        )
        used = float(all_jobs["cpu_efficiency"])
        sentences.append(
            f"CPU time was {share(used)} of the allocated processor time"
            f"{_of_known(all_jobs['cpu_jobs'], all_jobs['jobs'])}."
        )
        findings.append(
            judged(
                "cpu_idle",
                idle,
                f"{hours(unused)} of {hours(of)} {unit} had no CPU time.{who}",
                _NAME,
                n=int(all_jobs["cpu_jobs"]),
                weight=unused / float(all_jobs["core_hours"]),
            )
        )
    else:
        gaps.append(
            "CPU times are unknown, so the efficiency of processors is unknown. Of Slurm, export "
            "the steps too: sacct without -X, with TotalCPU and MaxRSS."
        )
    if all_jobs["memory_jobs"]:
        used = float(all_jobs["memory_efficiency"])
        sentences.append(
            f"{share(used)} of the requested memory was used"
            f"{_of_known(all_jobs['memory_jobs'], all_jobs['jobs'])}."
        )
        findings.append(
            judged(
                "memory_use",
                used,
                f"Jobs used {share(used)} of the memory that they requested, weighted by {unit}.",
                _NAME,
                n=int(all_jobs["memory_jobs"]),
                weight=1 - used,
            )
        )
    else:
        gaps.append("Used or requested memory is unknown, so the efficiency of memory is unknown.")
    if all_jobs["limit_jobs"]:
        used = float(all_jobs["limit_use"])
        sentences.append(f"Jobs ran for {share(used)} of their requested time.")
        least = min(
            (t for t in by_group.items() if t[0] in ("account", "user")),
            key=lambda pair: pair[0] != "account",
            default=None,
        )
        who = "" if least is None else _loosest(*least)
        findings.append(
            judged(
                "limit_use",
                used,
                f"Jobs ran for {share(used)} of the time that they requested, weighted by "
                f"processors.{who}",
                _NAME,
                n=int(all_jobs["limit_jobs"]),
                weight=1 - used,
            )
        )
    else:
        gaps.append("Requested times are unknown, so the use of time limits is unknown.")
    return Section(
        _NAME,
        _TITLE,
        " ".join(sentences),
        (
            "CPU in use: CPU time over allocated processor time; hardware threads can make it more "
            f"than 100 %. Wasted: {unit} of jobs without a result, and idle ones of the others. "
            f"Memory and time limits: used over requested, weighted by {unit} and by "
            "processors. CPU time and memory of 0 count as unknown: accounting writes 0 for what "
            "was not measured.",
            *gaps,
        ),
        values,
        tuple(tables),
        findings=tuple(findings),
        gaps=tuple(gaps),
    )


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
