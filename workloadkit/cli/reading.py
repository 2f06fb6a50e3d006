"""The logs that commands read: which file, which of its jobs, how much memory they may take."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli import configuration
from workloadkit.cli.commands import CHOICE, RARE
from workloadkit.cli.output import detail, note, progress, write_message
from workloadkit.errors import FormatError, WorkloadError, quoted
from workloadkit.parameters import read_size

if TYPE_CHECKING:
    from workloadkit.trace import Trace

#: What the program and a chunk of a log take, unless very many jobs wait. [bytes]
_LEAST_MEMORY = 1 << 29


def _size(text: str) -> int:
    """Bytes of a limit of the memory."""
    try:
        size = read_size(text)
    except ValueError:
        raise typer.BadParameter(f"{quoted(text)} is not a size; write 512M or 4G.") from None
    if size < _LEAST_MEMORY:
        raise typer.BadParameter(f"{text}: the program and a chunk of a log take up to 512M.")
    return size


WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="EXPR",
        show_default=False,
        autocompletion=configuration.expression,
        rich_help_panel=CHOICE,
        help="Take only the jobs for which EXPR is true, such as 'user=3 and run>2h', see "
        "`workloadkit help where`.",
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="DATE",
        show_default=False,
        rich_help_panel=CHOICE,
        help="Take only jobs submitted at or after DATE: 2024-03, 2024-03-01, 2024-03-01T12:00, or "
        "a time since second 0 of the log such as 2d.",
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="DATE",
        show_default=False,
        rich_help_panel=CHOICE,
        help="Take only jobs submitted before DATE.",
    ),
]

MemoryOption = Annotated[
    int | None,
    typer.Option(
        "--max-memory",
        parser=_size,
        metavar="SIZE",
        show_default=False,
        rich_help_panel=RARE,
        help="Keep the columns of a log in a file, in the folder of temporary files, if a command "
        "may take more memory than SIZE, such as 4G. By default half of the machine's.",
    ),
]


#: The options that choose jobs, of every command that reads a log.
CHOOSING: dict[str, Any] = {"where": WhereOption, "since": SinceOption, "until": UntilOption}

#: All options of every command that reads a log.
READING = CHOOSING | {"max_memory": MemoryOption}


@dataclass
class _Chosen:
    """The values of the options of the command that runs."""

    where: str | None = None
    since: str | None = None
    until: str | None = None
    used: bool = False

    @property
    def given(self) -> list[str]:
        """The options that are given."""
        return [f"--{name}" for name in CHOOSING if getattr(self, name) is not None]


_chosen = _Chosen()


@contextmanager
def reading(
    where: str | None = None,
    since: str | None = None,
    until: str | None = None,
    max_memory: int | None = None,
) -> Iterator[None]:
    """Choose jobs of each log that is read within the context; limit the memory that they take."""
    global _chosen  # as the verbosity, a property of the command that runs
    _chosen = _Chosen(where, since, until)
    from workloadkit.memory import at_most  # it loads numpy, which completion does not need

    try:
        with at_most(max_memory):
            yield
        if _chosen.given and not _chosen.used:
            write_message(f"warning: {', '.join(_chosen.given)}: no log was read, no jobs chosen")
    finally:
        _chosen = _Chosen()


def chooses() -> bool:
    """Whether the options choose jobs."""
    return bool(_chosen.given)


def chosen(log: "Trace") -> "Trace":
    """Return the jobs of a log that the options choose; report their number."""
    _chosen.used = True
    if not _chosen.given:
        return log
    kept = log.where(_chosen.where, since=_chosen.since, until=_chosen.until)
    note(f"{log.name}: jobs chosen {kept.n_jobs:,} of {log.n_jobs:,}")
    return kept


TraceArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="TRACE",
        show_default=False,
        readable=False,  # reading reports what is wrong
        help='Log in SWF; "-" is standard input. It may be compressed: gz, bz2, xz, zst. By '
        "default the built-in sample.",
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict", rich_help_panel=RARE, help="Stop at the first violation of the SWF standard."
    ),
]

BurstsOption = Annotated[
    bool,
    typer.Option(
        "--bursts",
        rich_help_panel=RARE,
        help="Replace each checkpointed job by the bursts in which it ran. By default its summary "
        "line is used.",
    ),
]


def load(trace: Path | None, *, strict: bool, bursts: bool = False, whole: bool = False) -> "Trace":
    """Read the log named on the command line, or the sample; report repairs.

    Returns the jobs that --where, --since and --until choose, or with `whole` all. With `bursts`,
    checkpointed jobs are replaced by their bursts.
    """
    import workloadkit as wk

    if trace is None:
        note("no TRACE given: using the built-in sample")
        return chosen(wk.load_sample())
    with progress(f"reading {trace}"):
        log = _read(trace, strict=strict)
    detail(f"{log.name}: jobs {log.n_jobs:,}, sha256 {log.digest}")
    if log.repairs:
        note(f"{log.name}: repairs made while reading:")
        for repair in log.repairs:
            note(f"  {repair}")
    if not whole:
        log = chosen(log)
    if bursts:
        n_jobs = log.bursts["job"].nunique()
        note(f"{log.name}: checkpointed jobs {n_jobs:,}, replaced by bursts {len(log.bursts):,}")
        log = log.as_bursts()
    return log


def _read(path: Path, *, strict: bool) -> "Trace":
    """Read a log; of a file in another format, report which."""
    from workloadkit.io.files import is_file
    from workloadkit.io.formats import looks_like, read_native
    from workloadkit.io.known_formats import TITLES

    try:
        return read_native(str(path), strict=strict)
    except FormatError:
        # a pipe cannot be read again
        kind = looks_like(path) if is_file(path) else "swf"
        if kind in ("swf", "wkt"):
            raise
        raise WorkloadError(
            f"{path} is {TITLES[kind]}; convert it first: workloadkit convert {path} -o LOG.swf"
        ) from None
