"""The command line: one short file a command.

What a command needs of pandas and the like it imports when it runs, so that help, completion and
wrong usage answer at once.
"""

import io
import os
import sys
from textwrap import indent
from typing import Annotated

import typer

from workloadkit import __version__
from workloadkit.cli import (
    anomalies,
    augment,
    characterize,
    check,
    clean,
    convert,
    crosscheck,
    dependencies,
    experiment,
    generate,
    outages,
    queueing,
    resample,
    sessions,
    shake,
    simulate,
    site,
    study,
    sweep,
    validate,
)
from workloadkit.cli.common import Commands, say
from workloadkit.cli.queueing_parameters import FORMS
from workloadkit.cli.schedulers import SCHEDULERS
from workloadkit.cli.stopping import exit_code, say_stopped, stop_at_signals
from workloadkit.cli.users import USERS

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # plain help reads the same at any width and in a pipe
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"workloadkit {__version__}")
        raise typer.Exit


@app.callback()
def workloadkit(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Read, characterise and simulate the workloads of parallel systems.

    Logs are files of the Standard Workload Format (SWF), compressed or not. A command that is
    given no log takes the built-in sample; "-" is standard input.
    """


def _paragraph(heading: str, text: str) -> str:
    r"""Lay out lines that stay as they are: \b says so, for each stretch without a blank line."""
    return f"\b\n{heading}\n" + indent(text.strip(), "  ").replace("\n\n", "\n\n\b\n")


for command, examples in (
    (convert.convert, convert.EXAMPLES),
    (characterize.characterize, characterize.EXAMPLES),
    (validate.validate, validate.EXAMPLES),
    (sessions.sessions, sessions.EXAMPLES),
    (dependencies.dependencies, dependencies.EXAMPLES),
    (resample.resample, resample.EXAMPLES),
    (augment.augment, augment.EXAMPLES),
    (shake.shake, shake.EXAMPLES),
    (outages.outages, outages.EXAMPLES),
    (simulate.simulate, simulate.EXAMPLES),
    (site.site, site.EXAMPLES),
    (check.check, check.EXAMPLES),
    (anomalies.anomalies, anomalies.EXAMPLES),
    (clean.clean, clean.EXAMPLES),
    (generate.generate, generate.EXAMPLES),
    (sweep.sweep, sweep.EXAMPLES),
    (queueing.queueing, queueing.EXAMPLES),
    (crosscheck.crosscheck, crosscheck.EXAMPLES),
    (study.study, study.EXAMPLES),
):
    epilog = _paragraph("Examples:", examples)
    if command is simulate.simulate:
        lists = (_paragraph("Schedulers:", SCHEDULERS), _paragraph("Users:", USERS))
        epilog = "\n\n".join((*lists, epilog))
    elif command is generate.generate:
        epilog = _paragraph("Models:", generate.MODELS) + "\n\n" + epilog
    elif command is convert.convert:
        epilog = "\n\n".join((_paragraph("Exports:", convert.EXPORTS), epilog))
    elif command in (queueing.queueing, crosscheck.crosscheck):
        models = (queueing if command is queueing.queueing else crosscheck).MODELS
        lists = (_paragraph("Models:", models), _paragraph("Parameters:", FORMS))
        epilog = "\n\n".join((*lists, epilog))
    app.command(epilog=epilog)(command)
app.add_typer(experiment.app, name="experiment")


def main() -> None:
    """Run the command that the arguments name."""
    stop_at_signals()
    if sys.stdout is None:  # it is closed: whoever writes to it is told so
        nowhere = io.FileIO(os.open(os.devnull, os.O_RDONLY), "w")
        sys.stdout = io.TextIOWrapper(nowhere, write_through=True)
    try:
        _run()
    except BaseException as end:
        code = exit_code()
        if not code:
            raise
        if not (isinstance(end, SystemExit) and end.code == code):
            say_stopped()  # by a signal, whatever came of it
        sys.exit(code)


def _run() -> None:
    try:
        app(prog_name="workloadkit")
    except OSError as error:  # of standard output: files say for themselves what is wrong
        if exit_code():
            raise
        say(f"error: standard output cannot be written: {error.strerror}")
        # what is left in it has nowhere to go when Python flushes it at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
