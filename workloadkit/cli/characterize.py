"""`workloadkit characterize`: what is in a log."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    BurstsOption,
    JsonOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    load,
    working,
    write,
    write_json,
)

EXAMPLES = """
workloadkit characterize log.swf.gz -o report.html
workloadkit characterize log.swf.gz --json - | jq .load
"""


def characterize(
    trace: TraceArgument = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="FILE",
            show_default=False,
            help='Write the report, one HTML page, to this file; "-" is stdout. By default '
            "report.html, or no page if only --json is given.",
        ),
    ] = None,
    json: JsonOption = None,
    bursts: BurstsOption = False,
    procs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="P",
            show_default=False,
            help="Processors of the machine. By default the header's MaxProcs, else MaxNodes.",
        ),
    ] = None,
    strict: StrictOption = False,
) -> None:
    """Show what is in a log.

    The report tells of its load and cycles, users, marginals, estimates, sessions and batches, and
    of what was repaired in reading it.
    """
    import analysis

    if output is None and json is None:
        output = Path("report.html")
    check_outputs(output, json, inputs=[trace])
    log = load(trace, strict=strict, bursts=bursts)
    if procs is not None:
        log = replace(log, header=log.header.with_procs(procs))
    with working(f"characterising {log.name}"):
        report = analysis.characterize(log)
        page = report.to_html() if output else ""
    if output:
        write(output, page)
    if json:
        write_json(json, report.to_dict())
