"""The command line: one short file for each command.

A command imports pandas and other large packages when it runs, so that help, completion and wrong
usage answer at once.
"""

import gc
import io
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from workloadkit import __version__
from workloadkit.cli import (
    anomalies,
    augment,
    characterize,
    check,
    clean,
    compare,
    convert,
    crosscheck,
    dependencies,
    experiment,
    explain,
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
from workloadkit.cli.commands import Commands
from workloadkit.cli.messages import write_message
from workloadkit.cli.shared_options import (
    ConfigOption,
    QuietOption,
    VerboseOption,
    add_command,
)
from workloadkit.cli.stopping import exit_code, report_interrupt, stop_at_signals

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
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    config: ConfigOption = None,
) -> None:
    """Read, characterize and simulate the workloads of parallel systems.

    Logs are files in the Standard Workload Format (SWF), compressed or not; "-" is standard
    input. Without a log, a command takes the built-in sample.
    """


#: Headings, with the commands under each, their examples, and the topics that explain more.
_PANELS: dict[str, tuple[tuple[Callable[..., None], str, tuple[str, ...]], ...]] = {
    "Logs": (
        (convert.convert, convert.EXAMPLES, ("exports", "formats")),
        (validate.validate, validate.EXAMPLES, ()),
        (anomalies.anomalies, anomalies.EXAMPLES, ("filters",)),
        (outages.outages, outages.EXAMPLES, ()),
        (clean.clean, clean.EXAMPLES, ("filters",)),
    ),
    "What is in a log": (
        (characterize.characterize, characterize.EXAMPLES, ()),
        (compare.compare, compare.EXAMPLES, ()),
        (sessions.sessions, sessions.EXAMPLES, ("methods",)),
        (dependencies.dependencies, dependencies.EXAMPLES, ()),
    ),
    "New logs": (
        (resample.resample, resample.EXAMPLES, ()),
        (shake.shake, shake.EXAMPLES, ()),
        (augment.augment, augment.EXAMPLES, ()),
        (generate.generate, generate.EXAMPLES, ("models",)),
    ),
    "Simulation": (
        (simulate.simulate, simulate.EXAMPLES, ("schedulers", "users", "custom")),
        (site.site, site.EXAMPLES, ("schedulers",)),
        (sweep.sweep, sweep.EXAMPLES, ("schedulers", "users", "custom")),
        (check.check, check.EXAMPLES, ("schedulers",)),
    ),
    "Theory": (
        (queueing.queueing, queueing.EXAMPLES, ("queueing-models", "parameters")),
        (crosscheck.crosscheck, crosscheck.EXAMPLES, ("crosscheck-models", "parameters")),
    ),
    "Published studies": ((study.study, study.EXAMPLES, ("studies",)),),
}

for panel, commands in _PANELS.items():
    for command, examples, topics in commands:
        whole_logs = command is study.study
        add_command(app, command, examples, topics, panel=panel, whole_logs=whole_logs)
add_command(experiment.app, experiment.run, experiment.RUN_EXAMPLES, ("custom",), whole_logs=True)
add_command(experiment.app, experiment.merge, experiment.MERGE_EXAMPLES)
app.add_typer(experiment.app, name="experiment", rich_help_panel="Simulation")
add_command(app, explain.explain, explain.EXAMPLES, name="help", panel="Help")


# Objects allocated between two searches for garbage. Most are modules and figures, which stay.
_ALLOCATED = 100_000


def main() -> None:
    """Run the command that the arguments name."""
    stop_at_signals()
    gc.set_threshold(_ALLOCATED)
    if sys.stdout is None:  # it is closed: writing to it is an error
        nowhere = io.FileIO(os.open(os.devnull, os.O_RDONLY), "w")
        sys.stdout = io.TextIOWrapper(nowhere, write_through=True)
    try:
        _run()
    except BaseException as end:
        code = exit_code()
        if not code:
            raise
        if not (isinstance(end, SystemExit) and end.code == code):
            report_interrupt()  # by a signal
        sys.exit(code)


def _run() -> None:
    try:
        app(prog_name="workloadkit")
    except OSError as error:  # of standard output: other files are named in their errors
        if exit_code():
            raise
        write_message(f"error: standard output cannot be written: {error.strerror}")
        # so that Python can flush the rest at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
