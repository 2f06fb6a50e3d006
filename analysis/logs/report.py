"""Report on two logs: what changed from the first to the second."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis import style
from analysis.formats import UNKNOWN, count, day, duration, number, share
from analysis.logs.comparison import (
    SECTIONS,
    ComparedLog,
    LogComparison,
    combine,
    extract,
    numbered_names,
)
from analysis.logs.distributions import DISTRIBUTIONS
from analysis.logs.plots import overlay, plot_overlaid
from analysis.operations.accounting import WITHOUT_RESULT, accounted_jobs
from analysis.operations.groups import PERCENTILES, efficiency_of, everyone, usage, waits_of
from analysis.operations.machine import full_days
from analysis.operations.parts import GROUPINGS, hours, listed, names_of
from analysis.page import Progress, Report, each_named
from analysis.section import SEED, Columns, Figure, Section, Table, shown
from workloadkit.clock import DAY, Clock
from workloadkit.errors import WorkloadError, plural
from workloadkit.fields import UNKNOWN as NO_USER
from workloadkit.provenance import provenance, source_of
from workloadkit.settings import Compare
from workloadkit.settings.setting import takes
from workloadkit.trace import Trace, check_trace

if TYPE_CHECKING:
    from concurrent.futures import Executor

_COMPARED = ("wait", "run", "procs", "estimate", "inter_arrival", "jobs_by_user", "week")
_DRAWS = 2000  # of days, for the intervals
_FEWEST_DAYS = 7  # full days in each log, for an interval
_NOTABLE = 0.1  # change that the page puts into words
_NAMED = 4  # changes in words

Form = Callable[[float], str]


class Changing(NamedTuple):
    """A measure of both logs: its title, how it is written, and whether it is a share."""

    title: str
    form: Form
    is_share: bool = False


#: Measures of full days; their mean is compared.
BY_DAY = {
    "jobs": Changing("jobs per day", number),
    "users": Changing("active users per day", number),
    "core_hours": Changing("core-hours per day", hours),
    "gpu_hours": Changing("GPU-hours per day", hours),
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
    "hours_of_job": Changing("core-hours of a job, mean", hours),
    "failed": Changing("jobs without a result", share, is_share=True),
    "lost": Changing("core-hours without a result", share, is_share=True),
    "cpu": Changing("CPU efficiency", share, is_share=True),
    "limit": Changing("used part of the requested time", share, is_share=True),
}


@dataclass(frozen=True, eq=False)
class ComparisonReport(Report):
    """Report on two logs, as returned by `compare_two`.

    Parameters
    ----------
    source : Trace
        The second log.
    sections : tuple of Section
    first : Trace
        The log that it is compared with.
    """

    kind: ClassVar[str] = "Comparison of two logs"

    first: Trace

    @property
    def name(self) -> str:
        """Names of the logs."""
        return " and ".join(numbered_names([self.first, self.source]))

    @property
    def title(self) -> str:
        """Title of the page."""
        return self.name

    @property
    def provenance(self) -> dict[str, Any]:
        """Version of workloadkit, the logs in order, and parameters."""
        made = super().provenance
        logs = [provenance(log) for log in (self.first, self.source)]
        known = [{k: v for k, v in log.items() if k not in _NOT_OF_LOG} for log in logs]
        return {
            "workloadkit": made["workloadkit"],
            "log": self.name,
            "sha256": None,
            "logs": known,
            "parameters": made["parameters"],
        }


_NOT_OF_LOG = ("workloadkit", "parameters")


@takes(Compare)
def compare_two(
    first: Trace,
    second: Trace,
    *,
    executor: "Executor | None" = None,
    progress: Progress | None = None,
    settings: Compare | None = None,
    **keywords: Any,
) -> ComparisonReport:
    """Report what changed from one log to another, such as from last month to this month.

    Parameters
    ----------
    first, second : Trace
    executor : Executor, optional
        Computes the measures of both logs at once; by default this process.
    progress : callable, optional
        Called with the numbers of finished and of all logs, and with the next one.
    settings : workloadkit.settings.Compare, optional
        The keywords below as one object.
    {settings}

    Returns
    -------
    ComparisonReport

    Raises
    ------
    ParameterError
    WorkloadError
        If a log has no jobs.

    Examples
    --------
    >>> log = {"submit": [0, 60, 9000], "run": [90, 30, 60], "procs": [4, 1, 2], "user": [1, 2, 1]}
    >>> one = Trace.from_columns(log, name="one")
    >>> found = compare_two(one, one.with_columns(procs=[4, 1, 8]))
    >>> changes = found.to_dict()["changes"]["tables"]["measures"]["rows"]
    >>> [(row["measure"], round(row["change"], 2)) for row in changes if row["measure"] == "procs"]
    [('procs', 0.86)]
    """
    options = Compare.of(settings, keywords)
    for log in (first, second):
        check_trace(log)
        if not log.n_jobs:
            raise WorkloadError(f"{log.name} has no jobs, so it cannot be compared")
    if options.procs is not None:
        first, second = (
            replace(log, header=log.header.with_procs(options.procs)) for log in (first, second)
        )
    names = numbered_names([first, second])
    logs = dict(zip(names, (first, second), strict=True))
    sections = tuple(SECTIONS) if options.profile != "operations" else ()
    tasks = {name: (log, sections) for name, log in logs.items()}
    extracts = each_named(_extract, tasks, executor, progress)
    found = combine({name: extracts[name] for name in names})
    measured = [_Measured(log) for log in (first, second)]
    parts = [_overview(names, measured)]
    if options.profile != "research":
        parts += [_changes(names, measured), _groups(names, measured)]
    parts.append(_distributions(found))
    if options.profile != "operations":
        parts.append(_measures(found))
    parts[0] = replace(parts[0], parameters=options.recorded)
    return ComparisonReport(second, tuple(parts), first)


def _extract(task: tuple[Trace, tuple[str, ...]]) -> ComparedLog:
    return extract(task[0], task[1], _COMPARED)


class _Measured:
    """A log with what is compared."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.inside = trace, trace.within_window()
        self.days = full_days(trace)
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
            "run": (float(jobs["run"].median()), started),
            "procs": (float(jobs.loc[jobs["started"], "procs"].mean()), started),
            "hours_of_job": (float(work.mean()), int(work.notna().sum())),
            "failed": (float(without.mean()) if n_ended else np.nan, n_ended),
            "lost": (float(work[without].sum()) / total if n_ended and total else np.nan, n_ended),
            "cpu": (used["cpu_efficiency"], int(used["cpu_jobs"])),
            "limit": (used["limit_use"], int(used["limit_jobs"])),
        }


def _overview(names: list[str], logs: list[_Measured]) -> Section:
    rows: dict[str, list[str]] = {}
    for log in logs:
        trace, window = log.trace, log.trace.window
        clock = Clock.of(trace)
        ends = [window.begin, window.until]
        begin, until = (
            [f"{day(date)}, {date:%H:%M}" for date in clock.dates(ends)]
            if clock.known
            else [f"second {count(second)}" for second in ends]
        )
        users = np.unique(trace.column("user"))
        cells = {
            "complete from": begin,
            "until": until,
            "window": duration(window.length),
            "full days": count(len(log.days)),
            "jobs in the window": count(log.inside.n_jobs),
            "users": count((users != NO_USER).sum()),
            "processors": count(trace.header.procs or np.nan),
        }
        for title, cell in cells.items():
            rows.setdefault(title, []).append(cell)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=names)
    jobs = [log.inside.n_jobs for log in logs]
    lengths = [log.length for log in logs]
    notes = [
        "Measures are of the window in which each log is complete; changes are those of "
        f"{names[1]} relative to {names[0]}."
    ]
    if max(lengths) > 1.1 * min(lengths):
        notes.append("The windows differ in length, so totals are compared per day.")
    finding = (
        f"{names[0]}: {plural(jobs[0], 'job')} in {duration(DAY * lengths[0])}; {names[1]}: "
        f"{plural(jobs[1], 'job')} in {duration(DAY * lengths[1])}."
    )
    values: dict[str, float] = {"jobs_first": jobs[0], "jobs_second": jobs[1]}
    values |= {"window_first": DAY * lengths[0], "window_second": DAY * lengths[1]}
    caption = "The logs."
    return Section(
        "overview",
        "Overview",
        finding,
        tuple(notes),
        values,
        (Table("logs", caption, table, table),),
    )


def _changes(names: list[str], logs: list[_Measured]) -> Section:
    rows = {name: _by_day(name, logs) for name in BY_DAY}
    of_jobs = [log.of_jobs() for log in logs]
    for name, how in BY_JOB.items():
        (first, n_first), (second, n_second) = (found[name] for found in of_jobs)
        change = _change(first, second, is_share=how.is_share)
        rows[name] = (first, second, change, np.nan, np.nan, n_first, n_second)
    columns = ["first", "second", "change", "low", "high", "n_first", "n_second"]
    data = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    data.index.name = "measure"
    data = data[data[["first", "second"]].notna().all(axis=1)]
    measured = BY_DAY | BY_JOB
    text = pd.DataFrame(
        {
            names[0]: [measured[name].form(x) for name, x in data["first"].items()],
            names[1]: [measured[name].form(x) for name, x in data["second"].items()],
            "change": [_in_words(measured[str(name)], row) for name, row in data.iterrows()],
            "n": [f"{count(a)}, {count(b)}" for a, b in data[["n_first", "n_second"]].to_numpy()],
        },
        index=pd.Index([measured[str(name)].title for name in data.index]),
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
    figures = tuple(
        _daily(name, names, logs) for name in ("jobs", "core_hours") if name in data.index
    )
    return Section(
        "changes",
        "What changed",
        _notable(data),
        tuple(notes),
        tables=(Table("measures", caption, data, text),),
        figures=figures,
    )


def _by_day(name: str, logs: list[_Measured]) -> tuple[float, ...]:
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
        changes = _change(*drawn, is_share=is_share)
        low, high = np.nanpercentile(changes, [2.5, 97.5]).tolist() if first else (low, high)
    return (first, second, _change(first, second, is_share=is_share), low, high, *sizes)


def _change(first: Any, second: Any, *, is_share: bool) -> Any:
    """Return the difference of shares, or the relative change of other measures."""
    if is_share:
        return second - first
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(first == 0, np.nan, np.divide(second - first, first))[()]


def _in_words(how: Changing, row: pd.Series) -> str:
    """Write a change with its sign and interval."""

    def signed(value: float) -> str:
        if how.is_share and not np.isnan(value):
            return f"{100 * value:+.1f} points".replace("-", "−")
        return share(value) if value < 0 or np.isnan(value) else f"+{share(value)}"

    low, high = row["low"], row["high"]
    if np.isnan(low):
        return signed(row["change"])
    ends = (signed(end).removesuffix(" points").removesuffix(" %") for end in (low, high))
    return f"{signed(row['change'])} [{', '.join(ends)}]"


def _notable(data: pd.DataFrame) -> str:
    """Return the largest changes in words."""
    measured = BY_DAY | BY_JOB
    appeared = (data["first"] == 0) & (data["second"] > 0)
    size = data["change"].abs().mask(appeared, np.inf)
    is_sure = ~((data["low"] <= 0) & (data["high"] >= 0))
    chosen = size[(size >= _NOTABLE) & is_sure].sort_values(ascending=False).index[:_NAMED]
    if not len(chosen):
        return f"No measure changed by {share(_NOTABLE)} or more beyond its variation between days."
    said = []
    for name in data.index[data.index.isin(chosen)]:
        how, row = measured[name], data.loc[name]
        values = f"{how.form(row['first'])} to {how.form(row['second'])}"
        change = "" if np.isnan(row["change"]) else f" ({_in_words(how, row)})"
        said.append(f"{how.title} from {values}{change}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _daily(name: str, names: list[str], logs: list[_Measured]) -> Figure:
    series = {n: log.days[name].reset_index(drop=True) for n, log in zip(names, logs, strict=True)}
    data = pd.DataFrame(series)
    data.index = pd.RangeIndex(1, len(data) + 1, name="day")
    title = BY_DAY[name].title
    return Figure(
        f"daily_{name}",
        title[0].upper() + title[1:],
        f"{title[0].upper()}{title[1:]} of each full day of the windows.",
        data,
        partial(plot_days, title=title),
    )


def plot_days(data: pd.DataFrame, ax: Axes | None = None, *, title: str = "jobs per day") -> Axes:
    """Draw a measure of each day of several logs, the first highlighted.

    Parameters
    ----------
    data : DataFrame
        By number of the day, one column per log.
    ax : Axes, optional
        Default: the current Axes.
    title : str, default "jobs per day"
    """
    ax = style.current_axes(ax)
    overlay(data, ax)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("full day of the window")
    ax.set_ylabel(title)
    style.count_axis(ax.yaxis)
    return ax


def _groups(names: list[str], logs: list[_Measured]) -> Section:
    """Compare accounts, users, partitions, queues and QOS."""
    tables, said, notes = [], [], []
    of_one_log = source_of(logs[0].trace) == source_of(logs[1].trace)
    for by in GROUPINGS:
        found = [names_of(log.inside, by) for log in logs]
        if any(each is None for each in found):
            continue
        if not of_one_log and any(_is_numbered(each, by) for each in found):
            notes.append(
                f"No comparison by {by}: the logs have numbers for them, and the numbers of two "
                "logs need not be the same."
            )
            continue
        data = _by_group(by, logs)
        tables.append(_table_by(by, data, names))
        change = data["core_hours_second"].fillna(0) - data["core_hours_first"].fillna(0)
        if len(data) and change.abs().max() > 0:
            top = change.abs().idxmax()
            said.append(
                f"{by if not str(top).startswith(by) else ''} {top} "
                f"{'+' if change[top] > 0 else '−'}{hours(abs(change[top]))}".strip()
            )
    if not tables:
        notes.append("Neither accounts nor users, partitions, queues or QOS can be compared.")
    finding = "No group used more or fewer core-hours per day." if tables else ""
    if said:
        finding = f"Largest changes of core-hours per day: {', '.join(said)}."
    return Section(
        "groups",
        "By account, user, partition, queue and QOS",
        finding,
        tuple(notes),
        tables=tuple(tables),
    )


def _is_numbered(names: Any, by: str) -> bool:
    return all(str(name).startswith(f"{by} ") for name in names.categories)


def _by_group(by: str, logs: list[_Measured]) -> pd.DataFrame:
    """Return hours and jobs per day, and waits, of each group in both logs."""
    sides = []
    for log, side in zip(logs, ("first", "second"), strict=True):
        table = usage(log.inside, by)  # type: ignore[arg-type]
        per_day = table[["core_hours", "jobs"]] / max(log.length, 1 / 24)
        table = per_day.join(table[["waits", "p50", "p90"]])
        sides.append(table.add_suffix(f"_{side}"))
    data = sides[0].join(sides[1], how="outer")
    data.index.name = by
    data["change"] = data["core_hours_second"].fillna(0) - data["core_hours_first"].fillna(0)
    order = data["change"].abs().sort_values(ascending=False, kind="stable").index
    return data.loc[order]


def _table_by(by: str, data: pd.DataFrame, names: list[str]) -> Table:
    pairs = data[[]].copy()
    columns: dict[str, tuple[str, Form]] = {}
    for column, title, form in (
        ("core_hours", "core-hours per day", hours),
        ("jobs", "jobs per day", number),
        ("p50", "wait, median", duration),
        ("p90", "wait, 90th percentile", duration),
    ):
        sides = data[[f"{column}_first", f"{column}_second"]]
        if sides.notna().any(axis=None):
            pairs[column] = [_pair(form, *row) for row in sides.to_numpy()]
            columns[column] = (title, str)
    columns["change"] = ("change of core-hours per day", _signed_hours)
    caption = f"By {by}, {names[0]} → {names[1]}; the largest changes of core-hours per day first."
    shown_table = listed(f"by_{by}", caption, pairs.assign(change=data["change"]), columns)
    return replace(shown_table, data=data)


def _pair(form: Form, first: float, second: float) -> str:
    """Write two values; one sign if both are unknown."""
    texts = form(first), form(second)
    return texts[0] if texts == (UNKNOWN, UNKNOWN) else " → ".join(texts)


def _signed_hours(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{hours(abs(value))}"


def _distributions(found: LogComparison) -> Section:
    data = found.distances.set_index("distribution").drop(columns="log")
    data = data[data["ks"].notna()]
    columns: Columns = {
        "ks": ("K–S distance", number),
        "wasserstein": ("earth mover's distance", number),
        "n_first": (f"n, {found.names[0]}", count),
        "n": (f"n, {found.names[1]}", count),
    }
    text = shown(data, columns)
    text.index = pd.Index([DISTRIBUTIONS[str(name)].title for name in data.index])
    caption = (
        "Distances between the distributions: largest difference of cumulative shares "
        "(Kolmogorov–Smirnov), and earth mover's, in standard deviations of the first log."
    )
    finding = ""
    if len(data) and not data["ks"].any():
        finding = "The distributions are the same."
    elif len(data):
        top = str(data["ks"].idxmax())
        finding = (
            f"The distributions of {DISTRIBUTIONS[top].title} differ most: the cumulative shares "
            f"by up to {share(data.loc[top, 'ks'])}."
        )
    figures = tuple(
        Figure(
            name,
            _upper(DISTRIBUTIONS[name].title),
            f"{_upper(DISTRIBUTIONS[name].title)} in both logs.",
            found.curves[name],
            partial(plot_overlaid, distribution=name),
        )
        for name in _COMPARED
        if name in found.curves
    )
    return Section(
        "distributions",
        "Distributions",
        finding,
        tables=(Table("distances", caption, data, text),),
        figures=figures,
    )


def _upper(title: str) -> str:
    return title[0].upper() + title[1:]


def _measures(found: LogComparison) -> Section:
    """List every measure of both logs."""
    data = found.table.copy()
    data.columns = pd.Index(["first", "second"])
    known = data.notna().all(axis=1)
    data["change"] = _change(data["first"], data["second"], is_share=False)
    columns: Columns = {
        "first": (found.names[0], number),
        "second": (found.names[1], number),
        "change": ("change", _signed_share),
    }
    text = shown(data[known], columns)
    text.index = [str(name).replace("_", " ").replace(".", ": ") for name in data[known].index]
    finding = f"{plural(int(known.sum()), 'measure')} of both logs."
    caption = "Every measure that a characterization computes for both logs; times in seconds."
    return Section(
        "measures",
        "All measures",
        finding,
        tables=(Table("measures", caption, data, text, folded=True),),
    )


def _signed_share(value: float) -> str:
    return f"{'+' if value > 0 else ''}{share(value)}"
