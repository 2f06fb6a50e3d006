"""The section of a report on waits: the intervals of jobs, and whose waits they were."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.formats import count, duration, printable, share
from analysis.load.over_time import waits_known
from analysis.section import Columns, Figure, Section, Table, shown
from analysis.waits.measures import (
    By,
    Interval,
    names_of,
    period_of,
    ranked,
    wait_intervals,
    waits_over_time,
)
from analysis.waits.plots import plot_waits
from workloadkit import metrics
from workloadkit.clock import DAY
from workloadkit.errors import WorkloadError
from workloadkit.trace import Trace

_PERCENTILES = (50, 90, 99)
_LISTED, _DRAWN = 10, 4  # of the partitions, accounts, …, those of most jobs
_LONGEST_NAME = 48

_INTERVALS = {
    "submit_to_start": "from submission to start",
    "submit_to_eligible": "from submission until eligible",
    "eligible_to_start": "from eligible to start",
    "start_to_end": "from start to end",
}

_COLUMNS: Columns = {
    "jobs": ("jobs", count),
    "mean": ("mean", duration),
    **{f"p{percent}": (f"{percent} %", duration) for percent in _PERCENTILES},
}


def section(trace: Trace) -> Section | None:
    """Report for what jobs waited and whose waited how long; nothing without waits.

    What stands beside a log is sorted by partition, account, user and queue, a log by itself by
    partition and queue.
    """
    beside = _is_accounted(trace)
    intervals = wait_intervals(trace)
    if not waits_known(trace) or intervals["submit_to_start"].isna().all():
        return None
    kinds: tuple[By, ...] = (
        ("partition", "account", "user", "queue") if beside else ("partition", "queue")
    )
    started = intervals["submit_to_start"].notna().to_numpy()
    names = {by: found for by in kinds if (found := _names(trace, by, started)) is not None}
    if not (beside or names):
        return None  # all that could be told is told by the marginals
    eligible = bool(intervals["submit_to_eligible"].notna().any())
    interval: Interval = "eligible_to_start" if eligible else "submit_to_start"
    held = _share_before_eligible(intervals)
    submit = trace.column("submit")
    period = period_of(float(submit[-1] - submit[0]))
    tables, figures = [_table_of_intervals(intervals)], []
    for by, of_jobs in names.items():
        data = waits_over_time(
            trace, by, _PERCENTILES, interval=interval, period=period, largest=_DRAWN
        )
        tables.append(_table_by(by, of_jobs, intervals, interval))
        tables.append(_table_over_time(by, data, period))
        figures.append(_figure(by, data, interval, period))
    values: dict[str, Any] = {
        name: _measures(intervals[name].to_numpy()) for name in _INTERVALS
    } | {"share_before_eligible": held}
    return Section(
        "waits",
        "For what and whose jobs waited",
        _finding(values, held),
        tuple(_notes(trace, eligible=eligible)),
        values,
        tuple(tables),
        tuple(figures),
    )


def _is_accounted(trace: Trace) -> bool:
    """Whether a site's accounting stands beside a log."""
    return trace.sidecar is not None and "submit" in trace.sidecar


def _names(trace: Trace, by: By, started: NDArray[np.bool_]) -> pd.Categorical | None:
    """Return what jobs are of, if those that started are of more than one."""
    try:
        names = names_of(trace, by)
    except WorkloadError:
        return None
    codes = names.codes[started]
    return names if np.unique(codes[codes >= 0]).size > 1 else None


def _measures(waits: NDArray[np.float64]) -> dict[str, float]:
    known = waits[~np.isnan(waits)]
    found = {"jobs": known.size, "mean": float(known.mean()) if known.size else np.nan}
    return found | {f"p{percent}": metrics.percentile(known, percent) for percent in _PERCENTILES}


def _share_before_eligible(intervals: pd.DataFrame) -> float:
    """Share of all waiting that was no scheduler's: for another job, a hold or a date."""
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
    caption = "The intervals of the jobs whose start is known: mean, and what 50, 90 and 99 % of "
    caption += "them do not exceed."
    return Table("intervals", caption, data, shown(data, _COLUMNS))


def _table_by(by: str, names: pd.Categorical, intervals: pd.DataFrame, interval: Interval) -> Table:
    chosen = (names.codes >= 0) & intervals[interval].notna().to_numpy()
    mine = intervals[chosen]
    code, ordered = ranked(names[chosen], _LISTED)
    rows = []
    for i, name in enumerate(ordered):
        of_it = mine[code == i]
        told = _measures(of_it[interval].to_numpy())
        rows.append({"name": name, **told, "before_eligible": _share_before_eligible(of_it)})
    data = pd.DataFrame(rows).set_index("name")
    columns = dict(_COLUMNS)
    if interval == "eligible_to_start":
        columns["before_eligible"] = ("before eligible", share)
    text = shown(data, columns)
    text.index = [printable(name, _LONGEST_NAME) for name in ordered]
    caption = f"Waits {_INTERVALS[interval]}, by {by}; those of most jobs first."
    if "before_eligible" in columns:
        caption += " Before eligible: the share of all their waiting that came before."
    return Table(f"by_{by}", caption, data, text)


def _table_over_time(by: str, data: pd.DataFrame, period: str) -> Table:
    if "date" in data:
        begins = data["date"].dt.strftime("%Y-%m-%d").tolist()
    else:
        begins = [f"day {begin / DAY:,.0f}" for begin in data["begin"]]
    text = shown(data, _COLUMNS)
    text.insert(0, by, [printable(name, _LONGEST_NAME) for name in data["name"]])
    text.index = begins
    caption = f"The same by {by} and {period} of submission."
    return Table(f"{by}_over_time", caption, data, text, folded=True)


def _figure(by: str, data: pd.DataFrame, interval: Interval, period: str) -> Figure:
    caption = (
        f"By {period} of submission: the time {_INTERVALS[interval]} that 90 % of the jobs did "
        f"not exceed. Less than 1 s is drawn as 1 s."
    )
    return Figure(f"by_{by}", f"Waits by {by}", caption, data, plot_waits)


def _finding(values: dict[str, Any], held: float) -> str:
    waits = values["submit_to_start"]
    text = (
        f"Half of the jobs waited {duration(waits['p50'])} or less, one in ten more than "
        f"{duration(waits['p90'])}."
    )
    if held >= 0.001:
        text += (
            f" {share(held)} of all waiting came before the jobs were eligible, so it was not the "
            "scheduler's."
        )
    return text


def _notes(trace: Trace, *, eligible: bool) -> list[str]:
    if eligible:
        return [
            "Before a job is eligible it waits for another job, is held, or is not yet due; only "
            "from then on does it wait for processors."
        ]
    if _is_accounted(trace):
        return ["The site does not tell when jobs were eligible, so waits are not divided."]
    return []
