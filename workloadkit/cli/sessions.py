"""`workloadkit sessions`: the sessions and batches of a log's users."""

from pathlib import Path
from typing import Annotated

from workloadkit.cli.common import (
    check_outputs,
    duration_option,
    output_option,
    word_option,
    write,
)
from workloadkit.cli.output import note
from workloadkit.cli.reading import (
    BurstsOption,
    StrictOption,
    TraceArgument,
    load,
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
        word_option(
            *("arrival", "last", "max"),
            text="Inactivity is measured from the user's previous arrival, the end of the last "
            "job, or the latest (max) end in the session.",
        ),
    ] = "arrival",
    threshold: Annotated[
        float | None,
        duration_option(
            "Longest inactivity within a session. By default 60min for arrival, 20min for last and "
            "max."
        ),
    ] = None,
    cut: Annotated[
        float | None,
        duration_option(
            "With last and max: a job holds a session open for at most C after its submission. By "
            "default until it ends.",
            metavar="C",
        ),
    ] = None,
    output: Annotated[Path, output_option("the table as CSV")] = Path("-"),
    bursts: BurstsOption = False,
    strict: StrictOption = False,
) -> None:
    """List the sessions and batches of all users.

    Writes CSV with one row for each job that ran: job, user, session, batch, and, for the first
    job of a batch, think_time in seconds.
    """
    from workloadkit.sessions import label_jobs
    from workloadkit.units import in_known_unit

    check_outputs(table=output, inputs=[trace])
    log = in_known_unit(load(trace, strict=strict, bursts=bursts))
    rows, found = label_jobs(log, method=method, threshold=threshold, cut=cut)
    columns = {"job": log.column("job")[rows], "user": log.column("user")[rows], **found}
    texts = [map(_shortest, column.tolist()) for column in columns.values()]
    write(output, "\n".join([",".join(columns), *map(",".join, zip(*texts, strict=True)), ""]))
    n_batches, n_sessions = (found[x].max(initial=-1) + 1 for x in ("batch", "session"))
    note(f"jobs {rows.size:,}, batches {n_batches:,}, sessions {n_sessions:,}")


def _shortest(number: float) -> str:
    """Write a number in the shortest form; an unknown one is empty."""
    return "" if number != number else str(number).removesuffix(".0")
