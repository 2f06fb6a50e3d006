"""`workloadkit check`: a schedule compared with its log and policy."""

from pathlib import Path
from typing import Annotated, Any

import typer

from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    show_report,
)
from workloadkit.cli.options import with_settings
from workloadkit.cli.output import progress
from workloadkit.cli.reading import (
    StrictOption,
    load,
)
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
            readable=False,  # the reader reports what is wrong
            help='Log whose jobs were scheduled, as SWF; "-" is standard input.',
        ),
    ],
    schedule: Annotated[
        Path,
        typer.Argument(
            metavar="SCHEDULE",
            show_default=False,
            readable=False,
            help="The same jobs with their waits, as a simulator wrote them, as SWF.",
        ),
    ],
    *,
    settings: Check,
    given: dict[str, Any],
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Check a schedule against its log and policy.

    Shows each rule and whether it is satisfied, with the first counterexample if it is violated,
    unless JSON goes to stdout. The last line is "proved" only if the log and the policy allow no
    other schedule, and "consistent" if they allow others. Give the options of the simulation; if
    none is given, those that the schedule records are used. Exit 1 if a rule is violated.
    """
    import workloadkit as wk

    if str(trace) == str(schedule) == "-":
        raise typer.BadParameter("the log and the schedule cannot both be standard input")
    files = (settings.outages, settings.machine, settings.reservations)
    check_outputs(json=json, inputs=[trace, schedule, settings.state, settings.allocations, *files])
    log, made = load(trace, strict=strict), load(schedule, strict=strict, whole=True)
    with progress(f"checking {made.name}"):
        report = wk.check_schedule(log, made, **given)
    show_report(report, json)
    if not report:
        raise typer.Exit(1)
