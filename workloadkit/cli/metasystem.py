"""`workloadkit metasystem`: several sites, and meta-schedulers that send jobs to them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    JsonOption,
    aligned,
    check_folder_of,
    check_outputs,
    figure_option,
    write,
    write_json,
    write_log,
)
from workloadkit.cli.output import note, progress, watched, write_message
from workloadkit.errors import ParameterError, WorkloadError, quoted

if TYPE_CHECKING:
    from workloadkit.metasystem import MetaSchedule

EXAMPLES = """
workloadkit metasystem grid.json
workloadkit metasystem grid.json --policy grid=shortest-wait --json wait.json
workloadkit metasystem grid.json -o results --events 0.1 --check
"""


def metasystem(
    description: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.json",
            show_default=False,
            readable=False,  # the reader reports what is wrong
            help='Description of the sites, links and meta-schedulers; "-" is standard input.',
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=POLICY",
            show_default=False,
            help="Policy of a meta-scheduler in place of that of the description, see "
            "`workloadkit help meta-schedulers`; repeat for several.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="DIR",
            show_default=False,
            help="Write into this folder the schedule of each site as SITE.swf.gz, the meta jobs "
            "as jobs.csv, applications as applications.csv, and what happened as events.csv.",
        ),
    ] = None,
    events: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Share of the jobs in events.csv, drawn by --seed."
        ),
    ] = 1.0,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Check the schedule by rules that share no code with the simulation, and show "
            "each; exit 1 if one is violated.",
        ),
    ] = False,
    plot: Annotated[Path | None, figure_option("queue and utilization of each site")] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="S",
            help="Seed of the random numbers. By default that of the description.",
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Simulate several sites and their meta-schedulers.

    Shows the metrics of the meta jobs, and what these cost the local jobs of each site, unless JSON
    goes to stdout. A warning names each site whose simulation alone does not reproduce its log.
    """
    from workloadkit.analysis.calibration import failed_calibration
    from workloadkit.experiments.custom_parts import meta_scheduler_named
    from workloadkit.metasystem import check_metasystem, read_metasystem, simulate_metasystem

    check_outputs(plot, json=json, inputs=[description])
    if output is not None:
        check_folder_of(output)
    policies: dict[str, Any] = {}
    for word in policy or ():
        name, sign, value = word.partition("=")
        if not sign or name in policies:
            raise ParameterError(
                f"--policy is {quoted(word)}; write NAME=POLICY, once for each name"
            )
        policies[name] = meta_scheduler_named(value)
    with progress(f"reading {description}"):
        system = read_metasystem(description)
    with progress(f"simulating {description}") as count:
        with watched(count):
            schedule = simulate_metasystem(system, rng=seed, policies=policies)
        summary = schedule.to_dict()
        report = check_metasystem(schedule) if check else None
    for site, one in schedule.calibration.items():
        if said := failed_calibration(one, "simulated on its own"):
            write_message(f"warning: site {site}: {said}")
    if output:
        _write_all(schedule, output, events)
    if plot:
        _draw(schedule, plot, description.name)
    if json:
        write_json(json, summary)
    if str(json) != "-":
        _show(schedule)
        if report is not None:
            typer.echo(f"\n{report}")
    if report is not None and not report:
        raise typer.Exit(1)


def _write_all(schedule: "MetaSchedule", folder: Path, share: float) -> None:
    """Write the schedules of the sites, the meta jobs and the events."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{folder}: cannot be written: {error.strerror}") from None
    for each in schedule.prepared.sites:
        write_log(schedule.trace(each.site.name), folder / f"{each.site.name}.swf.gz")
    write(folder / "jobs.csv", schedule.jobs.to_csv(index=False))
    if len(schedule.applications):
        write(folder / "applications.csv", schedule.applications.to_csv(index=False))
    sample = schedule.events(share=share, rng=schedule.prepared.system.seed)
    write(folder / "events.csv", sample.to_csv(index=False))


def _draw(schedule: "MetaSchedule", path: Path, title: str) -> None:
    """Write the figure; a page has the schedule of each site, too."""
    from functools import partial

    import pandas as pd

    from workloadkit import analysis
    from workloadkit.analysis.schedules.comparison_plots import schedules_of_sites

    more = {
        f"{site}: the week with the longest queue": partial(analysis.schedules.plot_schedule, one)
        for site, one in schedules_of_sites(schedule).items()
    }
    found = schedule.metrics
    of_schedulers = pd.DataFrame(found["meta_schedulers"]).drop(index="sites")
    tables = {
        "Meta-schedulers; times in seconds.": of_schedulers,
        "Sites; times in seconds.": pd.DataFrame(found["sites"]),
    }
    draw = partial(analysis.schedules.plot_metasystem, schedule)
    analysis.save_figure(draw, path, title=title, size=(8, 6), tables=tables, more=more)
    note(f"wrote {path}")


def _show(schedule: "MetaSchedule") -> None:
    """Print the metrics on stdout."""
    from workloadkit.analysis.formats import count, duration, number, share

    found = schedule.metrics
    names = [each.site.name for each in schedule.prepared.sites]
    rows = [["Meta-scheduler", "Policy", "Jobs", "Mean wait", "Slowdown", "Cost", *names]]
    for described, values in zip(
        schedule.to_dict()["provenance"]["meta_schedulers"],
        found["meta_schedulers"].values(),
        strict=True,
    ):
        row = [described["meta_scheduler"], described["policy"], count(values["jobs"])]
        row += [duration(values["mean_wait"]), number(values["mean_bounded_slowdown"])]
        row += [number(values["cost"])]
        rows.append(row + [count(values["sites"][name]) for name in names])
    typer.echo(aligned(rows, words={0, 1}))
    _show_applications(found["meta_schedulers"])
    typer.echo()
    head = ["Site", "Scheduler", "Utilization", "Meta jobs", "Local jobs"]
    rows = [[*head, "Mean wait", "Without meta jobs", "Added"]]
    for described, values in zip(
        schedule.to_dict()["provenance"]["sites"], found["sites"].values(), strict=True
    ):
        row = [described["site"], described["scheduler"], share(values["utilization"])]
        row += [count(values["meta_jobs"]), count(values["local_jobs"])]
        row += [duration(values["mean_wait"])]
        rows.append([*row, duration(values["mean_wait_alone"]), _signed(values["added_wait"])])
    typer.echo(aligned(rows, words={0, 1}))


def _show_applications(schedulers: dict[str, Any]) -> None:
    """Print the metrics of applications, if there are any."""
    from workloadkit.analysis.formats import count, duration, number

    rows = [["Meta-scheduler", "Applications", "Makespan", "Critical path", "Ratio", "Moved GB"]]
    for name, values in schedulers.items():
        if "applications" in values:
            row = [name, count(values["applications"]), duration(values["mean_makespan"])]
            row += [duration(values["mean_critical_path"])]
            row += [number(values["mean_schedule_length_ratio"]), number(values["moved"] / 1e9)]
            rows.append(row)
    if len(rows) > 1:
        typer.echo()
        typer.echo(aligned(rows, words={0}))


def _signed(seconds: float) -> str:
    """Return a difference of times."""
    from workloadkit.analysis.formats import duration

    return f"−{duration(-seconds)}" if seconds < 0 else duration(seconds)
