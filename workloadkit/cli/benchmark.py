"""`workloadkit benchmark`: schedulers compared on a fixed suite, each entry checked."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workloadkit.cli import completion
from workloadkit.cli.commands import RARE, Commands
from workloadkit.cli.common import (
    JsonOption,
    StrictOption,
    TraceArgument,
    aligned,
    check_outputs,
    load,
    write_json,
)
from workloadkit.cli.executors import executor, usable_processors
from workloadkit.cli.messages import note, progress
from workloadkit.cli.reports import TablesOption, page_option, processes_option, write_report
from workloadkit.cli.shared_options import add_command
from workloadkit.errors import ParameterError, WorkloadError, plural

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from analysis.benchmark import BenchmarkReport
    from workloadkit.benchmark import BenchmarkResults, Case, Entry

RUN_EXAMPLES = """
workloadkit benchmark run
workloadkit benchmark run easy sjf --only sample --only mixed -o page.html
workloadkit benchmark run easy --process "mine=awk -f mine.awk"
workloadkit benchmark run easy --schedules other=schedules --only open
workloadkit benchmark run home --meta "mine=awk -f meta.awk" --only grid
"""
WORKLOADS_EXAMPLES = """
workloadkit benchmark workloads -o workloads
workloadkit benchmark workloads -o workloads --only lublin --only busy
"""
VERIFY_EXAMPLES = """
workloadkit benchmark verify
workloadkit benchmark verify mine.json --process "mine=awk -f mine.awk"
"""
NEAREST_EXAMPLES = """
workloadkit benchmark nearest log.swf.gz
workloadkit benchmark nearest log.swf.gz --metric mean_wait --json -
"""

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Compare schedulers on a fixed suite of workloads.",
)

_MOST = 8  # processes by default

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
_RUNS, _SEED = 10, 1999  # of the suite, which takes longer to import


def run(
    entries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POLICY[:P=V,...]",
            show_default=False,
            autocompletion=completion.schedulers,
            help="Schedulers and meta-schedulers, see `workloadkit help schedulers` and "
            "`meta-schedulers`. By default the built-in ones.",
        ),
    ] = None,
    process: ProcessOption = None,
    schedules: SchedulesOption = None,
    meta: MetaOption = None,
    only: OnlyOption = None,
    logs: LogsOption = None,
    runs: RunsOption = _RUNS,
    seed: SuiteSeedOption = _SEED,
    output: Annotated[Path | None, page_option("benchmark.html")] = None,
    json: JsonOption = None,
    tables: TablesOption = None,
    workers: Annotated[int | None, processes_option(_MOST)] = None,
) -> None:
    """Play entries in the cases of the suite, check their schedules and rank them.

    The JSON is a certificate, which `benchmark verify` checks on another machine. Exit 1 if an
    entry is refused; the others are ranked.
    """
    if output is None and json is None:
        output = Path("benchmark.html")
    check_outputs(page=output, json=json)
    chosen, among = _entries(entries, process, schedules, meta), _cases(only, logs)
    found: list[BenchmarkResults] = []

    def make(pool: "Executor | None") -> "BenchmarkReport":
        from analysis.benchmark import report_benchmark

        found.append(_played(chosen, among, runs, seed, pool))
        return report_benchmark(found[0])

    module = "analysis.benchmark"
    write_report(make, module, workers, _MOST, output=output, json=json, tables=tables)
    if not any(str(target) == "-" for target in (output, json)):
        _show(found[0])
    if found[0].refused:
        raise typer.Exit(1)


def _entries(
    policies: Sequence[str] | None,
    processes: Sequence[str] | None,
    schedules: Sequence[str] | None,
    meta: Sequence[str] | None,
) -> "list[Entry]":
    """Return the entries that words name; by default the built-in ones."""
    from workloadkit.benchmark import Entry, built_in
    from workloadkit.experiments.custom_parts import meta_scheduler_named, scheduler_named
    from workloadkit.io.files import is_folder
    from workloadkit.metasystem.policies import known

    if not (policies or processes or schedules or meta):
        return built_in()
    found = []
    for word in policies or ():
        if word.partition(":")[0] in known():
            found.append(Entry(word, "meta-policy", meta_scheduler_named(word)))
        else:
            found.append(Entry(word, "policy", scheduler_named(word)))
    for kind, option, words in (
        ("process", "--process", processes),
        ("schedules", "--schedules", schedules),
        ("meta", "--meta", meta),
    ):
        for word in words or ():
            name, sign, what = word.partition("=")
            if not (sign and name and what):
                raise ParameterError(f"{option} is {word!r}; write NAME={_AFTER[kind]}")
            if kind == "schedules" and not is_folder(what):
                raise WorkloadError(f"{what}: is not a folder")
            if kind == "meta":
                kind = "meta-schedules" if is_folder(what) else "meta-process"
            found.append(Entry(name, kind, what))  # type: ignore[arg-type]  # one of its words
    return found


_AFTER = {"process": "COMMAND", "schedules": "DIR", "meta": "COMMAND, or a folder"}


def _cases(only: Sequence[str] | None, logs: Path | None) -> "list[Case]":
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


def _played(
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


def _show(results: "BenchmarkResults") -> None:
    """Print the scores on stdout, and why entries are refused."""
    from analysis.benchmark import MAIN, shown_score
    from analysis.formats import metric_title

    scores, texts = results.scores, []
    for _, rows in scores.groupby("kind", sort=False) if len(scores) else ():
        shown = ("mean_wait", MAIN)
        table = rows.pivot(index="entry", columns="metric", values="score")
        baseline = rows["baseline"].iloc[0]
        cells = [["Entry", "Cases", *(f"{metric_title(name)} / {baseline}" for name in shown)]]
        for entry in table[MAIN].sort_values(kind="stable").index:
            mine = rows[rows["entry"] == entry].set_index("metric")
            values = [shown_score(mine.loc[name]) for name in shown]
            cells.append([entry, str(mine["cases"].max()), *values])
        texts.append(aligned(cells, words={0}))
    texts += [f"refused: {name}: {why}" for name, why in results.refused.items()]
    typer.echo("\n\n".join(texts))


def workloads(
    output: Annotated[
        Path, typer.Option("-o", metavar="DIR", help="Write the workloads into this folder.")
    ],
    only: OnlyOption = None,
    logs: LogsOption = None,
    runs: RunsOption = _RUNS,
    seed: SuiteSeedOption = _SEED,
) -> None:
    """Write the workloads for simulators and schedulers of other people.

    Each run of a case is a file in SWF. Its schedule is a file of the same name, with the waits of
    the schedule. A metasystem is a folder with its description and logs; its schedule is a file in
    SWF of its meta jobs, with their sites as partitions. The workloads of users who react are left
    out, as their submit times depend on the schedule.
    """
    from workloadkit.io.swf import write_swf
    from workloadkit.metasystem import Metasystem, write_metasystem

    among = [case for case in _cases(only, logs) if case.users == "open"]
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkloadError(f"{output}: cannot be written: {error.strerror}") from None
    with progress("writing the workloads") as count:
        for done, case in enumerate(among):
            for i in range(runs):
                made, name = case.run(i, seed), f"{case.name}.{i}"
                if isinstance(made, Metasystem):
                    (output / name).mkdir(exist_ok=True)
                    write_metasystem(made, output / name)
                else:
                    write_swf(made, output / f"{name}.swf.gz")
            count(done + 1, len(among))
    note(f"wrote {plural(runs * len(among), 'workload')} to {output}")


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
    only: OnlyOption = None,
    logs: LogsOption = None,
    workers: Annotated[int | None, processes_option(_MOST)] = None,
) -> None:
    """Make the results of a certificate again, and compare them.

    Built-in policies are played again; give the processes and schedules by the options of
    `benchmark run`. The last line is "verified", or "verified in part" if cases or entries were not
    played again. Exit 1 if anything differs.
    """
    from workloadkit.benchmark import canonical, certificate, differences, read_certificate

    if file is None:
        claimed = canonical()
    else:
        try:
            claimed = read_certificate(file.read_text("utf-8"), str(file))
        except (OSError, UnicodeDecodeError) as error:
            raise WorkloadError(f"{file}: cannot be read: {error}") from None
    policies = [
        entry["policy"]
        for name, entry in claimed["entries"].items()
        if "policy" in entry and name not in claimed["refused"]
    ]
    chosen = _entries(policies, process, schedules, meta)
    among = [case for case in _cases(only, logs) if case.name in claimed["workloads"]]
    n_workers = workers or min(usable_processors(), _MOST)
    with executor(n_workers, loaded="workloadkit.benchmark") as pool:
        results = _played(chosen, among, claimed["runs"], claimed["seed"], pool)
    made = certificate(results)
    found = differences(claimed, made)
    for line in found:
        typer.echo(line)
    missing = len(claimed["results"]) - len(made["results"])
    played = plural(len(made["results"]), "result")
    if found:
        typer.echo(f"not verified: {plural(len(found), 'difference')} in {played}")
        raise typer.Exit(1)
    rest = f" in part: {missing:,} not played again" if missing > 0 else ""
    typer.echo(f"verified{rest}: {played} made again")


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
    from analysis.formats import number
    from workloadkit.benchmark import canonical, nearest_cases, read_certificate
    from workloadkit.provenance import plain, provenance

    check_outputs(json=json, inputs=[trace])
    log = load(trace, strict=strict)
    results = canonical() if file is None else read_certificate(file.read_text("utf-8"), str(file))
    found = nearest_cases(log, results, procs=procs, metric=metric)
    if json:
        made = provenance(log, metric=metric, certificate=results["sha256"])
        write_json(json, {"cases": plain(found.to_dict("records")), "provenance": made})
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

add_command(app, run, RUN_EXAMPLES, ("schedulers", "processes"))
add_command(app, workloads, WORKLOADS_EXAMPLES)
add_command(app, verify, VERIFY_EXAMPLES)
add_command(app, nearest, NEAREST_EXAMPLES)
