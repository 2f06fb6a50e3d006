"""`workloadkit anonymize`: a log without names, ids and dates."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    check_outputs,
    log_option,
    read_key,
    write_log,
)
from workloadkit.cli.output import progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)

EXAMPLES = """
workloadkit anonymize site.swf.gz -o anonymous.swf.gz
workloadkit anonymize site.swf.gz --since 2024-03-04 -o case.swf.gz
workloadkit anonymize site.swf.gz --key secret -o anonymous.swf.gz
"""


def anonymize(
    trace: TraceArgument = None,
    output: Annotated[Path, log_option("the anonymous log")] = Path("-"),
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            help="Derive the numbers of users, groups and accounts and the date from the secret in "
            "this file, the same in every log.",
        ),
    ] = None,
    strict: StrictOption = False,
) -> None:
    """Leave out names, ids and dates; keep the workload.

    Jobs, users, groups, executables, queues and partitions are numbered from 1, in the order of
    their numbers, and the log begins years earlier, at the same hour of the same weekday. Sessions,
    loads and schedules stay the same, also on the nodes of LOG.machine.json, which is written with
    other names of nodes, partitions, features and pools.
    """
    import workloadkit as wk

    check_outputs(log=output, inputs=[trace, key])
    secret = read_key(key)
    log = load(trace, strict=strict)
    with progress(f"anonymizing {log.name}"):
        made = wk.anonymize(log, key=secret)
    write_log(made, output, f"jobs {made.n_jobs:,}")
