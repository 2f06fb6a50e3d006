"""Report section on waits: of whom, for what, and of which jobs."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workloadkit.analysis import style
from workloadkit.analysis.finding import FEWEST_JOBS, Finding
from workloadkit.analysis.formats import count, duration, share
from workloadkit.analysis.load.over_time import waits_known
from workloadkit.analysis.operations.accounting import HOUR, accounted_jobs, hours_unit, names_of
from workloadkit.analysis.operations.causes import (
    CAUSES,
    HELD,
    LIMIT,
    NO_REASON,
    reasons,
    wait_causes,
)
from workloadkit.analysis.operations.groups import everyone, waits_of
from workloadkit.analysis.operations.parts import (
    NOTE_ON_PERCENTILES,
    WAITS,
    groupings,
    hours,
    judged,
    kind,
    listed,
    series,
    titled,
)
from workloadkit.analysis.operations.tables import WaitsBy, usage, waits_by
from workloadkit.analysis.section import Columns, Figure, Section, Table, unanswered
from workloadkit.analysis.waits.measures import FEWEST_BEYOND, enough, plot_waits, waits_over_time
from workloadkit.errors import plural
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAME, _TITLE = "waiting", "Waits"
_DRAWN = 4  # groups in a figure
_CLASSES: dict[WaitsBy, str] = {
    "size": "processors",
    "run time": "run time",
    "hour": "hour of submission",
}


def section(trace: Trace) -> Section:
    """Report waits by group and class of jobs, and what jobs waited for."""
    jobs = accounted_jobs(trace)
    wait = jobs["wait"].to_numpy()
    if not waits_known(trace) or np.isnan(wait).all():
        gap = "Waits are unknown: the log has no submission times, or no starts."
        return unanswered(_NAME, _TITLE, gap)
    whole = {name: float(column[0]) for name, column in waits_of(everyone(len(wait)), wait).items()}
    causes = wait_causes(trace)
    recorded = any(cause not in (HELD, NO_REASON) for cause in causes.index)
    split = bool(jobs["held"].notna().any())
    values: dict[str, Any] = dict(whole) | {
        f"share_{cause.replace(' ', '_')}": float(row.share) for cause, row in causes.iterrows()
    }
    tables: list[Table] = []
    by_group = {by: usage(trace, by) for by in groupings(trace)}
    for by, table in by_group.items():
        caption = f"Wait from submission to start by {kind(by)}; most {hours_unit(trace)} first."
        tables.append(listed(f"by_{by}", caption, table, WAITS, folded=by in ("user", "qos")))
    tables.append(_causes(causes, split=split, recorded=recorded))
    tables += [_causes_by(trace, by) for by in by_group if split or recorded]
    columns: Columns
    if len(words := reasons(trace)):
        columns = {"cause": ("counts as", str), "hours": ("hours", hours), **WAITS}
        caption = "Wait by the last reason that Slurm recorded; most hours of waiting first."
        tables.append(listed("by_reason", caption, words, columns, folded=True))
    classes = {by: waits_by(trace, by) for by in _CLASSES}
    columns = {"jobs": ("jobs", count), **WAITS}
    for of, table in classes.items():
        name = f"by_{of.replace(' ', '_')}"
        tables.append(listed(name, f"Wait by {_CLASSES[of]}.", table, columns))
    notes = [NOTE_ON_PERCENTILES]
    gaps = []
    if split:
        notes.append(
            "Before a job is eligible, it depends on another job, is held, or has a later begin "
            "time. After that it waits for limits, priority or resources."
        )
    else:
        gaps.append("Eligible times are unknown, so the wait before it is not separated.")
    if recorded:
        notes.append(
            "Slurm keeps one reason for each job: the last that blocked it, other than priority "
            "and resources. All of the job's time after it was eligible counts for this reason. "
            "A job without a reason waited for priority or resources."
        )
    else:
        gaps.append("No reasons of waiting are recorded, so waits for limits are not separated.")
    return Section(
        _NAME,
        _TITLE,
        _finding(whole),
        (*notes, *gaps),
        values,
        tuple(tables),
        tuple(_figures(trace, classes)),
        findings=tuple(_findings(trace, jobs, whole, causes, by_group, recorded=recorded)),
        gaps=tuple(gaps),
    )


def _finding(whole: dict[str, float]) -> str:
    if np.isnan(whole["p50"]):
        longest = duration(whole["longest"])
        return f"{plural(int(whole['waits']), 'wait is', 'waits are')} known, at most {longest}."
    half = (
        f"The median wait is {duration(whole['p50'])}"
        if whole["p50"] > 0
        else "Half of the jobs did not wait (median wait 0 s)"
    )
    more = "" if np.isnan(whole["p90"]) else f"; 10 % waited more than {duration(whole['p90'])}"
    return f"{half}{more}. The longest wait is {duration(whole['longest'])}."


def _findings(
    trace: Trace,
    jobs: pd.DataFrame,
    whole: dict[str, float],
    causes: pd.DataFrame,
    by_group: dict[Any, pd.DataFrame],
    *,
    recorded: bool,
) -> list[Finding]:
    wait = jobs["wait"].to_numpy()
    long = np.nan_to_num(wait) >= 4 * HOUR
    late = float(long[~np.isnan(wait)].mean())
    worst = _longest(by_group)
    found = [
        judged(
            "wait_p90",
            whole["p90"],
            f"{_finding(whole)} {share(late)} of the jobs waited 4 h or more{worst}.",
            _NAME,
            n=int(whole["waits"]),
            weight=late,
            series=series(trace, jobs["submit"].to_numpy(), long * 1.0, np.ones(wait.size)),
            series_title="share of jobs that waited 4 h or more, by submission",
        )
    ]
    if (gap := _gap(by_group)) is not None:
        found.append(gap)
    split = {cause: causes.loc[cause] for cause in (HELD, LIMIT) if cause in causes.index}
    total = float(causes["hours"].sum())
    if jobs["held"].notna().any():
        held = float(split[HELD]["share"]) if HELD in split else 0.0
        n_held = int(split[HELD]["jobs"]) if HELD in split else 0
        found.append(
            judged(
                "held_share",
                held,
                f"{share(held)} of the {hours(total)} hours of waiting, of "
                f"{plural(n_held, 'job')}, came before jobs were eligible (dependency, hold or "
                "begin time).",
                _NAME,
                n=int((jobs["held"].notna() & jobs["wait"].notna()).sum()),
                weight=held,
            )
        )
    if recorded:
        limited = float(split[LIMIT]["share"]) if LIMIT in split else 0.0
        n_limited = int(split[LIMIT]["jobs"]) if LIMIT in split else 0
        found.append(
            judged(
                "limit_share",
                limited,
                f"{share(limited)} of the {hours(total)} hours of waiting are of "
                f"{plural(n_limited, 'job')} whose last reason is a limit of account, user, QOS or "
                "licences.",
                _NAME,
                n=int(whole["waits"]),
                weight=limited,
            )
        )
    return found


def _longest(by_group: dict[Any, pd.DataFrame]) -> str:
    """Return the account or partition of the longest 90th percentile, if there are several."""
    for by in ("account", "partition", "queue"):
        if by in by_group and by_group[by]["p90"].notna().sum() > 1:
            of = by_group[by]["p90"]
            name = titled(str(of.idxmax()), by)
            return f"; the longest 90th percentile is that of {name}, {duration(of.max())}"
    return ""


def _gap(by_group: dict[Any, pd.DataFrame]) -> Finding | None:
    """Compare the median waits of accounts with enough jobs, else of partitions or users."""
    for by in ("account", "partition", "queue", "user"):
        if by not in by_group:
            continue
        jobs = by_group[by]["waits"]
        known = by_group[by].loc[jobs >= FEWEST_JOBS, "p50"].dropna()
        if len(known) < 2:
            continue
        shortest, longest = known.idxmin(), known.idxmax()
        least = max(float(known[shortest]), 60.0)
        ratio = float(known[longest]) / least if known[longest] >= HOUR else 1.0
        text = (
            f"Half of the {plural(int(jobs[longest]), 'job')} of {titled(str(longest), by)} waited "
            f"{duration(known[longest])} or more, half of the "
            f"{plural(int(jobs[shortest]), 'job')} of {titled(str(shortest), by)} "
            f"{duration(known[shortest])} or less."
        )
        weight = float(jobs[longest] / jobs.sum())
        n = int(jobs[[longest, shortest]].sum())
        return judged("wait_gap", ratio, text, _NAME, n=n, weight=weight)
    return None


def _causes(causes: pd.DataFrame, *, split: bool, recorded: bool) -> Table:
    data = causes
    if not recorded:
        after = "after eligible" if split else "submission to start"
        data = causes.rename(index={NO_REASON: f"{after}: no reason recorded"})
    columns: Columns = {
        "jobs": ("jobs", count),
        "hours": ("hours of waiting", hours),
        "share": ("share", share),
        **{name: how for name, how in WAITS.items() if name != "waits"},
    }
    return listed("causes", "What jobs waited for.", data, columns)


def _causes_by(trace: Trace, by: Any) -> Table:
    table = wait_causes(trace, by)
    columns: Columns = {
        "jobs": ("n", count),
        "hours": ("hours of waiting", hours),
        **{cause: (cause, share) for cause in CAUSES if (table[cause] > 0).any()},
    }
    caption = f"Hours of waiting by {kind(by)}, and the share of each cause."
    return listed(f"causes_by_{by}", caption, table, columns, folded=True)


def _figures(trace: Trace, classes: dict[Any, pd.DataFrame]) -> list[Figure]:
    found = []
    for by in ("account", "partition", "queue", "user"):
        names = names_of(trace, by)
        if names is None or len(names.categories) < 2:
            continue
        data = waits_over_time(trace, by, (50, 90), largest=_DRAWN)
        percent = 90 if data.loc[enough(data["jobs"], 90), "begin"].nunique() > 1 else 50
        drawn = data[enough(data["jobs"], percent)]
        if drawn["begin"].nunique() < 2:
            continue
        fewest = 100 * FEWEST_BEYOND // (100 - percent)
        what = "90th percentile of the wait" if percent == 90 else "Median wait"
        which = f", for the {_DRAWN} with most jobs" if len(names.categories) > _DRAWN else ""
        peak = drawn.loc[drawn[f"p{percent}"].idxmax()]
        found.append(
            Figure(
                "over_time",
                f"{what} by {by}",
                f"{what} by {by} and time of submission{which}. Less "
                f"than 1 s is drawn as 1 s; groups of fewer than {fewest} jobs are not drawn.",
                data,
                partial(plot_waits, percent=percent),
                alt=f"{what} of a period: at most {duration(peak[f'p{percent}'])}, of {by} "
                f"{peak['name']}.",
            )
        )
        break
    for by, name in (("size", "processors"), ("hour", "hour of submission")):
        table = classes[by]
        known = table["p50"].dropna()
        if len(known) > 1:
            found.append(
                Figure(
                    f"by_{by}",
                    f"Wait by {name}",
                    f"Median and 90th percentile of the wait by {name}. Less than 1 s is drawn as "
                    "1 s.",
                    table,
                    plot_classes,
                    alt=f"The median wait is longest for {name} {known.idxmax()}, "
                    f"{duration(known.max())}, and shortest for {known.idxmin()}, "
                    f"{duration(known.min())}.",
                )
            )
    return found


def plot_classes(data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    """Draw the median and the 90th percentile of waits by class, from `waits_by`."""
    ax = style.current_axes(ax)
    place = np.arange(len(data))
    for column, colour, title in (
        ("p50", style.BLUE, "median"),
        ("p90", style.ORANGE, "90th percentile"),
    ):
        values = np.maximum(data[column].to_numpy(dtype=np.float64), 1)
        ax.plot(place, values, color=colour, marker="o", markersize=3, label=title, clip_on=False)
    every = 1 + (len(data) - 1) // 6
    ax.set_xticks(place[::every], [str(name) for name in data.index[::every]])
    style.time_axis(ax.yaxis)
    style.headroom(ax)
    ax.set_ylabel("wait")
    style.legend_above(ax)
    return ax
