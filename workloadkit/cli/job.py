"""`workloadkit job`: one job of a log."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    write_json,
)
from workloadkit.cli.reading import (
    StrictOption,
    load,
)

if TYPE_CHECKING:
    from workloadkit.described_job import DescribedJob, Waited

EXAMPLES = """
workloadkit job 5000
workloadkit job 4711 site.swf.gz
workloadkit job 4711_12 site.swf.gz --json -
"""

#: Labels of what was used, and of what it is a share.
_EFFICIENCY = {
    "time": ("time used", "requested time"),
    "cpu": ("CPU used", "run time"),
    "memory": ("memory used", "requested memory"),
}

#: Fields that are per processor, and the first known field that gives the number of processors.
_PER_PROCESSOR = {
    "cpu": ("procs", "requested_procs"),
    "memory": ("procs", "requested_procs"),
    "requested_memory": ("requested_procs", "procs"),
}

#: Fields that the first lines show.
_SHOWN = {
    *("run", "procs", "status", "state", "user", "account", "partition", "queue", "eligible"),
    *("submit_by", "requested_memory_per", "attempts", "cluster"),
}


def job(
    number: Annotated[
        str,
        typer.Argument(metavar="ID", help="Number in the log, or the job id of the site."),
    ],
    trace: Annotated[
        Path | None,
        typer.Argument(
            metavar="TRACE",
            show_default=False,
            readable=False,
            help="Log. By default the built-in sample.",
        ),
    ] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Describe one job of a log.

    Shows what it requested and used, what ran and waited while it waited, its session, and how its
    user's jobs usually are. Several jobs with one number are shown one after the other.
    """
    from workloadkit.described_job import describe_job
    from workloadkit.provenance import provenance

    check_outputs(json=json, inputs=[trace])
    log = load(trace, strict=strict)
    found = describe_job(log, number)
    if json:
        jobs = [each.to_dict() for each in found]
        write_json(json, {"provenance": provenance(log, job=number), "jobs": jobs})
    if str(json) != "-":
        typer.echo("\n\n".join("\n".join(_lines(each)) for each in found))


def _lines(found: "DescribedJob") -> Iterator[str]:
    from workloadkit.analysis.formats import count, duration, number, printable, share

    yield f"job {found.job} of {found.log}"
    known = found.known
    for name in ("user", "account", "partition", "queue"):
        if name in known:
            yield _line(name, printable(str(known[name]), 40))
    yield _line("submitted", found.dates.get("submit", f"{number(found.submit)} s"))
    if found.waited is None:
        yield _line("started", "never, or unknown")
    else:
        yield _line("waited", duration(found.start - found.submit))
        yield _line("started", found.dates.get("start", f"{number(found.start)} s"))
    if "run" in known and "procs" in known:
        work = f"{number(known['run'] * found.procs / 3600)} processor-hours"
        yield _line("ran", f"{duration(known['run'])} on {count(found.procs)} processors: {work}")
    if ended := known.get("state", known.get("status")):
        yield _line("ended", printable(str(ended), 40))
    for name in (name for name in known if name not in _SHOWN):
        yield _line(name.replace("_", " "), _written(name, known))
    for name, of in found.efficiency.items():
        label, whole = _EFFICIENCY[name]
        yield _line(label, f"{share(of)} of the {whole}")
    if found.waited is not None:
        yield from _wait_lines(found, found.waited)
    yield from _user_lines(found)


def _written(name: str, known: Mapping[str, float | str]) -> str:
    """Write the value of a field, with its unit; the total of what is per processor, too."""
    from workloadkit.analysis.formats import duration, number, printable
    from workloadkit.display import unit_of

    def write(value: float) -> str:
        return duration(value) if unit == "s" else f"{number(value)} {unit}".rstrip()

    value, unit = known[name], unit_of(name)
    if isinstance(value, str):
        return printable(value, 40)
    if name not in _PER_PROCESSOR:
        return write(value)
    procs = next((float(known[of]) for of in _PER_PROCESSOR[name] if of in known), 0.0)
    total = f", {write(value * procs)} in total" if procs > 0 else ""
    return f"{write(value)} per processor{total}"


def _wait_lines(found: "DescribedJob", waited: "Waited") -> Iterator[str]:
    from workloadkit.analysis.formats import count, number, share
    from workloadkit.errors import plural

    machine = "" if found.machine is None else f" of {count(found.machine)}"
    yield "its wait"
    running = f"{plural(waited.running_jobs, 'job')} on {count(waited.running_procs)}{machine}"
    yield _line("running when submitted", f"{running} processors")
    queue = f"{plural(waited.waiting_jobs, 'job')} for {count(waited.waiting_procs)} processors"
    yield _line("waiting before it", queue)
    if found.start > found.submit:
        overtook = f", {count(waited.overtook)} of them submitted later"
        yield _line("started meanwhile", f"{plural(waited.started, 'job')}{overtook}")
        yield _line("ended meanwhile", plural(waited.ended, "job"))
        yield _line("mean use meanwhile", f"{number(waited.mean_use)}{machine} processors")
        if waited.free_share == waited.free_share:
            room = f"{share(waited.free_share)} of the wait"
            yield _line("enough processors free", room)


def _user_lines(found: "DescribedJob") -> Iterator[str]:
    from workloadkit.analysis.formats import count, duration, number, share

    place = found.position
    if place:
        yield "its session"
        yield _line("session", f"{count(place['session'])} of {count(place['sessions'])}")
        yield _line("job", f"{count(place['job'])} of {count(place['jobs'])}")
        if place["think_time"] == place["think_time"]:
            yield _line("think time before", duration(place["think_time"]))
    user = found.user
    if user:
        yield "its user's jobs"
        yield _line("jobs", f"{count(user['jobs'])}, of which {count(user['ran'])} ran")
        yield _line("share of the work", share(user["work"]))
        if user["ran"]:
            yield _line("median wait", duration(user["wait"]))
            yield _line("median run", duration(user["run"]))
            yield _line("median processors", number(user["procs"]))


def _line(label: str, value: str) -> str:
    return f"  {label:<24}{value}"
