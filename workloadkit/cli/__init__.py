"""The command line: one short file for each command.

A command imports pandas and other large packages when it runs, so that help, completion and wrong
usage answer at once.
"""

import gc
import io
import os
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from workloadkit import __version__
from workloadkit.cli.commands import MORE, Commands
from workloadkit.cli.options import (
    ConfigOption,
    HelpAllOption,
    QuietOption,
    VerboseOption,
    add_command,
)
from workloadkit.cli.output import write_message
from workloadkit.cli.stopping import (
    exit_code,
    ignore_signals,
    report_interrupt,
    stop_at_signals,
)
from workloadkit.io.unfinished_files import (
    StandardOutput,
    StandardOutputError,
    name_errors_of_stdout,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"workloadkit {__version__}")
        raise typer.Exit


def workloadkit(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    config: ConfigOption = None,
    help_all: HelpAllOption = False,
) -> None:
    """Read, characterize and simulate the workloads of parallel systems.

    Logs are files in the Standard Workload Format (SWF), compressed or not; "-" is standard
    input. Without a log, a command takes the built-in sample.
    """


#: Groups, the commands of each, and the topics that explain more. The first command of a group is
#: the one that is needed first. A command is a function of the module of the same name.
_PANELS: dict[str, dict[str, tuple[str, ...]]] = {
    "Describe a log": {
        "characterize": (),
        "compare": (),
        "job": (),
        "sessions": ("methods",),
        "dependencies": (),
    },
    "Import and clean logs": {
        "convert": ("exports", "formats"),
        "traces": (),
        "validate": (),
        "anomalies": ("filters",),
        "outages": (),
        "clean": ("filters",),
        "anonymize": (),
    },
    "Make more logs": {
        "resample": (),
        "shake": (),
        "augment": (),
        "reservations": (),
        "generate": ("models",),
    },
    "Simulate schedulers": {
        "simulate": ("schedulers", "users", "custom"),
        "experiment": (),
        "sweep": ("schedulers", "users", "custom"),
        "metrics": (),
        "check": ("schedulers",),
        "metasystem": ("meta-schedulers", "schedulers"),
        "benchmark": ("schedulers", "meta-schedulers"),
    },
    "Simulate a site with users who react": {"site": ("schedulers",)},
    "Solve models, reproduce results": {
        "queueing": ("queueing-models", "parameters"),
        "crosscheck": ("crosscheck-models", "parameters"),
        "study": ("studies",),
    },
    MORE: {"help": (), "info": ()},
}


def _add(app: typer.Typer, name: str, panel: str) -> None:
    place = "explain" if name == "help" else name
    module = import_module(f"workloadkit.cli.{place}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name, rich_help_panel=panel)
    else:
        add_command(
            app,
            getattr(module, place),
            module.EXAMPLES,
            _PANELS[panel][name],
            name=name,
            panel=panel,
            whole_logs=name == "study",
        )


@cache
def program(*words: str) -> typer.Typer:
    """Return the program; if the first word is a command, the program of this command alone.

    Loading the others takes longer than most commands.
    """
    app = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        # a configuration file may name any command: `obj` returns the program of all
        context_settings={"help_option_names": ["-h", "--help"], "obj": program},
        rich_markup_mode=None,  # plain help reads the same at any width and in a pipe
        pretty_exceptions_enable=False,
    )
    app.callback()(workloadkit)
    panels = {name: panel for panel, commands in _PANELS.items() for name in commands}
    only = words[0] if words and words[0] in panels and words[0] != "help" else None
    for name, panel in panels.items():
        if only in (None, name):
            _add(app, name, panel)
    return app


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return program()


# Objects allocated between two searches for garbage. Most are modules and figures, which stay.
_ALLOCATED = 100_000


def main() -> None:
    """Run the command that the arguments name."""
    try:
        stop_at_signals()
        gc.set_threshold(_ALLOCATED)
        if sys.stdout is None:  # it is closed: writing to it is an error
            nowhere = StandardOutput(os.open(os.devnull, os.O_RDONLY), "w")
            sys.stdout = io.TextIOWrapper(nowhere, write_through=True)
        else:
            name_errors_of_stdout()
        _run()
    except BaseException as end:
        code = exit_code()
        if not code:
            raise
        if not (isinstance(end, SystemExit) and end.code == code):
            report_interrupt()  # by a signal
        _leave(code)
    finally:
        ignore_signals()


def _leave(code: int) -> NoReturn:
    """End the program, without waiting for the compiler or a kernel."""
    kernels = sys.modules.get("workloadkit._kernels.compile")
    if kernels and kernels.is_working():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _run() -> None:
    try:
        program(*sys.argv[1:2])(prog_name="workloadkit")
    except OSError as error:
        if exit_code():
            raise
        what = error.filename
        if isinstance(error, StandardOutputError):
            what = "standard output cannot be written"
            # so that Python can flush the rest at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        write_message(f"error: {what}: {error.strerror}" if what else f"error: {error}")
        sys.exit(1)
