"""`workloadkit simulate`: a scheduler and the users it serves."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli import configuration
from workloadkit.cli.commands import RARE
from workloadkit.cli.common import (
    JsonOption,
    NoPauseOption,
    check_outputs,
    figure_option,
    log_option,
    report_estimates,
    report_unit,
    report_written,
    write,
    write_json,
    write_log,
)
from workloadkit.cli.common import (
    duration as seconds_of,
)
from workloadkit.cli.in_chunks import (
    not_as_planned,
    opened_in_chunks,
    parts_of_long,
    refuse_in_chunks,
    served,
    simulate_opened,
)
from workloadkit.cli.options import kind_of_users, scheduler_option, with_settings
from workloadkit.cli.output import note, progress, watched, write_message
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)
from workloadkit.errors import ParameterError
from workloadkit.settings import Simulate

if TYPE_CHECKING:
    from workloadkit.analysis.schedules import MachineUse
    from workloadkit.simulation import Schedule
    from workloadkit.simulation.queue_state import QueueState
    from workloadkit.trace import Trace

EXAMPLES = """
workloadkit simulate log.swf.gz -o easy.swf.gz --json easy.json
workloadkit simulate log.swf.gz --scheduler fcfs --offered-load 0.9
workloadkit simulate log.swf.gz --gantt gantt.svg --warmup 1w
workloadkit simulate log.swf.gz --users fluid --resampled --load 1.2
workloadkit simulate log.swf.gz --machine log --allocations allocations.txt
workloadkit simulate --users site:users=100 --scheduler creasy --seed 1
"""


@with_settings("population", "uncounted")
def simulate(
    trace: TraceArgument = None,
    scheduler: Annotated[list[str] | None, scheduler_option("easy", several=False)] = None,
    users: Annotated[
        str,
        typer.Option(
            metavar="NAME[:P=V,...]",
            autocompletion=configuration.users,
            help="Users of the log, or users who need no TRACE, see `workloadkit help users`.",
        ),
    ] = "open",
    *,
    settings: Simulate,
    resampled: Annotated[
        bool,
        typer.Option(
            "--resampled",
            help="Resample the users of the log, as `resample` does.",
        ),
    ] = False,
    weeks: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            show_default=False,
            help="Weeks, with --resampled. By default those of the log.",
        ),
    ] = None,
    factor: Annotated[
        float | None,
        typer.Option(
            "--load",
            metavar="F",
            show_default=False,
            help="Factor of the number of users, with --resampled: 1.2 for 20 % more, not an "
            "offered load. By default 1.",
        ),
    ] = None,
    no_pause: NoPauseOption = False,
    skip_rare: Annotated[
        bool,
        typer.Option(
            "--skip-rare",
            rich_help_panel=RARE,
            help="Leave the jobs of rare behaviours, which the header of a resampled log names, "
            "out of the metrics.",
        ),
    ] = False,
    output: Annotated[Path | None, log_option("the simulated jobs")] = None,
    json: JsonOption = None,
    gantt: Annotated[
        Path | None,
        figure_option(
            "a Gantt chart of the week with the longest queue, in HTML with queue and utilization",
            panel=RARE,
        ),
    ] = None,
    queue: Annotated[Path | None, figure_option("the length of the queue", panel=RARE)] = None,
    explain: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            show_default=False,
            help="Page that explains each decision; - for text.",
        ),
    ] = None,
    explain_job: Annotated[
        int | None,
        typer.Option(
            metavar="JOB",
            show_default=False,
            rich_help_panel=RARE,
            help="Explain only why this job waits, with --explain.",
        ),
    ] = None,
    allocations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            rich_help_panel=RARE,
            help="Write the nodes of each job, with --machine.",
        ),
    ] = None,
    save_state: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            metavar="TIME FILE",
            show_default=False,
            rich_help_panel=RARE,
            help="Write the jobs that run and wait at the first event from TIME on, for --state.",
        ),
    ] = None,
    strict: StrictOption = False,
) -> None:
    """Simulate a scheduler and the users it serves.

    Shows the metrics, unless metrics or jobs go to stdout.
    """
    import workloadkit as wk
    from workloadkit.experiments.custom_parts import scheduler_named, users_named
    from workloadkit.io.allocations import write_allocations
    from workloadkit.io.formats import check_strict

    if scheduler and len(scheduler) > 1:
        raise ParameterError(
            f"give one --scheduler, not {', '.join(scheduler)}; `workloadkit sweep` takes several"
        )
    files = (settings.outages, settings.machine, settings.reservations, settings.state)
    cut, state_file = (seconds_of(save_state[0]), save_state[1]) if save_state else (0.0, None)
    others = gantt, queue, state_file
    check_outputs(
        *others, page=explain, log=output, table=allocations, json=json, inputs=[trace, *files]
    )
    check_outputs(log=state_file)
    if settings.machine is None:
        _refuse_without("--machine", **{"--allocations": allocations})
    if explain is None:
        _refuse_without("--explain", **{"--explain-job": explain_job})
    policy, behaviour = scheduler_named(scheduler[0] if scheduler else "easy"), users_named(users)
    who = kind_of_users(behaviour, trace, resampled=resampled)
    if not resampled:
        _refuse_without(
            "--resampled", **{"--weeks": weeks, "--load": factor, "--no-pause": no_pause}
        )
    _refuse_for(who, no_pause=no_pause, skip_rare=skip_rare, explain=explain is not None)
    if trace is not None:
        check_strict(trace, strict=strict)
    load_factor = 1.0 if factor is None else factor
    alone = settings.state is not None and trace is None
    log = None
    if (opened := opened_in_chunks(trace)) is None and not alone and who != "synthetic":
        log = load(trace, strict=strict)
        opened = parts_of_long(log)
    if opened is not None:
        needing: dict[str, object] = {"--gantt": gantt, "--queue": queue, "--explain": explain}
        needing |= {"--allocations": allocations, "--save-state": save_state}
        needing |= {"--resampled": resampled, "--skip-rare": skip_rare}
        refuse_in_chunks(opened, needing)
        simulate_opened(opened, policy, behaviour, settings, output, json)
        return
    if settings.state is not None:
        settings = replace(settings, state=_read_state(settings.state))
    population: Any = "recorded"
    if resampled and who == "reacting":
        population = wk.populations.Resampled(weeks=weeks, load=load_factor, pause=not no_pause)
    elif resampled:
        assert log is not None  # as checked above
        log = wk.resample(log, weeks=weeks, load=load_factor, rng=settings.rng)
    if log is not None:
        report_estimates(log, settings)
        report_unit(log, settings)
    rare = _rare_users(log) if skip_rare else ()
    what = settings.state.log.name if alone else users
    title = f"simulating {log.name if log is not None else what}"
    with progress(title) as count, watched(count):
        if explain:
            schedule = _explain(
                log, policy, replace(settings, uncounted=rare), explain, explain_job
            )
        else:
            schedule = wk.simulate(
                log, policy, behaviour, settings, population=population, uncounted=rare
            )
        summary, use = schedule.to_dict(), _use(schedule)
        if use is not None:
            summary["machine_use"] = use.to_dict()
    _warn(schedule, settings, resampled=resampled)
    if output:
        write_log(schedule.trace(), output)
    if state_file:
        state = wk.state_at(schedule, cut)
        report_written(state_file, wk.write_state(state, state_file), state.words)
    if allocations:
        write_allocations(schedule.runs, allocations)
        note(f"wrote {allocations}")
    if json:
        write_json(json, summary)
    if gantt or queue:
        _draw(schedule, gantt, queue)
    if "-" not in map(str, (output, json, explain)):
        _show(schedule, use)


def _refuse_without(needed: str, **given: object) -> None:
    """Refuse options, by name, that have no effect without another one."""
    for option, value in given.items():
        if value is not None and value is not False:
            raise ParameterError(f"{option} requires {needed}")


def _refuse_for(who: str, *, no_pause: bool, skip_rare: bool, explain: bool) -> None:
    """Refuse options that have no effect on these users."""
    if explain and who != "open":
        raise ParameterError("--explain is for users who submit by their timestamps")
    if no_pause and who == "open":
        raise ParameterError("--no-pause is for users who react: others follow the log")
    if skip_rare and who != "open":
        raise ParameterError("--skip-rare is for users who submit by their timestamps")


def _rare_users(log: "Trace | None") -> Any:
    """Return the users of rare behaviours that a resampled log names; warn if there are none."""
    from workloadkit.resample.drawing import rare_users

    rare: Any = () if log is None else rare_users(log)
    if log is not None and not len(rare):
        write_message(f"warning: --skip-rare: the header of {log.name} names no rare behaviours")
    return rare


def _read_state(path: str) -> "QueueState":
    """Read a state; report what it holds, and what is assumed of it."""
    import workloadkit as wk

    state = wk.read_state(path)
    for words in (state.words, *state.assumed):
        note(f"{state.log.name}: {words}")
    return state


def _explain(log: Any, policy: Any, settings: Simulate, page: Path, job: int | None) -> "Schedule":
    """Write the page that explains a schedule, to stdout as text; return the schedule."""
    import workloadkit as wk
    from workloadkit.analysis.schedules import steps_page

    explained = wk.explain_schedule(log, policy, settings, job=job)
    write(page, explained.text if str(page) == "-" else steps_page(explained))
    return explained.schedule


def _use(schedule: "Schedule") -> "MachineUse | None":
    """Return the use of a described machine."""
    if schedule.described is None:
        return None
    from workloadkit.analysis.schedules import machine_use

    return machine_use(schedule)


def _warn(schedule: "Schedule", settings: Simulate, *, resampled: bool) -> None:
    """Warn of options without effect, of saturation, and of failed calibration."""
    from workloadkit.analysis.calibration import failed_calibration

    if settings.rng is not None and not resampled and "seed" not in schedule.parameters:
        write_message(f"warning: --seed makes no difference to {_chosen(schedule)}")
    if settings.utility_at != "turnaround" and schedule.workload.utilities is None:
        write_message("warning: --utility-at makes no difference: no job has a utility function")
    for words in schedule.source.header.get_all("Note"):
        if settings.state is not None and words.startswith("jobs submitted before the state"):
            note(f"{schedule.source.name}: {words}")
    if words := _saturation(schedule):
        write_message(f"warning: {schedule.source.name}: {words}")
    if failure := failed_calibration(schedule.calibration):
        write_message(f"warning: {failure}")


def _saturation(schedule: "Schedule") -> str:
    """Say that the system saturated, or that more work arrives than it can serve; empty if not."""
    from workloadkit.analysis.formats import number, share
    from workloadkit.clock import DAY

    load, found = schedule.offered_load, schedule.saturation
    at = "" if schedule.reacting else f"at an offered load of {number(load)}, "
    if found.saturated:
        return (
            f"{at}the machine saturates: the waiting work grows by {share(found.growth)} of what "
            f"it can serve, and the queue was last empty after {share(found.emptied)} of the time; "
            "waits grow with the length of the log"
        )
    submit = schedule.workload.submit
    overloaded = load >= 1 and submit.max() - submit.min() >= DAY and not schedule.reacting
    if found.saturated is None and overloaded:
        return f"{at}more work arrives than the machine can serve: waits grow with the log's length"
    return ""


def _show(schedule: "Schedule", use: "MachineUse | None") -> None:
    """Print the metrics on stdout."""
    from workloadkit.analysis.formats import count, duration, metric, metric_title, share
    from workloadkit.errors import plural
    from workloadkit.units import WORDS

    values = schedule.metrics
    unit = WORDS[schedule.unit]
    of_tail = {name: schedule.measure(name) for name in ("tail", "tail_work")}
    written = {
        "jobs": count(values["jobs"]),
        "left out": count(values["left_out"]),
        "killed": count(values["killed"]),
        **({"cancelled": count(values["cancelled"])} if "cancelled" in values else {}),
        **served(values | of_tail, unit),
        **not_as_planned(values, unit),
    }
    if use is not None:
        utilization = use.resources["utilization"].drop("processors")
        written |= {f"use of {name}": share(value) for name, value in utilization.items()}
        written["free, unusable"] = share(use.unusable_share)
    if answers := schedule.history.get("reservations"):
        written["reservations"] = count(answers["requests"])
        written["offered later"] = count(answers["offered_later"])
        written["refused"] = count(answers["refused"])
        written["mean delay"] = duration(answers["mean_delay"])
        written["mean wait in queue"] = duration(answers["mean_wait_in_queue"])
    if schedule.predicted:
        written["prediction accuracy"] = share(values["prediction_accuracy"])
        written["under-predicted"] = share(values["under_predicted"])
    if schedule.workload.utilities is not None:
        names = ("aggregate_utility", "utility_per_proc_hour", "earned_p25", "earned_p50")
        written |= {metric_title(n): metric(n, schedule.measure(n)) for n in names}
    written |= _productivity(schedule)
    if "seed" in schedule.parameters and "population" not in schedule.parameters:
        written["seed"] = str(schedule.parameters["seed"])  # a resampled log has it in its name
    machine = plural(schedule.capacity, unit.one)
    typer.echo(f"{schedule.source.name} under {_chosen(schedule)}, {machine}")
    if not schedule.counted.all():
        written["not counted"] = count(int((~schedule.counted).sum()))
    if "note" in schedule.provenance:  # made from another log, perhaps of another load
        words = {True: "yes", False: "no", None: "unknown: too short"}
        written["saturated"] = words[schedule.saturated]
    recorded = {}
    if schedule.recorded:
        recorded = {"": "as recorded", "jobs": count(schedule.recorded["jobs"])}
        recorded |= served(schedule.recorded, unit)
        written = {"": "simulated"} | written
    wide, more = (max(map(len, values.values()), default=0) for values in (written, recorded))
    for label, value in written.items():
        cells = f"{value:>{max(wide, 20)}}  {recorded.get(label, ''):>{max(more, 20)}}"
        typer.echo(f"  {label:<22}{cells}".rstrip())


def _chosen(schedule: "Schedule") -> str:
    """Name the scheduler, and the users if they react."""
    chosen = schedule.parameters
    scheduler = str(chosen["scheduler"])
    return f"{scheduler}, users {chosen['users']}" if schedule.reacting else scheduler


def _productivity(schedule: "Schedule") -> dict[str, str]:
    """Write the productivity of users who react."""
    from workloadkit.analysis.formats import count, duration, number, share

    if not schedule.reacting:
        return {}
    values, written = schedule.productivity.summary, dict[str, str]()
    if "kind" in schedule.columns:
        from workloadkit.simulation.users.queueing.customers import CLOSED, OPEN

        kind, jobs = schedule.columns["kind"][schedule.counted], schedule.served
        response = {name: (jobs.wait + jobs.run)[kind == name] for name in (OPEN, CLOSED)}
        if response[OPEN].size and response[CLOSED].size:
            written["response, open jobs"] = f"{response[OPEN].mean():.5g} s"
            written["response, closed jobs"] = f"{response[CLOSED].mean():.5g} s"
    written |= {
        "users": count(values["users"]),
        "sessions": count(values["sessions"]),
        "jobs per session": number(values["jobs_per_session"]),
        "activity of a user": duration(values["mean_activity_length"]),
    }
    if not math.isnan(schedule.aborted_share):
        written["sessions aborted"] = share(schedule.aborted_share)
    if schedule.history.get("left"):
        written["users who left"] = count(schedule.history["left"])
    return written


def _draw(schedule: "Schedule", gantt: Path | None, queue: Path | None) -> None:
    """Write the figures."""
    from functools import partial

    import pandas as pd

    from workloadkit import analysis

    begin, until = analysis.schedules.busiest_week(schedule)
    title = f"{schedule.source.name}, {schedule.parameters['scheduler']}"
    on_page = gantt is not None and gantt.suffix.lower() == ".html"
    chart = analysis.schedules.plot_schedule if on_page else analysis.schedules.plot_gantt
    metrics = pd.Series(schedule.metrics, name="value", dtype=object).to_frame()
    tables = {"Metrics; times in seconds.": metrics}
    figures = (
        (gantt, partial(chart, schedule, begin=begin, until=until)),
        (queue, partial(analysis.schedules.plot_queue_length, schedule)),
    )
    for path, plot in figures:
        if path:
            analysis.save_figure(plot, path, title=title, tables=tables)
            note(f"wrote {path}")
