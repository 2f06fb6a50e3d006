"""`workloadkit characterize`: a report on a log."""

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
from workloadkit.cli.messages import note, progress
from workloadkit.cli.options import with_settings
from workloadkit.errors import plural
from workloadkit.settings import Characterize

EXAMPLES = """
workloadkit characterize log.swf.gz -o report.html
workloadkit characterize log.swf.gz --json - | jq .load
workloadkit characterize site.swf.gz --procs 4096 --tables tables
"""


_MOST = 4  # processes by default; each takes memory


@with_settings()
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
    tables: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default=False,
            help="Write every table of the report to DIR as CSV, with all of its rows.",
        ),
    ] = None,
    *,
    settings: Characterize,
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

    Of imported accounting it answers a site's questions, with findings ranked by their effect: work
    without a result, waits and their causes, efficiency, hours by user and account, fair-share,
    the size of the machine. Of other logs it covers load and cycles, users, distributions,
    sessions, reactions, locality and long-range dependence.
    """
    if output is None and json is None:
        output = Path("report.html")
    check_outputs(output, json, inputs=[trace])
    workers = workers or min(usable_processors(), _MOST)
    with executor(workers, loaded="analysis.report") as pool:
        import analysis

        log = load(trace, strict=strict, bursts=bursts)
        with progress(f"characterizing {log.name}") as count:
            report = analysis.characterize(log, executor=pool, progress=count, settings=settings)
        page = ""
        if output:
            with progress(f"drawing the figures of {log.name}") as count:
                page = report.to_html(executor=pool, progress=count)
    if tables:
        n = len(report.save_tables(tables))
        note(f"wrote {plural(n, 'table')} to {tables}")
    if output:
        write(output, page)
    if json:
        write_json(json, report.to_dict())
