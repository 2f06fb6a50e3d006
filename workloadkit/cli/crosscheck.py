"""`workloadkit crosscheck`: queueing models compared with simulations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit import __version__
from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    figure_option,
    write_json,
)
from workloadkit.cli.configuration import words
from workloadkit.cli.executors import WorkersOption, executor
from workloadkit.cli.options import with_settings
from workloadkit.cli.output import note, progress
from workloadkit.cli.queueing_parameters import read_arrays, read_grids
from workloadkit.settings import Crosscheck

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from rich.table import Table

    from workloadkit.analysis.queue_models.cross_check.everything import CrossCheckOfAll
    from workloadkit.analysis.queue_models.cross_check.result import CrossCheck

EXAMPLES = """
workloadkit crosscheck mm1 lam=0.5 S=1
workloadkit crosscheck closed N=1,5,20 Z=5 S=1 servers=2 --plot closed.svg
workloadkit crosscheck mixed lam=0.3 N=1:10 Z=5 S=1 --workers 4
workloadkit crosscheck reopen lam=0.1:0.9:0.2 Z=1 S=1 p=exp:1 p=zakay
workloadkit crosscheck all --workers 2
workloadkit crosscheck mmc lam=2.2 S=1 servers=3 --write DIR --runs 10
workloadkit crosscheck --judge DIR
"""

#: The names of the models.
MODELS = (
    *("all", "mm1", "poisson", "mmc", "sites", "mminf", "mmck", "md1", "mg1", "closed", "think"),
    *("mgc", "ps", "srpt", "sjf", "fb", "impatient", "breakdowns", "mixed", "reopen", "parallel"),
    *("ggc", "batches", "vacations", "dps", "priorities", "jackson", "qna", "class_switching"),
    *("bulk_service", "fork_join", "closed_priorities"),
    *(
        "network",
        "mva",
        "convolution",
        "bard_schweitzer",
        "linearizer",
        "mixed_mva",
        "open_network",
    ),
)


@with_settings()
def crosscheck(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            autocompletion=words(*MODELS),
            help="Model, see `workloadkit help crosscheck-models`; or all.",
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE...",
            show_default=False,
            help="Parameters: arrival rate lam, closed users N, mean think time Z, mean service "
            "time S, servers, probability of another job p, and the method of the theory; of "
            "networks, arrays such as demands=0.6,1/0.3,2 (a row for each class).",
        ),
    ] = None,
    *,
    settings: Crosscheck,
    workers: WorkersOption = 1,
    plot: Annotated[
        Path | None,
        figure_option("differences, and the response time over a parameter that varies"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Write the jobs for another simulator (SWF and Batsim) and the expected values.",
        ),
    ] = None,
    judge: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Judge the schedules that it wrote there, run-01.schedule.swf or run-01_jobs.csv.",
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Compare a queueing model with its simulation.

    Shows X, R, Q, U (Xc of closed users' jobs, Xo of open jobs) and percentiles of R by theory and
    by simulation, with interval, z and the allowed difference. This is as improbable as 4 standard
    errors of a normal distribution, plus the error that an approximation states. Rows without a
    stated error are not judged. Exit 1 if a difference is larger than allowed.
    """
    check_outputs(plot, json=json)
    if (model is None) != (judge is not None) or (judge and (parameters or write)):
        raise typer.BadParameter("give a model, or --judge DIR alone")
    if model == "all":
        if parameters or write:
            raise typer.BadParameter(
                "all models have points of their own: no parameters, no --write"
            )
        found: CrossCheck | CrossCheckOfAll | None = _check_all(settings, workers)
    elif judge is not None:
        from workloadkit.analysis.queue_models.cross_check.others import judge_schedules

        found = judge_schedules(judge)
    else:
        found = _check(str(model), parameters or [], settings, workers, write)
    if found is None:
        return
    if json:
        write_json(json, found.to_dict() | {"provenance": {"workloadkit": __version__}})
    if plot:
        _draw(found, plot)
    if str(json) != "-":
        _show(found)
    if not found.holds:
        raise typer.Exit(1)


def _check(
    model: str, words: list[str], settings: Crosscheck, workers: int, write: Path | None
) -> "CrossCheck | None":
    """Compare one model; or write its jobs, and return nothing."""
    from workloadkit.analysis.queue_models.cross_check.checking import crosscheck_grids
    from workloadkit.analysis.queue_models.cross_check.declared import find_model
    from workloadkit.analysis.queue_models.cross_check.others import write_crosscheck

    if model == "network":  # of `queueing`
        model = "mixed_mva" if any(word.startswith("lam=") for word in words) else "mva"
    declared = find_model(model)
    if declared.arrays:
        grids = [read_arrays(words, declared.known)] if words else [dict(declared.example)]
    else:
        grids = read_grids(words, declared.known)
    if write is not None:
        if len(grids) > 1:
            raise typer.BadParameter("the parameters form a grid; --write takes one point")
        note(f"wrote {write_crosscheck(model, write, settings, **grids[0])} and its runs")
        return None
    with executor(workers) as pool, progress(f"simulating {model}") as count:
        return crosscheck_grids(model, grids, settings, executor=pool, progress=count)


def _check_all(settings: Crosscheck, workers: int) -> "CrossCheckOfAll":
    from workloadkit.analysis.queue_models.cross_check.everything import crosscheck_all

    with executor(workers) as pool, progress("simulating all models") as count:
        return crosscheck_all(settings=settings, executor=pool, progress=count)


def _show_all(found: "CrossCheckOfAll") -> None:
    """Print a line for each model, and the verdict."""
    made = found.checks[0].simulation
    typer.echo(f"each model at one point: {made['runs']} runs of {made['jobs']:,} jobs or fewer\n")
    typer.echo(f"{'model':<16}{'measures':>8}  {'worst':<10}{'z':>6}{'of allowed':>12}  theory")
    for row in found.table.to_dict("records"):
        z = f"{row['z']:+.1f}".replace("-", "−")
        words = row["exactness"] if row["holds"] else "differs"
        line = (
            f"{row['model']:<16}{row['measures']:>8}  {row['worst']:<10}{z:>6}"
            f"{row['used']:>11.0%}  {words}"
        )
        typer.echo(line if len(line) <= 80 else f"{line[:79]}…")
    failed = int((~found.table["holds"]).sum())
    verdict = f"differ for {failed}" if failed else "agree for all"
    typer.echo(f"\ntheory and simulation {verdict} of {len(found.table)} models")


def _show(found: "CrossCheck | CrossCheckOfAll") -> None:
    """Print a table for each point, and the verdict."""
    from workloadkit.analysis.queue_models.cross_check.result import CrossCheck

    if not isinstance(found, CrossCheck):
        _show_all(found)
        return
    from rich.console import Console

    from workloadkit.errors import plural

    console = Console()
    wide = console.options.update(max_width=1000)  # a narrow terminal folds lines, no number is cut
    made = found.simulation
    runs, jobs = plural(made["runs"], "run"), plural(made["jobs"], "job")
    typer.echo(f"{found.model}: {runs} of {jobs}, seed {made['seed']}")
    for place, point in found.points.iterrows():
        typer.echo("\n" + _heading(point.to_dict()))
        table = _table(found.table[found.table["point"] == place])
        console.width = max(console.width, console.measure(table, options=wide).maximum)
        console.print(table)
    judged = int(found.table["holds"].notna().sum())
    failed, others = len(found.failed), len(found.table) - judged
    if judged:
        from workloadkit.analysis.queue_models.cross_check.estimates import allowance

        most = f"with {runs} ±{allowance(made['runs']):.3g} of z"
        typer.echo(f"allowed: 4 standard errors ({most}), and a stated error")
        verdict = f"differ in {failed:,}" if failed else "agree in all"
        typer.echo(f"theory and simulation {verdict} of {plural(judged, 'measure')}")
    if others:
        which = " others" if judged else " measures"
        typer.echo(f"not judged, as the theory states no error: {others:,}{which}")


def _heading(point: dict[str, Any]) -> str:
    """Describe a point."""
    from workloadkit.analysis.queue_models.cross_check.result import OF_RUNS
    from workloadkit.errors import plural

    parameters = ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in point.items()
        if name not in OF_RUNS
    )
    warmup = "no warm-up is left out"
    if point["warmup"]:
        warmup = f"warm-up, the first {plural(point['warmup'], 'job')} of a run, is left out"
    if not point["settled"]:
        warmup += "; it may last longer"
    return f"{parameters}\n{point['exactness']}; {warmup}"


def _table(rows: "pd.DataFrame") -> "Table":
    """Lay out the measures of a point."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("measure", no_wrap=True)
    for heading in ("theory", "simulation", "95 % interval", "z", "allowed"):
        table.add_column(heading, justify="right", no_wrap=True)
    differs = rows["holds"].eq(False).any()
    if differs:
        table.add_column("", no_wrap=True)
    for row in rows.to_dict("records"):
        cells = [
            row["measure"],
            _number(row["theory"]),
            _number(row["simulation"]),
            f"[{_number(row['low'], 4)}, {_number(row['high'], 4)}]",
            f"{row['z']:+.1f}".replace("-", "−") if abs(row["z"]) < 1e3 else "–",
            _number(row["allowed"], 2),
        ]
        table.add_row(*cells, *(["differs" if row["holds"] is False else ""] if differs else []))
    return table


def _number(value: float, digits: int = 5) -> str:
    """Write a number with a number of significant digits."""
    return "–" if value != value else f"{value:.{digits}g}"


def _draw(found: "CrossCheck | CrossCheckOfAll", path: Path) -> None:
    """Write the figure."""
    from functools import partial

    from workloadkit import analysis
    from workloadkit.analysis.queue_models.cross_check.result import (
        CrossCheck,
        plot_crosscheck,
        responses,
    )

    if isinstance(found, CrossCheck):
        size = (5.0 * (1 + len(responses(found))), 4.0)
        tables = {
            "Theory and simulation, with its standard error and 95 % interval (low, high), the "
            "relative error stated by the theory, and the allowed difference.": found.table,
            "Points: warm-up in jobs, whether runs are long enough for it (settled), and how many "
            "independent responses the mean of a run is worth.": found.points,
        }
        plot: Callable[..., Any] = partial(plot_crosscheck, found)
        title = found.model
    else:
        plot, title, size = found.plot, "all models", (6, 1 + 0.2 * len(found.table))
        tables = {"The largest difference of each model.": found.table}
    analysis.save_figure(plot, path, title=title, size=size, tables=tables)
    note(f"wrote {path}")
