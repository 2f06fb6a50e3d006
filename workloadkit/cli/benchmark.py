"""`workloadkit benchmark`: schedulers compared on a fixed suite, each entry checked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli import configuration
from workloadkit.cli.certificates import (
    MOST,
    NEAREST_EXAMPLES,
    RUNS,
    SEED,
    VERIFY_EXAMPLES,
    LogsOption,
    MetaOption,
    OnlyOption,
    ProcessOption,
    RunsOption,
    SchedulesOption,
    SuiteSeedOption,
    chosen_cases,
    named_entries,
    nearest,
    played,
    verify,
)
from workloadkit.cli.commands import Commands
from workloadkit.cli.common import (
    JsonOption,
    aligned,
    check_outputs,
)
from workloadkit.cli.options import HelpAllOption, add_command
from workloadkit.cli.output import note, progress
from workloadkit.cli.reports import TablesOption, page_option, processes_option, write_report
from workloadkit.errors import WorkloadError, plural

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from workloadkit.analysis.benchmark import BenchmarkReport
    from workloadkit.benchmark import BenchmarkResults

RUN_EXAMPLES = """
workloadkit benchmark run
workloadkit benchmark run easy sjf --only sample --only mixed -o page.html
workloadkit benchmark run easy --process "mine=awk -f mine.awk"
workloadkit benchmark run easy --schedules other=schedules --only open
workloadkit benchmark run home --meta "mine=awk -f meta.awk" --only grid
"""
WORKLOADS_EXAMPLES = """
workloadkit benchmark workloads -o workloads
workloadkit benchmark workloads -o workloads --only lublin --only busy
"""

app = typer.Typer(cls=Commands, no_args_is_help=True)


@app.callback()
def benchmark(help_all: HelpAllOption = False) -> None:
    """Compare schedulers on a fixed suite of workloads."""


def run(
    entries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POLICY[:P=V,...]",
            show_default=False,
            autocompletion=configuration.schedulers,
            help="Schedulers and meta-schedulers, see `workloadkit help schedulers` and "
            "`meta-schedulers`. By default the built-in ones.",
        ),
    ] = None,
    process: ProcessOption = None,
    schedules: SchedulesOption = None,
    meta: MetaOption = None,
    only: OnlyOption = None,
    logs: LogsOption = None,
    runs: RunsOption = RUNS,
    seed: SuiteSeedOption = SEED,
    output: Annotated[Path | None, page_option("benchmark.html")] = None,
    json: JsonOption = None,
    tables: TablesOption = None,
    workers: Annotated[int | None, processes_option(MOST)] = None,
) -> None:
    """Play entries in the cases of the suite, check their schedules and rank them.

    The JSON is a certificate, which `benchmark verify` checks on another machine. Exit 1 if an
    entry is refused; the others are ranked.
    """
    if output is None and json is None:
        output = Path("benchmark.html")
    check_outputs(page=output, json=json)
    from workloadkit.benchmark import built_in

    chosen = named_entries(entries, process, schedules, meta) or built_in()
    among = chosen_cases(only, logs)
    found: list[BenchmarkResults] = []

    def make(pool: "Executor | None") -> "BenchmarkReport":
        from workloadkit.analysis.benchmark import report_benchmark

        found.append(played(chosen, among, runs, seed, pool))
        return report_benchmark(found[0])

    module = "workloadkit.analysis.benchmark"
    write_report(make, module, workers, MOST, output=output, json=json, tables=tables)
    if not any(str(target) == "-" for target in (output, json)):
        _show(found[0])
    if found[0].refused:
        raise typer.Exit(1)


def _show(results: "BenchmarkResults") -> None:
    """Print the scores on stdout, and why entries are refused."""
    from workloadkit.analysis.benchmark import MAIN, shown_scores
    from workloadkit.analysis.formats import metric_title

    scores, texts = results.scores, []
    for _, rows in scores.groupby("kind", sort=False) if len(scores) else ():
        shown = ("mean_wait", MAIN)
        table = rows.pivot(index="entry", columns="metric", values="score")
        baseline = rows["baseline"].iloc[0]
        cells = [["Entry", "Cases", *(f"{metric_title(name)} / {baseline}" for name in shown)]]
        for entry in table[MAIN].sort_values(kind="stable").index:
            mine = rows[rows["entry"] == entry].set_index("metric")
            n_cases, saturated, *values = shown_scores(mine, shown)
            cells.append([entry, n_cases, *values])
            if mine["saturated"].max():
                cells[-1][1] += f" ({saturated} runs saturated)"
                n_cases, _, *values = shown_scores(mine, shown, "_others")
                cells.append(["", f"{n_cases} without these", *values])
        texts.append(aligned(cells, words={0}))
    texts += [f"refused: {name}: {why}" for name, why in results.refused.items()]
    typer.echo("\n\n".join(texts))


def workloads(
    output: Annotated[
        Path, typer.Option("-o", metavar="DIR", help="Write the workloads into this folder.")
    ],
    only: OnlyOption = None,
    logs: LogsOption = None,
    runs: RunsOption = RUNS,
    seed: SuiteSeedOption = SEED,
) -> None:
    """Write the workloads for simulators and schedulers of other people.

    Each run of a case is a file in SWF. Its schedule is a file of the same name, with the waits of
    the schedule. A metasystem is a folder with its description and logs; its schedule is a file in
    SWF of its meta jobs, with their sites as partitions. The workloads of users who react are left
    out, as their submit times depend on the schedule.
    """
    from workloadkit.io.swf import write_swf
    from workloadkit.metasystem import Metasystem, write_metasystem

    among = [case for case in chosen_cases(only, logs) if case.users == "open"]
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{output}: cannot be written: {error.strerror}") from None
    with progress("writing the workloads") as count:
        for done, case in enumerate(among):
            for i in range(runs):
                made, name = case.run(i, seed), f"{case.name}.{i}"
                if isinstance(made, Metasystem):
                    (output / name).mkdir(exist_ok=True)
                    write_metasystem(made, output / name)
                else:
                    write_swf(made, output / f"{name}.swf.gz")
            count(done + 1, len(among))
    note(f"wrote {plural(runs * len(among), 'workload')} to {output}")


add_command(app, run, RUN_EXAMPLES, ("schedulers", "processes"))
add_command(app, workloads, WORKLOADS_EXAMPLES)
add_command(app, verify, VERIFY_EXAMPLES)
add_command(app, nearest, NEAREST_EXAMPLES)
