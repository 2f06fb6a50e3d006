"""`workloadkit clean`: a log without the jobs that filters name."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    StrictOption,
    TraceArgument,
    check_outputs,
    load,
    output_option,
    say,
    working,
    write_log,
)
from workloadkit.errors import ParameterError

EXAMPLES = """
workloadkit clean log.swf.gz --filter "user=3 and proc=1" -o cleaned.swf.gz
workloadkit clean log.swf.gz --filters-of other-cln.swf.gz -o cleaned.swf.gz
workloadkit anomalies log.swf.gz -o filters.txt
workloadkit clean log.swf.gz --filters-of filters.txt -o cleaned.swf.gz
"""


def clean(
    trace: TraceArgument = None,
    output: Annotated[Path, output_option("the cleaned log")] = Path("-"),
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="TEXT",
            show_default=False,
            help="Jobs to remove, in the archive's form, such as \"user=374 and (job>=14969 and "
            'job<=28552)"; several by repeating, applied in order.',
        ),
    ] = None,
    filters_of: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="A cleaned log, whose header names its filters; or a text of one filter a line, "
            "such as `anomalies -o` writes.",
        ),
    ] = None,
    strict: StrictOption = False,
) -> None:
    """Remove jobs by filters, and name these in the header.

    A filter compares fields with numbers (= != < <= > >=), joined by and, or, not and brackets.
    Fields are user, job, proc, app, queue, partition, group, status, submit, wait, run and the
    others of the format; hour is the hour of the day of the submission. Each filter is written with
    the number of jobs that it removed.
    """
    import workloadkit as wk
    from workloadkit.cleaning.cleaned import read_filters

    check_outputs(output, inputs=[trace, filters_of])
    chosen = [wk.Filter.parse(text) for text in filters or []]
    if filters_of:
        if str(filters_of) == str(trace) == "-":
            raise ParameterError("the log and its filters cannot both come from standard input")
        chosen += read_filters(str(filters_of))
    if not chosen:
        raise ParameterError("no filter given; name jobs to remove with --filter or --filters-of")
    log = load(trace, strict=strict)
    with working(f"cleaning {log.name}"):
        cleaned = wk.clean(log, chosen)
    for one in wk.filters_of(cleaned.header)[-len(chosen) :]:
        say(f"  {one}")
    write_log(cleaned, output, f"jobs {cleaned.n_jobs:,} of {log.n_jobs:,}")
