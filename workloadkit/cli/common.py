"""What the commands share: arguments, durations, reading and writing, messages, workers."""

import json
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from workloadkit.errors import (
    FormatError,
    ParameterError,
    WorkloadError,
    WorkloadWarning,
    printable,
)
from workloadkit.parameters import read_duration

if TYPE_CHECKING:
    from workloadkit.trace import Trace


def duration(text: str) -> float:
    """Seconds of a duration such as 90, 90s, 20min, 1.5h, 2d or 1w.

    Examples
    --------
    >>> duration("90"), duration("20min"), duration("1.5h")
    (90.0, 1200.0, 5400.0)
    """
    with suppress(ValueError):
        if (seconds := read_duration(text)) < inf:
            return seconds
    raise typer.BadParameter(f"{text!r} is not a duration; write 90 or 90s, 20min, 1.5h, 2d or 1w.")


TraceArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="TRACE",
        show_default=False,
        readable=False,  # reading says what is wrong
        help='Log in the Standard Workload Format, plain, gz, bz2, xz or zst; "-" is standard '
        "input. By default the built-in sample.",
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="Take the first departure from the standard for an error."),
]
JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", readable=False, help='Write JSON to this file; "-" is stdout.'
    ),
]


NoPauseOption = Annotated[
    bool,
    typer.Option(
        "--no-pause",
        help="Resampled long-term users who react begin again at once when they have done.",
    ),
]


def output_option(what: str, more: str = "", *, metavar: str = "FILE") -> Any:
    """Return the option that names the file to which something is written."""
    text = f'Write {what} to this file; "-" is stdout. {more}'.rstrip()
    return typer.Option("-o", metavar=metavar, show_default=False, help=text)


def figure_option(what: str) -> Any:
    """Return the option that names the file of a figure."""
    text = f"Draw {what}, as SVG, PNG or PDF by the file's name."
    return typer.Option(callback=_figure_file, metavar="FILE", show_default=False, help=text)


def _figure_file(path: Path | None) -> Path | None:
    """Refuse the name of a figure's file before anything is done."""
    if path and path.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise typer.BadParameter(f"{path}: a figure is written as .svg, .png or .pdf")
    return path


BurstsOption = Annotated[
    bool,
    typer.Option(
        "--bursts",
        help="Take checkpointed jobs as the bursts in which they ran, each a job of its own, to "
        "study the system. By default as the line that sums them up.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(min=0, metavar="S", help="Seed of all that is random. By default a new one."),
]


class Commands(typer.core.TyperGroup):
    """The commands; warnings and the toolkit's errors become one line each on stderr."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; exit 1 if the input is at fault, 2 for wrong usage."""
        with warnings.catch_warnings():
            warn_in_one_line()
            try:
                return super().invoke(ctx)
            except WorkloadError as error:
                say(f"error: {error}")
                raise typer.Exit(2 if isinstance(error, ParameterError) else 1) from None
            except KeyboardInterrupt:
                from workloadkit.cli.stopping import exit_code, say_stopped

                say_stopped()
                raise typer.Exit(exit_code() or 130) from None


def say(message: str) -> None:
    """Tell the user something that is not the result: one line on stderr."""
    typer.echo(printable(message), err=True)


@contextmanager
def working(on: str) -> Iterator[None]:
    """Show on a terminal that something is being done."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(f"{on} …")):
        yield


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how much is done and how long the rest will take.

    Yields
    ------
    callable
        To be called with how many are done, and of how many.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = [*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def load(trace: Path | None, *, strict: bool, bursts: bool = False) -> "Trace":
    """Read the log that the user named, or the sample; say what was repaired.

    With `bursts`, checkpointed jobs stand as their bursts.
    """
    import workloadkit as wk

    if trace is None:
        say("no TRACE named: the built-in sample")
        return wk.load_sample()
    with working(f"reading {trace}"):
        log = _read(trace, strict=strict)
    if log.repairs:
        say(f"{log.name}: repaired in reading:")
        for repair in log.repairs:
            say(f"  {repair}")
    if bursts:
        n_jobs = log.bursts["job"].nunique()
        say(f"{log.name}: checkpointed jobs {n_jobs:,}, taken as bursts {len(log.bursts):,}")
        log = log.as_bursts()
    return log


def _read(path: Path, *, strict: bool) -> "Trace":
    """Read a log; say what a file is that is none."""
    import workloadkit as wk
    from workloadkit.io.formats import looks_like
    from workloadkit.io.known_formats import TITLES

    try:
        return wk.read_swf(str(path), strict=strict)
    except FormatError:
        is_file = path.is_file()  # what was read of anything else is gone
        kind = looks_like(path) if is_file else "swf"
        if kind == "swf":
            raise
        raise WorkloadError(
            f"{path} is {TITLES[kind]}: make a log of it by `workloadkit convert {path} -o LOG.swf`"
        ) from None


def check_outputs(*targets: Path | None, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse what is seen to go wrong before anything is read.

    These are two results for one file or for stdout, files in folders that are not there or of
    suffixes that are not written, and results that would take the place of an input.
    """
    from workloadkit.io.files import check_suffix

    named = [str(target) for target in targets if target]
    places = [target if target == "-" else os.path.realpath(target) for target in named]
    for target, place in zip(named, places, strict=True):
        if places.count(place) > 1:
            where = "stdout" if target == "-" else target
            raise typer.BadParameter(f"two results cannot both go to {where}")
        check_suffix(target)
        if not Path(target).parent.is_dir():
            raise WorkloadError(f"{target}: cannot be written: No such file or directory")
        for source in inputs:
            if source and _same_file(source, target):
                raise ParameterError(
                    f"{target}: is the input {source}, which is not written over; name another file"
                )


def _same_file(source: Path, target: str) -> bool:
    """Whether a result would take the place of an input; of devices and pipes none does."""
    with suppress(OSError):  # reading says what is wrong with an input, writing with a target
        if target == "-" or not Path(target).is_file():
            return False
        return Path("/dev/stdin" if str(source) == "-" else source).samefile(target)
    return False


def aligned(rows: Sequence[Sequence[str]], *, words: Collection[int] = ()) -> str:
    """Lay out lines of cells in columns: at the right, those that hold words at the left.

    Examples
    --------
    >>> print(aligned([["N", "X"], ["10", "0.98"]]))
     N     X
    10  0.98
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def place(column: int, cell: str) -> str:
        return (cell.ljust if column in words else cell.rjust)(widths[column])

    return "\n".join(
        "  ".join(place(i, cell) for i, cell in enumerate(row)).rstrip() for row in rows
    )


def write(target: Path, text: str) -> None:
    """Write a result whole or not at all, to stdout for "-"; say so if it is a file."""
    from workloadkit.io.files import write_text

    write_text(target, text)
    if str(target) != "-":
        say(f"wrote {target}")


def write_log(log: "Trace", output: Path, summary: str = "") -> None:
    """Write a log, to stdout for "-"; say which files that made, and a summary of it."""
    from workloadkit.io.swf import write_swf

    say_written(output, write_swf(log, str(output)), summary)


def say_written(output: Path, beside: Path | None, summary: str = "") -> None:
    """Say which files were written, a log and its side-car, and a summary of it."""
    files = f"wrote {output}" + (f" and {beside}" if beside else "")
    parts = [files] * (str(output) != "-") + [summary] * bool(summary)
    if parts:
        say(": ".join(parts))


def write_json(target: Path, data: Any) -> None:
    """Write `data` as JSON, whole or not at all, to stdout for "-"."""
    write(target, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def warn_in_one_line() -> None:
    """Show the toolkit's own warnings as a line each, once; leave all others to Python."""
    otherwise, said = warnings.showwarning, set()

    def show(message: Any, category: Any, *where: Any, **more: Any) -> None:
        if not issubclass(category, WorkloadWarning):
            otherwise(message, category, *where, **more)
        elif (text := str(message)) not in said:
            said.add(text)
            say(f"warning: {text}")

    warnings.simplefilter("always", WorkloadWarning)
    warnings.showwarning = show
