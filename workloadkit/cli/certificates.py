"""`workloadkit benchmark verify` and `nearest`, which read certificates."""

from pathlib import Path
from typing import Annotated, Any

import typer

from workloadkit.cli.commands import RARE
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
from workloadkit.cli.messages import note
from workloadkit.cli.reports import processes_option
from workloadkit.cli.suite_options import (
    MOST,
    LogsOption,
    MetaOption,
    OnlyOption,
    ProcessOption,
    SchedulesOption,
    chosen_cases,
    named_entries,
    played,
)
from workloadkit.errors import WorkloadError, plural, printable

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
