"""`workloadkit study`: published results, reproduced from logs."""

from contextlib import ExitStack
from math import ceil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from workloadkit.cli import configuration
from workloadkit.cli.commands import RARE
from workloadkit.cli.common import (
    JsonOption,
    SeedOption,
    check_outputs,
    write,
    write_json,
)
from workloadkit.cli.executors import DaskOption, WorkersOption, executor
from workloadkit.cli.output import note, progress, write_message
from workloadkit.cli.reading import (
    StrictOption,
)
from workloadkit.errors import ParameterError, WorkloadError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.table import Table

    from workloadkit.analysis.reproduction import Findings, Log, Study

EXAMPLES = """
workloadkit study
workloadkit study zakay-sessions --traces logs --out studies
workloadkit study lee --reading compression=none --out studies
workloadkit study lawson --readings search --workers 2 --out studies
workloadkit study zakay-sessions --kept
workloadkit study all --kept --out studies
"""


def study(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            autocompletion=configuration.studies,
            help="Study to run, the beginning of the names of several, or all. By default the "
            "studies are listed.",
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
            help="Write NAME.html, NAME.md, NAME.csv and the figures into this folder. "
            "Only --kept works without it.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="R",
            show_default=False,
            help="Number of random runs. By default as many as in the source, or fewer where they "
            "take long.",
        ),
    ] = None,
    reading: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS=OPTION",
            show_default=False,
            help="Reading of something that the source leaves open; repeat for several. The page "
            "lists the axes.",
        ),
    ] = None,
    readings: Annotated[
        Literal["search"] | None,
        typer.Option(
            show_default=False,
            rich_help_panel=RARE,
            help="Rank all readings by half of the figures that the source prints, and write "
            "NAME-readings.csv and .md. --reading fixes an axis.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            rich_help_panel=RARE,
            help="Compare with the results that are part of workloadkit, for the same runs, seed "
            "and readings; exit 1 if they differ.",
        ),
    ] = False,
    kept: Annotated[
        bool,
        typer.Option(
            "--kept",
            help="Show the results that are part of workloadkit, for the default runs, seed and "
            "readings. Nothing is run, and no logs are needed.",
        ),
    ] = False,
    seed: SeedOption = None,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Reproduce published results from logs.

    A claim is reproduced if our interval lies within its margin, contradicted if it lies outside,
    else too uncertain. The page lists the versions of the logs, and the readings of what the source
    leaves open. Without NAME the studies are listed, with the time that each takes with two workers
    where it is known.
    """
    from workloadkit.analysis.reproduction import (
        KeptResults,
        choose,
        data_folder,
        find_logs,
        kept_findings,
        scorecard,
    )
    from workloadkit.analysis.studies import REFERENCE, known_causes, load_source, load_studies

    check_outputs(json=json)
    if name is None:
        _list(json)
        return
    if json and readings is not None:
        raise ParameterError("--json and --readings exclude each other")
    chosen = load_studies(name) if readings is None else load_source(name)
    if out is None and not kept:
        raise ParameterError(f"study {name} needs --out, the folder for its results")
    if (check or kept) and (runs, seed, readings, reading) != (None, None, None, None):
        option = "--check" if check else "--kept"
        raise ParameterError(f"{option} excludes --runs, --seed, --reading and --readings")
    if check and kept:
        raise ParameterError("--check and --kept exclude each other")
    folder = traces or data_folder() / "traces"
    here = [] if kept else [(x, find_logs(x.logs, folder, strict=strict)) for x in chosen]
    if out is not None:
        _make_folder(out)
    choices = reading or []
    choose(list({axis.name: axis for each in chosen for axis in each.axes}.values()), choices)
    with executor(workers, dask=dask) as pool, ExitStack() as until:
        if readings is not None:
            if seed is not None:
                raise ParameterError("--seed and --readings exclude each other")
            assert out is not None  # as nothing is kept
            _rank(here, choices, name, out, runs=runs, executor=pool)
            return
        found = [kept_findings(each, REFERENCE) for each in chosen] if kept else []
        for findings in found:
            if out is not None:
                _write_pages(findings, out)
        keeping = KeptResults(out, until, {})
        for each, logs in here:
            assert out is not None  # as nothing is kept
            is_random = each.runs is not None or len(here) == 1
            how = {"runs": runs, "rng": seed} if is_random else {}
            found.append(_run(each, logs, choices, out, executor=pool, keeping=keeping, **how))
    if len(found) > 1 and out is not None:
        write(out / f"{name}.md", scorecard(found, name, known_causes()))
    if json:
        write_json(json, {"studies": [findings.to_dict() for findings in found]})
    if str(json) != "-":
        _show(found)
    report = write_message if str(json) == "-" else typer.echo
    differing = [findings for findings in found if check and not _is_as_kept(findings, report)]
    if differing:
        raise typer.Exit(1)


def _make_folder(folder: Path) -> None:
    """Create the folder for the results."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{folder}: cannot be created: {error.strerror}") from error


def _list(json: Path | None) -> None:
    """List the studies, with the minutes that they take."""
    from workloadkit.analysis.studies import load_study, run_times, study_names

    titles = {known: load_study(known).title for known in study_names()}
    minutes = run_times()
    if json:
        listed = [
            {"study": known, "title": title, "minutes": minutes.get(known)}
            for known, title in titles.items()
        ]
        write_json(json, {"studies": listed})
    if str(json) != "-":
        typer.echo(f"{'study':<21} min title")
        for known, title in titles.items():
            taken = f"{ceil(minutes[known])}" if known in minutes else ""
            typer.echo(f"{known:<21}{taken:>4} {title}")


def _rank(
    here: "Sequence[tuple[Study, Sequence[Log]]]",
    choices: "Sequence[str]",
    name: str,
    out: Path,
    **how: Any,
) -> None:
    """Rank the readings of a source, and write the ranking."""
    from workloadkit.analysis.reproduction import search
    from workloadkit.analysis.studies import ranking_half

    unfinished = out / f".{name}-readings.unfinished"
    with progress("trying readings") as count:
        ranks = ranking_half()
        ranking = search(here, choices, ranks=ranks, file=unfinished, progress=count, **how)
    write(out / f"{name}-readings.csv", ranking.to_csv())
    write(out / f"{name}-readings.md", ranking.to_markdown(name))


def _run(
    study: "Study", logs: "Sequence[Log]", choices: "Sequence[str]", out: Path, **how: Any
) -> "Findings":
    """Run a study, and write its results."""
    from workloadkit.analysis.formats import duration
    from workloadkit.analysis.reproduction import choose, run_study

    begin = monotonic()
    with progress(f"running {study.name}") as count:
        reading = choose(study.axes, _for(study, choices))
        findings = run_study(study, logs, reading=reading, progress=count, **how)
    _write_pages(findings, out)
    for drawing in findings.drawings:
        for file in drawing.save(out):
            note(f"wrote {file}")
    note(f"{study.name}: {duration(monotonic() - begin)}")
    return findings


def _write_pages(findings: "Findings", folder: Path) -> None:
    """Write the results of a study as CSV, and as a page in Markdown and in HTML."""
    write(folder / f"{findings.study.name}.csv", findings.to_csv())
    write(folder / f"{findings.study.name}.md", findings.to_markdown())
    write(folder / f"{findings.study.name}.html", findings.to_html())


def _for(study: "Study", choices: "Iterable[str]") -> list[str]:
    """Return the choices for the axes of a study; other axes have their defaults."""
    names = {axis.name for axis in study.axes}
    return [choice for choice in choices if choice.partition("=")[0] in names]


def _is_as_kept(findings: "Findings", report: "Callable[[str], None]") -> bool:
    """Report where results differ from those that are part of workloadkit."""
    from workloadkit.analysis.reproduction import differences, reference_of
    from workloadkit.analysis.studies import REFERENCE

    lines = differences(findings, reference_of(findings.study, REFERENCE))
    for line in lines:
        report(f"differs: {line}")
    if not lines:
        report(f"{findings.study.name}: same results as those of workloadkit")
    return not lines


def _show(found: "Sequence[Findings]") -> None:
    """Print the scorecard: the main claims, and how many claims have which verdict."""
    from rich.console import Console
    from rich.text import Text

    from workloadkit.analysis.reproduction.findings import SHOWN, shown
    from workloadkit.analysis.reproduction.study import VERDICTS

    console = Console()
    if not console.is_terminal:
        console.width = 120  # not a screen, so lines need no folding
    for findings in found:
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
