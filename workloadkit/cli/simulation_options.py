"""The options that the commands which simulate share."""

from pathlib import Path
from typing import Annotated

import typer

from workloadkit.cli.common import duration

ProcsOption = Annotated[
    int | None,
    typer.Option(
        metavar="P",
        show_default=False,
        help="Processors of the machine. By default the header's MaxProcs, else MaxNodes.",
    ),
]
OversizeOption = Annotated[
    str,
    typer.Option(metavar="error|drop", help="Jobs larger than the machine: refuse or drop."),
]
EstimatesOption = Annotated[
    str,
    typer.Option(metavar="user|exact", help="Plan with users' estimates or the run times."),
]
OverrunOption = Annotated[
    str,
    typer.Option(
        metavar="raise|kill|late|header",
        help="A job that outlives its estimate: the estimate is raised to the run time, the job "
        "is stopped, or it runs on late; header: as the log's AllowOveruse and MaxRuntime say.",
    ),
]
PassesOption = Annotated[
    str,
    typer.Option(
        metavar="instant|event",
        help="Allocate processors once an instant, or after each single event, as older "
        "simulators do.",
    ),
]
WarmupOption = Annotated[
    float | None,
    typer.Option(
        parser=duration,
        metavar="T",
        show_default=False,
        help="Leave jobs submitted in the first T out of the metrics.",
    ),
]
CooldownOption = Annotated[
    float | None,
    typer.Option(
        parser=duration,
        metavar="T",
        show_default=False,
        help="Leave jobs submitted in the last T out of the metrics.",
    ),
]
ScaleRunsOption = Annotated[
    float,
    typer.Option(
        "--scale-runs", metavar="F", help="Multiply run times, and estimates with them, by F."
    ),
]
ScaleSizesOption = Annotated[
    float,
    typer.Option(
        "--scale-sizes",
        metavar="F",
        help="Multiply the processors of jobs by F, up to those of the machine.",
    ),
]
ScaleMachineOption = Annotated[
    float,
    typer.Option("--scale-machine", metavar="F", help="Multiply the machine's processors by F."),
]
NoPauseOption = Annotated[
    bool,
    typer.Option(
        "--no-pause",
        help="Resampled long-term users who react begin again at once when they have done.",
    ),
]


def figure_file(path: Path | None) -> Path | None:
    """Refuse the name of a figure's file before anything is simulated."""
    if path and path.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise typer.BadParameter(f"{path}: a figure is written as .svg, .png or .pdf")
    return path
