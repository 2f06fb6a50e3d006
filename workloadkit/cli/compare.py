"""`workloadkit compare`: what changed from one log to another."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.commands import RARE
from workloadkit.cli.common import (
    JsonOption,
    StrictOption,
    check_outputs,
    load,
    output_option,
    write,
    write_json,
)
from workloadkit.cli.executors import executor, usable_processors
from workloadkit.cli.messages import note, progress
from workloadkit.cli.options import with_settings
from workloadkit.errors import plural
from workloadkit.settings import Compare

EXAMPLES = """
workloadkit compare february.swf.gz march.swf.gz -o march.html
workloadkit compare a.swf b.swf --where account=bio --json - | jq .changes
workloadkit compare log.swf.gz resampled.swf.gz --profile full
"""

_MOST = 2  # processes by default: one for each log


@with_settings()
def compare(
    first: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            show_default=False,
            readable=False,  # reading reports what is wrong
            help='The log that the other is compared with, such as last month, as SWF; "-" is '
            "standard input.",
        ),
    ],
    second: Annotated[
        Path,
        typer.Argument(
            metavar="B",
            show_default=False,
            readable=False,
            help="The log whose changes are reported, such as this month, as SWF.",
        ),
    ],
    output: Annotated[
        Path | None,
        output_option(
            "the report, one HTML page,",
            "By default comparison.html, or no page with --json alone.",
        ),
    ] = None,
    json: JsonOption = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default=False,
            help="Write every table of the report to DIR as CSV, with all of its rows.",
        ),
    ] = None,
    *,
    settings: Compare,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            rich_help_panel=RARE,
            help=f"Number of processes. By default one for each processor, at most {_MOST}.",
        ),
    ] = None,
    strict: StrictOption = False,
) -> None:
    """Write a report on what changed from log A to log B.

    It compares load, waits, failed work and efficiency, each account, user, partition, queue and
    QOS, and the distributions of the jobs. Choose the jobs of both logs with --where.
    """
    if str(first) == str(second) == "-":
        raise typer.BadParameter("the logs cannot both be standard input")
    if output is None and json is None:
        output = Path("comparison.html")
    check_outputs(output, json, inputs=[first, second])
    workers = workers or min(usable_processors(), _MOST)
    with executor(workers, loaded="analysis.logs.report") as pool:
        import analysis

        before, after = load(first, strict=strict), load(second, strict=strict)
        with progress(f"comparing {before.name} and {after.name}") as count:
            report = analysis.compare_two(
                before, after, executor=pool, progress=count, settings=settings
            )
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
