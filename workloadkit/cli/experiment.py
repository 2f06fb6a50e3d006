"""`workloadkit experiment`: a grid of simulations on many processes or machines."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.commands import RARE, Commands
from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    figure_option,
    write_json,
)
from workloadkit.cli.executors import DaskOption, WorkersOption, executor
from workloadkit.cli.options import HelpAllOption, add_command
from workloadkit.cli.output import (
    MEANS,
    note,
    print_all,
    progress,
    report_precision,
    warn_of_calibration,
    warn_of_resampled_waits,
)
from workloadkit.cli.reading import (
    StrictOption,
)
from workloadkit.errors import plural, quoted
from workloadkit.settings import ExperimentSettings

if TYPE_CHECKING:
    from workloadkit.experiments.results import Results

RUN_EXAMPLES = """
workloadkit experiment run backfill.toml --workers 4 --out results
workloadkit experiment run backfill.toml --precision 2% --out results
workloadkit experiment run backfill.toml --dask tcp://head:8786 --out results
workloadkit experiment run backfill.toml --shard 3/10 --out part3
"""
MERGE_EXAMPLES = """
workloadkit experiment merge part1 part2 part3 --out results
workloadkit experiment merge results --baseline easy
"""

app = typer.Typer(cls=Commands, no_args_is_help=True)


@app.callback()
def experiment(help_all: HelpAllOption = False) -> None:
    """Run a grid of simulations, on many processes or machines.

    A TOML file describes it, see `workloadkit help experiment-files`.
    """


def _shard(text: str) -> tuple[int, int]:
    part, slash, of = text.partition("/")
    if not (slash and part.isdigit() and of.isdigit() and 1 <= int(part) <= int(of)):
        raise typer.BadParameter(f"{quoted(text)} is not K/N, with K from 1 to N")
    return int(part), int(of)


BaselineOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="Compare the other schedulers with this one, run by run.",
    ),
]


PlotOption = Annotated[Path | None, figure_option("the means of each metric")]


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The experiment.")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Keep the results in results.parquet in this folder, and continue from those that "
            "are there.",
        ),
    ],
    baseline: BaselineOption = None,
    precision: Annotated[
        str | None,
        typer.Option(
            "--until",
            "--precision",
            metavar="X%",
            show_default=False,
            help="Stop when all intervals of differences from the baseline are within X of its "
            "mean: 2%. `runs` of FILE.toml is then the most.",
        ),
    ] = None,
    shard: Annotated[
        Any,
        typer.Option(
            metavar="K/N",
            parser=_shard,
            show_default=False,
            rich_help_panel=RARE,
            help="Run part K of N, for example in a job array, each with its own DIR; see "
            "`experiment merge`.",
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            rich_help_panel=RARE,
            help="Import the modules of custom parts that FILE.toml names: their code runs.",
        ),
    ] = False,
    plot: PlotOption = None,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Run the simulations of an experiment that have no results yet.

    FILE.toml contains logs, schedulers, users, loads, readings and settings, see `workloadkit help
    experiment-files`. Results are written every few seconds; after an interruption the same command
    continues. They do not depend on the number of workers.
    """
    from workloadkit.experiments.specification import read_experiment

    check_outputs(plot, json=json, inputs=[file])
    with executor(workers, dask=dask) as pool:
        experiment = read_experiment(file, strict=strict, trust=trust)
        if precision is not None:
            settings = ExperimentSettings.of(experiment.settings, {"precision": precision})
            experiment = replace(experiment, settings=settings)
        with progress("simulations") as count:
            results = experiment.run(
                out,
                executor=pool,
                shard=shard or (1, 1),
                progress=count,
                baseline=baseline,
            )
    note(f"{out}: {len(results.runs):,} of {plural(results.size, 'simulation')}")
    chosen = experiment.settings
    if chosen.precision is not None:
        report_precision(results, chosen.precision, chosen.runs, baseline)
    _report(results, baseline, json, plot, file.stem)


def merge(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of results of an experiment.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", show_default=False, help="Write all results into this folder."),
    ] = None,
    baseline: BaselineOption = None,
    plot: PlotOption = None,
    json: JsonOption = None,
) -> None:
    """Merge the results of the parts of an experiment, and show them."""
    from workloadkit.experiments.results import merge_results

    check_outputs(plot, json=json)
    results = merge_results(folders, out)
    if out is not None:
        note(f"wrote {out / 'results.parquet'}")
    note(f"{len(results.runs):,} of {plural(results.size, 'simulation')}")
    _report(results, baseline, json, plot, "Experiment")


def _report(
    results: "Results", baseline: str | None, json: Path | None, plot: Path | None, title: str
) -> None:
    """Print the means on stdout, and the comparison; or write them as JSON; draw them."""
    from workloadkit.provenance import plain

    warn_of_calibration(results)
    warn_of_resampled_waits(results)
    has_runs = len(results.runs) > 0
    if plot and has_runs:
        from functools import partial

        from workloadkit import analysis
        from workloadkit.display import unit_of

        tables = {MEANS: results.table}
        for name in results.metrics if baseline is not None else ():
            unit = f" [{unit_of(name)}]" if unit_of(name) else ""
            title_of = f"{name.replace('_', ' ')}{unit}: difference from {baseline}, run by run."
            tables[title_of] = results.compare(name, str(baseline))
        draw = partial(analysis.schedules.plot_results, results)
        size = (12.0, 4.0 * -(-len(results.metrics) // 3))
        analysis.save_figure(draw, plot, title=title, size=size, tables=tables)
        note(f"wrote {plot}")
    if json:
        data = results.to_dict()
        if baseline is not None and has_runs:
            compared = {name: results.compare(name, baseline) for name in results.metrics}
            data["comparison"] = {n: plain(x.to_dict("records")) for n, x in compared.items()}
        write_json(json, data)
    if has_runs and str(json) != "-":
        print_all(results, baseline)


add_command(app, run, RUN_EXAMPLES, ("experiment-files", "custom"), whole_logs=True)
add_command(app, merge, MERGE_EXAMPLES)
