"""`workloadkit check`: whether a schedule is what it claims to be."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    StrictOption,
    check_outputs,
    load,
    working,
    write_json,
)
from workloadkit.cli.options import with_settings
from workloadkit.settings import Check

EXAMPLES = """
workloadkit check log.swf.gz easy.swf.gz --policy easy
workloadkit check log.swf.gz other.swf --procs 128 --oversize drop
"""


@with_settings()
def check(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE",
            show_default=False,
            readable=False,  # reading says what is wrong
            help='Log whose jobs were scheduled, as SWF; "-" is standard input.',
        ),
    ],
    schedule: Annotated[
        Path,
        typer.Argument(
            metavar="SCHEDULE",
            show_default=False,
            readable=False,
            help="Its jobs as some simulator wrote them, with their waits, as SWF.",
        ),
    ],
    *,
    asked: Check,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Prove or refute a schedule of a log's jobs.

    Shows each claim and whether it holds, refuted ones with the first counterexample, unless JSON
    goes to stdout. The last line says proved only where the log and the policy leave no other
    schedule; consistent, where others would pass, too. The options say what was simulated. Exit 1
    if anything is refuted.
    """
    import workloadkit as wk

    if str(trace) == str(schedule) == "-":
        raise typer.BadParameter("the log and the schedule cannot both be standard input")
    check_outputs(json, inputs=[trace, schedule, asked.outages])
    log, given = load(trace, strict=strict), load(schedule, strict=strict)
    with working(f"checking {given.name}"):
        report = wk.check_schedule(log, given, asked)
    if json:
        write_json(json, report.to_dict())
    if str(json) != "-":
        typer.echo(str(report))
    if not report:
        raise typer.Exit(1)
