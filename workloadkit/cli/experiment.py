"""`workloadkit experiment`: a grid of simulations, run on many processes or machines."""

import logging
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    Commands,
    StrictOption,
    WorkersOption,
    counting,
    executor,
    say,
)
from workloadkit.cli.results import print_comparison, print_results
from workloadkit.errors import ParameterError, WorkloadError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

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
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default=False,
            help="Run on the workers of a Dask scheduler, such as tcp://head:8786. They must find "
            "DIR under the same path.",
        ),
    ] = None,
    strict: StrictOption = False,
) -> None:
    """Run the simulations of an experiment that have no results yet.

    FILE.toml contains logs, schedulers, users, loads, readings and settings. Results are written
    every few seconds: after an interruption the same command goes on. The results do not depend on
    how they were made.
    """
    from workloadkit.experiments.specification import read_experiment

    if dask is not None and workers > 1:
        raise ParameterError("--workers and --dask exclude each other")
    experiment = read_experiment(file, strict=strict)
    with _executor(workers, dask) as pool, counting("simulations") as progress:
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


@contextmanager
def _executor(workers: int, dask: str | None) -> "Iterator[Executor | None]":
    """Give what runs the tasks."""
    if dask is None:
        with executor(workers) as pool:
            yield pool
        return
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise ParameterError(
            "--dask needs the package distributed: pip install 'workloadkit[dask]'"
        ) from None
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are one line here
    try:
        client = Client(dask, timeout="10s")
    except (OSError, ValueError, TypeError) as error:
        raise WorkloadError(f"{dask}: no Dask scheduler answers: {error}") from None
    try:
        with client, client.get_executor(pure=False) as pool:
            yield pool
    except (CancelledError, KilledWorker, OSError) as error:
        why = str(error) or "the scheduler has gone"
        raise WorkloadError(f"{dask}: {why}; the same command continues") from None


for command, examples in ((run, RUN_EXAMPLES), (merge, MERGE_EXAMPLES)):
    app.command(epilog="\b\nExamples:" + examples.rstrip().replace("\n", "\n  "))(command)
