"""`workloadkit augment`: utility functions for the jobs of a log."""

from pathlib import Path
from typing import Annotated

from workloadkit.cli.common import (
    SeedOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    load,
    output_option,
    say,
    working,
    write_log,
)
from workloadkit.cli.options import with_settings
from workloadkit.settings import Augment

EXAMPLES = """
workloadkit augment log.swf.gz -o worth.swf.gz --priority 0=0,1=1,2=2,3=3,4=4,5=5
workloadkit augment log.swf.gz -o worth.swf.gz --deadline wait+run --decay step --seed 1
workloadkit augment log.swf.gz --table shapes.csv | workloadkit simulate - --scheduler easy
"""


@with_settings()
def augment(
    trace: TraceArgument = None,
    output: Annotated[Path, output_option("SWF")] = Path("-"),
    *,
    asked: Augment,
    seed: SeedOption = None,
    strict: StrictOption = False,
) -> None:
    """Give the jobs of a log utility functions.

    A job's value falls from its start value, by priority and size, to nothing at its deadline. The
    points stand behind the 18 columns of each line, where readers of SWF pass over them;
    `simulate` says what the jobs of such a log earn.
    """
    import workloadkit as wk
    from workloadkit.augment import queue_descriptions
    from workloadkit.provenance import seed_of

    used = seed_of(seed)
    check_outputs(output, inputs=[trace, asked.table])
    log = load(trace, strict=strict)
    if asked.priority is None and asked.table is None and (queues := queue_descriptions(log)):
        say(f"{log.name}: queues by the header: {'; '.join(queues)}")
    with working(f"augmenting {log.name}"):
        made = wk.add_utility(log, rng=used, settings=asked)
    n_functions = made.utility["row"].nunique()
    told = f"jobs {made.n_jobs:,}, utility functions {n_functions:,}, seed {used}"
    write_log(made, output, told)
