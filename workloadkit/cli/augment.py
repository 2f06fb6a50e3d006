"""`workloadkit augment`: utility functions for the jobs of a log."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import (
    SeedOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    load,
    say,
    working,
    write_log,
)

EXAMPLES = """
workloadkit augment log.swf.gz -o worth.swf.gz --priority 0=0,1=1,2=2,3=3,4=4,5=5
workloadkit augment log.swf.gz -o worth.swf.gz --deadline wait+run --decay step --seed 1
workloadkit augment log.swf.gz --table shapes.csv | workloadkit simulate - --scheduler easy
"""


def pairs(text: str, option: str) -> dict[str, str]:
    """Take apart what is written as a=1,b=2; a name alone stands for name=1.

    Examples
    --------
    >>> pairs("linear=2, step", "--decay")
    {'linear': '2', 'step': '1'}
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not name or bool(equals) != bool(value):
            raise typer.BadParameter(f"{option} {text!r}: {part!r} is neither NAME nor NAME=NUMBER")
        if name in found:
            raise typer.BadParameter(f"{option} {text!r}: {name} is there twice")
        found[name] = value or "1"
    return found


def priorities(text: str | None) -> dict[int, int] | None:
    """Priorities by queue, from text such as 1=2,3=0.

    Examples
    --------
    >>> priorities("1=2,3=0")
    {1: 2, 3: 0}
    """
    if text is None:
        return None
    if any("=" not in part for part in text.split(",")):
        raise typer.BadParameter(f"--priority {text!r}: write QUEUE=PRIORITY, as in 1=2,3=0")
    try:
        return {int(queue): int(value) for queue, value in pairs(text, "--priority").items()}
    except ValueError:
        raise typer.BadParameter(
            f"--priority {text!r}: queues and priorities are whole numbers, as in 1=2,3=0"
        ) from None


def decays(text: str) -> dict[str, float]:
    """Weights by kind of decay, from text such as linear,step or linear=2,step=1.

    Examples
    --------
    >>> decays("linear=2,step")
    {'linear': 2.0, 'step': 1.0}
    """
    try:
        return {name: float(weight) for name, weight in pairs(text, "--decay").items()}
    except ValueError:
        raise typer.BadParameter(f"--decay {text!r}: weights are numbers") from None


def augment(
    trace: TraceArgument = None,
    output: Annotated[
        Path, typer.Option("-o", metavar="FILE", help='Write SWF to this file; "-" is stdout.')
    ] = Path("-"),
    priority: Annotated[
        str | None,
        typer.Option(
            metavar="Q=P,...",
            show_default=False,
            help="Priority of each queue, 0 the highest. By default the queues' own numbers.",
        ),
    ] = None,
    decay: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Ways to lose value, as in linear=2,step=1."),
    ] = "linear,exponential,step",
    deadline: Annotated[
        str,
        typer.Option(
            metavar="wait|wait+run|wait+requested",
            help="What the time by which all value is lost is a multiple of, in the log.",
        ),
    ] = "wait",
    deadline_factor: Annotated[float, typer.Option(metavar="F", help="The multiple.")] = 2.0,
    formula: Annotated[
        str,
        typer.Option(
            metavar="opposite|paper",
            help="Higher priorities have higher start values, or, as the formula is printed, "
            "lower ones.",
        ),
    ] = "opposite",
    points: Annotated[
        int, typer.Option(metavar="K", help="Points between the first and the last, of no step.")
    ] = 1,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            readable=False,  # reading says what is wrong
            help="CSV of utility functions by job, or of shapes by queue, user or shape.",
        ),
    ] = None,
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

    ranks, kinds, used = priorities(priority), decays(decay), seed_of(seed)
    check_outputs(output, inputs=[trace, table])
    log = load(trace, strict=strict)
    if ranks is None and table is None and (queues := queue_descriptions(log)):
        say(f"{log.name}: queues by the header: {'; '.join(queues)}")
    with working(f"augmenting {log.name}"):
        made = wk.add_utility(
            log,
            priority=ranks,
            formula=formula,  # type: ignore[arg-type]  # refused by name if not known
            decay=kinds,
            deadline=deadline,  # type: ignore[arg-type]
            deadline_factor=deadline_factor,
            points=points,
            table=table,
            rng=used,
        )
    n_functions = made.utility["row"].nunique()
    told = f"jobs {made.n_jobs:,}, utility functions {n_functions:,}, seed {used}"
    write_log(made, output, told)
