"""`workloadkit convert`: a site's accounting, or another simulator's log, as a log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workloadkit.cli.common import (
    JsonOption,
    StrictOption,
    check_outputs,
    output_option,
    say,
    say_written,
    working,
    write_json,
)
from workloadkit.errors import WorkloadError
from workloadkit.io.known_formats import Format

if TYPE_CHECKING:
    from workloadkit.trace import Trace
from workloadkit.cli.options import procs_option

EXAMPLES = """
workloadkit convert slurm.txt -o site.swf.gz --procs 4096
workloadkit convert accounting/2024* -o pbs.swf.gz
workloadkit convert slurm.txt -o public.swf.gz --anonymize --key secret
workloadkit convert log.swf.gz -o log.json
"""

#: How sites export what is read, by the format.
EXPORTS = """
slurm: F=JobIDRaw,JobID,Cluster,Partition,QOS,Account,GID,UID,Submit,Eligible
       F=$F,Start,End,ElapsedRaw,Suspended,State,ExitCode,NNodes,AllocCPUS
       F=$F,ReqCPUS,ReqMem,AllocTRES,TimelimitRaw,Reason,Flags,JobName
       TZ=UTC sacct -aXPD -S FROM -E TO --units=K -o $F > slurm.txt
       (without -X, and with TotalCPU,MaxRSS,NTasks before JobName, steps
       tell of CPU time and memory; without TZ=UTC, name the zone by --tz)
pbs:   server_priv/accounting/*, the files of the days
lsf:   lsb.acct and lsb.acct.* of LSB_SHAREDIR/CLUSTER/logdir
sge:   $SGE_ROOT/$SGE_CELL/common/accounting (or accounting.jsonl)
"""


_LONGEST_KEY = 4096  # [bytes]


def convert(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            show_default=False,
            readable=False,  # reading says what is wrong
            help='What to read, compressed or not; "-" is standard input. Accounting may come in '
            "several files.",
        ),
    ],
    output: Annotated[
        Path,
        output_option(
            "the log",
            "By its name OUT.swf, OUT.gwf (both with .gz, .bz2, .xz or .zst after it) or OUT.json "
            "for Batsim. What SWF cannot hold goes to OUT.swf.parquet.",
            metavar="OUT",
        ),
    ],
    from_: Annotated[
        Format | None,
        typer.Option("--from", help="Format of what is read. By default, what it looks like."),
    ] = None,
    tz: Annotated[
        str,
        typer.Option(metavar="ZONE", help="Time zone of times that name none, and of the log."),
    ] = "UTC",
    procs: Annotated[int | None, procs_option("those that the export tells, if any")] = None,
    attempts: Annotated[
        bool,
        typer.Option("--attempts", help="Make of each attempt of a requeued job a partial line."),
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
            help="With --anonymize: the numbers of users, groups, ... are made of their names by "
            "the secret in this file, the same in every log.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            show_default=False,
            help="Columns of Slurm's rows that come without their names, in their order: "
            "'JobID|Partition|...'. Open XDMoD's exports are known.",
        ),
    ] = None,
    json: JsonOption = None,
    strict: StrictOption = False,
) -> None:
    """Make a log of a site's accounting, or of another format.

    Prints how many rows were read, which were left out and why, and how many jobs are kept.
    """
    from workloadkit.io import formats

    made = formats.written_format(output)
    check_outputs(output, json, inputs=[*logs, key])
    secret = _secret(key)
    with working(f"reading {', '.join(map(str, logs))}"):
        trace = formats.read_log(
            [str(log) for log in logs],
            from_,
            tz=tz,
            procs=procs,
            attempts=attempts,
            anonymize=anonymize,
            key=secret,
            columns=columns,
            strict=strict,
        )
    with working(f"writing {output}"):
        beside = formats.write_log(trace, output)
    typer.echo(_summary(trace), err="-" in (str(output), str(json)))
    say_written(output, beside)
    if trace.sidecar is not None and (str(output) == "-" or made != "swf"):
        say("warning: no Parquet file stands beside it: what its format cannot hold is lost")
    if trace.intake is not None and not trace.header.procs:
        say("the size of the machine is not known: --procs tells it")
    if json:
        write_json(json, _as_dict(trace))


def _secret(key: Path | None) -> bytes | None:
    """Return what a key file holds, without blanks at its ends."""
    if key is None:
        return None
    try:
        with key.open("rb") as stream:
            secret = stream.read(_LONGEST_KEY + 1)
    except OSError as error:
        raise WorkloadError(f"{key}: cannot be read: {error.strerror}") from None
    if len(secret) > _LONGEST_KEY:
        raise WorkloadError(f"{key}: is no key: it has more than {_LONGEST_KEY:,} bytes")
    secret = secret.strip()
    if not secret:
        raise WorkloadError(f"{key}: holds no key")
    return secret


def _summary(trace: "Trace") -> str:
    """Say what was read and what became of it."""
    if trace.intake is not None:
        return str(trace.intake)
    lines = [f"{trace.name}: {trace.n_jobs:,} jobs read, all kept"]
    if trace.repairs:
        lines += ["repaired in reading:", *(f"  {repair}" for repair in trace.repairs)]
    return "\n".join(lines)


def _as_dict(trace: "Trace") -> dict[str, Any]:
    from workloadkit.provenance import provenance

    told = trace.intake.to_dict() if trace.intake is not None else {"jobs": trace.n_jobs}
    repairs = [vars(repair) for repair in trace.repairs]
    return {**told, "repairs": repairs, "provenance": provenance(trace)}
