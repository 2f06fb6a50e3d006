"""The section on load: over the whole log and over time."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import count, day, duration, number, share, upper
from workloadkit.analysis.load.over_time import (
    dated,
    interval_days,
    jobs_over_time,
    load_over_time,
    name_of_days,
    plot_jobs,
    plot_load,
    summarize_load,
    waits_known,
)
from workloadkit.analysis.section import Columns, Figure, Section, Table, facts, shown
from workloadkit.clock import DAY, Clock
from workloadkit.errors import plural
from workloadkit.executions import executions_of
from workloadkit.provenance import moved_times
from workloadkit.trace import Trace
from workloadkit.units import words_of

_LISTED = 10  # intervals on the page

_ROWS: Columns = {
    "utilization": ("utilization", share),
    "offered_load": ("offered load", share),
    "jobs_per_day_mean": ("jobs per day, mean", number),
    "jobs_per_day_max": ("jobs per day, maximum", number),
}


def section(trace: Trace) -> Section:
    """Report load and utilization, over the whole log and over time."""
    clock = Clock.of(trace)
    values, notes, figures = summarize_load(trace), _what_is_unknown(trace), []
    notes += filter(None, [contradiction(trace, values.get("utilization"))])
    first, last = trace.window.begin, trace.window.until
    if last - first < DAY:
        notes.append("The log spans less than a day, so no time series are shown.")
    else:
        days = interval_days(first, last)
        figures.append(_jobs_figure(trace, clock, days))
        per_day = figures[0].data["jobs"] / days
        inside = trace.window.contains(trace.column("submit")).sum()
        mean = float(inside) / (last - first) * DAY  # the first and the last day are partial
        values |= {"jobs_per_day_mean": mean, "jobs_per_day_max": per_day.max()}
        if trace.ran.any():
            days = interval_days(first, last, shortest=7 if last - first >= 56 * DAY else 1)
            figures.insert(0, _load_figure(trace, clock, days))
            values |= {"interval_days": days} | _busiest(figures[0].data)
    return Section(
        "load",
        "Load and utilization",
        _finding(values),
        tuple(notes),
        values,
        (_table(values, words_of(trace).hour), *_over_time(values, figures)),
        tuple(figures),
    )


def _what_is_unknown(trace: Trace) -> list[str]:
    if not trace.ran.any():
        return ["No job of this log ran, so it has neither load nor utilization."]
    notes = []
    if trace.header.procs is None and trace.counting is not None:
        many = words_of(trace).many
        notes.append(
            f"How many {many} the machine has is unknown; load is given in {many}. --procs sets it."
        )
    elif trace.header.procs is None:
        notes.append(
            "The header has neither MaxProcs nor MaxNodes, so the size of the machine is unknown; "
            "load is given in processors."
        )
    elif not trace.header.number("MaxProcs"):
        notes.append("The header has no MaxProcs; MaxNodes is used as the number of processors.")
    if not waits_known(trace):
        notes.append(
            "No wait time is known, so utilization over time cannot be computed; only offered load "
            "is shown."
        )
    elif unknown := int(np.isnan(trace.column("wait")[trace.ran]).sum()):
        notes.append(f"The unknown wait of {plural(unknown, 'job')} that ran counts as 0.")
    if again := int(executions_of(trace).groupby("row")["attempt"].max().gt(0).sum()):
        jobs = plural(again, "requeued job")
        notes.append(
            f"The attempts of {jobs} count as one run, which begins at the first start."
            if trace.n_bursts
            else f"Of {jobs} the last attempt counts here; the profile operations counts all."
        )
    if larger := int((trace.used_procs[trace.ran] > (trace.header.procs or np.inf)).sum()):
        notes.append(
            f"The header specifies {plural(trace.header.procs or 0, 'processor')}, but "
            f"{plural(larger, 'job')} used more: one of the two is wrong."
        )
    return notes


def contradiction(trace: Trace, utilization: float | None = None) -> str:
    """Say that more processors are in use at once than the machine has; empty if not."""
    machine, most = trace.header.procs, 0.0
    if machine and waits_known(trace):
        most = _most_in_use(trace)
    if (utilization or 0) > 1:
        found = "Utilization exceeds 100 %"
    elif machine and most > machine:
        found = (
            f"By the record, up to {count(most)} of {count(machine)} processors are in use at once"
        )
    else:
        return ""
    if (changed := moved_times(trace.header)) and changed[-1] != "simulated":
        return (
            f"{found}: the log was changed ({changed[-1]}) and keeps the waits of its source, so "
            "its starts are no schedule; simulate it for waits and utilization."
        )
    return (
        f"{found}: the machine was larger (--procs N sets its size), or recorded starts and ends "
        "overlap. Utilization of such times is too high, single days can exceed 100 %."
    )


def _most_in_use(trace: Trace) -> float:
    """Return the largest number of processors in use at once; jobs end before others start."""
    ran = trace.ran & (trace.column("run") > 0)
    end, procs = trace.end[ran], trace.used_procs[ran].astype(np.float64)
    times = np.concatenate([end, end - trace.column("run")[ran]])
    change = np.concatenate([-procs, procs])
    order = np.argsort(times, kind="stable")
    return float(np.cumsum(change[order]).max(initial=0.0))


def _load_figure(trace: Trace, clock: Clock, days: int) -> Figure:
    machine, each = trace.header.procs, name_of_days(days)
    edges = clock.midnights(trace.window.begin, trace.window.until, days=days)
    data = load_over_time(trace, edges, machine=machine or 1)
    if not waits_known(trace):
        data = data.drop(columns="utilization")
    caption = (
        f"Per {each}: the work of the jobs submitted in it (offered)"
        + (" and the work done in it (in use)" if "utilization" in data else "")
        + (", as shares of the machine's capacity" if machine else ", as mean processors")
        + f". The log covers only a part of the first and the last {each}."
    )
    plot = partial(plot_load, machine=machine is not None)
    return Figure("load", "Load over time", caption, dated(data, clock), plot)


def _jobs_figure(trace: Trace, clock: Clock, days: int) -> Figure:
    edges = clock.midnights(trace.window.begin, trace.window.until, days=days)
    data = jobs_over_time(trace.within_window(), edges)
    caption = (
        f"Jobs submitted {'per day' if days == 1 else f'per {days} days'}, and the moving mean "
        "of seven such intervals. Jobs that never ran are included."
    )
    plot = partial(plot_jobs, days=days)
    return Figure("jobs", "Jobs submitted", caption, dated(data, clock), plot)


def _busiest(data: pd.DataFrame) -> dict[str, Any]:
    """Return the largest load and utilization of an interval, and the dates of their begins."""
    found: dict[str, Any] = {}
    for name in ("offered_load", "utilization"):
        if name in data:
            row = data.loc[data[name].idxmax()]
            found[f"busiest_{name}"] = float(row[name])
            if "date" in data:
                found[f"busiest_{name}_from"] = row["date"]
    return found


def _over_time(values: dict[str, Any], figures: list[Figure]) -> tuple[Table, ...]:
    """Return the load of each interval, the busiest first."""
    if not values["machine"] or "interval_days" not in values:
        return ()
    data = figures[0].data
    by = "utilization" if "utilization" in data else "offered_load"
    data = data.sort_values(by, ascending=False, kind="stable").reset_index(drop=True)
    columns = {"utilization": ("in use", share), "offered_load": ("offered", share)}
    first = data[(data.index < _LISTED) | (_rank(data["offered_load"]) <= _LISTED)]
    text = shown(first, {k: how for k, how in columns.items() if k in data})
    text.index = (
        [day(date) for date in first["date"]]
        if "date" in data
        else first["begin"].map(lambda second: f"second {count(second)}")
    )
    each = name_of_days(values["interval_days"])
    caption = f"Load by {each}, from its first day, the busiest first."
    if len(data) > len(first):
        most = f"the {_LISTED} with the most in use and the {_LISTED} with the most offered"
        most = f"{most}, {len(first)}" if by == "utilization" else str(_LISTED)
        caption = f"{caption[:-1]}; {most} of {count(len(data))} rows. --tables writes all rows."
    return (Table("over_time", caption, data, text, folded=True),)


def _rank(values: pd.Series) -> pd.Series:
    return values.rank(method="first", ascending=False)


def _at_most(values: dict[str, Any], name: str) -> str:
    """Return the largest value of an interval, and when that was."""
    if (most := values.get(f"busiest_{name}")) is None or not most > values[name]:
        return ""
    begin = values.get(f"busiest_{name}_from")
    since = "from " if values["interval_days"] > 1 else ""
    when = "" if begin is None else f" ({since}{day(begin)})"
    return f", and {share(most)} {_most_of(name, values)}{when}"


def _most_of(name: str, values: dict[str, Any]) -> str:
    most = {"utilization": "busiest", "offered_load": "heaviest"}[name]
    days = values["interval_days"]
    return f"{'on' if days == 1 else 'in'} the {most} {name_of_days(days)}"


def _finding(values: dict[str, Any]) -> str:
    used, offered = (values.get(name) for name in ("utilization", "offered_load"))
    loads, sentences = [], []
    if used is not None:
        loads.append(f"utilization was {share(used)}{_at_most(values, 'utilization')}")
    if offered is not None:
        loads.append(f"offered load was {share(offered)}{_at_most(values, 'offered_load')}")
    if loads:
        sentences.append(f"{upper('; '.join(loads))}.")
    if not sentences and values["work"] > 0:
        work = plural(values["work"] / 3600, "processor-hour")
        sentences.append(f"The jobs did {work} of work in {duration(values['makespan'])}.")
    if "jobs_per_day_mean" in values:
        mean = plural(values["jobs_per_day_mean"], "job")
        sentences.append(f"On average, {mean} arrived per day.")
    return " ".join(sentences)


def _table(values: dict[str, Any], hour: str) -> Table:
    rows = {"work": (values["work"], plural(values["work"] / 3600, hour))}
    for name, (title, form) in _ROWS.items():
        if values.get(name) is not None:
            rows[title] = (values[name], form(values[name]))
    if values["machine"] and "interval_days" in values:
        for name, (title, form) in list(_ROWS.items())[:2]:
            if (most := values.get(f"busiest_{name}")) is not None:
                rows[f"{title} {_most_of(name, values)}"] = (most, form(most))
    return facts("summary", "Load and utilization of the whole log.", rows)
