"""Report section on waits: the intervals of jobs, and waits by group."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workloadkit import metrics
from workloadkit.analysis.formats import count, duration, printable, share
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.section import Columns, Figure, Section, Table, shown
from workloadkit.analysis.waits.measures import (
    By,
    Interval,
    enough,
    grouped_waits,
    names_of,
    period_of,
    plot_waits,
    ranked,
    wait_intervals,
)
from workloadkit.clock import DAY
from workloadkit.distinct import distinct
from workloadkit.errors import WorkloadError
from workloadkit.trace import Trace

_PERCENTILES = (50, 90, 99)
_LISTED, _DRAWN = 10, 4  # largest groups
_LONGEST_NAME = 48

_INTERVALS = {
    "submit_to_start": "from submission to start",
    "submit_to_eligible": "from submission until eligible",
    "eligible_to_start": "from eligible to start",
    "start_to_end": "from start to end",
}


def _percentile(percent: int) -> str:
    return "median" if percent == 50 else f"{percent}th percentile"


_COLUMNS: Columns = {
    "jobs": ("jobs", count),
    "mean": ("mean", duration),
    **{f"p{percent}": (_percentile(percent), duration) for percent in _PERCENTILES},
}


def section(trace: Trace) -> Section | None:
    """Report the waits by partition, account, user and queue; None without waits.

    Logs without a side-car are grouped by partition and queue only.
    """
    accounted = _is_accounted(trace)
    intervals = wait_intervals(trace)
    if not waits_known(trace) or intervals["submit_to_start"].isna().all():
        return None
    kinds: tuple[By, ...] = (
        ("partition", "account", "user", "queue") if accounted else ("partition", "queue")
    )
    started = intervals["submit_to_start"].notna().to_numpy()
    names = {by: found for by in kinds if (found := _names(trace, by, started)) is not None}
    if not (accounted or names):
        return None  # the section on marginal distributions has everything
    eligible = bool(intervals["submit_to_eligible"].notna().any())
    interval: Interval = "eligible_to_start" if eligible else "submit_to_start"
    held = _share_before_eligible(intervals)
    submit = trace.column("submit")
    period = period_of(float(submit[-1] - submit[0]))
    tables, figures = [_table_of_intervals(intervals)], []
    waits = intervals[interval].to_numpy()
    for by, of_jobs in names.items():
        data = grouped_waits(trace, waits, by, _PERCENTILES, period=period, largest=_DRAWN)
        tables.append(_table_by(by, of_jobs, intervals, interval))
        tables.append(_table_over_time(by, data, period))
        figures.append(_figure(by, data, interval, period))
    values: dict[str, Any] = {
        name: _measures(intervals[name].to_numpy()) for name in _INTERVALS
    } | {"share_before_eligible": held}
    return Section(
        "waits",
        "Wait time by partition, account and user",
        _finding(values, held),
        tuple(_notes(trace, eligible=eligible)),
        values,
        tuple(tables),
        tuple(figures),
    )


def _is_accounted(trace: Trace) -> bool:
    """Whether the log has the side-car of an import."""
    return trace.sidecar is not None and "submit" in trace.sidecar


def _names(trace: Trace, by: By, started: NDArray[np.bool_]) -> pd.Categorical | None:
    """Return the groups of jobs, if the jobs that started are in more than one."""
    try:
        names = names_of(trace, by)
    except WorkloadError:
        return None
    codes = names.codes[started]
    return names if distinct(codes[codes >= 0]).size > 1 else None


def _measures(waits: NDArray[np.float64]) -> dict[str, float]:
    known = waits[~np.isnan(waits)]
    found = {"jobs": known.size, "mean": float(known.mean()) if known.size else np.nan}
    return found | {f"p{percent}": metrics.percentile(known, percent) for percent in _PERCENTILES}


def _shown(data: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Return formatted cells, without percentiles that too few jobs exceed."""
    masked = {f"p{p}": data[f"p{p}"].where(enough(data["jobs"], p)) for p in _PERCENTILES}
    return shown(data.assign(**masked), columns)


def _share_before_eligible(intervals: pd.DataFrame) -> float:
    """Return the share of the waiting time before jobs were eligible."""
    known = intervals[intervals["submit_to_eligible"].notna()]
    total = float(known["submit_to_start"].sum())
    return float(known["submit_to_eligible"].sum()) / total if total > 0 else np.nan


def _table_of_intervals(intervals: pd.DataFrame) -> Table:
    rows = {
        title: _measures(intervals[name].to_numpy())
        for name, title in _INTERVALS.items()
        if intervals[name].notna().any()
    }
    data = pd.DataFrame.from_dict(rows, orient="index")
    caption = "Intervals of the jobs with a known start: mean and percentiles."
    return Table("intervals", caption, data, _shown(data, _COLUMNS))


def _table_by(by: str, names: pd.Categorical, intervals: pd.DataFrame, interval: Interval) -> Table:
    chosen = (names.codes >= 0) & intervals[interval].notna().to_numpy()
    mine = intervals[chosen]
    code, ordered = ranked(names[chosen], _LISTED)
    rows = []
    for i, name in enumerate(ordered):
        of_it = mine[code == i]
        measured = _measures(of_it[interval].to_numpy())
        rows.append({"name": name, **measured, "before_eligible": _share_before_eligible(of_it)})
    data = pd.DataFrame(rows).set_index("name")
    columns = dict(_COLUMNS)
    if interval == "eligible_to_start":
        columns["before_eligible"] = ("before eligible", share)
    text = _shown(data, columns)
    text.index = [printable(name, _LONGEST_NAME) for name in ordered]
    caption = f"Wait {_INTERVALS[interval]}, by {by}; largest number of jobs first."
    if "before_eligible" in columns:
        caption += " Before eligible: share of their waiting time before they were eligible."
    return Table(f"by_{by}", caption, data, text)


def _table_over_time(by: str, data: pd.DataFrame, period: str) -> Table:
    if "date" in data:
        begins = data["date"].dt.strftime("%Y-%m-%d").tolist()
    else:
        begins = [f"day {begin / DAY:,.0f}" for begin in data["begin"]]
    text = _shown(data, _COLUMNS)
    text.insert(0, by, [printable(name, _LONGEST_NAME) for name in data["name"]])
    text.index = begins
    caption = f"Wait by {by} and {period} of submission."
    return Table(f"{by}_over_time", caption, data, text, folded=True)


def _figure(by: str, data: pd.DataFrame, interval: Interval, period: str) -> Figure:
    caption = (
        f"90th percentile of the time {_INTERVALS[interval]}, by {period} of submission. "
        "Less than 1 s is drawn as 1 s; a group with fewer than 50 jobs is not drawn."
    )
    return Figure(f"by_{by}", f"Wait by {by}", caption, data, plot_waits)


def _finding(values: dict[str, Any], held: float) -> str:
    waits = values["submit_to_start"]
    half = (
        f"The median wait is {duration(waits['p50'])}"
        if waits["p50"] > 0
        else "Half of the jobs did not wait (median wait 0 s)"
    )
    text = f"{half}; 10 % of the jobs waited more than {duration(waits['p90'])}."
    if held >= 0.001:
        text += (
            f" {share(held)} of the waiting time came before the jobs were eligible, so it was not "
            "due to the scheduler."
        )
    return text


def _notes(trace: Trace, *, eligible: bool) -> list[str]:
    if eligible:
        return [
            "Before a job is eligible, it depends on another job, is held, or has a later begin "
            "time. Afterwards it waits for limits, priority or resources."
        ]
    if _is_accounted(trace):
        return ["Eligible times are unknown, so waits are not split."]
    return []
