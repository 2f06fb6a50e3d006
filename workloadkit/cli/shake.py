"""`workloadkit shake`: a log whose jobs, sessions or users are moved by small random times."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    SeedOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    duration,
    load,
    output_option,
    working,
    write_log,
)

EXAMPLES = """
workloadkit shake log.swf.gz -o shaken.swf.gz --seed 1
workloadkit shake log.swf.gz --unit session --by 10min -o shaken.swf.gz
workloadkit shake log.swf.gz --seed 1 | workloadkit simulate - --scheduler easy
"""


def shake(
    trace: TraceArgument = None,
    output: Annotated[Path, output_option("the shaken log")] = Path("-"),
    unit: Annotated[
        str,
        typer.Option(metavar="job|batch|session|user", help="What moves as a whole."),
    ] = "job",
    by: Annotated[
        float,
        typer.Option(
            parser=duration,
            metavar="T",
            help="The longest time that anything moves, earlier or later. [default: 1min]",
            show_default=False,
        ),
    ] = "1min",  # type: ignore[assignment]  # parsed like what the user writes
    seed: SeedOption = None,
    strict: StrictOption = False,
) -> None:
    """Move jobs, batches, sessions or users by small random times.

    Simulated many times with different seeds, a log gives a distribution of results that does not
    hang on the exact second of one job. All jobs keep their numbers; those that would be moved
    before second 0 stay there.
    """
    import workloadkit as wk
    from workloadkit.provenance import seed_of

    check_outputs(output, inputs=[trace])
    log = load(trace, strict=strict)
    used = seed_of(seed)
    with working(f"shaking {log.name}"):
        shaken = wk.shake(log, unit, by, rng=used)  # type: ignore[arg-type]  # refused if not known
    write_log(shaken, output, f"jobs {shaken.n_jobs:,}, seed {used}")
