"""What the commands that write a report share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.commands import RARE
from workloadkit.cli.common import (
    output_option,
    write,
    write_json,
)
from workloadkit.cli.executors import executor, usable_processors
from workloadkit.cli.output import note, progress, write_message
from workloadkit.errors import plural

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from workloadkit.analysis.page import Report

TablesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        show_default=False,
        help="Write every table of the report to DIR as CSV, with all of its rows.",
    ),
]


def page_option(name: str) -> Any:
    """Return the option that names the page, by default `name`."""
    return output_option(
        "the report, one HTML page,", f"By default {name}, or no page with --json alone."
    )


def processes_option(most: int) -> Any:
    """Return the option with the number of processes, by default at most `most`."""
    return typer.Option(
        min=1,
        metavar="N",
        show_default=False,
        rich_help_panel=RARE,
        help=f"Number of processes. By default one for each processor, at most {most}.",
    )


def write_report(
    make: Callable[["Executor | None"], "Report"],
    module: str,
    workers: int | None,
    most: int,
    *,
    output: Path | None,
    json: Path | None,
    tables: Path | None,
    dask: str | None = None,
) -> None:
    """Make a report, write its page, tables and JSON, and print what matters most.

    It is not printed if the page or the JSON is written to standard output.

    Parameters
    ----------
    make : callable
        ``make(executor)`` returns the report.
    module : str
        Each process imports it at its start.
    workers : int or None
        Number of processes; None for one for each processor, at most `most`.
    output, json, tables : path or None
        What is written: the page, the JSON, and the folder of the tables.
    dask : str, optional
        Address of a scheduler; its workers make the report.
    """
    n_processes = workers or (1 if dask else min(usable_processors(), most))
    with executor(n_processes, dask=dask, loaded=module) as pool:
        report = make(pool)
        page = ""
        if output:
            with progress("drawing the figures") as count:
                page = report.to_html(executor=pool, progress=count)
    if tables:
        n = len(report.save_tables(tables))
        note(f"wrote {plural(n, 'table')} to {tables}")
    if output:
        write(output, page)
    if json:
        write_json(json, report.to_dict())
    for words in report.warnings:
        write_message(f"warning: {report.name}: {words[0].lower()}{words[1:].rstrip('.')}")
    if report.headlines and not any(str(target) == "-" for target in (output, json)):
        typer.echo(str(report))
