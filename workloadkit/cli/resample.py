"""`workloadkit resample`: new logs drawn from the users of an old one."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    SeedOption,
    StrictOption,
    WorkersOption,
    check_outputs,
    duration,
    executor,
    load,
    say,
    shared,
    working,
    write,
    write_json,
)
from workloadkit.errors import ParameterError, WorkloadError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workloadkit.resample.runs import Resampling
    from workloadkit.trace import Trace

EXAMPLES = """
workloadkit resample log.swf.gz -o new.swf.gz --seed 1
workloadkit resample log.swf.gz --weeks 260 --load 1.2 -o longer.swf.gz
workloadkit resample log.swf.gz --count 1000 -o many --workers 2 --seed 1
workloadkit resample log.swf.gz --count 8 --seed 1 --report validation.html
workloadkit resample log.swf.gz --rare 374:30w-31w --rare-per-week 0.25 > new.swf
workloadkit resample one.swf.gz two.swf.gz --procs 512 --rescale -o mixed.swf.gz
workloadkit resample log.swf.gz --weight long=3,serial=0.5 -o other.swf.gz
"""


def resample(
    trace: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="TRACE...",
            show_default=False,
            readable=False,  # reading says what is wrong
            help='Log in the Standard Workload Format, plain, gz, bz2, xz or zst; "-" is standard '
            "input. Several are mixed. By default the built-in sample.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            metavar="OUT",
            show_default=False,
            help='Write the new log to this file; "-" is stdout. With --count, a folder. By '
            "default stdout, or no log if only --report or --json is given.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            show_default=False,
            help="Draw K logs, into a folder without such files: 0001.swf.gz, 0002.swf.gz, ...",
        ),
    ] = None,
    weeks: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            show_default=False,
            help="Length of the new log in weeks. By default that of the old one.",
        ),
    ] = None,
    factor: Annotated[
        float,
        typer.Option("--load", metavar="F", help="Factor of the numbers of users."),
    ] = 1.0,
    unit: Annotated[
        str,
        typer.Option(
            metavar="user|session|batch|job",
            help="What stays whole. All but users are moved on their own, by whole weeks within "
            "the user's activity.",
        ),
    ] = "user",
    long_term: Annotated[
        float | None,
        typer.Option(
            parser=duration,
            metavar="T",
            show_default=False,
            help="Users active for longer than T are long-term, the others temporary. By default "
            "12w.",
        ),
    ] = None,
    end_effects: Annotated[
        str,
        typer.Option(
            metavar="whole|any",
            help="Leave temporary users out if all their jobs, or any, lie near an end of the log.",
        ),
    ] = "whole",
    edge: Annotated[
        float | None,
        typer.Option(
            parser=duration,
            metavar="T",
            show_default=False,
            help="How near to an end that is. By default 4w.",
        ),
    ] = None,
    begin: Annotated[
        float | None,
        typer.Option(
            parser=duration,
            metavar="T",
            show_default=False,
            help="When logging began, counted from second 0 of the log. By default with the "
            "first job.",
        ),
    ] = None,
    long_term_users: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default=False,
            help="Number of long-term users. By default the log's, times --load.",
        ),
    ] = None,
    temporary_users: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default=False,
            help="Mean number of temporary users in the first week. By default the log's, times "
            "--load.",
        ),
    ] = None,
    arrivals: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            show_default=False,
            help="Mean number of temporary users who arrive in each later week. By default the "
            "log's, times --load.",
        ),
    ] = None,
    rare: Annotated[
        str,
        typer.Option(
            metavar="USER:BEGIN-END,...",
            show_default=False,
            help="Rare behaviours, set apart from all else: jobs of a user in a time of the log, "
            "as in 374:30w-31w.",
        ),
    ] = "",
    rare_per_week: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="How many of the temporary users who arrive in a week are rare behaviours.",
        ),
    ] = 0.0,
    start: Annotated[
        str,
        typer.Option(
            metavar="period|activity",
            help="Where long-term users are in the first week: anywhere, so that some pause and "
            "the load to expect is the same in all weeks; or amid their activity, all of them.",
        ),
    ] = "period",
    weight: Annotated[
        str,
        typer.Option(
            metavar="CLASS=X,...",
            show_default=False,
            help="How much more often users of a class are drawn than others: serial, parallel, "
            "short, medium, long, heavy, light, frequent or occasional, or a user by number.",
        ),
    ] = "",
    procs: Annotated[
        int | None,
        typer.Option(
            metavar="P",
            show_default=False,
            help="Processors of the machine. By default those of the (largest) log's.",
        ),
    ] = None,
    rescale: Annotated[
        bool,
        typer.Option(
            "--rescale", help="Let jobs grow by as much as the machine is larger than their own."
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            readable=False,
            help="Compare the log with K new ones, by default 8: its users, locality, long memory "
            "and load. Write the report, one HTML page, to this file.",
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            readable=False,
            help='Write the same comparison as JSON to this file; "-" is stdout.',
        ),
    ] = None,
    seed: SeedOption = None,
    workers: WorkersOption = 1,
    strict: StrictOption = False,
) -> None:
    """Draw new logs from the users of an old one.

    Whole users are drawn, each with all that he did, at the same weekdays and hours; who is there,
    and since when, is new. The header of each new log says what made it, and its seed.
    """
    from workloadkit.provenance import seed_of
    from workloadkit.resample.planning import check_numbers
    from workloadkit.resample.pools import RARE_USER
    from workloadkit.resample.runs import prepare
    from workloadkit.user_classes import EDGE, LONG_TERM

    behaviours, weights = _rare_behaviours(rare), _weights(weight)
    if output is None and not (report or json):
        output = Path("-")
    if count is None or output is None:
        check_outputs(output, report, json, inputs=trace or [])
    else:
        _check_folder(output)
        check_outputs(report, json, inputs=trace or [])
    if (report or json) and trace and len(trace) > 1:
        raise ParameterError(
            "--report and --json compare new logs with one original, not with more"
        )
    of_plan = {
        "long_term_users": long_term_users,
        "temporary_users": temporary_users,
        "arrivals": arrivals,
        "rare_per_week": rare_per_week,
        "start": start,
    }
    check_numbers(weeks, factor, **of_plan)  # type: ignore[arg-type]  # refused if not known
    paths: list[Path | None] = [*trace] if trace else [None]
    if paths.count(Path("-")) > 1:
        raise ParameterError("standard input can be one of the logs, not several")
    logs = [load(path, strict=strict) for path in paths]
    with working(f"sorting the users of {' and '.join(log.name for log in logs)}"):
        resampling = prepare(
            logs,
            weeks,
            factor,
            unit=unit,
            long_term=LONG_TERM if long_term is None else long_term,
            edge=EDGE if edge is None else edge,
            end_effects=end_effects,
            begin=begin,
            rare=behaviours,
            weights=weights,
            procs=procs,
            rescale=rescale,
            **of_plan,
        )
    if behaviours and not rare_per_week:
        members = resampling.pools.members
        n_jobs = members.n_jobs[members.kind == RARE_USER].sum()
        say(f"rare behaviours: {n_jobs:,} jobs set apart, none of them drawn: --rare-per-week is 0")
    used = seed_of(seed)
    if output is not None and count is None:
        _write_one(resampling, output, used)
    elif output is not None and count is not None:
        _write_many(resampling, output, count, used, workers)
    if report or json:
        _compare(logs[0], resampling, 8 if count is None else count, used, report, json)


def _write_one(resampling: "Resampling", output: Path, seed: int) -> None:
    """Write the new log of the seed itself."""
    from workloadkit.resample.files import write_new

    with working("resampling"):
        new = resampling.run(seed)
        write_new(new, str(output))
    n_users = int(new.column("user").max(initial=0))
    said = "" if str(output) == "-" else f"wrote {output}: "
    say(f"{said}jobs {new.n_jobs:,}, users {n_users:,}, seed {seed}")


def _write_many(
    resampling: "Resampling", folder: Path, count: int, seed: int, workers: int
) -> None:
    """Write so many new logs."""
    from functools import partial

    from workloadkit.resample.files import whole_folder, write_run, write_runs

    workers = min(workers, count)
    share = (resampling, seed)
    with (
        _progress(count) as done,
        whole_folder(folder) as place,
        executor(workers, share=share) as pool,
    ):
        write = _write_shared if pool else partial(write_run, *share)
        for _ in write_runs(write, count, place, executor=pool):
            done()
    say(f"wrote {folder}: logs {count:,}, seed {seed}")


def _compare(
    log: "Trace",
    resampling: "Resampling",
    count: int,
    seed: int,
    page: Path | None,
    json: Path | None,
) -> None:
    """Compare the log with new ones, and write what comes out."""
    from analysis.resampling.validation import validate

    with working(f"comparing {log.name} with {count:,} new logs"):
        found = validate(log, resampling, count, seed).report()
        html = found.to_html() if page else ""
    if page:
        write(page, html)
    if json:
        write_json(json, found.to_dict())


def _write_shared(i: int, path: str) -> None:
    """Write a new log in a process that was given what they have in common."""
    from workloadkit.resample.files import write_run

    resampling, seed = shared()
    write_run(resampling, seed, i, path)


@contextmanager
def _progress(count: int) -> "Iterator[Callable[[], Any]]":
    """Show on a terminal how many of the logs are written."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = [*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("resampling", total=count)
        yield lambda: progress.advance(task)


def _check_folder(folder: Path) -> None:
    """Refuse what cannot be a folder of new logs, before anything is read."""
    from workloadkit.resample.files import check_has_none

    if str(folder) == "-":
        raise ParameterError("--count writes files; name their folder with -o")
    if folder.exists() and not folder.is_dir():
        raise WorkloadError(f"{folder}: is a file; with --count, -o names a folder")
    check_outputs(folder)
    check_has_none(folder)


def _rare_behaviours(text: str) -> list[tuple[int, float, float]]:
    """Read users and times such as 50:1w-2w,38:90-1200."""
    behaviours = []
    for part in filter(None, text.split(",")):
        user, _, times = part.partition(":")
        begin, _, end = times.partition("-")
        if not (user.strip().isdecimal() and begin and end):
            raise ParameterError(f"--rare {part!r}; write USER:BEGIN-END, as in 374:30w-31w")
        try:
            behaviours.append((int(user), duration(begin), duration(end)))
        except typer.BadParameter as error:
            raise ParameterError(f"--rare {part!r}: {error}") from None
    return behaviours


def _weights(text: str) -> dict[int | str, float] | None:
    """Read classes and users with their weights, such as long=3,13=0.5."""
    weights: dict[int | str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, number = (word.strip() for word in part.partition("="))
        key = int(name) if name.isdecimal() else name
        if key in weights:
            raise ParameterError(f"--weight {text!r}; {name} is there twice")
        try:
            weights[key] = float(number)
        except ValueError:
            raise ParameterError(f"--weight {part!r}; write CLASS=X, as in long=3") from None
    return weights or None
