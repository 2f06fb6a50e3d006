"""The options that choose jobs, of every command that reads a log."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli import configuration
from workloadkit.cli.commands import CHOICE
from workloadkit.cli.output import note, write_message

if TYPE_CHECKING:
    from workloadkit.trace import Trace

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

OPTIONS: dict[str, Any] = {"where": WhereOption, "since": SinceOption, "until": UntilOption}


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
        return [f"--{name}" for name in OPTIONS if getattr(self, name) is not None]


_chosen = _Chosen()


@contextmanager
def choosing(
    where: str | None = None, since: str | None = None, until: str | None = None
) -> Iterator[None]:
    """Choose these jobs of each log that is read within the context."""
    global _chosen  # as the verbosity, a property of the command that runs
    _chosen = _Chosen(where, since, until)
    try:
        yield
        if _chosen.given and not _chosen.used:
            write_message(f"warning: {', '.join(_chosen.given)}: no log was read, no jobs chosen")
    finally:
        _chosen = _Chosen()


def chosen(log: "Trace") -> "Trace":
    """Return the jobs of a log that the options choose; report their number."""
    _chosen.used = True
    if not _chosen.given:
        return log
    kept = log.where(_chosen.where, since=_chosen.since, until=_chosen.until)
    note(f"{log.name}: jobs chosen {kept.n_jobs:,} of {log.n_jobs:,}")
    return kept
