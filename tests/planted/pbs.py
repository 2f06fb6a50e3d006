"""Write what happened as PBS Professional and Torque account for it (their guides)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from tests.planted.truth import Attempt, Job

_EXIT = {"COMPLETED": 0, "CANCELLED": 271, "FAILED": 1, "TIMEOUT": -11}


def record(kind: str, at: int, job: Job, body: str, *, array: str = "") -> tuple[int, str]:
    """Return a record with its time, by which a file is sorted."""
    date = f"{datetime.fromtimestamp(at, UTC):%m/%d/%Y %H:%M:%S}"
    return at, f"{date};{kind};{job.number}{array}.srv;{body}"


def hosts(job: Job, procs: int, pro: bool) -> str:
    """Return where the job ran, in both ways of writing it."""
    share = procs // len(job.nodes)
    names = [f"{node}{chr(97 + i)}" for i, node in enumerate(job.nodes)]
    if pro:
        where = "+".join(f"{name}/0*{share}" for name in names)
        vnodes = "+".join(f"({name}:ncpus={share})" for name in names)
        return f"exec_host={where} exec_vnode={vnodes}"
    return "exec_host=" + "+".join(f"{name}/{i}" for name in names for i in range(share))


def attributes(job: Job, attempt: Attempt, *, pro: bool) -> str:
    """Return what all records of a job that has started contain."""
    n = max(len(job.nodes), 1)
    asked = (
        f"Resource_List.ncpus={attempt.procs} Resource_List.select={n}:ncpus={attempt.procs // n}"
        if pro
        else f"Resource_List.nodes={n}:ppn={attempt.procs // n} Resource_List.neednodes={n}"
    )
    name = job.name.replace(" ", "_")
    submit = job.attempts[0].submit
    times = f"ctime={submit} qtime={submit} etime={submit}"
    start = (
        "" if attempt.start is None else f" start={attempt.start} {hosts(job, attempt.procs, pro)}"
    )
    return (
        f"user={job.user} group=staff account={job.account} jobname={name} queue={job.partition} "
        f"{times}{start} {asked} Resource_List.walltime={_clock(job.limit)}"
    )


def ended(kind: str, job: Job, attempt: Attempt, *, pro: bool, array: str = "") -> tuple[int, str]:
    """Return an E record, or the R record of PBS Professional, which has the same fields."""
    status = _EXIT.get(attempt.state, -11)
    body = (
        f"{attributes(job, attempt, pro=pro)} session=77 end={attempt.end} Exit_status={status} "
        f"resources_used.cput={_clock(job.cpu)} resources_used.walltime={_clock(attempt.run)}"
    )
    return record(kind, attempt.end, job, body, array=array)


def records(job: Job, *, pro: bool) -> list[tuple[int, str]]:
    """Return all records of a job: queued, started, rerun and ended, or deleted."""
    found = [record("Q", job.attempts[0].submit, job, f"queue={job.partition}")]
    if job.resized:
        return [*found, *phases(job)]
    for attempt in job.attempts:
        if attempt.start is None:
            found.append(record("D", attempt.end, job, "requestor=al@srv"))
            continue
        found.append(record("S", attempt.start, job, attributes(job, attempt, pro=pro)))
        if attempt is job.last:
            found.append(ended("E", job, attempt, pro=pro))
        elif pro:
            found.append(ended("R", job, attempt, pro=pro))
        else:  # the record of Torque is empty
            found.append(record("R", attempt.end, job, ""))
    return found


def phases(job: Job) -> list[tuple[int, str]]:
    """Return the records of a job that released nodes, as PBS Professional writes them.

    Each phase that ended has an `u`, followed by a `c` with what is left, and the last an `e`; the
    `E` record has the nodes of the first phase, and the walltime of all.
    """
    start, found = job.attempts[0].start, []

    def phase(kind: str, at: int, part: Attempt, used: str = "") -> None:
        whole = replace(part, start=start)
        found.append(record(kind, at, job, f"{attributes(job, whole, pro=True)}{used}"))

    phase("S", start or 0, job.attempts[0])
    for part, after in pairwise(job.attempts):
        phase("u", part.end, part, f" session=77 resources_used.walltime={_clock(part.run)}")
        phase("c", part.end, after)
    last = job.last
    phase("e", last.end, last, f" session=77 resources_used.walltime={_clock(last.run)}")
    whole = replace(last, start=start, procs=job.attempts[0].procs)
    return [*found, ended("E", job, whole, pro=True)]


def text(found: Sequence[tuple[int, str]]) -> bytes:
    return "".join(line + "\n" for _, line in sorted(found, key=lambda entry: entry[0])).encode()


def export(jobs: Sequence[Job], *, pro: bool) -> bytes:
    return text([line for job in jobs for line in records(job, pro=pro)])


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
