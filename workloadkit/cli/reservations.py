"""`workloadkit reservations`: a share of a log's jobs as requests for reservations."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    SeedOption,
    check_outputs,
    duration_option,
    output_option,
    word_option,
    write,
)
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)
from workloadkit.errors import plural

EXAMPLES = """
workloadkit reservations log.swf.gz -o log.swf.gz.reservations --seed 1
workloadkit reservations log.swf --share 0.3 --lead 1d -o wide.reservations
"""


def reservations(
    trace: TraceArgument = None,
    output: Annotated[Path, output_option("the requests")] = Path("-"),
    share: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="P", help="Share of the jobs that request one."),
    ] = 0.1,
    lead: Annotated[
        float, duration_option("Mean time from a request to the start. By default 1h.")
    ] = "1h",  # type: ignore[assignment]  # parsed like a command line
    law: Annotated[
        str,
        word_option(
            *("exponential", "uniform", "fixed"),
            text="Law of these times; uniform is from 0 to twice the mean.",
        ),
    ] = "exponential",
    window: Annotated[
        float,
        duration_option("Time from the earliest to the latest start that suits. By default 0."),
    ] = "0",  # type: ignore[assignment]  # parsed like a command line
    seed: SeedOption = None,
    strict: StrictOption = False,
) -> None:
    """Turn a share of a log's jobs into requests for reservations.

    A job's request is made when the job is submitted, for a start some time later, for the
    requested time and processors of the job. The log does not change.
    """
    import workloadkit as wk
    from workloadkit.provenance import seed_of

    used = seed_of(seed)
    check_outputs(table=output, inputs=[trace])
    log = load(trace, strict=strict)
    with progress(f"drawing reservations of {log.name}"):
        made = wk.draw_reservations(
            log,
            share,
            lead=lead,
            law=law,  # type: ignore[arg-type]  # checked there
            window=window,
            rng=used,
        )
    write(output, made.text())
    note(f"{plural(len(made), 'request')} of {plural(log.n_jobs, 'job')}, seed {used}")
