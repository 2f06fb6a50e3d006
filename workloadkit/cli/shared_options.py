"""The options of every command: how much it reports, its defaults, its whole help."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from workloadkit.cli import choosing
from workloadkit.cli.commands import SHARED, Command, show_whole_help
from workloadkit.cli.configuration import configure
from workloadkit.cli.messages import set_verbosity
from workloadkit.errors import ParameterError


def _report_less(ctx: typer.Context, quiet: bool) -> bool:
    return _report(ctx, "quiet", given=quiet)


def _report_more(ctx: typer.Context, verbose: bool) -> bool:
    return _report(ctx, "verbose", given=verbose)


def _report(ctx: typer.Context, name: str, *, given: bool) -> bool:
    """Set how much is reported, by options of the program or of its command."""
    chosen: set[str] = ctx.meta.setdefault("workloadkit.verbosity", set())
    if given:
        chosen.add(name)
    if len(chosen) > 1:
        raise ParameterError("--quiet and --verbose exclude each other")
    set_verbosity(quiet="quiet" in chosen, verbose="verbose" in chosen)
    return given


QuietOption = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        callback=_report_less,
        is_eager=True,
        rich_help_panel=SHARED,
        help="Report errors and warnings only: no notes, no progress.",
    ),
]
VerboseOption = Annotated[
    bool,
    typer.Option(
        "-v",
        "--verbose",
        callback=_report_more,
        is_eager=True,
        rich_help_panel=SHARED,
        help="Report versions, the digest of each log, and how long each step takes.",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.toml",
        readable=False,
        callback=configure,
        is_eager=True,
        show_default=False,
        rich_help_panel=SHARED,
        help="Defaults of options, see `workloadkit help config`. By default config.toml in the "
        "user's configuration folder.",
    ),
]
HelpAllOption = Annotated[
    bool,
    typer.Option(
        "--help-all",
        callback=show_whole_help,
        is_eager=True,
        rich_help_panel=SHARED,
        help="Show this command's help in full, and exit.",
    ),
]

_SHARED: dict[str, tuple[Any, Any]] = {
    "quiet": (QuietOption, False),
    "verbose": (VerboseOption, False),
    "config": (ConfigOption, None),
    "help_all": (HelpAllOption, False),
}


def with_shared_options(command: Callable[..., None], *, chooses: bool) -> Callable[..., None]:
    """Give a command the options of every command, and those that choose jobs of its logs."""
    own = signature(command)
    added = dict.fromkeys(choosing.OPTIONS if chooses else ())
    options = {name: (choosing.OPTIONS[name], None) for name in added} | _SHARED
    parameters = [
        *own.parameters.values(),
        *(
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=option)
            for name, (option, default) in options.items()
        ),
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        with choosing.choosing(**{name: given[name] for name in added}):
            command(**{name: value for name, value in given.items() if name not in options})

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def add_command(
    app: typer.Typer,
    command: Callable[..., None],
    examples: str,
    topics: tuple[str, ...] = (),
    *,
    name: str | None = None,
    panel: str | None = None,
    whole_logs: bool = False,
) -> None:
    """Add a command to the program, with its examples and the topics that explain more.

    A command that reads logs, and may be strict about them, may choose jobs of them, unless it
    requires whole logs.
    """
    chooses = "strict" in signature(command).parameters and not whole_logs
    run: Any = with_shared_options(command, chooses=chooses)
    run.examples, run.topics = examples, (*topics, *["where"] * chooses)
    app.command(name, cls=Command, rich_help_panel=panel)(run)
