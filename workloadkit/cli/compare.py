"""`workloadkit compare`: what changed from one log to another, or at a date of one log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
)
from workloadkit.cli.options import with_settings
from workloadkit.cli.output import progress
from workloadkit.cli.reading import (
    StrictOption,
    load,
)
from workloadkit.cli.reports import TablesOption, page_option, processes_option, write_report
from workloadkit.settings import Compare

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from workloadkit.analysis.page import Report

EXAMPLES = """
workloadkit compare february.swf.gz march.swf.gz -o march.html
workloadkit compare log.swf.gz --at 2024-03-01 --since 2024-02 --until 2024-04
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
        Path | None,
        typer.Argument(
            metavar="B",
            show_default=False,
            readable=False,
            help="The log whose changes are reported, such as this month, as SWF.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            show_default=False,
            help="Without B: compare the jobs of A submitted before DATE with those from DATE on. "
            "DATE is written as for --since.",
        ),
    ] = None,
    output: Annotated[Path | None, page_option("comparison.html")] = None,
    json: JsonOption = None,
    tables: TablesOption = None,
    *,
    settings: Compare,
    workers: Annotated[int | None, processes_option(_MOST)] = None,
    strict: StrictOption = False,
) -> None:
    """Report what changed between two logs, or at a date.

    It compares load, waits, failed work and efficiency, each account, user, partition, queue and
    QOS, and the distributions of the jobs. Choose the jobs of both logs with --where.
    """
    if (second is None) == (at is None):
        raise typer.BadParameter(
            "give a second log B, or the date at which A is split with --at DATE"
            + (", not both" if at else "")
        )
    if str(first) == str(second) == "-":
        raise typer.BadParameter("the logs cannot both be standard input")
    if output is None and json is None:
        output = Path("comparison.html")
    check_outputs(page=output, json=json, inputs=[first, second])

    def make(pool: "Executor | None") -> "Report":
        from workloadkit import analysis

        logs = [load(path, strict=strict) for path in (first, second) if path is not None]
        with progress(f"comparing {' and '.join(log.name for log in logs)}") as count:
            return analysis.compare_two(
                *logs, at=at, executor=pool, progress=count, settings=settings
            )

    module = "workloadkit.analysis.logs.report"
    write_report(make, module, workers, _MOST, output=output, json=json, tables=tables)
