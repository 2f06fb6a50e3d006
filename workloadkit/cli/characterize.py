"""`workloadkit characterize`: a report on a log."""

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from analysis.page import Report

EXAMPLES = """
workloadkit characterize log.swf.gz -o report.html
workloadkit characterize log.swf.gz --json - | jq .load
workloadkit characterize site.swf.gz --procs 4096 --tables tables
"""


_MOST = 4  # processes by default; each takes memory
_WIDTH, _INDENT = 80, 8 * " "


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
    if report.ranked and not any(str(target) == "-" for target in (output, json)):
        typer.echo(_ranked(report))


def _ranked(report: "Report") -> str:
    """Return the findings of a report as text, the most severe first."""
    lines = []
    for one in report.ranked:
        if one.severity != "none":
            lines.append(f"{one.severity:6}  {one.rule.title}: {one.shown}")
            lines += wrap(one.effect, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return "\n".join(lines) or report.no_findings
