"""`workloadkit check`: whether a schedule is what it claims to be."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    StrictOption,
    check_outputs,
    load,
    working,
    write_json,
)

EXAMPLES = """
workloadkit check log.swf.gz easy.swf.gz --policy easy
workloadkit check log.swf.gz other.swf --procs 128 --oversize drop
"""


def check(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE",
            show_default=False,
            readable=False,  # reading says what is wrong
            help='Log whose jobs were scheduled, as SWF; "-" is standard input.',
        ),
    ],
    schedule: Annotated[
        Path,
        typer.Argument(
            metavar="SCHEDULE",
            show_default=False,
            readable=False,
            help="Its jobs as some simulator wrote them, with their waits, as SWF.",
        ),
    ],
    procs: Annotated[
        int | None,
        typer.Option(
            metavar="P",
            show_default=False,
            help="Processors of the machine. By default the log's MaxProcs, else MaxNodes.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Scheduler that made it. Each of its passes is made again, but for multi-queue, "
            "self-adaptive, genetic and what is not built in. By default none.",
        ),
    ] = None,
    oversize: Annotated[
        str,
        typer.Option(
            metavar="error|drop", help="Jobs larger than the machine: refuse, or left out."
        ),
    ] = "error",
    estimates: Annotated[
        str,
        typer.Option(metavar="user|exact", help="Planned with users' estimates or run times."),
    ] = "user",
    overrun: Annotated[
        str,
        typer.Option(
            metavar="raise|kill|late|header",
            help="Jobs that outlive their estimates: estimates were raised to the run times, the "
            "jobs were stopped, or ran on late; header: as AllowOveruse and MaxRuntime say.",
        ),
    ] = "raise",
    passes: Annotated[
        str,
        typer.Option(
            metavar="instant|event",
            help="Processors were allocated once an instant or after each single event.",
        ),
    ] = "instant",
    offered_load: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default=False,
            help="Submit times were stretched or compressed until the offered load was X.",
        ),
    ] = None,
    outages: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            readable=False,
            help="Outages of the machine that were simulated.",
        ),
    ] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Prove or refute a schedule of a log's jobs.

    Shows each claim and whether it holds, refuted ones with the first counterexample, unless JSON
    goes to stdout. The last line says proved only where the log and the policy leave no other
    schedule; consistent, where others would pass, too. The options say what was simulated. Exit 1
    if anything is refuted.
    """
    import workloadkit as wk

    if str(trace) == str(schedule) == "-":
        raise typer.BadParameter("the log and the schedule cannot both be standard input")
    check_outputs(json, inputs=[trace, schedule, outages])
    log, given = load(trace, strict=strict), load(schedule, strict=strict)
    with working(f"checking {given.name}"):
        report = wk.check_schedule(
            log,
            given,
            procs=procs,
            policy=policy,
            oversize=oversize,  # type: ignore[arg-type]  # refused by name if not known
            estimates=estimates,  # type: ignore[arg-type]
            overrun=overrun,  # type: ignore[arg-type]
            passes=passes,  # type: ignore[arg-type]
            offered_load=offered_load,
            outages=outages,
        )
    if json:
        write_json(json, report.to_dict())
    if str(json) != "-":
        typer.echo(str(report))
    if not report:
        raise typer.Exit(1)
