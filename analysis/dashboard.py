"""The first screen of a report: key numbers, and a log in pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workloadkit import metrics
from workloadkit.analysis.dashboard_figures import Place, jobs_figure, load_figure, places_of
from workloadkit.analysis.finding import FEWEST_JOBS
from workloadkit.analysis.formats import count, duration, number, printable, share, with_interval
from workloadkit.analysis.load.cycles import DAY_NAMES, weekly_cycle
from workloadkit.analysis.load.over_time import summarize_load, waits_known
from workloadkit.analysis.operations.accounting import (
    accounted_executions,
    accounted_jobs,
    hours_unit,
)
from workloadkit.analysis.operations.parts import groupings, hours, kind
from workloadkit.analysis.operations.tables import usage
from workloadkit.analysis.section import Figure, Section, in_words_of, shown
from workloadkit.clock import DAY, WEEK
from workloadkit.errors import plural
from workloadkit.executions import OUTCOMES, WITHOUT_RESULT
from workloadkit.trace import Trace
from workloadkit.units import words_of
from workloadkit.user_classes import LONG_TERM

_HOUR = 3600
_FEWEST_OF_CELL = 5  # jobs of a median
_LARGEST = 6  # accounts or users
_LONGEST_NAME = 28
_TIMES = {
    "≤ 1 min": 60,
    "1–10 min": 600,
    "10–60 min": _HOUR,
    "1–4 h": 4 * _HOUR,
    "4–12 h": 12 * _HOUR,
    "12–24 h": DAY,
    "> 1 d": np.inf,
}


class KeyNumber(NamedTuple):
    """A number, what it means in a few words, and its interval if it has one."""

    value: str
    meaning: str
    interval: str = ""


class Cell(NamedTuple):
    """A cell of a heat map: its text, what it shows in words, and its share of the largest."""

    text: str
    words: str
    heat: float


class HeatMap(NamedTuple):
    """A heat map, with its rows by name."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


class Bar(NamedTuple):
    """A bar: its name, the filled share and its text."""

    name: str
    share: float
    text: str


class Bars(NamedTuple):
    """Shares that add up, or the largest of them."""

    title: str
    bars: tuple[Bar, ...]
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Dashboard:
    """What the first screen of a report shows.

    Parameters
    ----------
    numbers : tuple of KeyNumber
    figures : tuple of Figure
    maps : tuple of HeatMap
    bars : tuple of Bars
    missing : tuple of str
        What is not shown, and what it needs, in sentences.
    jobs : DataFrame of str, optional
        The jobs of a log with few, by job.
    places : mapping of str to Place
        Of figures, maps and bars, by title: the place of the log among those of the archive.
    """

    numbers: tuple[KeyNumber, ...]
    figures: tuple[Figure, ...]
    maps: tuple[HeatMap, ...]
    bars: tuple[Bars, ...]
    missing: tuple[str, ...] = ()
    jobs: pd.DataFrame | None = None
    places: Mapping[str, Place] = field(default_factory=dict)


def dashboard(trace: Trace, seen: Trace, sections: Sequence[Section]) -> Dashboard:
    """Return the first screen of the report on a log.

    Parameters
    ----------
    trace, seen : Trace
        The log, and as it is seen in the unit of the report.
    sections : sequence of Section
        Of the report; some of their numbers have intervals.

    Examples
    --------
    >>> log = {"submit": [0, 60], "wait": [0, 9], "run": [3600, 60], "procs": [4, 1]}
    >>> log = Trace.from_columns(log | {"user": [3, 7]})
    >>> shown = dashboard(log, log, ())
    >>> shown.numbers[0].value, [figure.title for figure in shown.figures]
    ('2', ['The jobs'])
    >>> shown.bars[0].bars[0].name
    'user 3'
    """
    few = trace.n_jobs < FEWEST_JOBS
    figures: list[Figure] = []
    maps: list[HeatMap] = []
    missing: list[str] = []
    if few:
        figures.append(jobs_figure(trace))
        missing.append(
            f"{plural(trace.n_jobs, 'job')}: waits by size and time, and the week, "
            f"need {FEWEST_JOBS} jobs or more."
        )
    elif not seen.ran.any():
        missing.append("Load and waits need jobs with known run times and processors.")
    elif seen.window.length > 0:
        drawn = Section("load", "Load", figures=(load_figure(seen),))
        figures += in_words_of(drawn, seen).figures
    if not few:
        maps += filter(None, (_week(trace), _waits(seen)))
        if trace.window.length < WEEK:
            missing.append("The week needs a log of 7 days or more.")
        if trace.ran.any() and not waits_known(trace):
            missing.append("Waits need known wait times.")
    bars = tuple(filter(None, (_used(seen), *_outcomes(trace))))
    titles = [part.title for kind in (figures, maps, bars) for part in kind]
    return Dashboard(
        tuple(_numbers(trace, seen, sections)),
        tuple(figures),
        tuple(maps),
        bars,
        tuple(missing),
        _jobs(trace) if few else None,
        places_of(trace, titles) if seen.counting is None else {},
    )


def _numbers(trace: Trace, seen: Trace, sections: Sequence[Section]) -> Iterator[KeyNumber]:
    values: dict[str, Any] = {}
    for section in sections:
        values |= section.values if section.name in ("cycles", "users") else {}
    noun = "jobs" if trace.n_jobs > 1 else "job"
    yield KeyNumber(count(trace.n_jobs), f"{noun} in the log")
    users = trace.column("user")
    if n_users := pd.unique(users[users >= 0]).size:
        yield KeyNumber(count(n_users), "users who submitted them" if n_users > 1 else "user")
    load = summarize_load(seen)
    words = words_of(seen)
    machine = f"of {count(seen.header.procs)} {words.many}" if seen.header.procs else ""
    if load["utilization"] is not None:
        yield KeyNumber(share(load["utilization"]), f"{machine} in use")
    if load["offered_load"] is not None:
        yield KeyNumber(share(load["offered_load"]), f"{machine} offered")
    jobs = accounted_jobs(trace)
    waits = jobs["wait"].dropna().to_numpy()
    if waits.size >= FEWEST_JOBS:
        yield KeyNumber(_short(metrics.percentile(waits, 50)), "median wait")
        yield KeyNumber(_short(metrics.percentile(waits, 90)), "wait that 90 % stay below")
    runs = jobs["run"].dropna().to_numpy()
    if runs.size:
        yield KeyNumber(_short(metrics.percentile(runs, 50)), "median run time")
    sizes = accounted_jobs(seen)["procs"].dropna().to_numpy()
    if sizes.size:
        yield KeyNumber(number(metrics.percentile(sizes, 50)), f"{words.many} of the median job")
    if (gpu_hours := float(jobs["gpu_hours"].sum())) > 0:
        yield KeyNumber(hours(gpu_hours), "GPU-hours used")
    shares = [("day_share", "submitted 7:30 to 17:30")]
    if trace.window.length > LONG_TERM:  # otherwise no user can be long-term
        shares.append(("long_term_jobs_share", "of jobs by long-term users"))
    for name, meaning in shares:
        if trace.n_jobs >= FEWEST_JOBS and (value := values.get(name)) is not None:
            text = with_interval(value, values[f"{name}_low"], values[f"{name}_high"])
            yield KeyNumber(share(value), meaning, text.removeprefix(share(value)).strip())


def _jobs(trace: Trace) -> pd.DataFrame:
    """Return the jobs as formatted cells."""
    forms = {
        "user": ("user", lambda x: count(x) if x >= 0 else "–"),
        "submit": ("submitted at", duration),
        "wait": ("wait", duration),
        "run": ("run time", duration),
        "requested_time": ("requested time", duration),
    }
    table = trace.jobs.set_index(trace.column("job"))
    table = table.assign(submit=table["submit"] - table["submit"].min())
    text = shown(table[[*forms]].astype(np.float64), forms)
    text.insert(1, "processors", [count(x) if x > 0 else "–" for x in trace.used_procs])
    return text


def _week(trace: Trace) -> HeatMap | None:
    """Return the arrivals by hour of the week."""
    if trace.window.length < WEEK:
        return None
    week = weekly_cycle(trace)
    zone, rate = week.attrs["zone"], week["rate"].to_numpy().reshape(7, 24)
    names = [name[:3] for name in DAY_NAMES] if zone else [f"day {i}" for i in range(1, 8)]
    most = float(np.nanmax(rate)) or 1.0
    rows = tuple(
        (
            name,
            tuple(
                Cell("", f"{name} {hour}:00: {number(value)} jobs per hour", _heat(value / most))
                for hour, value in enumerate(rates.tolist())
            ),
        )
        for name, rates in zip(names, rate, strict=True)
    )
    day, hour = divmod(int(np.nanargmax(rate)), 24)
    busiest = f"{number(most)} on {names[day]} at {hour}:00"
    caption = f"Jobs submitted per hour, {zone or 'since second 0'}; at most {busiest}."
    columns = tuple(f"{hour}" if hour % 6 == 0 else "" for hour in range(24))
    return HeatMap("The week", caption, columns, rows)


def _waits(trace: Trace) -> HeatMap | None:
    """Return the median wait by size and requested time, or run time if none is requested."""
    jobs = accounted_jobs(trace)
    time = trace.column("requested_time")
    asked = not np.isnan(time).all()
    table = pd.DataFrame(
        {
            "wait": jobs["wait"].to_numpy(),
            "time": time if asked else jobs["run"].to_numpy(),
            "procs": jobs["procs"].to_numpy(),
        }
    ).dropna()
    if table.empty:
        return None
    table["row"] = np.searchsorted([*_TIMES.values()], table["time"], side="left")
    sizes = np.ceil(np.log2(np.maximum(table["procs"], 1)))
    step = 1 + int(sizes.max()) // 5  # at most five columns
    table["column"] = (sizes // step).astype(int)
    cells = table.groupby(["row", "column"])["wait"].agg(["size", "median"])
    cells = cells[cells["size"] >= _FEWEST_OF_CELL]
    if cells.empty:
        return None
    most = np.log1p(max(float(cells["median"].max()), 1))
    unit = words_of(trace).many
    columns = sorted({column for _, column in cells.index})
    names = {c: _sizes(c * step - 1, (c + 1) * step - 1) for c in columns}
    rows = []
    for row in sorted({row for row, _ in cells.index}):
        name = [*_TIMES][row]
        of_row = []
        for column in columns:
            if (row, column) not in cells.index:
                of_row.append(Cell("", f"fewer than {_FEWEST_OF_CELL} jobs", 0.0))
                continue
            wait, n = float(cells["median"][row, column]), int(cells["size"][row, column])
            words = f"{name}, {names[column]} {unit}: median wait {duration(wait)} of {n:,} jobs"
            of_row.append(Cell(_short(wait), words, _heat(np.log1p(wait) / most)))
        rows.append((name, tuple(of_row)))
    what = "requested time" if asked else "run time"
    caption = f"Median wait by {what} (rows) and {unit} (columns)."
    return HeatMap("Waits", caption, tuple(names.values()), tuple(rows))


def _sizes(above: int, most: int) -> str:
    """Return the numbers of processors above one power of two, up to another."""
    least = 2**above + 1 if above >= 0 else 1
    return count(least) if least == 2**most else f"{count(least)}–{count(2**most)}"


def _short(seconds: float) -> str:
    """Return a time in one unit."""
    for unit, of in (("d", DAY), ("h", _HOUR), ("min", 60)):
        if seconds >= of:
            return f"{number(float(f'{seconds / of:.2g}'))} {unit}"
    return f"{seconds:.0f} s"


def _heat(value: float) -> float:
    return 0.0 if value != value else round(min(max(value, 0.0), 1.0), 3)


def _used(trace: Trace) -> Bars | None:
    """Return who used the machine: the accounts or users of most hours."""
    by = next(iter(groupings(trace)), None)
    if by is None:
        return None
    table = usage(trace, by)
    unit = hours_unit(trace)
    parts = table["core_share"].fillna(0)
    if not parts.any():
        return None
    named = _LARGEST if len(parts) > _LARGEST + 1 else len(parts)
    bars = [
        Bar(printable(str(name), _LONGEST_NAME), float(part), share(part))
        for name, part in parts.head(named).items()
    ]
    if rest := len(parts) - named:
        part = float(parts.iloc[named:].sum())
        bars.append(Bar(f"{rest:,} others", part, share(part)))
    return Bars(f"Who used it: {unit} by {kind(by)}", tuple(bars))


def _outcomes(trace: Trace) -> Iterator[Bars]:
    """Yield what became of the core-hours, and of the GPU-hours if there are any."""
    executions = accounted_executions(trace)
    if (executions["outcome"] == "unknown").all():
        return
    groups = executions.groupby("outcome", observed=False)
    for column, unit in (("core_hours", hours_unit(trace)), ("gpu_hours", "GPU-hours")):
        total = groups[column].sum().reindex(OUTCOMES).fillna(0.0)
        if not total.sum() > 0:
            continue
        found = (total / total.sum())[total > 0].sort_values(ascending=False, kind="stable")
        bars = [Bar(str(name), float(part), share(part)) for name, part in found.items()]
        lost = float(found[found.index.isin(WITHOUT_RESULT)].sum())
        caption = f"Without a result ({', '.join(WITHOUT_RESULT)}): {share(lost)}."
        yield Bars(f"Outcome of the {unit}", tuple(bars), caption)
