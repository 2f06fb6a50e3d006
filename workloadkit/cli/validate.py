"""`workloadkit validate`: a log checked against the standard and its own header."""

from typing import Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    show_report,
    word_option,
)
from workloadkit.cli.output import progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)

EXAMPLES = """
workloadkit validate log.swf.gz
workloadkit validate log.swf.gz --fail-on warning
workloadkit validate log.swf.gz --json - | jq '.findings[].rule'
"""


def validate(
    trace: TraceArgument = None,
    json: JsonOption = None,
    fail_on: Annotated[
        str,
        word_option(*("error", "warning", "never"), text="Lowest severity that gives exit code 1."),
    ] = "error",
    strict: StrictOption = False,
) -> None:
    """Check a log against the rules of the SWF standard.

    Shows each violated rule, how often and where first, unless JSON goes to stdout. An error
    contradicts the standard or the log's header, a warning is legal but suspicious, a note is worth
    knowing. Exit 1 if there is an error, see --fail-on.
    """
    import workloadkit as wk
    from workloadkit.errors import check_choice
    from workloadkit.provenance import provenance
    from workloadkit.rules.validation import FailOn

    check_choice("fail_on", fail_on, FailOn)
    check_outputs(json=json, inputs=[trace])
    log = load(trace, strict=strict)
    with progress(f"checking {log.name}"):
        report = wk.validate(log)
    show_report(report, json, {"provenance": provenance(log)})
    if report.fails(fail_on):  # type: ignore[arg-type]
        raise typer.Exit(1)
