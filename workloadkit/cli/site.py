"""`workloadkit site`: simulation of a site, with users that need no log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    JsonOption,
    SeedOption,
    aligned,
    check_outputs,
    log_option,
    write_json,
    write_log,
)
from workloadkit.cli.options import procs_option, scheduler_option, with_settings
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    load,
)
from workloadkit.errors import ParameterError, quoted
from workloadkit.settings import Kinds, Site, StaticSiteSettings
from workloadkit.settings.setting import settings_of

if TYPE_CHECKING:
    from workloadkit.simulation.schedule import Schedule
    from workloadkit.site import SiteDistributions

EXAMPLES = """
workloadkit site --users 50-250 --step 50 --scheduler creasy
workloadkit site --users 100 --from log.swf --from other.swf -o site.swf
workloadkit site --sessions 10 --scheduler fcfs --from site.json
"""

#: The largest number of users.
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
            help="Number of users, or a range with one simulation for each number. By default 50.",
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            help="Step in the range of --users. By default 50.",
        ),
    ] = None,
    scheduler: Annotated[list[str] | None, scheduler_option("easy")] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            readable=False,
            show_default=False,
            help="Log from which users and jobs are drawn, or a file of saved distributions; "
            "repeat for several. By default the built-in sample.",
        ),
    ] = None,
    *,
    sessions: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            help="Number of sessions that never end, instead of users who come and go.",
        ),
    ] = None,
    settings: Site,
    kinds: Kinds,
    procs: Annotated[int | None, procs_option("128")] = None,
    seed: SeedOption = None,
    output: Annotated[Path | None, log_option("the jobs of one simulation")] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Simulate a site with users who react to the service.

    Shows, for each number of users and each scheduler, utilization, jobs per hour, jobs per
    session, mean response [min] and mean slowdown, unless results go to stdout. Fields 17 and 18
    of the SWF contain the job that a batch waited for.
    """
    import workloadkit as wk
    from workloadkit.errors import plural
    from workloadkit.experiments.custom_parts import scheduler_named
    from workloadkit.provenance import seed_of

    names = {name: scheduler_named(name) for name in scheduler or ("easy",)}
    if users is not None and sessions is not None:
        raise ParameterError("--users come and go and --sessions never end: give one of them")
    numbers = _numbers(users, step) if sessions is None else [sessions]
    of_users = [name for name in settings.changed if name not in settings_of(StaticSiteSettings)]
    if sessions is not None and (step or of_users):
        option = "step" if step else of_users[0].replace("_", "-")
        raise ParameterError(f"--{option} is for --users, not for --sessions")
    if output and len(numbers) * len(names) > 1:
        raise ParameterError(
            f"-o writes one simulation, and there are {len(numbers) * len(names)}: give one number "
            "of --users and one --scheduler"
        )
    check_outputs(log=output, json=json, inputs=source or ())
    drawn = _distributions(source, kinds, strict=strict)
    seed = seed_of(seed)
    rows, results = [], []
    with progress("simulating") as count:
        for name, policy in names.items():
            for number in numbers:
                who: Any = (
                    settings.into(wk.users.DynamicSite, users=number, distributions=drawn)
                    if sessions is None
                    else settings.into(wk.users.StaticSite, sessions=number, distributions=drawn)
                )
                schedule = wk.simulate(None, policy, who, procs=procs, rng=seed)
                rows.append({"users": number} | _row(schedule) | {"scheduler": name})
                results.append(rows[-1] | {"schedule": schedule.to_dict()})
                count(len(rows), len(numbers) * len(names))
    if output:
        write_log(schedule.trace(), output)
    if json:
        logs = [dict(x) for x in drawn.made_from]
        made = {"workloadkit": wk.__version__}
        write_json(json, {"rows": results, "seed": seed, "logs": logs, "provenance": made})
    if "-" not in (str(output), str(json)):
        length = plural(settings.weeks, "week")
        machine = plural(procs or wk.users.DynamicSite.processors, "processor")
        typer.echo(f"{', '.join(drawn.logs)}, {machine}, {length}, seed {seed}")
        typer.echo(_table(rows, "Users" if sessions is None else "Sessions"))


def _numbers(users: str | None, step: int | None) -> list[int]:
    """Return the numbers of users to simulate."""
    low, dash, high = (users or "50").partition("-")
    for word in (low, high) if dash else (low,):
        if not (word.isascii() and word.isdigit() and 1 <= int(word) <= MAX_USERS):
            raise ParameterError(
                f"--users is {quoted(users)}; write a number of users such as 100, or a range "
                f"such as 50-250, up to {MAX_USERS:,}"
            )
    if not dash:
        if step is not None:
            raise ParameterError(f"--step requires a range of --users, such as {low}-250")
        return [int(low)]
    if int(high) < int(low):
        raise ParameterError(f"--users is {quoted(users)}; the range ends before it begins")
    numbers = list(range(int(low), int(high) + 1, step or 50))
    if len(numbers) == 1 and int(high) > int(low):  # mostly the default step
        raise ParameterError(
            f"--users is {quoted(users)}; the step of {step or 50} is larger than the range; "
            "give a smaller --step"
        )
    return numbers


def _distributions(
    sources: list[Path] | None, kinds: Kinds, *, strict: bool
) -> "SiteDistributions":
    """Return the distributions: of logs, of files, or the built-in ones."""
    from workloadkit import site

    if kinds.changed and all(map(_is_json, sources or ())):
        raise ParameterError(
            f"--{next(iter(kinds.changed))} classifies the jobs of a log, and --from names none"
        )
    if not sources:
        note("no log given with --from: using the built-in sample")
        return site.built_in()
    found = []
    for source in sources:
        if _is_json(source):
            found.append(site.read_site_distributions(str(source)))
        else:
            log = load(source, strict=strict)
            with progress(f"measuring the distributions of {log.name}"):
                found.append(site.site_distributions(log, kinds))
    return site.combine(found)


def _is_json(source: Path) -> bool:
    return ".json" in source.suffixes


def _row(schedule: "Schedule") -> dict[str, float]:
    """Return the measures in the table of the source."""
    values, n_sessions = schedule.metrics, schedule.history["sessions"]
    return {
        "utilization": values["utilization"],
        "throughput_per_hour": values["throughput_per_hour"],
        "jobs_per_session": values["jobs"] / n_sessions,
        "mean_response_min": values["mean_response"] / 60,
        "mean_slowdown": values["mean_slowdown"],
    }


def _table(rows: list[dict[str, Any]], first: str) -> str:
    """Lay out the measures under their titles."""
    titles = [first if name == "users" else title for name, (title, _) in _COLUMNS.items()]
    upper, lower = zip(*(title.rpartition("\n")[::2] for title in titles), strict=True)
    cells = [[form.format(row[name]) for name, (_, form) in _COLUMNS.items()] for row in rows]
    return aligned([upper, lower, *cells], words={len(titles) - 1})
