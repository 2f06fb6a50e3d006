"""Report on two logs: what changed from the first to the second."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from workloadkit.analysis.formats import count, day, duration, number, share, signed_share, upper
from workloadkit.analysis.logs.changes import (
    MeasuredLog,
    change_of,
    changes_section,
    groups_section,
    notable,
    without_days,
)
from workloadkit.analysis.logs.comparison import (
    SECTIONS,
    ComparedLog,
    LogComparison,
    combine,
    extract,
    numbered_names,
)
from workloadkit.analysis.logs.distributions import DISTRIBUTIONS, plot_overlaid
from workloadkit.analysis.page import Progress, Report, each_named
from workloadkit.analysis.schedules.gantt_charts import MOST_BARS, plot_schedule
from workloadkit.analysis.schedules.measures import queue_length
from workloadkit.analysis.section import Columns, Figure, Section, Table, in_words_of, shown
from workloadkit.clock import DAY, Clock
from workloadkit.distinct import distinct
from workloadkit.errors import ParameterError, WorkloadError, WorkloadWarning, plural
from workloadkit.fields import UNKNOWN as NO_USER
from workloadkit.provenance import provenance
from workloadkit.select.parser import limit_of
from workloadkit.settings import Compare
from workloadkit.settings.setting import takes
from workloadkit.simulation import Schedule, simulate
from workloadkit.trace import Trace, check_trace
from workloadkit.units import in_known_unit

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from matplotlib.axes import Axes

_COMPARED = ("wait", "run", "procs", "estimate", "inter_arrival", "jobs_by_user", "week")


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
    def headlines(self) -> tuple[tuple[str, str, str], ...]:
        """The changes that matter, for a terminal: each with its direction, and of groups."""
        found = []
        for section in self.sections:
            changes = notable(section.tables[0].data) if section.name == "changes" else []
            found += [(way, f"{upper(title)}: {values}", "") for way, title, values in changes]
            if not changes and section.name in ("changes", "groups", "distributions"):
                found.append(("", section.finding, ""))
        return tuple(one for one in found if one[1])

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
    second: Trace | None = None,
    *,
    at: object = None,
    executor: "Executor | None" = None,
    progress: Progress | None = None,
    settings: Compare | None = None,
    **keywords: Any,
) -> ComparisonReport:
    """Report what changed from one log to another, such as from last month to this month.

    Parameters
    ----------
    first : Trace
    second : Trace, optional
        By default the jobs of the first log from `at` on.
    at : str or date, optional
        Without a second log: the jobs of the first log submitted before this date are compared with
        those submitted from it on. It is written as for `Trace.where`, such as 2024-03-01.
    executor : Executor, optional
        Computes the measures of both logs at once; by default this process.
    progress : callable, optional
        Called with the numbers of finished and of all logs, and with the next one.
    settings : workloadkit.settings.Compare, optional
        The keywords below as one object.
    {settings}

    Raises
    ------
    ParameterError
        Also unless either a second log or a date is given.
    WorkloadError
        If a log has no jobs, or none on one side of the date.

    Examples
    --------
    >>> log = {"submit": [0, 60, 9000], "run": [90, 30, 60], "procs": [4, 1, 2], "user": [1, 2, 1]}
    >>> one = Trace.from_columns(log, name="one")
    >>> compare_two(one, at="1h").name
    'one before 1h and one from 1h'
    >>> found = compare_two(one, one.with_columns(procs=[4, 1, 8]))
    >>> changes = found.to_dict()["changes"]["tables"]["measures"]["rows"]
    >>> [(row["measure"], round(row["change"], 2)) for row in changes if row["measure"] == "procs"]
    [('procs', 0.86)]
    """
    options = Compare.of(settings, keywords)
    check_trace(first)
    if (second is None) == (at is None):
        given = "neither is given" if second is None else "both are given"
        raise ParameterError(f"second, or at, a date that splits the first log: {given}")
    if second is None:
        first, second = _split(first, at)
    for log in (first, second):
        check_trace(log)
        if not log.n_jobs:
            raise WorkloadError(f"{log.name} has no jobs, so it cannot be compared")
    first, second = (in_known_unit(log, options.unit) for log in (first, second))
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
    measured = [MeasuredLog(log) for log in (first, second)]
    parts = [_overview(names, measured)]
    if options.profile != "research":
        parts += [changes_section(names, measured), groups_section(names, measured)]
    parts.append(_distributions(found))
    parts.append(_schedules(logs))
    if options.profile != "operations":
        parts.append(_measures(found))
    parts[0] = replace(parts[0], parameters=options.recorded)
    if first.counting is not None:
        counted = (f"{name}: {log.counting}" for name, log in logs.items())
        parts[0] = replace(parts[0], notes=(*parts[0].notes, *counted))
    return ComparisonReport(second, tuple(in_words_of(one, first) for one in parts), first)


def _split(log: Trace, at: object) -> tuple[Trace, Trace]:
    """Return the jobs of a log submitted before a date, and from it on."""
    limit_of(log, "at", at)  # names it in an error
    before, after = log.where(until=at), log.where(since=at)
    return (
        replace(before, name=f"{log.name} before {at}"),
        replace(after, name=f"{log.name} from {at}"),
    )


def _extract(task: tuple[Trace, tuple[str, ...]]) -> ComparedLog:
    return extract(task[0], task[1], _COMPARED)


def _overview(names: list[str], logs: list[MeasuredLog]) -> Section:
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
        users = distinct(trace.column("user"))
        cells = {
            "complete from": begin,
            "until": until,
            "window": duration(window.length),
            "full days": count(len(log.days)),
            "jobs in the window": count(log.inside.n_jobs),
            "users": count((users != NO_USER).sum() or np.nan),
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
    if max(lengths) > 1.1 * min(lengths) and not without_days(names, logs):
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


def _schedules(logs: Mapping[str, Trace]) -> Section:
    """Draw the recorded schedule of each log in its busiest week."""
    figures: list[Figure] = []
    notes, longest = [], []
    for place, (name, log) in enumerate(logs.items(), 1):
        try:
            if not (log.ran & (log.column("wait") >= 0)).any():
                raise WorkloadError("waits are unknown")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WorkloadWarning)  # the log's, not this report's
                schedule = simulate(log, "recorded", oversize="drop")
        except WorkloadError as error:
            notes.append(f"{name} is not drawn: {error}.")
            continue
        longest.append(f"{name}: {int(queue_length(schedule)['waiting'].max()):,}")
        caption = (
            "The week with the longest queue: processors (the lowest free ones are assumed), "
            f"waiting jobs and utilization. Of more than {MOST_BARS:,} jobs, the share of the "
            "time in which processors are in use is drawn."
        )
        plot = partial(_plot_schedule, schedule)
        data = pd.DataFrame()
        figures.append(Figure(f"schedule-{place}", name, caption, data, plot, caption, wide=True))
    finding = f"The longest queue in jobs: {'; '.join(longest)}." if longest else ""
    return Section("schedules", "Schedules", finding, tuple(notes), figures=tuple(figures))


def _plot_schedule(schedule: Schedule, data: pd.DataFrame, ax: "Axes | None" = None) -> "Axes":
    return plot_schedule(schedule, ax)[0]


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
            upper(DISTRIBUTIONS[name].title),
            f"{upper(DISTRIBUTIONS[name].title)} in both logs.",
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


def _measures(found: LogComparison) -> Section:
    """List every measure of both logs."""
    data = found.table.copy()
    data.columns = pd.Index(["first", "second"])
    known = data.notna().all(axis=1)
    data["change"] = change_of(data["first"], data["second"], is_share=False)
    columns: Columns = {
        "first": (found.names[0], number),
        "second": (found.names[1], number),
        "change": ("change", signed_share),
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
