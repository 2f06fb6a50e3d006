"""Report section on GPUs: which jobs hold them, for how long, and how many are in use."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.formats import count, number, share
from workloadkit.analysis.load.over_time import (
    dated,
    interval_days,
    load_over_time,
    name_of_days,
    summarize_load,
    waits_known,
)
from workloadkit.analysis.operations.accounting import accounted_jobs
from workloadkit.analysis.operations.parts import hours
from workloadkit.analysis.section import Columns, Figure, Section, Table, joined, part, shown
from workloadkit.clock import DAY, Clock
from workloadkit.errors import plural
from workloadkit.trace import Trace
from workloadkit.units import in_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME, _TITLE = "gpus", "GPUs"
_SEEN = 0.1  # of the machine in use: the figure has a line for the machine
_IDLE = "GPUs held but idle cannot be shown: the use of GPUs (gpu_use) was not measured."
_SIZES: Columns = {
    "jobs": ("jobs", count),
    "jobs_share": ("share", share),
    "gpu_hours": ("GPU-hours", hours),
    "hours_share": ("share of GPU-hours", share),
}


def gpus_of_jobs(trace: Trace) -> pd.DataFrame:
    """Count the jobs that ran by the number of GPUs that they were allocated.

    Returns
    -------
    DataFrame
        By `gpus`, such as "none", "part of one", "1", "3 to 4": `jobs` and their share
        `jobs_share`; the `gpu_hours` of all their attempts and `hours_share`. Jobs whose GPUs are
        unknown are left out; empty if those of all jobs are.

    Examples
    --------
    >>> log = Trace.from_columns({"submit": [0, 1, 2], "run": [3600] * 3, "procs": [4] * 3})
    >>> log = log.replaced(sidecar=pd.DataFrame({"gpus": [0, 0.5, 3]}))
    >>> gpus_of_jobs(log)[["jobs", "gpu_hours"]].to_dict("index")["3 to 4"]
    {'jobs': 1, 'gpu_hours': 3.0}
    """
    jobs = accounted_jobs(trace)
    jobs = jobs[jobs["started"] & jobs["gpus"].notna()]
    held = jobs["gpus"].to_numpy()
    # 0 none, 1 a part of one, 2 one, 3 two, 4 up to four, …
    kind = np.where(held >= 1, 2 + np.ceil(np.log2(np.maximum(held, 1))), np.ceil(held)).astype(int)
    groups = pd.DataFrame({"kind": kind, "hours": jobs["gpu_hours"].to_numpy()}).groupby("kind")
    table = pd.DataFrame({"jobs": groups.size(), "gpu_hours": groups["hours"].sum()})
    table.index = pd.Index([_name_of(int(each)) for each in table.index], name="gpus")
    for name, total in (("jobs_share", "jobs"), ("hours_share", "gpu_hours")):
        table[name] = table[total] / (table[total].sum() or np.nan)
    return table


def _name_of(kind: int) -> str:
    """Return the name of a class of numbers of GPUs."""
    if kind < 4:
        return ("none", "part of one", "1", "2")[kind]
    return f"{2 ** (kind - 3) + 1} to {2 ** (kind - 2)}"


def section(trace: Trace, seen: Trace | None = None) -> Section | None:
    """Report GPU-hours, the jobs that hold GPUs, and GPUs in use over time.

    `seen` is the log as it is seen in the unit of the report.
    """
    if trace.sidecar is None or "gpus" not in trace.sidecar:
        return None
    table = gpus_of_jobs(trace)
    if not table["gpu_hours"].sum() > 0:
        return None
    jobs = accounted_jobs(trace)
    started = jobs[jobs["started"]]
    known, held = int(started["gpus"].notna().sum()), started["gpus"].to_numpy()
    holding, parts = int((held > 0).sum()), int((held % 1 > 0).sum())
    total = float(jobs["gpu_hours"].sum())
    of_one = f", {count(parts)} of them a part of one" if parts else ""
    text = shown(table, _SIZES)
    whole = Section(
        _NAME,
        _TITLE,
        f"{plural(total, 'GPU-hour')} were used. {share(holding / known)} of the jobs that started "
        f"held GPUs: {count(holding)} of {count(known)}{of_one}.",
        values={
            "gpu_hours": total,
            "jobs_with_gpus": holding,
            "share_with_gpus": holding / known,
            "jobs_with_parts": parts,
            "mean_gpus": float(held[held > 0].mean()),
        },
        tables=(Table("sizes", "Jobs that started by allocated GPUs.", table, text),),
    )
    left = len(started) - known
    notes = (f"Left out: {plural(left, 'job')} whose GPUs are unknown.",) if left else ()
    in_gpus = seen if seen is not None and seen.unit == "gpus" else in_unit(trace, "gpus")
    return joined(whole, _idle(trace), part(notes=notes), _in_use(in_gpus))


def _idle(trace: Trace) -> Section:
    """Report the GPU-hours that were held but idle, of the jobs whose use of GPUs is measured."""
    use = np.full(trace.n_jobs, np.nan)
    if trace.sidecar is not None and "gpu_use" in trace.sidecar:
        use = trace.sidecar["gpu_use"].to_numpy(np.float64)
    held = accounted_jobs(trace)["gpu_hours"].to_numpy()
    measured = (use >= 0) & (use <= 1) & (held > 0)  # False for NaN
    if not measured.any():
        return part(gaps=(_IDLE,))
    total, busy = float(held[measured].sum()), float((held * use)[measured].sum())
    finding = f"{plural(total - busy, 'GPU-hour')} of {hours(total)} were held but idle."
    all_hours, notes = float(np.nansum(held)), []
    if total < all_hours:
        notes.append(f"The use of GPUs was measured for {share(total / all_hours)} of GPU-hours.")
    values = {"measured_gpu_hours": total, "idle_gpu_hours": total - busy}
    return part(finding, notes=tuple(notes), values=values)


def _in_use(seen: Trace) -> Section:
    """Report the GPUs in use, of a log that is seen in GPUs."""
    window, load = seen.window, summarize_load(seen)
    machine, gaps = load["machine"], []
    if machine is None:
        gaps.append(
            "How many GPUs the machine has is unknown, so their utilization is not shown: describe "
            "the machine next to the log, or give --unit gpus with --procs."
        )
    if not waits_known(seen):
        gaps.append("No wait is known, so GPUs in use over time are not shown.")
        return part(gaps=tuple(gaps))
    values = {"machine": machine, "utilization": load["utilization"]}
    used = load["utilization"]
    finding = "" if used is None else f"{share(used)} of {plural(machine, 'GPU')} were in use."
    if window.length < DAY:
        return part(finding, values=values, gaps=tuple(gaps))
    shortest = 7 if window.length >= 56 * DAY else 1
    days = interval_days(window.begin, window.until, shortest=shortest)
    clock, each = Clock.of(seen), name_of_days(days)
    edges = clock.midnights(window.begin, window.until, days=days)
    data = load_over_time(seen, edges)[["begin", "end", "utilization"]]
    data = data.rename(columns={"utilization": "in_use"})
    line = machine if machine and data["in_use"].max() >= _SEEN * machine else None
    figure = Figure(
        "in_use",
        "GPUs in use over time",
        f"Mean of each {each}." + (" The dashed line is the machine." if line else ""),
        dated(data, clock),
        partial(plot_in_use, machine=line),
        alt=f"On average {number(data['in_use'].mean())} GPUs are in use, in one {each} "
        f"{number(data['in_use'].max())}.",
    )
    return part(finding, values=values, figures=(figure,), gaps=tuple(gaps))


def plot_in_use(
    data: pd.DataFrame, ax: "Axes | None" = None, *, machine: int | None = None
) -> "Axes":
    """Draw the GPUs in use over time.

    Parameters
    ----------
    data : DataFrame
        `begin` and `end` [s], `date` if known, and `in_use`.
    machine : int, optional
        GPUs of the machine.
    """
    ax = style.current_axes(ax)
    ax.stairs(data["in_use"], style.date_edges(data), fill=True, color=style.BLUE)
    if machine is not None:
        ax.axhline(machine, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("GPUs in use")
    ax.margins(x=0)
    style.count_axis(ax.yaxis)
    style.date_axis(ax.xaxis, data)
    return ax
