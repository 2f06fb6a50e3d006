"""Sections of a comparison: what changed, by day, job, account, user, partition, queue and QOS."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from workloadkit import metrics
from workloadkit.analysis import style
from workloadkit.analysis.formats import (
    UNKNOWN,
    count,
    duration,
    number,
    share,
    signed_share,
    upper,
)
from workloadkit.analysis.logs.distributions import overlay
from workloadkit.analysis.operations.accounting import accounted_jobs, hours_unit
from workloadkit.analysis.operations.groups import PERCENTILES, everyone, waits_of
from workloadkit.analysis.operations.machine import full_days
from workloadkit.analysis.operations.parts import GROUPINGS, hours, kind, listed, names_of, titled
from workloadkit.analysis.operations.tables import efficiency_of, usage
from workloadkit.analysis.section import SEED, Figure, Section, Table
from workloadkit.clock import DAY
from workloadkit.executions import WITHOUT_RESULT
from workloadkit.fields import UNKNOWN as NO_USER
from workloadkit.provenance import source_of
from workloadkit.record_fields import PROMISED_START
from workloadkit.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Form = Callable[[float], str]


class Changing(NamedTuple):
    """A measure of both logs: its title, how it is written, and whether it is a share."""

    title: str  # with {hours} for core-hours or processor-hours
    form: Form
    is_share: bool = False


#: Measures of full days; their mean is compared.
BY_DAY = {
    "jobs": Changing("jobs per day", number),
    "users": Changing("active users per day", number),
    "core_hours": Changing("{hours} per day", hours),
    "gpu_hours": Changing("GPU-hours per day", hours),
    "energy_kwh": Changing("energy per day, kWh", hours),
    "utilization": Changing("utilization", share, is_share=True),
}

#: Measures of jobs.
BY_JOB = {
    "mean": Changing("wait, mean", duration),
    **{
        f"p{p}": Changing(f"wait, {'median' if p == 50 else f'{p}th percentile'}", duration)
        for p in PERCENTILES
    },
    "run": Changing("run time, median", duration),
    "procs": Changing("processors of a job, mean", number),
    "hours_of_job": Changing("{hours} of a job, mean", hours),
    "failed": Changing("jobs without a result", share, is_share=True),
    "lost": Changing("{hours} without a result", share, is_share=True),
    "cpu": Changing("CPU efficiency", share, is_share=True),
    "limit": Changing("used part of the requested time", share, is_share=True),
    "promise_error": Changing("promise error, mean", duration),
    "late": Changing("jobs that start later than promised", share, is_share=True),
}


class MeasuredLog:
    """A log with the measures that are compared: its full days, and the jobs in its window."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.inside = trace, trace.within_window()
        self.days, self.unit = full_days(trace), hours_unit(trace)
        submit, user = self.inside.column("submit"), self.inside.column("user")
        place = np.searchsorted(self.days["begin"].to_numpy(), submit, side="right") - 1
        known = (place >= 0) & (user != NO_USER)
        if len(self.days):
            known &= submit < self.days["end"].iloc[-1]
        each = pd.DataFrame({"day": place[known], "user": user[known]}).drop_duplicates()
        users = np.bincount(each["day"], minlength=len(self.days)).astype(np.float64)
        self.days["users"] = users if known.any() else np.nan

    @property
    def length(self) -> float:
        """Length of the window. [days]."""
        return self.trace.window.length / DAY

    def of_jobs(self) -> dict[str, tuple[float, int]]:
        """Return the measures `BY_JOB`, each with the number of jobs."""
        jobs = accounted_jobs(self.inside)
        every = everyone(len(jobs))
        waits = {k: v[0] for k, v in waits_of(every, jobs["wait"].to_numpy()).items()}
        used = efficiency_of(every, jobs).iloc[0]
        without = jobs["outcome"].isin(WITHOUT_RESULT).to_numpy()
        n_ended = int((jobs["outcome"] != "unknown").sum())
        work = jobs["core_hours"]
        total = float(work.sum())
        started = int(jobs["started"].sum())
        return {
            **{name: (waits[name], int(waits["waits"])) for name in BY_JOB if name in waits},
            "run": (metrics.percentile(jobs["run"].dropna(), 50), started),
            "procs": (float(jobs.loc[jobs["started"], "procs"].mean()), started),
            "hours_of_job": (float(work.mean()), int(work.notna().sum())),
            "failed": (float(without.mean()) if n_ended else np.nan, n_ended),
            "lost": (
                float(jobs["lost_hours"].sum()) / total if n_ended and total else np.nan,
                n_ended,
            ),
            "cpu": (used["cpu_efficiency"], int(used["cpu_jobs"])),
            "limit": (used["limit_use"], int(used["limit_jobs"])),
            **self._promises(),
        }

    def _promises(self) -> dict[str, tuple[float, int]]:
        """Return the measures of promised against actual starts; NaN without promises."""
        log, error = self.inside, np.empty(0)
        if log.sidecar is not None and PROMISED_START in log.sidecar:
            start = log.column("submit") + log.column("wait")
            error = metrics.promise_error(start, log.column(PROMISED_START))
            error = error[log.ran & ~np.isnan(error)]
        mean, late = (x.mean() if x.size else np.nan for x in (np.abs(error), error > 0))
        return {"promise_error": (float(mean), error.size), "late": (float(late), error.size)}


def unit_of(logs: list[MeasuredLog]) -> str:
    """Return the unit of the hours of both logs; processor-hours if they differ."""
    units = {log.unit for log in logs}
    return units.pop() if len(units) == 1 else "processor-hours"


def without_days(names: list[str], logs: list[MeasuredLog]) -> str:
    """Return which logs have no full day, as a sentence; empty if all have one."""
    short = [name for name, log in zip(names, logs, strict=True) if not len(log.days)]
    if not short:
        return ""
    have = "has" if len(short) == 1 else "have"
    return (
        f"{' and '.join(short)} {have} no full day from midnight to midnight, so hours and jobs "
        "per day are not compared."
    )


def change_of(first: Any, second: Any, *, is_share: bool) -> Any:
    """Return the difference of shares, or the relative change of other measures."""
    if is_share:
        return second - first
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(first == 0, np.nan, np.divide(second - first, first))[()]


_DRAWS = 2000  # of days, for the intervals
_FEWEST_DAYS = 7  # full days in each log, for an interval
_NOTABLE = 0.1  # change that the page puts into words
_NAMED = 4  # changes in words


def changes_section(names: list[str], logs: list[MeasuredLog]) -> Section:
    """Compare the measures of full days and of jobs."""
    unit = unit_of(logs)
    rows = {n: _by_day(n, logs) for n in BY_DAY if (n, unit) != ("gpu_hours", "GPU-hours")}
    of_jobs = [log.of_jobs() for log in logs]
    for name, how in BY_JOB.items():
        (first, n_first), (second, n_second) = (found[name] for found in of_jobs)
        change = change_of(first, second, is_share=how.is_share)
        rows[name] = (first, second, change, np.nan, np.nan, n_first, n_second)
    columns = ["first", "second", "change", "low", "high", "n_first", "n_second"]
    data = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    data.index.name = "measure"
    data.attrs["unit"] = unit
    data = data[data[["first", "second"]].notna().all(axis=1)]
    measured = BY_DAY | BY_JOB
    text = pd.DataFrame(
        {
            names[0]: [measured[name].form(x) for name, x in data["first"].items()],
            names[1]: [measured[name].form(x) for name, x in data["second"].items()],
            "change": [_in_words(measured[str(name)], row) for name, row in data.iterrows()],
            "n": [f"{count(a)}, {count(b)}" for a, b in data[["n_first", "n_second"]].to_numpy()],
        },
        index=pd.Index([measured[str(name)].title.format(hours=unit) for name in data.index]),
        dtype=object,
    )
    caption = "Measures of both logs; n is the number of full days, or of jobs."
    notes = [
        "Brackets: 95 % interval of the change, from resampled full days (with at least "
        f"{_FEWEST_DAYS} in each log); days that resemble the day before make it too narrow.",
        "A change of a share is in percentage points.",
        "Jobs that were submitted before a log begins are not in it: use at its begin is "
        "underestimated.",
    ]
    if len({log.unit for log in logs}) > 1:
        units = ", ".join(f"{log.unit} in {name}" for name, log in zip(names, logs, strict=True))
        notes.append(f"Processor-hours are {units}.")
    notes += filter(None, [without_days(names, logs)])
    figures = tuple(
        _daily(name, names, logs) for name in ("jobs", "core_hours") if name in data.index
    )
    return Section(
        "changes",
        "What changed",
        _in_a_sentence(notable(data)),
        tuple(notes),
        tables=(Table("measures", caption, data, text),),
        figures=figures,
    )


def _by_day(name: str, logs: list[MeasuredLog]) -> tuple[float, ...]:
    """Compare means of full days, with the interval of the change."""
    days = [log.days[name].dropna().to_numpy(dtype=np.float64) for log in logs]
    sizes = tuple(values.size for values in days)
    if not all(sizes):
        return (np.nan,) * 5 + sizes
    first, second = (float(values.mean()) for values in days)
    is_share = BY_DAY[name].is_share
    low = high = np.nan
    if min(sizes) >= _FEWEST_DAYS:
        rng = np.random.default_rng(SEED)
        drawn = [v[rng.integers(0, v.size, (_DRAWS, v.size))].mean(axis=1) for v in days]
        changes = change_of(*drawn, is_share=is_share)
        low, high = np.nanpercentile(changes, [2.5, 97.5]).tolist() if first else (low, high)
    return (first, second, change_of(first, second, is_share=is_share), low, high, *sizes)


def _in_words(how: Changing, row: pd.Series) -> str:
    """Write a change with its sign and interval."""

    def signed(value: float) -> str:
        if how.is_share and not np.isnan(value):
            return f"{100 * value:+.1f} points".replace("-", "−")
        return signed_share(value)

    low, high = row["low"], row["high"]
    if np.isnan(low):
        return signed(row["change"])
    ends = (signed(end).removesuffix(" points").removesuffix(" %") for end in (low, high))
    return f"{signed(row['change'])} [{', '.join(ends)}]"


def notable(data: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return the largest changes: each with its direction, the measure, and its values in words."""
    measured = BY_DAY | BY_JOB
    appeared = (data["first"] == 0) & (data["second"] > 0)
    size = data["change"].abs().mask(appeared, np.inf)
    is_sure = ~((data["low"] <= 0) & (data["high"] >= 0))
    chosen = size[(size >= _NOTABLE) & is_sure].sort_values(ascending=False).index[:_NAMED]
    found = []
    for name, row in data[data.index.isin(chosen)].iterrows():
        how = measured[str(name)]
        values = f"{how.form(row['first'])} to {how.form(row['second'])}"
        change = "" if np.isnan(row["change"]) else f" ({_in_words(how, row)})"
        direction = "up" if row["second"] > row["first"] else "down"
        title = how.title.format(hours=data.attrs["unit"])
        found.append((direction, title, f"{values}{change}"))
    return found


def _in_a_sentence(changes: list[tuple[str, str, str]]) -> str:
    if not changes:
        return f"No measure changed by {share(_NOTABLE)} or more beyond its variation between days."
    text = "; ".join(f"{title} from {values}" for _, title, values in changes)
    return f"{upper(text)}."


def _daily(name: str, names: list[str], logs: list[MeasuredLog]) -> Figure:
    series = {n: log.days[name].reset_index(drop=True) for n, log in zip(names, logs, strict=True)}
    data = pd.DataFrame(series)
    data.index = pd.RangeIndex(1, len(data) + 1, name="day")
    title = BY_DAY[name].title.format(hours=unit_of(logs))
    return Figure(
        f"daily_{name}",
        upper(title),
        f"{upper(title)} of each full day of the windows.",
        data,
        partial(plot_days, title=title),
    )


def plot_days(
    data: pd.DataFrame, ax: "Axes | None" = None, *, title: str = "jobs per day"
) -> "Axes":
    """Draw a measure of each day of several logs, the first highlighted.

    Parameters
    ----------
    data : DataFrame
        By number of the day, one column per log.
    title : str, default "jobs per day"

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_days(pd.DataFrame({"a.swf": [3, 5], "b.swf": [4, 4]}), Figure().subplots())
    >>> ax.get_ylabel(), len(ax.lines)
    ('jobs per day', 2)
    """
    ax = style.current_axes(ax)
    overlay(data, ax)
    ax.set_ylim(bottom=0)
    ax.set(xlabel="full day of the window", ylabel=title)
    style.count_axis(ax.yaxis)
    return ax


# Section of a comparison on accounts, users, partitions, queues and QOS.


def groups_section(names: list[str], logs: list[MeasuredLog]) -> Section:
    """Compare accounts, users, partitions, queues and QOS."""
    tables, said, notes = [], [], []
    of_one_log = source_of(logs[0].trace) == source_of(logs[1].trace)
    for by in GROUPINGS:
        found = [names_of(log.inside, by) for log in logs]
        if any(each is None for each in found):
            continue
        if not of_one_log and any(_is_numbered(each, by) for each in found):
            notes.append(
                f"No comparison by {kind(by)}: the logs have numbers for them, and the numbers of "
                "two logs need not be the same."
            )
            continue
        data = _by_group(by, logs)
        tables.append(_table_by(by, data, names, unit_of(logs)))
        change = data["change"]
        if change.abs().max() > 0:
            top = change.abs().idxmax()
            said.append(
                f"{titled(str(top), by)} {'+' if change[top] > 0 else '−'}{hours(abs(change[top]))}"
            )
    tables = [table for table in tables if len(table.shown.columns)]
    finding = without_days(names, logs)
    if not (tables or finding):
        notes.append("Neither accounts nor users, partitions, queues or QOS can be compared.")
    if tables and not finding:
        finding = f"No group used more or fewer {unit_of(logs)} per day."
    if said:
        finding = f"Largest changes of {unit_of(logs)} per day: {', '.join(said)}."
    return Section(
        "groups",
        "By account, user, partition, queue and QOS",
        finding,
        tuple(notes),
        tables=tuple(tables),
    )


def _is_numbered(names: Any, by: str) -> bool:
    return all(str(name).startswith(f"{by} ") for name in names.categories)


def _by_group(by: str, logs: list[MeasuredLog]) -> pd.DataFrame:
    """Return hours and jobs per day, and waits, of each group in both logs."""
    sides = []
    for log, side in zip(logs, ("first", "second"), strict=True):
        table = usage(log.inside, by)  # type: ignore[arg-type]
        per_day = table[["core_hours", "jobs"]] / (log.length if len(log.days) else np.nan)
        table = per_day.join(table[["waits", "p50", "p90"]])
        sides.append(table.add_suffix(f"_{side}"))
    data = sides[0].join(sides[1], how="outer")
    data.index.name = by
    data["change"] = np.nan
    if all(len(log.days) for log in logs):
        data["change"] = data["core_hours_second"].fillna(0) - data["core_hours_first"].fillna(0)
    order = data["change"].abs().sort_values(ascending=False, kind="stable").index
    return data.loc[order]


def _table_by(by: str, data: pd.DataFrame, names: list[str], unit: str) -> Table:
    pairs = data[[]].copy()
    columns: dict[str, tuple[str, Form]] = {}
    for column, title, form in (
        ("core_hours", f"{unit} per day", hours),
        ("jobs", "jobs per day", number),
        ("p50", "wait, median", duration),
        ("p90", "wait, 90th percentile", duration),
    ):
        sides = data[[f"{column}_first", f"{column}_second"]]
        if sides.notna().any(axis=None):
            pairs[column] = [_pair(form, *row) for row in sides.to_numpy()]
            columns[column] = (title, str)
    columns["change"] = (f"change of {unit} per day", _signed_hours)
    caption = (
        f"By {kind(by)}, {names[0]} → {names[1]}; the largest changes of {unit} per day first."
    )
    shown_table = listed(f"by_{by}", caption, pairs.assign(change=data["change"]), columns)
    return replace(shown_table, data=data)


def _pair(form: Form, first: float, second: float) -> str:
    """Write two values; one sign if both are unknown."""
    texts = form(first), form(second)
    return texts[0] if texts == (UNKNOWN, UNKNOWN) else " → ".join(texts)


def _signed_hours(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{hours(abs(value))}"
