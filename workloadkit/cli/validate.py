"""`workloadkit validate`: whether a log follows the standard and its own header."""

from typing import Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    load,
    working,
    write_json,
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
        str, typer.Option(metavar="error|warning|never", help="What is exit 1.")
    ] = "error",
    strict: StrictOption = False,
) -> None:
    """Check a log against the consistency rules of the standard.

    Shows each rule that is broken, how often and where first, unless JSON goes to stdout. An error
    contradicts the standard or the log's own header, a warning is legal but suspicious, a note is
    worth knowing. Exit 1 if there is an error, or what --fail-on says.
    """
    import workloadkit as wk

    check_outputs(json, inputs=[trace])
    log = load(trace, strict=strict)
    with working(f"checking {log.name}"):
        report = wk.validate(log)
    if json:
        write_json(json, report.to_dict())
    if str(json) != "-":
        typer.echo(str(report))
    if report.fails(fail_on):  # type: ignore[arg-type]
        raise typer.Exit(1)
