"""`workloadkit sessions`: the sessions and batches of a log's users."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    BurstsOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    duration,
    load,
    output_option,
    say,
    write,
)

EXAMPLES = """
workloadkit sessions log.swf.gz -o sessions.csv
workloadkit sessions log.swf.gz --threshold 20min | head
workloadkit sessions log.swf.gz --method max --cut 1h -o sessions.csv
"""


def sessions(
    trace: TraceArgument = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What a silence is measured from: arrival (the user's job before), last (the end "
            "of that job) or max (the latest end in the session).",
        ),
    ] = "arrival",
    threshold: Annotated[
        float | None,
        typer.Option(
            parser=duration,
            metavar="T",
            show_default=False,
            help="Longest silence in a session. By default 60min for arrival, 20min for last and "
            "max.",
        ),
    ] = None,
    cut: Annotated[
        float | None,
        typer.Option(
            parser=duration,
            metavar="C",
            show_default=False,
            help="For last and max: jobs that end more than C after they were submitted hold a "
            "session open only so long. By default until they end.",
        ),
    ] = None,
    output: Annotated[Path, output_option("the table as CSV")] = Path("-"),
    bursts: BurstsOption = False,
    strict: StrictOption = False,
) -> None:
    """Find the sessions and batches of every user.

    Writes CSV, one row for each job that ran: job, user, session, batch and think_time, in
    seconds, for the first job of a batch after a think time.
    """
    import workloadkit as wk

    check_outputs(output, inputs=[trace])
    log = load(trace, strict=strict, bursts=bursts)
    found = wk.delimit_sessions(log, method=method, threshold=threshold, cut=cut)
    table = log.jobs[["job", "user"]].join(found, how="inner")
    write(output, table.to_csv(index=False, float_format=_shortest))
    n_batches, n_sessions = found["batch"].nunique(), found["session"].nunique()
    say(f"jobs {len(found):,}, batches {n_batches:,}, sessions {n_sessions:,}")


def _shortest(number: float) -> str:
    return str(number).removesuffix(".0")
