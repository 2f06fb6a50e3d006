"""`workloadkit convert`: accounting, or a log in another format, as a log."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from workloadkit.cli import configuration
from workloadkit.cli.commands import RARE
from workloadkit.cli.common import (
    JsonOption,
    check_outputs,
    output_option,
    read_key,
    report_written,
    write_json,
)
from workloadkit.cli.output import note, progress, write_message
from workloadkit.cli.reading import (
    StrictOption,
    chooses,
    chosen,
)
from workloadkit.errors import FormatError, ParameterError, plural
from workloadkit.io.known_formats import WRITTEN_TITLES, Format

if TYPE_CHECKING:
    from workloadkit.header import Header
    from workloadkit.machine.description import MachineDescription
    from workloadkit.trace import Trace
from workloadkit.cli.options import procs_option

EXAMPLES = """
workloadkit convert slurm.txt -o site.swf.gz --procs 4096
workloadkit convert accounting/2024* -o pbs.swf.gz
workloadkit convert slurm.txt -o public.swf.gz --anonymize --key secret
workloadkit convert log.swf.gz -o log.wkt.parquet
workloadkit convert log.swf.gz -o log.csv
workloadkit convert kestrel/ -o kestrel.wkt.parquet --mapping kestrel
"""

_BATSIM = 5  # version


def convert(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            show_default=False,
            readable=False,  # the reader reports what is wrong
            help='File to read, plain or compressed; "-" is standard input. Accounting may be in '
            "several files.",
        ),
    ],
    output: Annotated[
        Path,
        output_option(
            "the log",
            "The name determines the format: OUT.swf, OUT.gwf or OUT.csv, optionally with .gz, "
            ".bz2, .xz or .zst, OUT.json for Batsim, or OUT.wkt.parquet. OUT.swf.parquet gets what "
            "SWF cannot hold, OUT.swf.machine.json the machine, OUT.csv.toml what columns mean.",
            metavar="OUT",
        ),
    ],
    from_: Annotated[
        Format | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help=f"Format of the input: {', '.join(get_args(Format))}. By default it is "
            "recognized.",
        ),
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE|guess",
            show_default=False,
            autocompletion=configuration.mappings,
            help="What the columns of a table mean (CSV, JSON, Parquet; files, folders, archives): "
            "a mapping that ships, see `workloadkit traces`, a TOML file, or guess. By default one "
            "is proposed, and nothing is read.",
        ),
    ] = None,
    tz: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            show_default=False,
            help="Time zone of the log, and of times without an offset. By default the offset of "
            "the times, else UTC.",
        ),
    ] = None,
    procs: Annotated[int | None, procs_option("those in the export, if any")] = None,
    attempts: Annotated[
        bool,
        typer.Option(
            "--attempts",
            rich_help_panel=RARE,
            help="Write each attempt of a requeued job, and the parts of suspended ones, as "
            "partial lines.",
        ),
    ] = False,
    anonymize: Annotated[
        bool,
        typer.Option("--anonymize", help="Leave out all names, job ids, paths and hosts."),
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            readable=False,
            rich_help_panel=RARE,
            help="With --anonymize: number users, groups, ... with the secret in this file, the "
            "same in every log.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            show_default=False,
            rich_help_panel=RARE,
            help="Columns of Slurm rows without a header line, in order: 'JobID|Partition|...'. "
            "Exports of Open XDMoD need none.",
        ),
    ] = None,
    slurm_conf: Annotated[
        Path | None,
        typer.Option(
            "--slurm-conf",
            metavar="FILE",
            show_default=False,
            readable=False,
            help="Configuration of Slurm, the source of OUT.swf.machine.json. By default the "
            "machine is inferred from the jobs.",
        ),
    ] = None,
    batsim: Annotated[
        int | None,
        typer.Option(
            metavar="4|5",
            min=4,
            max=5,
            show_default="5",
            rich_help_panel=RARE,
            help="Version of Batsim for OUT.json. Version 4 is for earlier ones, too.",
        ),
    ] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Convert accounting, a table or another format to a log.

    Prints how many rows were read, which were left out and why, and how many jobs are kept.
    """
    from workloadkit.io import formats

    made = formats.written_format(output)
    if batsim is not None and made != "batsim":
        raise ParameterError(f"--batsim requires OUT.json; {output} is {WRITTEN_TITLES[made]}")
    check_outputs(output, json=json, inputs=[*logs, key, slurm_conf])
    if slurm_conf is not None and anonymize:
        raise ParameterError(
            "--slurm-conf names nodes and partitions; leave out --anonymize, and "
            "then use workloadkit anonymize"
        )
    sections: Any = mapping
    if mapping == "guess":
        sections = _guessed(logs, tz)
    elif (mapping, from_, columns) == (None, None, None):
        _propose(logs)
    machine = _configured(slurm_conf) if slurm_conf else None
    secret = read_key(key)
    reading = f"reading {', '.join(map(str, logs))}"
    options: dict[str, Any] = {
        "tz": tz,
        "procs": procs,
        "attempts": attempts,
        "anonymize": anonymize,
        "key": secret,
        "columns": columns,
        "strict": strict,
    }
    if mapping is not None and made == "wkt" and not (anonymize or machine or json or chooses()):
        from workloadkit.io.tables import convert_table

        with progress(f"{reading}, writing {output}"):  # together: they may not fit into memory
            given = formats.table_options(from_, options)
            header, intake = convert_table(logs, sections, output, **given)
        typer.echo(str(intake))
        report_written(output, (), "")
        _note_size(header)
        return
    with progress(reading):
        trace = formats.read_log([str(log) for log in logs], from_, mapping=sections, **options)
    if machine is not None:
        trace = replace(trace, machine=machine)
        if machine.procs and not trace.header.procs:
            trace = replace(trace, header=trace.header.with_procs(machine.procs))
    summary, trace = _summary(trace), chosen(trace)
    with progress(f"writing {output}"):
        version = {"version": batsim or _BATSIM} if made == "batsim" else {}
        companions = formats.write_log(trace, output, **version)
    typer.echo(summary, err="-" in (str(output), str(json)))
    report_written(output, companions, f"for Batsim {batsim or _BATSIM}" * (made == "batsim"))
    if str(output) == "-" and (trace.sidecar is not None or trace.machine is not None):
        write_message(
            "warning: no other file is written next to it: what the format cannot hold is lost"
        )
    if trace.intake is not None:
        _note_size(trace.header)
    if json:
        write_json(json, _as_dict(trace))


def _propose(logs: list[Path]) -> None:
    """Print a mapping for a table that needs one, and stop."""
    from workloadkit.io.formats import needs_mapping

    if not needs_mapping(logs[0]):
        return
    from workloadkit.io.tables.guess import propose

    proposal = propose(logs)
    typer.echo(proposal.text(), nl=False)
    todo = "check the proposed mapping, save it as FILE, and give --mapping FILE"
    if not proposal.unsure:
        zone = " --tz ZONE" if proposal.lacks_zone else ""
        todo += f"; or read what is sure or likely with --mapping guess{zone}"
    raise FormatError(str(logs[0]), f"is a table: {todo}")


def _guessed(logs: list[Path], tz: str | None) -> dict[str, Any]:
    """Return the proposed mapping of a table, if it is sure; report what is left out."""
    from workloadkit.io.tables.guess import guessed

    proposal = guessed(logs, tz=tz)
    note(f"{proposal.name}: read by a proposed mapping; to see it, leave out --mapping")
    if left := proposal.left_out():
        note(f"{proposal.name}: not sure, left out: {', '.join(left)}")
    return proposal.mapping()


def _note_size(header: "Header") -> None:
    if not header.procs:
        note("the size of the machine is unknown: give it with --procs")


def _configured(path: Path) -> "MachineDescription":
    """Return the machine that a configuration of Slurm describes, and report the rest of it."""
    from workloadkit.io.slurm.conf import read_slurm_conf

    conf = read_slurm_conf(path)
    parts = f"{conf.machine.n_nodes:,} nodes, {plural(conf.machine.procs, 'processor')}"
    threads = {kind.threads_per_core or 1 for kind in conf.machine.nodes}
    if threads != {1}:
        parts += f" ({' or '.join(map(str, sorted(threads)))} of a core)"
    note(f"{path}: {parts}, {plural(len(conf.machine.partitions), 'partition')}")
    if conf.left_out:
        note(f"{path}: {plural(len(conf.left_out), 'node')} left out, State=FUTURE")
    if conf.unused:
        note(f"{path}: settings not used: {', '.join(conf.unused)}")
    return conf.machine


def _summary(trace: "Trace") -> str:
    """Summarize what was read and kept."""
    if trace.intake is not None:
        return str(trace.intake)
    lines = [f"{trace.name}: {plural(trace.n_jobs, 'job')} read, all kept"]
    if trace.repairs:
        lines += ["repairs made while reading:", *(f"  {repair}" for repair in trace.repairs)]
    return "\n".join(lines)


def _as_dict(trace: "Trace") -> dict[str, Any]:
    from workloadkit.provenance import provenance

    counts = trace.intake.to_dict() if trace.intake is not None else {"jobs": trace.n_jobs}
    repairs = [vars(repair) for repair in trace.repairs]
    return {**counts, "repairs": repairs, "provenance": provenance(trace)}
