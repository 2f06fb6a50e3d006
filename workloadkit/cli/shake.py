"""`workloadkit shake`: a log with jobs, sessions or users shifted by small random times."""

from pathlib import Path
from typing import Annotated

from workloadkit.cli.common import (
    SeedOption,
    check_outputs,
    duration_option,
    log_option,
    word_option,
    write_log,
)
from workloadkit.cli.output import progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)

EXAMPLES = """
workloadkit shake log.swf.gz -o shaken.swf.gz --seed 1
workloadkit shake log.swf.gz --move session --by 10min -o shaken.swf.gz
workloadkit shake log.swf --seed 1 | workloadkit simulate - --scheduler easy
"""


def shake(
    trace: TraceArgument = None,
    output: Annotated[Path, log_option("the shaken log")] = Path("-"),
    move: Annotated[
        str,
        word_option(*("job", "batch", "session", "user"), text="What is shifted as a whole."),
    ] = "job",
    by: Annotated[
        float, duration_option("Longest shift, earlier or later. By default 1min.")
    ] = "1min",  # type: ignore[assignment]  # parsed like a command line
    seed: SeedOption = None,
    strict: StrictOption = False,
) -> None:
    """Shift jobs, sessions or users by small random times.

    Simulations of logs shaken with different seeds give a distribution of results that does not
    depend on the exact second of one job. Jobs keep their numbers; jobs that would be shifted
    before second 0 start there.
    """
    import workloadkit as wk
    from workloadkit.provenance import seed_of

    check_outputs(log=output, inputs=[trace])
    log = load(trace, strict=strict)
    used = seed_of(seed)
    with progress(f"shaking {log.name}"):
        shaken = wk.shake(log, move, by, rng=used)  # type: ignore[arg-type]  # checked by shake
    write_log(shaken, output, f"jobs {shaken.n_jobs:,}, seed {used}")
