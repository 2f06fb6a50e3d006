"""Write what happened as `sacct` prints it, in the dialects that sites have (its manual page)."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from random import Random

from tests.planted.truth import Attempt, Job

Row = dict[str, str]

_NEEDED = ("JobID", "Submit", "Start", "End", "State")
_EXTRA = (
    *(
        "JobIDRaw",
        "Cluster",
        "Partition",
        "QOS",
        "Account",
        "Group",
        "User",
        "Eligible",
        "Suspended",
    ),
    *("ExitCode", "NNodes", "ReqCPUS", "ReqMem", "AllocTRES", "NodeList", "Timelimit"),
    *("TimelimitRaw", "Reason", "Flags", "CPUTimeRAW"),
)


def iso(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


def epoch(second: int) -> str:
    return str(second)


def milliseconds(second: int) -> str:
    return str(second * 1000)


def with_offset(zone: tzinfo, pattern: str) -> Callable[[int], str]:
    """Return the writer of times with their offset: of `T+08:00`, `T+0800`, ` +08:00` or `TZ`."""

    def write(second: int) -> str:
        text = datetime.fromtimestamp(second, zone).isoformat(sep="T" if pattern[0] == "T" else " ")
        if pattern == "TZ":
            return text.replace("+00:00", "Z")
        return text if ":" in pattern else text[:-3] + text[-2:]

    return write


def strftime(pattern: str) -> Callable[[int], str]:
    """Return the writer of times as `SLURM_TIME_FORMAT` or a spreadsheet makes them."""
    return lambda second: datetime.fromtimestamp(second, UTC).strftime(pattern)


def duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


@dataclass(frozen=True)
class Dialect:
    """How an export looks: its columns in their order, the delimiter, quotes, times."""

    columns: tuple[str, ...]
    delimiter: str = "|"
    time: Callable[[int], str] = iso
    quoting: int | None = None
    unknown: str = "Unknown"
    index: bool = False


def dialect(
    rng: Random, *needed: str, without: Sequence[str] = (), delimiter: str | None = None
) -> Dialect:
    """Draw columns, their order and the delimiter; the columns of `needed` are among them."""
    elapsed, procs = rng.choice(["Elapsed", "ElapsedRaw"]), rng.choice(["AllocCPUS", "NCPUS"])
    needed = (*_NEEDED, elapsed, procs, "User", "JobName", *needed)
    extra = rng.sample(_EXTRA, rng.randrange(len(_EXTRA)))
    columns = [name for name in dict.fromkeys((*needed, *extra)) if name not in without]
    rng.shuffle(columns)
    return Dialect(
        tuple(columns), delimiter or rng.choice("||;\t"), unknown=rng.choice(["Unknown", "None"])
    )


def rows(jobs: Sequence[Job], style: Dialect, *, old: bool = False) -> list[Row]:
    """Return the rows of `sacct -D`: one for each attempt.

    Parameters
    ----------
    old : bool
        As before Slurm 21.08, where a job that never started has its request as its allocation, its
        end as its start, and the nodes `None assigned`.
    """
    return [row(job, attempt, style, old=old) for job in jobs for attempt in job.attempts]


def row(job: Job, attempt: Attempt, style: Dialect, *, old: bool = False) -> Row:
    """Return all columns of one attempt."""
    never, time = attempt.start is None, style.time
    allocated = attempt.procs if old or not never else 0
    n_nodes = max(len(job.nodes), 1)
    tres = f"billing={attempt.procs},cpu={attempt.procs},mem=16G,node={n_nodes}"
    tres += f",gres/gpu={job.gpus}" if job.gpus else ""
    start = time(attempt.end if old else 0) if attempt.start is None else time(attempt.start)
    state = attempt.state + (" by 1007" if attempt.state == "CANCELLED" else "")
    return {
        "JobID": str(job.number),
        "JobIDRaw": str(job.number),
        "Cluster": "alpha",
        "Partition": job.partition,
        "QOS": "normal",
        "Account": job.account,
        "Group": "staff",
        "User": job.user,
        "Submit": time(attempt.submit),
        "Eligible": time(attempt.submit),
        "Start": style.unknown if never and not old else start,
        "End": time(attempt.end),
        "Elapsed": duration(attempt.run),
        "ElapsedRaw": str(attempt.run),
        "Suspended": "00:00:00",
        "State": state,
        "ExitCode": "1:0" if attempt.state == "FAILED" else "0:0",
        "NNodes": str(n_nodes),
        "AllocCPUS": str(allocated),
        "NCPUS": str(allocated),
        "ReqCPUS": str(attempt.procs),
        "ReqMem": "16G",
        "AllocTRES": tres if allocated else "",
        "NodeList": "None assigned" if never else ",".join(job.nodes),
        "Timelimit": duration(job.limit),
        "TimelimitRaw": str(job.limit // 60),
        "Reason": "None",
        "Flags": "SchedMain",
        "CPUTimeRAW": str(attempt.run * allocated),
        "TotalCPU": duration(0 if never else job.cpu),
        "TRESUsageInTot": "",
        "WorkDir": f"/home/{job.user}/a b",
        "JobName": job.name,
    }


def step(job: Job, name: str, cpu: int, whole: Row) -> Row:
    """Return the row of a step of the job, which uses `cpu` seconds."""
    return whole | {
        **dict.fromkeys(("User", "Group", "QOS", "Partition", "Timelimit", "TimelimitRaw"), ""),
        **dict.fromkeys(("ReqMem", "Flags", "Reason"), ""),
        "JobID": f"{whole['JobID']}.{name}",
        "JobIDRaw": f"{whole['JobIDRaw']}.{name}",
        "JobName": name,
        "State": whole["State"].split()[0],
        "TotalCPU": duration(cpu),
    }


def text(table: Sequence[Row], style: Dialect, *, header: bool = True) -> str:
    """Join rows as `sacct -P --delimiter` does, or quoted as the csv module and pandas do."""
    titles = list(style.columns)
    cells = [[line[name] for name in titles] for line in table]
    if header:
        cells.insert(0, titles)
    if style.index:
        cells = [
            ["" if header and i == 0 else str(i - header), *line] for i, line in enumerate(cells)
        ]
    if style.quoting is None:
        return "".join(style.delimiter.join(line) + "\n" for line in cells)
    out = io.StringIO()
    quoting: object = style.quoting
    csv.writer(out, delimiter=style.delimiter, quoting=quoting, lineterminator="\n").writerows(
        cells
    )  # type: ignore[arg-type]
    return out.getvalue()


def as_csv(style: Dialect, delimiter: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> Dialect:
    """Return the dialect with quotes where RFC 4180 wants them."""
    return replace(style, delimiter=delimiter, quoting=quoting)


def export(jobs: Sequence[Job], style: Dialect, *, old: bool = False) -> bytes:
    """Return a whole export."""
    return text(rows(jobs, style, old=old), style).encode()
