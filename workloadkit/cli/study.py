"""`workloadkit study`: what a source published, found again in logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.common import (
    SeedOption,
    StrictOption,
    counting,
    say,
    write,
)
from workloadkit.cli.executors import DaskOption, WorkersOption, executor
from workloadkit.errors import ParameterError, WorkloadError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from analysis.reproduction import Findings

EXAMPLES = """
workloadkit study
workloadkit study zakay-sessions --traces logs --out studies
"""


def _names() -> list[str]:
    from analysis.studies import study_names

    return study_names()


def study(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            autocompletion=_names,
            help="Study to run. By default they are listed.",
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default=False,
            help="Folder of the logs. By default the folder traces in $WORKLOADKIT_DATA, "
            "else in ../shared.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write NAME.csv and NAME.md there, and the figures that it draws.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="R",
            show_default=False,
            help="Runs of what is random. By default as many as the source made, or fewer where "
            "these take long.",
        ),
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS=OPTION",
            show_default=False,
            help="Which way to take something that the source leaves open; may be repeated. "
            "The page lists the axes.",
        ),
    ] = None,
    seed: SeedOption = None,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    strict: StrictOption = False,
) -> None:
    """Set what a source published beside ours.

    Each figure comes with the difference and a verdict; the page says which versions of the logs
    it was made from. Without NAME the studies are listed.
    """
    from analysis.reproduction import data_folder, find_logs, run_study
    from analysis.studies import load_study, study_names

    if name is None:
        for each in study_names():
            typer.echo(f"{each:<24}{load_study(each).title}")
        return
    chosen = load_study(name)
    if out is None:
        raise ParameterError(f"study {name} needs --out, the folder to write to")
    logs = find_logs(chosen.logs, traces or data_folder() / "traces", strict=strict)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{out}: cannot be made: {error.strerror}") from error
    with executor(workers, dask=dask) as pool, counting(f"running {name}") as progress:
        findings = run_study(
            chosen,
            logs,
            runs=runs,
            reading=reading or (),
            rng=seed,
            executor=pool,
            folder=out,
            progress=progress,
        )
    write(out / f"{name}.csv", findings.to_csv())
    write(out / f"{name}.md", findings.to_markdown())
    for drawing in findings.drawings:
        for file in drawing.save(out):
            say(f"wrote {file}")
    _show(findings)


def _show(findings: "Findings") -> None:
    """Print the scorecard: the main claims, and how many others have which verdict."""
    from rich.console import Console
    from rich.text import Text

    from analysis.reproduction.claims import VERDICTS
    from analysis.reproduction.findings import SHOWN, shown

    console = Console()
    if not console.is_terminal:
        console.width = 120  # nobody's screen, so there is no reason to fold
    console.print(Text(findings.study.title))
    if findings.main:
        console.print(_table("Main claims", SHOWN, map(shown, findings.main)))
    console.print(_table("All claims", ("claims", *VERDICTS), findings.count_rows()))


def _table(title: str, headings: "Iterable[str]", rows: "Iterable[tuple[str, ...]]") -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title, style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in headings:
        is_word = heading in ("log", "quantity", "verdict", "claims")
        table.add_column(heading, justify="left" if is_word else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
