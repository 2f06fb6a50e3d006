"""`workloadkit site`: a site whose users need no log."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    JsonOption,
    SeedOption,
    StrictOption,
    aligned,
    check_outputs,
    load,
    output_option,
    say,
    working,
    write_json,
    write_log,
)
from workloadkit.cli.options import procs_option, with_settings
from workloadkit.errors import ParameterError
from workloadkit.settings import Kinds, Site, StaticSite
from workloadkit.settings.setting import settings_of

if TYPE_CHECKING:
    from workloadkit.simulation.schedule import Schedule
    from workloadkit.site import SiteDistributions

EXAMPLES = """
workloadkit site --users 50-250 --step 50 --scheduler creasy
workloadkit site --users 100 --from log.swf --from other.swf -o site.swf
workloadkit site --sessions 10 --scheduler fcfs --from site.json
"""

#: More users than these are a slip of the hand.
MAX_USERS = 10**6

#: Columns of the table: those of the source, in two lines, and how each is written.
_COLUMNS = {
    "users": ("Users", "{:d}"),
    "utilization": ("Utilization", "{:.2f}"),
    "throughput_per_hour": ("Throughput", "{:.1f}"),
    "jobs_per_session": ("Jobs/\nSession", "{:.2f}"),
    "mean_response_min": ("Avg. Response\n[min]", "{:.2f}"),
    "mean_slowdown": ("Avg.\nSlowdown", "{:.2f}"),
    "scheduler": ("Scheduler", "{}"),
}


@with_settings("users")
def site(
    users: Annotated[
        str | None,
        typer.Option(
            metavar="N|LOW-HIGH",
            show_default=False,
            help="Users of the site, one simulation for each number of them. By default 50.",
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            help="From one number of users to the next. By default 50.",
        ),
    ] = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:PARAM=VALUE,...]",
            show_default=False,
            help="Scheduler as of `simulate`; several by repeating. By default easy.",
        ),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            readable=False,
            show_default=False,
            help="Log from which users and jobs are drawn, or distributions that were saved; "
            "several by repeating. By default the built-in sample.",
        ),
    ] = None,
    *,
    sessions: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            help="So many sessions that never end, instead of users who come and go.",
        ),
    ] = None,
    asked: Site,
    kinds: Kinds,
    procs: Annotated[int | None, procs_option("128")] = None,
    seed: SeedOption = None,
    output: Annotated[Path | None, output_option("the jobs of one simulation as SWF")] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Simulate a site whose users react to how they are served.

    Shows, for each number of users and each scheduler, utilization, jobs an hour, jobs of a
    session, mean response [min] and mean slowdown, unless results go to stdout. Fields 17 and 18
    of the SWF tell which job a batch has waited for.
    """
    import workloadkit as wk
    from analysis.formats import plural
    from workloadkit.provenance import seed_of

    names = list(dict.fromkeys(scheduler or ("easy",)))
    if users is not None and sessions is not None:
        raise ParameterError("--users come and go and --sessions never end: give one of the two")
    numbers = _numbers(users, step) if sessions is None else [sessions]
    of_users = [name for name in asked.changed if name not in settings_of(StaticSite)]
    if sessions is not None and (step or of_users):
        option = "step" if step else of_users[0].replace("_", "-")
        raise ParameterError(f"--{option} is for --users, not for --sessions")
    if output and len(numbers) * len(names) > 1:
        raise ParameterError(
            f"-o takes the jobs of one simulation, and these are {len(numbers) * len(names)}: give "
            "one number of --users and one --scheduler"
        )
    check_outputs(output, json, inputs=source or ())
    drawn = _distributions(source, kinds, strict=strict)
    seed = seed_of(seed)
    rows, results = [], []
    with _progress(len(numbers) * len(names)) as simulated:
        for name in names:
            for number in numbers:
                who: Any = (
                    asked.into(wk.users.DynamicSite, users=number, distributions=drawn)
                    if sessions is None
                    else asked.into(wk.users.StaticSite, sessions=number, distributions=drawn)
                )
                schedule = wk.simulate(None, name, who, procs=procs, rng=seed)
                rows.append({"users": number} | _row(schedule) | {"scheduler": name})
                results.append(rows[-1] | {"schedule": schedule.to_dict()})
                simulated()
    if output:
        write_log(schedule.trace(), output)
    if json:
        write_json(
            json, {"rows": results, "seed": seed, "logs": [dict(x) for x in drawn.made_from]}
        )
    if "-" not in (str(output), str(json)):
        length = plural(asked.weeks, "week")
        machine = plural(procs or wk.users.DynamicSite.processors, "processor")
        typer.echo(f"{', '.join(drawn.logs)}, {machine}, {length}, seed {seed}")
        typer.echo(_table(rows, "Users" if sessions is None else "Sessions"))


def _numbers(users: str | None, step: int | None) -> list[int]:
    """Return the numbers of users that were asked for."""
    low, dash, high = (users or "50").partition("-")
    for word in (low, high) if dash else (low,):
        if not (word.isascii() and word.isdigit() and 1 <= int(word) <= MAX_USERS):
            raise ParameterError(
                f"--users is {users!r}; write a number of users such as 100, or a range such as "
                f"50-250, up to {MAX_USERS:,}"
            )
    if not dash:
        if step is not None:
            raise ParameterError(f"--step goes with a range of --users, such as {low}-250")
        return [int(low)]
    if int(high) < int(low):
        raise ParameterError(f"--users is {users!r}, a range that ends before it begins")
    numbers = list(range(int(low), int(high) + 1, step or 50))
    if len(numbers) == 1 and int(high) > int(low):  # the default, mostly: who would mean it?
        raise ParameterError(
            f"--users is {users!r}, and a step of {step or 50} leads beyond it; give a smaller "
            "--step"
        )
    return numbers


def _distributions(
    sources: list[Path] | None, kinds: Kinds, *, strict: bool
) -> "SiteDistributions":
    """Return what users draw from: of logs, of files in which it was saved, or built in."""
    from workloadkit import site

    if kinds.changed and all(map(_is_json, sources or ())):
        raise ParameterError(
            f"--{next(iter(kinds.changed))} sorts the jobs of logs, and --from has none"
        )
    if not sources:
        say("no log named with --from: the built-in sample")
        return site.built_in()
    found = []
    for source in sources:
        if _is_json(source):
            found.append(site.read_site_distributions(str(source)))
        else:
            log = load(source, strict=strict)
            with working(f"taking distributions from {log.name}"):
                found.append(site.site_distributions(log, kinds))
    return site.combine(found)


def _is_json(source: Path) -> bool:
    return ".json" in source.suffixes


def _row(schedule: "Schedule") -> dict[str, float]:
    """Return the measures of the source's table."""
    values, n_sessions = schedule.metrics, schedule.history["sessions"]
    return {
        "utilization": values["utilization"],
        "throughput_per_hour": values["throughput_per_hour"],
        "jobs_per_session": values["jobs"] / n_sessions,
        "mean_response_min": values["mean_response"] / 60,
        "mean_slowdown": values["mean_slowdown"],
    }


@contextmanager
def _progress(n: int) -> Iterator[Any]:
    """Show on a terminal how many of the simulations are done; gives what to call after each."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("simulating"), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("simulating", total=n)
        yield lambda: bar.advance(task)


def _table(rows: list[dict[str, Any]], first: str) -> str:
    """Lay out the measures under their titles."""
    titles = [first if name == "users" else title for name, (title, _) in _COLUMNS.items()]
    upper, lower = zip(*(title.rpartition("\n")[::2] for title in titles), strict=True)
    cells = [[form.format(row[name]) for name, (_, form) in _COLUMNS.items()] for row in rows]
    return aligned([upper, lower, *cells], words={len(titles) - 1})
