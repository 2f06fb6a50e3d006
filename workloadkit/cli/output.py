"""What a command reports: notes, warnings, progress, and the tables of sweeps and experiments."""

import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from textwrap import fill
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from workloadkit._kernels.notices import notices, watching
from workloadkit.errors import WorkloadWarning, printable

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from workloadkit.experiments.results import Results


_MINUTE = 60.0  # [s]
_WIDTH = 80

_is_quiet = False
_is_verbose = False


def set_verbosity(*, quiet: bool, verbose: bool) -> None:
    """Set how much is reported: without notes and progress, or with details."""
    global _is_quiet, _is_verbose
    _is_quiet, _is_verbose = quiet, verbose


def write_message(message: str) -> None:
    """Write one line to stderr, also with --quiet: an error or a warning."""
    typer.echo(printable(message), err=True)


def note(message: str) -> None:
    """Write one line to stderr, unless --quiet."""
    if not _is_quiet:
        write_message(message)


def detail(message: str | Callable[[], str]) -> None:
    """Write one line to stderr with --verbose; a function makes it only then."""
    if _is_verbose:
        write_message(message if isinstance(message, str) else message())


def warn_in_one_line() -> None:
    """Show the toolkit's own warnings as a line each, once; leave all others to Python."""
    otherwise, shown = warnings.showwarning, set()

    def show(message: Any, category: Any, *where: Any, **more: Any) -> None:
        if not issubclass(category, WorkloadWarning):
            otherwise(message, category, *where, **more)
        elif (text := str(message)) not in shown:
            shown.add(text)
            write_message(f"warning: {text}")

    warnings.simplefilter("always", WorkloadWarning)
    warnings.showwarning = show


@contextmanager
def noted_once() -> Iterator[None]:
    """Write a note, once, when something starts that takes time once on a machine."""
    written: set[str] = set()

    def write(line: str) -> None:
        if line not in written:
            written.add(line)
            note(line)

    notices.append(write)
    try:
        yield
    finally:
        notices.remove(write)


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Show how much is done and how long the rest will take.

    On a terminal there is a bar, elsewhere a line each minute.

    Yields
    ------
    callable
        To be called with how many are done, and of how many; also with what comes next, if the
        parts have names. Until it is called, the time that has passed is shown.
    """
    begin = monotonic()
    if _is_quiet:
        yield lambda done, total, following="": None
    elif sys.stderr.isatty():
        with _bar(what) as update:
            yield update
    else:
        yield partial(_write_each_minute, what, [begin, begin])
    detail(f"{what}: {monotonic() - begin:.1f} s")


@contextmanager
def watched(update: Callable[..., None]) -> Iterator[None]:
    """Let a simulation report how many of its jobs have started."""
    watching.append(update)
    try:
        yield
    finally:
        watching.remove(update)


def _write_each_minute(
    what: str, times: list[float], done: int, total: int, following: str = ""
) -> None:
    """Write a line if the last one is a minute old; `times` are those of the begin and of it."""
    now, (begin, last) = monotonic(), times
    if now - last >= _MINUTE:
        times[1] = now
        left = (now - begin) / done * (total - done) if done else None
        after = "" if left is None else f", {_clock(left)} left"
        write_message(f"{what}: {following or f'{done:,} of {total:,}{after}'}")


@contextmanager
def _bar(what: str) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Counts(ProgressColumn):
        """How many are done, and the time left; else the time that has passed."""

        def render(self, task: Task) -> Text:
            if not task.total:
                return Text(_clock(task.elapsed))
            left = "" if task.time_remaining is None else f", {_clock(task.time_remaining)} left"
            return Text(f"{task.completed:,.0f} of {task.total:,.0f}{left}")

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(20), Counts())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(what), total=None)

        def update(done: int, total: int, following: str = "") -> None:
            text = f"{what}: {following}" if following else what
            bar.update(task, completed=done, total=total, description=printable(text))

        yield update


def _clock(seconds: float | None) -> str:
    """Write a time as hours, minutes and seconds.

    Examples
    --------
    >>> _clock(75.2), _clock(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(int(seconds or 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# The tables of sweeps and experiments on a terminal.

#: The row of the log itself, below that of the means over its redrawn weeks.
OF_LOG = "the log"

#: Why the log itself may lie outside an interval.
_WHY = (
    "They are of means over redrawn weeks; a single workload varies more, and its weeks follow "
    "each other in its own order: see docs/explanation/resampling.md"
)

#: What the table of a page shows.
MEANS = (
    "Means of the runs, with intervals; times in seconds. The log itself (of_log) is a single "
    "workload, which varies more than a mean and may lie outside its interval."
)

#: Names of at most so many characters are not broken.
_NAME = 24

#: How a measure is written, and its name in the table.
Column = tuple[Callable[[float], str], str]


def warn_of_calibration(results: "Results") -> None:
    """Warn of each log and reading whose recorded service no scheduler reproduces."""
    from workloadkit.analysis.calibration import all_failed

    places: dict[str, dict[str, Any]] = {}
    for one in results.calibration:
        place = ", reading ".join(filter(None, (one["log"], one["reading"])))
        places.setdefault(place, {})[one["scheduler"]] = one
    for place, calibrations in places.items():
        if said := all_failed(calibrations):
            write_message(f"warning: {place}: {said}")


def warn_of_resampled_waits(results: "Results") -> None:
    """Warn if logs resampled by their users, who do not react, wait far longer than the log.

    The smallest factor of the users at which they do is named.
    """
    from workloadkit.analysis.formats import duration, number
    from workloadkit.simulation.schedule.calibration import MUCH

    if results.load_title != "users factor":
        return
    table = results.table
    reacting = "users" in results.provenance.get("parameters", {})
    if "mean_wait" not in results.metrics or reacting:
        return
    for one in results.calibration:
        alone = one["simulated_mean_wait"]
        same = table["scheduler"] == one["scheduler"]
        for axis, name in (("log", one["log"]), ("reading", one["reading"]), ("users", "open")):
            same &= table[axis] == name if axis in table else True
        far = table[same & (table["mean_wait"] > MUCH * alone)] if alone > 0 else table[:0]
        if len(far):
            factor, wait = min(zip(far["load"].fillna(1), far["mean_wait"], strict=True))
            write_message(
                f"warning: mean wait under {one['scheduler']} is {duration(wait)} in logs "
                f"resampled with users factor {factor:g}, {number(wait / alone)} times the "
                f"{duration(alone)} in "
                f"{one['log']} itself: users drawn independently overload some weeks, and do not "
                "hold back while they wait. Compare with --users fluid, who react, or with "
                "redrawn weeks (load_by arrivals)"
            )


def report_precision(
    results: "Results", precision: float, most: int, baseline: str | None = None
) -> None:
    """Report after how many runs an experiment with a precision stopped, and what it reached."""
    from workloadkit.experiments.stopping import relative_width

    runs, width = results.runs["run"].nunique(), relative_width(results, baseline)
    several = results.runs["scheduler"].nunique() > 1
    its = f"{baseline or results.runs['scheduler'].iloc[0]}'s mean" if several else "the mean"
    what = f"the widest interval is within {100 * width:.2g} % of {its}"
    if width <= precision:
        note(f"stopped after {runs:,} of at most {most:,} runs: {what}")
    else:
        write_message(
            f"warning: stopped after {runs:,} runs, the most: {what}, not {100 * precision:.3g} %"
        )


def print_all(results: "Results", baseline: str | None) -> None:
    """Print the means, the differences from a baseline, and whether the log itself is outside."""
    if any(results.table[f"{name}_low"].notna().any() for name in results.metrics):
        percent = f"{100 * results.confidence:g} %"
        _print_folded(f"in brackets: {percent} confidence intervals, from independent runs")
    print_results(results)
    tables = [(results.table, name) for name in results.metrics]
    if baseline is not None:
        print_comparison(results, baseline)
        tables += [(results.compare(name, baseline), "difference") for name in results.metrics]
    if not results.of_log:
        return
    rows = [(row, name) for table, name in tables for row in table.to_dict("records")]
    outside = [
        not row[f"{name}_low"] <= row[f"{name}_of_log"] <= row[f"{name}_high"]
        for row, name in rows
        if not math.isnan(row[f"{name}_of_log"]) and not math.isnan(row[f"{name}_low"])
    ]
    if any(outside):
        where = f"the log: outside {sum(outside):,} of {len(outside):,} intervals."
        _print_folded(f"{where} {_WHY}")


def _print_folded(text: str) -> None:
    """Print a sentence in lines that a narrow terminal does not break."""
    from rich.console import Console

    typer.echo(fill(text, min(_WIDTH, Console().width)))


def print_results(results: "Results") -> None:
    """Print the means."""
    from workloadkit.analysis.formats import metric, metric_title

    columns = {metric_title(name): (partial(metric, name), name) for name in results.metrics}
    _print(results.table, results, columns)


def print_comparison(results: "Results", baseline: str) -> None:
    """Print the differences of the other schedulers from one of them, run by run."""
    from workloadkit.analysis.formats import metric_difference, metric_title, number

    for name in results.metrics:
        difference = f"{metric_title(name)}, difference from {baseline}"
        columns: dict[str, Column] = {difference: (partial(metric_difference, name), "difference")}
        columns["ratio"] = (number, "ratio")
        _print(results.compare(name, baseline), results, columns)


def _print(table: "pd.DataFrame", results: "Results", columns: Mapping[str, Column]) -> None:
    """Print the table of each log, users and reading, with a heading if there are several."""
    load = results.load_title.removeprefix("offered ")
    table = table.rename(columns={"load": load})
    shown = [load, "scheduler"] if table[load].notna().any() else ["scheduler"]
    outer = [axis for axis in results.axes if axis not in ("load", "scheduler")]
    several = [axis for axis in outer if table[axis].nunique() > 1]
    if not several:
        _print_one(table, shown, columns)
        return
    for place, part in table.groupby(several, sort=False):
        names = (f"{axis} {name}" for axis, name in zip(several, place, strict=True))
        typer.echo(", ".join(names))
        _print_one(part, shown, columns)


def _print_one(table: "pd.DataFrame", axes: Sequence[str], columns: Mapping[str, Column]) -> None:
    """Print a table, or one for each column if it is too wide, or lines on a narrow terminal."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()

    def fits(laid_out: "Table") -> bool:
        options = console.options.update(max_width=1000)
        return Measurement.get(console, options, laid_out).maximum <= console.width

    whole = _laid_out(table, axes, columns)
    if fits(whole):
        console.print(whole)
        return
    for title, column in columns.items():
        one = _laid_out(table, axes, {title: column})
        if not fits(one):
            one = _laid_out(table, axes, {title: column}, title_width=22)
        if _least_width(one) <= console.width:
            console.print(one)
        else:
            typer.echo(_in_lines(one, title, console.width))


def _least_width(table: "Table") -> int:
    """Return the width below which cells are cut, or words that are not long names broken."""
    width = 1
    for column in table.columns:
        lines = [line for cell in (column.header, *column.cells) for line in str(cell).splitlines()]
        words = lines if column.no_wrap else [word for line in lines for word in line.split()]
        longest = max(map(len, words))
        width += 2 + (longest if column.no_wrap else min(longest, _NAME))
    return width


def _in_lines(table: "Table", title: str, width: int) -> str:
    """Return a table of one measure as text, a line for each row."""
    lines = [fill(title, width)]
    for *places, cell in zip(*(column.cells for column in table.columns), strict=True):
        named = [
            f"{column.header} {place}" if column.justify == "right" else place
            for column, place in zip(table.columns, places, strict=False)
            if place
        ]
        whole = str(cell).replace(" ", "\N{NO-BREAK SPACE}").replace("\N{NO-BREAK SPACE}[", " [")
        row = f"{', '.join(named)}: {whole}"
        lines.append(fill(row, width, initial_indent="  ", subsequent_indent="      "))
    return "\n".join([*lines, ""]).replace("\N{NO-BREAK SPACE}", " ")


def _laid_out(
    table: "pd.DataFrame",
    axes: Sequence[str],
    columns: Mapping[str, Column],
    title_width: int = 1000,
) -> "Table":
    """Lay out a table: a row for each group of runs; a second if runs saturate, of the others."""
    from rich import box
    from rich.table import Table

    from workloadkit.analysis.formats import of_runs

    laid_out = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for axis in axes:
        longest = max(len(_place(name)) for name in table[axis])
        laid_out.add_column(
            fill(axis, title_width // 2),
            justify="left" if axis == "scheduler" else "right",
            overflow="fold",
            no_wrap=longest <= _NAME,
        )
    saturates = bool((table["saturated"] > 0).any())
    if saturates:
        laid_out.add_column("runs", overflow="fold")
    for title in columns:
        laid_out.add_column(fill(title, title_width), justify="right", no_wrap=len(columns) == 1)
    for row in table.to_dict("records"):
        places = [_place(row[axis]) for axis in axes]
        saturated = int(row["saturated"]) if row["saturated"] > 0 else 0
        runs, others = of_runs(row["runs"], saturated)
        cells = (_interval(write, name, row) for write, name in columns.values())
        laid_out.add_row(*places, *([runs] if saturates else []), *cells)
        if saturated:
            cells = (_interval(write, f"{name}_others", row) for write, name in columns.values())
            laid_out.add_row(*places, others, *cells)
        if any(not math.isnan(row.get(f"{name}_of_log", math.nan)) for _, name in columns.values()):
            cells = (write(row[f"{name}_of_log"]) for write, name in columns.values())
            laid_out.add_row(*[""] * (len(axes) - 1), OF_LOG, *[""] * saturates, *cells)
    return laid_out


def _place(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "the log's" if value is None or math.isnan(value) else f"{value:g}"


def _interval(write: Callable[[float], str], name: str, row: dict[str, Any]) -> str:
    """Return a value with its interval, if there is one."""
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return write(value) + ("" if math.isnan(low) else f" [{write(low)}, {write(high)}]")
