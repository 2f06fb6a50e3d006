"""`workloadkit dependencies`: the dependencies of batches, in fields 17 and 18."""

from pathlib import Path
from typing import Annotated

from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    duration_option,
    log_option,
    write_json,
    write_log,
)
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)

EXAMPLES = """
workloadkit dependencies log.swf.gz -o dependent.swf.gz
workloadkit dependencies log.swf | workloadkit simulate - --users dependent
workloadkit dependencies log.swf.gz --threshold 24h -o dependent.swf.gz
workloadkit dependencies log.swf.gz -o dependent.swf.gz --json lost.json
"""

#: What is lost, by the name of its count.
NOT_CARRIED = {
    "of_several": "batches that depend on more batches than that of the preceding job",
    "only_following": "batches that only follow another, after an inter-arrival time",
    "within_batches": "jobs after the first of a batch, which arrive at their own time",
    "ambiguous": "preceding jobs with an ambiguous number, or none",
}


def dependencies(
    trace: TraceArgument = None,
    threshold: Annotated[
        float,
        duration_option("Longest time between two arrivals of a session. By default 60min."),
    ] = 3600.0,
    output: Annotated[Path, log_option("the log with dependencies")] = Path("-"),
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Add the dependencies of batches, in fields 17 and 18.

    A batch depends on the previous one in its session; the first of a session depends on the last
    batches of all sessions of the user that ended before. Its first job has
    the one of these jobs that ended last in field 17, and the think time since then in field 18.
    Dependencies for which there is no field are counted.
    """
    from workloadkit.dependencies import carry_dependencies
    from workloadkit.provenance import provenance

    check_outputs(log=output, json=json, inputs=[trace])
    log = load(trace, strict=strict)
    with progress(f"finding the batches of {log.name}"):
        made, counts = carry_dependencies(log, threshold=threshold)
    write_log(
        made,
        output,
        f"jobs {made.n_jobs:,}, batches {counts['batches']:,}, "
        f"with a preceding job {counts['written']:,}",
    )
    if json:
        write_json(json, counts | {"provenance": provenance(log)})
    for name, what in NOT_CARRIED.items():
        if counts[name]:
            note(f"not carried: {what}: {counts[name]:,}")
