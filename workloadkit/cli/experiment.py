"""`workloadkit experiment`: a grid of simulations, run on many processes or machines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    Commands,
    StrictOption,
    counting,
    say,
)
from workloadkit.cli.executors import DaskOption, WorkersOption, executor
from workloadkit.cli.results import print_comparison, print_results

if TYPE_CHECKING:
    from workloadkit.experiments.results import Results

RUN_EXAMPLES = """
workloadkit experiment run backfilling.toml --workers 4 --out results
workloadkit experiment run backfilling.toml --dask tcp://head:8786 --out results
workloadkit experiment run backfilling.toml --shard 3/10 --out part3
"""
MERGE_EXAMPLES = """
workloadkit experiment merge part1 part2 part3 --out results
workloadkit experiment merge results --baseline easy
"""

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Run a grid of simulations, on many processes or machines.",
)


def _shard(text: str) -> tuple[int, int]:
    part, slash, of = text.partition("/")
    if not (slash and part.isdigit() and of.isdigit() and 1 <= int(part) <= int(of)):
        raise typer.BadParameter(f"{text!r} is not k/n, with k from 1 to n")
    return int(part), int(of)


BaselineOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="Compare the other schedulers with this one, run by run.",
    ),
]


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The experiment.")],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Keep the results there, in results.parquet. If there are some, go on from them.",
        ),
    ],
    baseline: BaselineOption = None,
    shard: Annotated[
        Any,
        typer.Option(
            metavar="K/N",
            parser=_shard,
            show_default=False,
            help="Run part K of N, such as in a job array, each with its own DIR; see "
            "`experiment merge`.",
        ),
    ] = None,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    strict: StrictOption = False,
) -> None:
    """Run the simulations of an experiment that have no results yet.

    FILE.toml contains logs, schedulers, users, loads, readings and settings. Results are written
    every few seconds: after an interruption the same command goes on. The results do not depend on
    how they were made.
    """
    from workloadkit.experiments.specification import read_experiment

    with executor(workers, dask=dask) as pool:
        experiment = read_experiment(file, strict=strict)
        with counting("simulations") as progress:
            results = experiment.run(out, executor=pool, shard=shard or (1, 1), progress=progress)
    say(f"{out}: {len(results.runs):,} of {results.size:,} simulations")
    _show(results, baseline)


def merge(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of results of an experiment.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", show_default=False, help="Write all results there."),
    ] = None,
    baseline: BaselineOption = None,
) -> None:
    """Put the results of the parts of an experiment together, and show them."""
    from workloadkit.experiments.merging import merge_results

    results = merge_results(folders, out)
    if out is not None:
        say(f"wrote {out / 'results.parquet'}")
    say(f"{len(results.runs):,} of {results.size:,} simulations")
    _show(results, baseline)


def _show(results: "Results", baseline: str | None) -> None:
    """Print the means on stdout, and the comparison."""
    if not len(results.runs):
        return
    print_results(results)
    if baseline is not None:
        print_comparison(results, baseline)


for command, examples in ((run, RUN_EXAMPLES), (merge, MERGE_EXAMPLES)):
    app.command(epilog="\b\nExamples:" + examples.rstrip().replace("\n", "\n  "))(command)
