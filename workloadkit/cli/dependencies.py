"""`workloadkit dependencies`: what each batch depends on, in fields 17 and 18."""

from pathlib import Path
from typing import Annotated

from workloadkit.cli.common import (
    JsonOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    load,
    output_option,
    say,
    working,
    write_json,
    write_log,
)

EXAMPLES = """
workloadkit dependencies log.swf.gz -o dependent.swf.gz
workloadkit dependencies log.swf | workloadkit simulate - --users dependent
workloadkit dependencies log.swf.gz -o dependent.swf.gz --json lost.json
"""

#: What the counts that tell of losses count.
NOT_CARRIED = {
    "of_several": "batches that depend on further ones than that of the preceding job",
    "only_following": "batches that only follow one, after an inter-arrival time",
    "within_batches": "jobs that come at their time within a batch, after its first one",
    "ambiguous": "preceding jobs whose number is that of others, too, or is none",
}


def dependencies(
    trace: TraceArgument = None,
    output: Annotated[Path, output_option("the log with them")] = Path("-"),
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Write what batches of jobs depend on into fields 17 and 18.

    A batch depends on the one before in its session, the first of a session on the last batches of
    all sessions of the user that had ended before it. The fields of its first job tell of the job
    that ended last among these, and of the think time since; what they cannot tell is counted.
    """
    from workloadkit.dependencies import carry_dependencies
    from workloadkit.provenance import provenance

    check_outputs(output, json, inputs=[trace])
    log = load(trace, strict=strict)
    with working(f"finding the batches of {log.name}"):
        made, counts = carry_dependencies(log)
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
            say(f"not carried: {what}: {counts[name]:,}")
