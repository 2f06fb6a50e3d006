"""Options of the commands of the benchmark, and what they choose."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli.messages import progress
from workloadkit.errors import ParameterError, WorkloadError, quoted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from workloadkit.benchmark import BenchmarkResults, Case, Entry
    from workloadkit.benchmark.entries import Kind

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
