"""What a command reports next to its result: notes, warnings, details, and progress."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import typer

from workloadkit.errors import WorkloadWarning, printable

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
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Show on a terminal how much is done and how long the rest will take.

    Yields
    ------
    callable
        To be called with how many are done, and of how many; also with what comes next, if the
        parts have names. Until it is called, the time that has passed is shown.
    """
    begin = monotonic()
    if _is_quiet or not sys.stderr.isatty():
        yield lambda done, total, following="": None
    else:
        with _bar(what) as update:
            yield update
    detail(f"{what}: {monotonic() - begin:.1f} s")


@contextmanager
def _bar(what: str) -> Iterator[Callable[..., None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    from workloadkit._kernels.object_code import reports

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

        def compiling() -> None:
            bar.update(task, description=f"{printable(what)}: compiling, once on this machine")

        def update(done: int, total: int, following: str = "") -> None:
            text = f"{what}: {following}" if following else what
            bar.update(task, completed=done, total=total, description=printable(text))

        reports.append(compiling)
        try:
            yield update
        finally:
            reports.remove(compiling)


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
