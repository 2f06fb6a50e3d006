"""`workloadkit characterize`: a report on a log."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.commands import RARE
from workloadkit.cli.common import (
    BurstsOption,
    JsonOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    load,
    output_option,
    write,
    write_json,
)
from workloadkit.cli.executors import executor, usable_processors
from workloadkit.cli.messages import progress
from workloadkit.cli.options import procs_option

EXAMPLES = """
workloadkit characterize log.swf.gz -o report.html
workloadkit characterize log.swf.gz --json - | jq .load
"""


_MOST = 4  # processes by default; each takes memory


def characterize(
    trace: TraceArgument = None,
    output: Annotated[
        Path | None,
        output_option(
            "the report, one HTML page,",
            "By default report.html, or no page with --json alone.",
        ),
    ] = None,
    json: JsonOption = None,
    bursts: BurstsOption = False,
    procs: Annotated[int | None, procs_option()] = None,
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
    """Write a report on what is in a log.

    It covers load and cycles, users, marginal distributions, estimates, waits, sessions and
    batches, reactions, locality, long-range dependence, and repairs made while reading.
    """
    if output is None and json is None:
        output = Path("report.html")
    check_outputs(output, json, inputs=[trace])
    workers = workers or min(usable_processors(), _MOST)
    with executor(workers, loaded="analysis.report") as pool:
        import analysis

        log = load(trace, strict=strict, bursts=bursts)
        if procs is not None:
            log = replace(log, header=log.header.with_procs(procs))
        with progress(f"characterizing {log.name}") as count:
            report = analysis.characterize(log, executor=pool, progress=count)
        page = ""
        if output:
            with progress(f"drawing the figures of {log.name}") as count:
                page = report.to_html(executor=pool, progress=count)
    if output:
        write(output, page)
    if json:
        write_json(json, report.to_dict())
