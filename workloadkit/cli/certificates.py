"""`workloadkit benchmark verify` and `nearest`, and what the commands of the benchmark choose."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.commands import RARE
from workloadkit.cli.common import (
    JsonOption,
    aligned,
    check_outputs,
    write_json,
)
from workloadkit.cli.executors import executor, usable_processors
from workloadkit.cli.output import note, progress
from workloadkit.cli.reading import (
    StrictOption,
    TraceArgument,
    load,
)
from workloadkit.cli.reports import processes_option
from workloadkit.errors import ParameterError, WorkloadError, plural, printable, quoted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from workloadkit.benchmark import BenchmarkResults, Case, Entry
    from workloadkit.benchmark.entries import Kind


# Options of the commands of the benchmark, and what they choose.

#: Processes by default.
MOST = 8

OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        show_default=False,
        help="Only this workload, system or users; repeat for several.",
    ),
]
LogsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        show_default=False,
        help="Folder with logs of the Parallel Workloads Archive, which take part if their digests "
        "are those of the suite.",
    ),
]
ProcessOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=COMMAND",
        show_default=False,
        help="An entry that is a process, see `workloadkit help processes`.",
    ),
]
MetaOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=COMMAND|DIR",
        show_default=False,
        help="An entry in metasystems: a process, or a folder of schedules.",
    ),
]
SchedulesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=DIR",
        show_default=False,
        help="An entry that is a folder of schedules in SWF, named as `benchmark workloads` names "
        "the workloads.",
    ),
]
RunsOption = Annotated[int, typer.Option(min=1, metavar="R", help="Runs of each case.")]
SuiteSeedOption = Annotated[
    int,
    typer.Option(min=0, metavar="S", help="Seed of the runs. With another one they are new."),
]
#: Runs and seed of the suite, which takes longer to import.
RUNS, SEED = 10, 1999


def named_entries(
    policies: Sequence[str] | None,
    processes: Sequence[str] | None,
    schedules: Sequence[str] | None,
    meta: Sequence[str] | None,
) -> "list[Entry]":
    """Return the entries that words name."""
    from workloadkit.benchmark import Entry
    from workloadkit.experiments.custom_parts import meta_scheduler_named, scheduler_named
    from workloadkit.metasystem.policies import known

    found = []
    for word in policies or ():
        if word.partition(":")[0] in known():
            found.append(Entry(word, "meta-policy", meta_scheduler_named(word)))
        else:
            found.append(Entry(word, "policy", scheduler_named(word)))
    for option, words, after in (
        ("--process", processes, "COMMAND"),
        ("--schedules", schedules, "DIR"),
        ("--meta", meta, "COMMAND, or a folder"),
    ):
        for word in words or ():
            name, sign, what = word.partition("=")
            if not (sign and name and what):
                raise ParameterError(f"{option} is {quoted(word)}; write NAME={after}")
            found.append(Entry(name, _kind(option, what), what))
    return found


def _kind(option: str, what: str) -> "Kind":
    """Return the kind of an entry that an option names."""
    if option == "--process":
        return "process"
    from workloadkit.io.files import is_folder

    if option == "--meta":
        return "meta-schedules" if is_folder(what) else "meta-process"
    if not is_folder(what):
        raise WorkloadError(f"{what}: is not a folder")
    return "schedules"


def chosen_cases(only: Sequence[str] | None, logs: Path | None) -> "list[Case]":
    """Return the cases that the options choose."""
    from workloadkit.benchmark import cases
    from workloadkit.io.files import is_folder

    if logs is not None and not is_folder(logs):
        raise WorkloadError(f"{logs}: is not a folder")
    with progress("preparing the suite"):
        found = cases(logs, only or ())
    if not found:
        raise ParameterError(f"--only {' --only '.join(only or ())} names no case")
    return found


def played(
    entries: "Sequence[Entry]",
    among: "Sequence[Case]",
    runs: int,
    seed: int,
    pool: "Executor | None",
) -> "BenchmarkResults":
    """Play the entries."""
    from workloadkit.benchmark import run_benchmark

    with progress("playing the cases") as count:
        return run_benchmark(
            entries, among=among, runs=runs, seed=seed, executor=pool, progress=count
        )


VERIFY_EXAMPLES = """
workloadkit benchmark verify
workloadkit benchmark verify mine.json --process "mine=awk -f mine.awk"
"""
NEAREST_EXAMPLES = """
workloadkit benchmark nearest log.swf.gz
workloadkit benchmark nearest log.swf.gz --metric mean_wait --json -
"""


TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        rich_help_panel=RARE,
        help="Import the custom policies that the certificate names, which runs their code.",
    ),
]

_SHOWN = 40  # differences


def verify(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="CERTIFICATE",
            show_default=False,
            help="The JSON of `benchmark run`. By default the canonical results of the built-in "
            "policies.",
        ),
    ] = None,
    process: ProcessOption = None,
    schedules: SchedulesOption = None,
    meta: MetaOption = None,
    trust: TrustOption = False,
    only: OnlyOption = None,
    logs: LogsOption = None,
    json: JsonOption = None,
    workers: Annotated[int | None, processes_option(MOST)] = None,
) -> None:
    """Make the results of a certificate again, and compare them.

    Built-in policies are played again; give the processes and schedules by the options of
    `benchmark run`. The commands and files that a certificate names are neither run nor opened. The
    last line is "verified", or "verified in part" after the parts that are not verified. Exit 1 if
    anything differs.
    """
    from workloadkit.benchmark import certificate, differences, entries_of, not_verified

    check_outputs(json=json)
    claimed = _read(file)
    chosen = entries_of(claimed, named_entries((), process, schedules, meta), trust=trust)
    among = [case for case in chosen_cases(only, logs) if case.name in claimed["workloads"]]
    if not any(entry.plays(case) for entry in chosen for case in among):
        raise WorkloadError(
            f"{file}: none of its results can be made again here; give its processes and schedules "
            "by the options of `benchmark run`"
        )
    n_workers = workers or min(usable_processors(), MOST)
    with executor(n_workers, loaded="workloadkit.benchmark") as pool:
        made = certificate(played(chosen, among, claimed["runs"], claimed["seed"], pool))
    found, rest = differences(claimed, made), not_verified(claimed, made)
    status = "not verified" if found else "verified in part" if rest else "verified"
    n_made = len(made["results"])
    if json:
        content = {"status": status, "results": n_made, "differences": found, "not_verified": rest}
        write_json(json, content | {"certificate": claimed["sha256"]})
    if str(json) != "-":
        lines = [*found[:_SHOWN], *(f"not verified: {part}" for part in rest)]
        end = plural(n_made, "result")
        if found:
            end = f"{plural(len(found), 'difference')} in {end}"
        typer.echo("\n".join(map(printable, [*lines, f"{status}: {end} made again"])))
    if found:
        raise typer.Exit(1)


def _read(file: Path | None) -> dict[str, Any]:
    """Return the certificate in a file, by default the canonical one."""
    from workloadkit.benchmark import canonical, read_certificate
    from workloadkit.io.strict_json import json_text

    return canonical() if file is None else read_certificate(json_text(file), str(file))


def nearest(
    trace: TraceArgument = None,
    procs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="P",
            show_default=False,
            help="Processors of the machine. By default from the log's header.",
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="The metric by which entries are best.")
    ] = "mean_bounded_slowdown",
    file: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            show_default=False,
            rich_help_panel=RARE,
            help="Results to look in. By default the canonical ones of the built-in policies.",
        ),
    ] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Look up the cases nearest to a log, and the entries that serve them best."""
    from workloadkit.analysis.formats import number
    from workloadkit.benchmark import canonical, nearest_cases
    from workloadkit.provenance import plain, provenance

    check_outputs(json=json, inputs=[trace, file])
    log = load(trace, strict=strict)
    results = _read(file)
    not_verified = []
    if results["sha256"] != canonical()["sha256"]:
        not_verified.append(f"the results of {file}")
        note(f"{file}: its results are not verified here; `workloadkit benchmark verify` does that")
    found = nearest_cases(log, results, procs=procs, metric=metric)
    if json:
        made = provenance(log, metric=metric, certificate=results["sha256"])
        content = {"cases": plain(found.to_dict("records")), "not_verified": not_verified}
        write_json(json, content | {"provenance": made})
    if str(json) != "-":
        rows = [["Distance", "Workload", "System", "Users", "Best entries"]]
        for row in found.head(_NEAREST).to_dict("records"):
            best = row["entries"][:_NAMED]
            more = len(row["entries"]) - len(best)
            names = ", ".join(best) + (f" and {more} more" if more else "")
            place = [row[name] for name in ("workload", "system", "users")]
            rows.append([number(row["distance"]), *place, names])
        typer.echo(aligned(rows, words={1, 2, 3, 4}))


_NEAREST, _NAMED = 5, 4
