"""`workloadkit simulate`: a scheduler serving the users of a log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    SeedOption,
    StrictOption,
    TraceArgument,
    check_outputs,
    duration,
    load,
    say,
    working,
    write_json,
)
from workloadkit.errors import ParameterError

if TYPE_CHECKING:
    from workloadkit.simulate import Schedule

EXAMPLES = """
workloadkit simulate log.swf.gz -o easy.swf.gz --json easy.json
workloadkit simulate log.swf.gz --scheduler fcfs --offered-load 0.9
workloadkit simulate log.swf.gz --gantt gantt.svg --warmup 1w
workloadkit simulate log.swf.gz --resampled --load 1.2 --weeks 52 --seed 1
"""


def figure_file(path: Path | None) -> Path | None:
    """Refuse the name of a figure's file before anything is simulated."""
    if path and path.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise typer.BadParameter(f"{path}: a figure is written as .svg, .png or .pdf")
    return path


def simulate(
    trace: TraceArgument = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:PARAM=VALUE,...]",
            show_default=False,
            help="Scheduler, of those listed below. By default easy.",
        ),
    ] = None,
    users: Annotated[
        str, typer.Option(metavar="NAME", help="How users behave: open, by their timestamps.")
    ] = "open",
    procs: Annotated[
        int | None,
        typer.Option(
            metavar="P",
            show_default=False,
            help="Processors of the machine. By default the header's MaxProcs, else MaxNodes.",
        ),
    ] = None,
    oversize: Annotated[
        str,
        typer.Option(metavar="error|drop", help="Jobs larger than the machine: refuse or drop."),
    ] = "error",
    estimates: Annotated[
        str,
        typer.Option(metavar="user|exact", help="Plan with users' estimates or the run times."),
    ] = "user",
    overrun: Annotated[
        str,
        typer.Option(
            metavar="raise|kill|late",
            help="A job that outlives its estimate: the estimate is raised to the run time, the "
            "job is stopped, or it runs on late.",
        ),
    ] = "raise",
    passes: Annotated[
        str,
        typer.Option(
            metavar="instant|event",
            help="Allocate processors once an instant, or after each single event as older "
            "simulators do.",
        ),
    ] = "instant",
    outages: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            readable=False,  # reading says what is wrong
            help="Outages of processors: announced ones are planned around, others stop jobs.",
        ),
    ] = None,
    interrupted: Annotated[
        str | None,
        typer.Option(
            metavar="requeue|lose",
            show_default=False,
            help="A job stopped by an outage: it waits again and runs anew, by default, or it is "
            "lost.",
        ),
    ] = None,
    utility_at: Annotated[
        str,
        typer.Option(
            metavar="turnaround|start",
            help="When the value of a job that has a utility function is read.",
        ),
    ] = "turnaround",
    resampled: Annotated[
        bool,
        typer.Option(
            "--resampled", help="Simulate a new log drawn from the users of this one: `resample`."
        ),
    ] = False,
    weeks: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            show_default=False,
            help="Length of the resampled log in weeks. By default that of the log.",
        ),
    ] = None,
    factor: Annotated[
        float | None,
        typer.Option(
            "--load",
            metavar="F",
            show_default=False,
            help="Factor of the numbers of users in the resampled log. By default 1.",
        ),
    ] = None,
    skip_rare: Annotated[
        bool,
        typer.Option(
            "--skip-rare",
            help="Leave the jobs of rare behaviours, which the header of a resampled log names, "
            "out of the metrics.",
        ),
    ] = False,
    offered_load: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default=False,
            help="Stretch or compress submit times until work / (processors x span) is X.",
        ),
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option(
            parser=duration,
            metavar="T",
            show_default=False,
            help="Leave jobs submitted in the first T out of the metrics.",
        ),
    ] = None,
    cooldown: Annotated[
        float | None,
        typer.Option(
            parser=duration,
            metavar="T",
            show_default=False,
            help="Leave jobs submitted in the last T out of the metrics.",
        ),
    ] = None,
    seed: SeedOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="FILE",
            show_default=False,
            help='Write the simulated jobs as SWF to this file; "-" is stdout.',
        ),
    ] = None,
    json: JsonOption = None,
    gantt: Annotated[
        Path | None,
        typer.Option(
            callback=figure_file,
            metavar="FILE",
            show_default=False,
            help="Draw the week of the longest queue, as SVG, PNG or PDF by the file's name.",
        ),
    ] = None,
    queue: Annotated[
        Path | None,
        typer.Option(
            callback=figure_file,
            metavar="FILE",
            show_default=False,
            help="Draw the length of the queue, as SVG, PNG or PDF by the file's name.",
        ),
    ] = None,
    strict: StrictOption = False,
) -> None:
    """Simulate a scheduler serving the users of a log.

    Shows the metrics, unless they or the jobs go to stdout.
    """
    import workloadkit as wk

    if scheduler and len(scheduler) > 1:
        raise ParameterError(
            f"one scheduler at a time, not {', '.join(scheduler)}; `workloadkit sweep` takes more"
        )
    if interrupted and not outages:
        raise ParameterError("--interrupted goes with --outages: nothing else interrupts a job")
    check_outputs(output, json, gantt, queue, inputs=[trace, outages])
    for option, value in (("--weeks", weeks), ("--load", factor)):
        if value is not None and not resampled:
            raise ParameterError(f"{option} goes with --resampled: a log is as it is")
    log = load(trace, strict=strict)
    if resampled:
        log = wk.resample(log, weeks, 1.0 if factor is None else factor, rng=seed)
    rare = wk.rare_users(log) if skip_rare else ()
    if skip_rare and not len(rare):
        say(f"warning: --skip-rare: the header of {log.name} names no rare behaviours")
    with working(f"simulating {log.name}"):
        schedule = wk.simulate(
            log,
            scheduler[0] if scheduler else "easy",
            users,
            procs=procs,
            oversize=oversize,  # type: ignore[arg-type]  # refused by name if not known
            estimates=estimates,  # type: ignore[arg-type]
            overrun=overrun,  # type: ignore[arg-type]
            passes=passes,  # type: ignore[arg-type]
            outages=outages,
            interrupted=interrupted or "requeue",  # type: ignore[arg-type]
            utility_at=utility_at,  # type: ignore[arg-type]
            offered_load=offered_load,
            warmup=warmup or 0.0,
            cooldown=cooldown or 0.0,
            uncounted=rare,
            rng=seed,
        )
        summary = schedule.to_dict()
    if utility_at != "turnaround" and schedule.workload.utilities is None:
        say("warning: --utility-at makes no difference: no job has a utility function")
    if seed is not None and not resampled and "seed" not in schedule.parameters:
        say(f"warning: --seed makes no difference to {schedule.parameters['scheduler']}")
    if resampled and schedule.saturated:
        say(
            f"warning: {log.name} saturates the machine: the number of outstanding jobs grows by "
            f"{schedule.saturation.slope:.3g} a week"
        )
    if output:
        wk.write_swf(schedule.trace(), str(output))
        if str(output) != "-":
            say(f"wrote {output}")
    if json:
        write_json(json, summary)
    if gantt or queue:
        _draw(schedule, gantt, queue)
    if "-" not in (str(output), str(json)):
        _show(schedule)


def _show(schedule: "Schedule") -> None:
    """Print the metrics on stdout."""
    from analysis.formats import count, duration, metric, metric_title, number, plural, share

    values = schedule.metrics
    written = {
        "jobs": count(values["jobs"]),
        "left out": count(values["left_out"]),
        "killed": count(values["killed"]),
        "makespan": duration(values["makespan"]),
        "utilization": share(values["utilization"]),
        "throughput": f"{number(values['throughput_per_hour'])} jobs an hour",
        "mean wait": duration(values["mean_wait"]),
        "median wait": duration(values["median_wait"]),
        "mean response": duration(values["mean_response"]),
        "mean slowdown": number(values["mean_slowdown"]),
        "mean bounded slowdown": number(values["mean_bounded_slowdown"]),
    }
    if "interrupted" in values:
        written["interrupted"] = count(values["interrupted"])
        written["lost"] = count(values["lost"])
        written["work lost"] = f"{number(values['lost_work'] / 3600)} processor hours"
    if schedule.workload.utilities is not None:
        names = ("aggregate_utility", "utility_per_proc_hour", "earned_p25", "earned_p50")
        written |= {metric_title(n): metric(n, schedule.measure(n)) for n in names}
    name = schedule.parameters["scheduler"]
    typer.echo(f"{schedule.source.name} under {name}, {plural(schedule.machine, 'processor')}")
    if not schedule.counted.all():
        written["not counted"] = count(int((~schedule.counted).sum()))
    if "note" in schedule.provenance:  # made from another log, perhaps of another load
        said = {True: "yes", False: "no", None: "too short to tell"}
        written["saturated"] = said[schedule.saturated]
    for label, value in written.items():
        typer.echo(f"  {label:<22}{value:>20}")


def _draw(schedule: "Schedule", gantt: Path | None, queue: Path | None) -> None:
    """Write the figures that were asked for."""
    from functools import partial

    import analysis

    begin, until = analysis.busiest_week(schedule)
    title = f"{schedule.source.name}, {schedule.parameters['scheduler']}"
    figures = (
        (gantt, partial(analysis.plot_gantt, schedule, begin=begin, until=until)),
        (queue, partial(analysis.plot_queue_length, schedule)),
    )
    for path, plot in figures:
        if path:
            analysis.save_figure(plot, path, title=title)
            say(f"wrote {path}")
