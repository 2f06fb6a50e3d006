"""`workloadkit augment`: utility functions for the jobs of a log."""

from pathlib import Path
from typing import Annotated

from workloadkit.cli.common import (
    SeedOption,
    check_outputs,
    log_option,
    write_log,
)
from workloadkit.cli.options import with_settings
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)
from workloadkit.settings import Augment

EXAMPLES = """
workloadkit augment log.swf -o worth.swf --priority 0=0,1=1,2=2,3=3
workloadkit augment log.swf -o new.swf --deadline wait+requested --decay step
workloadkit augment log.swf --table shapes.csv | workloadkit simulate -
"""


@with_settings()
def augment(
    trace: TraceArgument = None,
    output: Annotated[Path, log_option("the log")] = Path("-"),
    *,
    settings: Augment,
    seed: SeedOption = None,
    strict: StrictOption = False,
) -> None:
    """Add utility functions to the jobs of a log.

    The value of a job falls from a start value, which depends on priority and size, to 0 at its
    deadline. The points of the function follow the 18 columns of each line, where readers of SWF
    skip them; `simulate` reports the utility that the jobs earn.
    """
    import workloadkit as wk
    from workloadkit.augment import queue_descriptions
    from workloadkit.distinct import distinct
    from workloadkit.provenance import seed_of

    used = seed_of(seed)
    check_outputs(log=output, inputs=[trace, settings.table])
    log = load(trace, strict=strict)
    if settings.priority is None and settings.table is None and (queues := queue_descriptions(log)):
        note(f"{log.name}: queues in the header: {'; '.join(queues)}")
    with progress(f"augmenting {log.name}"):
        made = wk.add_utility(log, rng=used, settings=settings)
    n_functions = distinct(made.table("utility")["row"]).size
    summary = f"jobs {made.n_jobs:,}, utility functions {n_functions:,}, seed {used}"
    write_log(made, output, summary)
