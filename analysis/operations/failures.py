"""Report section on work without a result: failed, timed out and cancelled jobs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.finding import Finding
from workloadkit.analysis.formats import count, share, upper
from workloadkit.analysis.load.over_time import dated, drawn_days, name_of_days
from workloadkit.analysis.operations.accounting import (
    HOUR,
    accounted_executions,
    accounted_jobs,
    hours_unit,
)
from workloadkit.analysis.operations.parts import (
    Unit,
    groupings,
    hours,
    judged,
    kind,
    listed,
    of_jobs,
    of_requeued,
    requeued_hours,
    series,
    with_main,
)
from workloadkit.analysis.operations.tables import outcomes
from workloadkit.analysis.section import Columns, Figure, Section, shown, unanswered
from workloadkit.analysis.section import Table as Shown
from workloadkit.clock import DAY, Clock, enclosing, interval_of
from workloadkit.errors import plural
from workloadkit.executions import OUTCOMES, WITHOUT_RESULT
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How else jobs and attempts end early, which may have served their users.
_STOPPED = ("cancelled", "preempted", "requeued")

#: Share of hours from which those outside the window are named.
_MOSTLY = 0.5
_FEW = 0.1  # of the jobs, that have most hours outside the window

_NAME, _TITLE = "failures", "Failed, timed-out and cancelled work"
_DRAWN = {
    "completed": style.PALE,
    "without a result": style.ORANGE,
    "cancelled": style.MUTED,
    "other": style.BLUE,
}


def section(trace: Trace) -> Section:
    """Report how jobs ended, and the core-hours without a result by whom."""
    jobs, executions = accounted_jobs(trace), accounted_executions(trace)
    if (jobs["outcome"] == "unknown").all():
        gap = "How jobs ended is unknown: the log has neither states nor status."
        return unanswered(_NAME, _TITLE, gap)
    unit = hours_unit(trace)
    tables = {by: outcomes(trace, by) for by in groupings(trace)}
    requeued = of_requeued(executions, unit)
    used = _used(jobs, executions, unit)
    failed = int(jobs["outcome"].isin(WITHOUT_RESULT).sum())
    unknown = int((jobs["outcome"] == "unknown").sum())
    gaps = (
        (f"How {of_jobs(unknown, len(jobs))} ended is unknown: they count as having a result.",)
        if unknown
        else ()
    )
    if failed:
        finding = f"{of_jobs(failed, len(jobs))} had no result; {used[0].lower()}{used[1:]}"
        finding += _with_stopped(executions["core_hours"], executions["outcome"], unit)
    elif requeued:
        finding = "No job ended without a result."
    else:
        known = "is known to have " if unknown else ""
        finding = f"No job {known}failed, exceeded its time limit or memory, or lost a node."
    notes = [
        "Without a result: failed, timed out, out of memory, or stopped by a node failure. A "
        "cancelled or preempted job may have served its user, and is counted separately. "
        "Hours are those of all attempts, jobs count as they ended."
    ]
    if not executions["outcome"].isin(("timed out", "out of memory", "node failure")).any():
        notes.append("The log does not separate time limits, memory and nodes from other failures.")
    figure = _figure(trace, executions)
    return Section(
        _NAME,
        _TITLE,
        finding + requeued,
        (*notes, *gaps),
        {
            "jobs": len(jobs),
            "failed_jobs": failed,
            "core_hours": float(executions["core_hours"].sum()),
            "lost_core_hours": float(jobs["lost_hours"].sum()),
            "lost_gpu_hours": float(jobs["lost_gpu_hours"].sum(min_count=1)),
            "cancelled_core_hours": _stopped(executions),
            **requeued_hours(executions),
        },
        (_by_outcome(jobs, executions, unit), *(_by(by, t, unit) for by, t in tables.items())),
        (figure,) if figure else (),
        gaps=gaps,
        findings=(
            _lost("core", trace, executions, {by: t["lost_hours"] for by, t in tables.items()}),
            _lost("gpu", trace, executions, {by: t["lost_gpu_hours"] for by, t in tables.items()}),
            _failed(trace, jobs, used, {by: t["failed_jobs"] for by, t in tables.items()}),
            _cancelled(jobs, executions, unit, {by: t["cancelled"] for by, t in tables.items()}),
            *_requeued(trace, executions, {by: t["requeued_hours"] for by, t in tables.items()}),
        ),
    )


def _used(jobs: pd.DataFrame, executions: pd.DataFrame, unit: str) -> str:
    """Return the share of the hours without a result, as a sentence."""
    total, lost = float(executions["core_hours"].sum()), float(jobs["lost_hours"].sum())
    requeued = of_requeued(executions, unit)
    they = "They and requeued attempts without a result used" if requeued else "They used"
    return f"{they} {share(lost / total if total > 0 else np.nan)} of the {unit}."


def _stopped(executions: pd.DataFrame) -> float:
    """Return the core-hours of cancelled jobs."""
    return float(executions["core_hours"][executions["outcome"] == "cancelled"].sum())


def _failed(
    trace: Trace, jobs: pd.DataFrame, used: str, groups: Mapping[str, pd.Series]
) -> Finding:
    """Judge the share of the jobs without a result."""
    without = jobs["outcome"].isin(WITHOUT_RESULT).to_numpy()
    end = jobs["end"].fillna(jobs["submit"]).to_numpy()
    return judged(
        "failed_jobs",
        float(without.mean()),
        f"{of_jobs(int(without.sum()), len(jobs))} had no result: {_kinds(jobs)}. {used}"
        f"{with_main(groups, 'jobs without a result')}",
        _NAME,
        n=len(jobs),
        weight=float(without.mean()),
        series=series(trace, end, without * 1.0, np.ones(len(jobs))),
        series_title="share of jobs without a result, by time of the end",
    )


def _cancelled(
    jobs: pd.DataFrame, executions: pd.DataFrame, unit: str, groups: Mapping[str, pd.Series]
) -> Finding:
    """Judge the core-hours of cancelled jobs."""
    total, stopped = float(executions["core_hours"].sum()), _stopped(executions)
    part = stopped / total if total > 0 else np.nan
    return judged(
        "cancelled_core_hours",
        part,
        f"{share(part)} of the {unit} were of jobs that were cancelled: {hours(stopped)} of "
        f"{hours(total)}.{with_main(groups, f'cancelled {unit}')}",
        _NAME,
        n=int((jobs["core_hours"] > 0).sum()),
        weight=part,
    )


def _requeued(
    trace: Trace, executions: pd.DataFrame, groups: Mapping[str, pd.Series]
) -> Iterator[Finding]:
    """Judge the core-hours of attempts that were requeued, if there are any."""
    again = executions["requeued_hours"].fillna(0).to_numpy()
    total = float(executions["core_hours"].sum())
    if not again.any():
        return
    part, unit = float(again.sum()) / total, hours_unit(trace)
    yield judged(
        "requeued_core_hours",
        part,
        of_requeued(executions, unit, used=f"{share(part)} of the {unit}").strip()
        + with_main(groups, f"{unit} of requeued attempts"),
        _NAME,
        n=executions.loc[executions["core_hours"] > 0, "row"].nunique(),
        weight=part,
        series=series(
            trace, executions["end"].to_numpy(), again, executions["core_hours"].to_numpy()
        ),
        series_title=f"share of {unit} of requeued attempts, by time of the end",
    )


def _lost(
    unit: Unit, trace: Trace, executions: pd.DataFrame, groups: Mapping[str, pd.Series]
) -> Finding:
    """Judge the core- or GPU-hours without a result; `groups` are those of each group."""
    column = {"core": "lost_hours", "gpu": "lost_gpu_hours"}[unit]
    known = executions.loc[
        executions[column].notna(), ["row", "start", "end", "outcome", f"{unit}_hours", column]
    ]
    work, without = known[f"{unit}_hours"], known[column]
    total, lost = float(work.sum()), float(without.sum())
    part = lost / total if total > 0 else np.nan
    title = {"core": hours_unit(trace), "gpu": "GPU-hours"}[unit]
    parts = _parts(work, known["outcome"], WITHOUT_RESULT)
    begin, until = trace.window.begin, trace.window.until
    outside = ""
    length = (known["end"] - known["start"]).where(lambda s: s > 0, 1)
    before = work * (known["end"].clip(upper=begin) - known["start"]).clip(lower=0) / length
    after = work * (known["end"] - known["start"].clip(lower=until)).clip(lower=0) / length
    apart = before + after
    if total > 0 and apart.sum() / total > _MOSTLY:
        n = int((apart.sort_values(ascending=False).cumsum() < _MOSTLY * total).sum()) + 1
        few = n <= _FEW * int((work > 0).sum())
        outside = few * (
            f" {share(float(apart.sum()) / total)} of all {title} lie outside the log's window: "
            f"{hours(float(before.sum()))} before it begins and {hours(float(after.sum()))} after "
            "the last submission in it. They count in totals, not in utilization; most of them are "
            f"of {plural(n, 'job')}."
        )
    return judged(
        f"lost_{unit}_hours",
        part,
        f"{share(part)} of the {title} ended without a result: {hours(lost)} of "
        f"{hours(total)}{f' ({parts})' if parts else ''}."
        f"{_with_stopped(work, known['outcome'], title)}{with_main(groups, f'lost {title}')}"
        f"{outside}",
        _NAME,
        n=known.loc[work > 0, "row"].nunique(),
        weight=part,
        series=series(trace, known["end"].to_numpy(), without.to_numpy(), work.to_numpy()),
        series_title=f"share of {title} without a result, by time of the end",
    )


def _with_stopped(work: pd.Series, outcome: pd.Series, title: str) -> str:
    """Return the hours without a result and those of jobs that were stopped, as one sum."""
    stopped = _parts(work, outcome, _STOPPED)
    both = float(work[outcome.isin([*WITHOUT_RESULT, *_STOPPED])].sum())
    return (
        f" With {stopped}: {hours(both)} {title} ({share(both / work.sum())})." if stopped else ""
    )


def _parts(work: pd.Series, outcome: pd.Series, names: Sequence[str]) -> str:
    """Return the hours of each of some outcomes, largest first."""
    some = (
        work.groupby(outcome, observed=True)
        .sum()
        .rename(index=str)
        .reindex(names)
        .dropna()
        .sort_values(ascending=False, kind="stable")
    )
    return ", ".join(f"{hours(value)} {name}" for name, value in some.items() if value > 0)


def _kinds(jobs: pd.DataFrame) -> str:
    """Return the number of jobs of each kind of failure, largest first."""
    counts = jobs["outcome"].value_counts().reindex(WITHOUT_RESULT)
    counts = counts[counts > 0].sort_values(ascending=False, kind="stable")
    return ", ".join(f"{n:,} {kind}" for kind, n in counts.items()) or "none"


def _by_outcome(jobs: pd.DataFrame, executions: pd.DataFrame, unit: str) -> Shown:
    by_outcome = executions.groupby("outcome", observed=False)
    data = pd.DataFrame({"jobs": jobs["outcome"].value_counts(), "core_hours": 0.0})
    data = data.reindex(jobs["outcome"].cat.categories).rename_axis("outcome")
    data.insert(1, "jobs_share", data["jobs"] / len(jobs))
    data.insert(2, "requeued", by_outcome["requeued"].sum())
    data["core_hours"] = by_outcome["core_hours"].sum()
    total = data["core_hours"].sum()
    data["core_share"] = data["core_hours"] / total if total > 0 else np.nan
    data = data[(data["jobs"] > 0) | (data["requeued"] > 0)]
    columns: Columns = {
        "jobs": ("jobs", count),
        "jobs_share": ("share", share),
        **({"requeued": ("requeued attempts", count)} if data["requeued"].any() else {}),
        "core_hours": (unit, hours),
        "core_share": (f"share of {unit}", share),
    }
    text = shown(data, columns)
    text.index = text.index.astype(str)
    return Shown("outcomes", "How the jobs ended.", data, text)


def _by(by: str, table: pd.DataFrame, unit: str) -> Shown:
    of_gpus: Columns = {"lost_gpu_hours": ("GPU-hours without a result", hours)}
    columns: Columns = {
        "jobs": ("jobs", count),
        "failed_jobs": ("without a result", count),
        "core_hours": (unit, hours),
        **{o: (o, hours) for o in OUTCOMES if o != "completed" and table[o].any()},
        "lost_share": ("share without a result", share),
        **(of_gpus if table["lost_gpu_hours"].any() else {}),
    }
    caption = f"{upper(unit)} by how the jobs ended, by {kind(by)}; most without a result first."
    return listed(f"by_{by}", caption, table, columns, folded=by != "account")


def _figure(trace: Trace, executions: pd.DataFrame) -> Figure | None:
    window = trace.window
    ended = executions.loc[
        executions["end"].between(window.begin, window.until), ["end", "outcome", "core_hours"]
    ]
    if not window.length > 0 or ended.empty:
        return None
    unit = hours_unit(trace)
    clock, days = Clock.of(trace), drawn_days(window.begin, window.until)
    edges = clock.midnights(window.begin, window.until, days=days)
    each = name_of_days(days)
    if window.length < 3 * DAY:
        edges, each = enclosing(window.begin, window.until, HOUR), "hour"
    place = interval_of(edges, ended["end"])
    drawn = {"completed": 0, **dict.fromkeys(WITHOUT_RESULT, 1), "cancelled": 2}
    outcome = ended["outcome"].cat
    code = np.array([drawn.get(name, 3) for name in outcome.categories])[outcome.codes]
    work = np.nan_to_num(ended["core_hours"].to_numpy())
    data = pd.DataFrame({"begin": edges[:-1], "end": edges[1:]})
    for number, name in enumerate(_DRAWN):
        if name == "other" and not (code == number).any():
            continue
        data[name] = np.bincount(place[code == number], work[code == number], edges.size - 1)
    lost = float(data["without a result"].sum())
    total = float(executions["core_hours"].sum())
    outside = total - float(work.sum())
    others = (
        f" Jobs that ended outside the window had {hours(outside)} of {hours(total)} {unit}."
        if outside > 0.01 * total
        else ""
    )
    known = " Others were preempted or requeued, or how they ended is unknown." * ("other" in data)
    worst = data.loc[data["without a result"].idxmax()]
    return Figure(
        "by_time",
        f"{upper(unit)} by how jobs ended",
        f"{upper(unit)} of the jobs that ended in each {each} of the window, by how they ended."
        f"{known}{others}",
        dated(data, clock),
        partial(plot_outcomes, each=each, unit=unit),
        alt=f"{share(lost / max(work.sum(), 1e-9))} of the {unit} of jobs that ended in the "
        f"window had no result; the worst {each} lost "
        f"{plural(float(worst['without a result']), unit.removesuffix('s'))}.",
    )


def plot_outcomes(
    data: pd.DataFrame, ax: "Axes | None" = None, *, each: str = "day", unit: str = "core-hours"
) -> "Axes":
    """Draw the core-hours of each period, stacked by how jobs ended.

    Parameters
    ----------
    data : DataFrame
        `begin` and `end` [s], `date` if known, and the core-hours of each outcome; `other` is
        preempted, requeued or unknown.
    each : str, default "day"
        Length of a period, for the label.
    unit : str, default "core-hours"
        Unit of the hours, for the label; see `analysis.operations.accounting.hours_unit`.
    """
    ax = style.current_axes(ax)
    edges = style.date_edges(data)
    base = np.zeros(len(data))
    for name, colour in _DRAWN.items():
        if name not in data:
            continue
        top = base + data[name].to_numpy()
        ax.stairs(top, edges, baseline=base, fill=True, color=colour, label=name)
        base = top
    ax.set_ylabel(f"{unit} per {each}")
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    style.count_axis(ax.yaxis)
    style.date_axis(ax.xaxis, data)
    style.legend_above(ax)
    return ax
