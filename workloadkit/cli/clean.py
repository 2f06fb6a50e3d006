"""`workloadkit clean`: a log without the jobs that filters remove."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    check_outputs,
    log_option,
    write_log,
)
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
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
    output: Annotated[Path, log_option("the cleaned log")] = Path("-"),
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="TEXT",
            show_default=False,
            help='Jobs to remove, such as "user=374 and job>=14969", see `workloadkit help '
            "filters`; repeat for several, applied in order.",
        ),
    ] = None,
    filters_of: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="A cleaned log, whose header contains its filters, or a file with one filter per "
            "line, such as `anomalies -o` writes.",
        ),
    ] = None,
    strict: StrictOption = False,
) -> None:
    """Remove jobs with filters, and record these in the header.

    The header lists each filter with the number of jobs that it removed.
    """
    import workloadkit as wk
    from workloadkit.cleaning.cleaned import read_filters

    check_outputs(log=output, inputs=[trace, filters_of])
    chosen = [wk.Filter.parse(text) for text in filters or []]
    if filters_of:
        if str(filters_of) == str(trace) == "-":
            raise ParameterError("the log and its filters cannot both come from standard input")
        chosen += read_filters(str(filters_of))
    if not chosen:
        raise ParameterError("no filter given; use --filter or --filters-of")
    log = load(trace, strict=strict)
    with progress(f"cleaning {log.name}"):
        cleaned = wk.clean(log, chosen)
    for one in wk.filters_of(cleaned.header)[-len(chosen) :]:
        note(f"  {one}")
    write_log(cleaned, output, f"jobs {cleaned.n_jobs:,} of {log.n_jobs:,}")
