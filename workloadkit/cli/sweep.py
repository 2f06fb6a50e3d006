"""`workloadkit sweep`: schedulers under several loads."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.commands import RARE
from workloadkit.cli.common import (
    JsonOption,
    NoPauseOption,
    check_outputs,
    figure_option,
    output_option,
    report_estimates,
    report_unit,
    write,
    write_json,
)
from workloadkit.cli.executors import WorkersOption, executor
from workloadkit.cli.options import kind_of_users, scheduler_option, with_settings
from workloadkit.cli.output import (
    MEANS,
    note,
    print_all,
    progress,
    report_precision,
    warn_of_calibration,
    warn_of_resampled_waits,
    write_message,
)
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)
from workloadkit.errors import ParameterError
from workloadkit.settings import Sweep as SweepSettings

if TYPE_CHECKING:
    from workloadkit.experiments.sweep import SweepResults

EXAMPLES = """
workloadkit sweep log.swf.gz --scheduler easy --scheduler sjf --load 0.9
workloadkit sweep log.swf.gz --runs 10 --seed 1 --workers 4 --plot sweep.svg
workloadkit sweep --load 0.8 --runs 500 --precision 2% --metric mean_wait
workloadkit sweep --metric wait_p98 --metric later_than_fcfs -o sweep.csv
workloadkit sweep --metric mine:share_on_time --load 0.8
workloadkit sweep log.swf.gz --load-by users --users-factor 1.2 --runs 10
workloadkit sweep log.swf.gz --users fluid --load-by users --runs 10
workloadkit sweep log.swf.gz --runs 100 --seed 1 --workers 4 --out results
"""


@with_settings()
def sweep(
    trace: TraceArgument = None,
    scheduler: Annotated[list[str] | None, scheduler_option("fcfs and easy")] = None,
    loads: Annotated[
        list[float] | None,
        typer.Option(
            "--load",
            metavar="X",
            show_default=False,
            help="Offered load: 0.9 for 90 % of capacity, at most 3; repeat for several. By "
            "default 0.5 to 0.9. In steps of 0.1. It is work / (processors x span). With "
            "--load-by users the same as --users-factor.",
        ),
    ] = None,
    factors: Annotated[
        list[float] | None,
        typer.Option(
            "--users-factor",
            metavar="F",
            show_default=False,
            rich_help_panel=RARE,
            help="Factor of the number of users, with --load-by users: 1.2 for 20 % more; repeat "
            "for several. By default 0.8 to 1.5 in steps of 0.1. Its limit is the pool of "
            "temporary users.",
        ),
    ] = None,
    no_pause: NoPauseOption = False,
    weeks: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            show_default=False,
            rich_help_panel=RARE,
            help="Length in weeks, with --load-by users. By default that of the log.",
        ),
    ] = None,
    *,
    settings: SweepSettings,
    workers: WorkersOption = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default=False,
            help="Keep results in this folder, and continue from them. Their file is "
            "results.parquet.",
        ),
    ] = None,
    output: Annotated[Path | None, output_option("the table as CSV")] = None,
    plot: Annotated[Path | None, figure_option("the metrics over load")] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Simulate schedulers under several loads.

    Shows means over the runs, and the differences from the first scheduler, paired run by run,
    unless the table or the JSON goes to stdout.
    """
    from workloadkit.experiments.custom_parts import metrics_named, scheduler_named, users_named
    from workloadkit.experiments.sweep import sweep as run_sweep

    for name in scheduler or ():
        if scheduler and scheduler.count(name) > 1:
            raise ParameterError(f"--scheduler {name} is given twice")
    check_outputs(plot, table=output, json=json, inputs=[trace])
    if weeks is not None and settings.load_by != "users":
        raise ParameterError("--weeks requires --load-by users")
    if factors and settings.load_by != "users":
        raise ParameterError("--users-factor requires --load-by users")
    if factors and loads:
        raise ParameterError("--users-factor and --load are both given; give one")
    metrics = metrics_named(settings.metrics)
    settings = replace(settings, users=users_named(settings.users), metrics=metrics)
    chosen = {name: scheduler_named(name) for name in scheduler or ("fcfs", "easy")}
    reacting = kind_of_users(settings.users, trace) != "open"
    if no_pause and not reacting:
        raise ParameterError("--no-pause is for users who react: others follow the log")
    resampling = {"weeks": weeks} if weeks is not None else {}
    resampling |= {"pause": False} if no_pause else {}
    with executor(workers) as pool:
        log = load(trace, strict=strict)
        report_estimates(log, settings)
        report_unit(log, settings)
        with progress(f"sweeping {log.name}") as count:
            found = run_sweep(
                log,
                chosen,
                loads or factors or None,
                folder=out,
                executor=pool,
                progress=count,
                settings=settings,
                resampling=resampling,
            )
    if settings.rng is not None and "seed" not in found.provenance["parameters"]:
        write_message(
            "warning: --seed makes no difference to a single run, which is the log itself"
        )
    warn_of_calibration(found)
    warn_of_resampled_waits(found)
    if settings.precision is not None:
        report_precision(found, settings.precision, settings.runs)
    if output:
        write(output, found.to_csv())
    if json:
        write_json(json, found.to_dict())
    if plot:
        _draw(found, plot, log.name)
    if "-" not in (str(output), str(json)):
        _show(found)


def _show(sweep: "SweepResults") -> None:
    """Print what was simulated, and the table."""
    from workloadkit.errors import plural
    from workloadkit.units import WORDS

    parameters = sweep.provenance["parameters"]
    on_nodes = "machine" in parameters  # whose processors are recorded
    unit = WORDS["procs" if on_nodes else parameters.get("unit", "procs")]
    made = sweep.provenance["log"]
    if "users" in parameters:
        made += f", users {parameters['users']}"
    made += f", {plural(parameters['procs'], unit.one)}"
    if "seed" in parameters:
        made += f", {plural(parameters['runs'], 'run')}, seed {parameters['seed']}"
    typer.echo(made)
    print_all(sweep, sweep.baseline)
    if parameters["runs"] == 1:
        typer.echo("one run, so no intervals; use --runs for more")


def _draw(sweep: "SweepResults", path: Path, name: str) -> None:
    """Write the figure."""
    from functools import partial

    from workloadkit import analysis

    size = (max(4 * len(sweep.metrics), 6), 4)
    plot = partial(analysis.schedules.plot_sweeps, sweep)
    tables = {MEANS: sweep.table}
    analysis.save_figure(plot, path, title=name, size=size, tables=tables)
    note(f"wrote {path}")
