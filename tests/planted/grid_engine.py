"""Write what happened as Grid Engine accounts for it, or Univa in milliseconds (accounting(5))."""

from collections.abc import Sequence
from dataclasses import replace

from tests.planted.truth import Attempt, Job

#: The fields failed and exit_status (sge_status(5)).
_FAILED = {
    "COMPLETED": (0, 0),
    "FAILED": (0, 1),
    "CANCELLED": (100, 137),
    "TIMEOUT": (37, 137),
    "NODE_FAIL": (25, 0),
    "PREEMPTED": (24, 0),
}


def line(
    job: Job,
    attempt: Attempt,
    *,
    unit: int = 1,
    task: int = 0,
    failed: tuple[int, int] | None = None,
    pe_task: str = "NONE",
) -> str:
    """Return the line of an attempt, or of a task of it."""
    ran = attempt.start is not None
    start, end = (attempt.start or 0, attempt.end) if ran else (0, 0)
    cpu = job.cpu if ran else 0
    fields = [
        *(job.partition, job.nodes[0] if ran else "NONE", "staff", job.user),
        *(job.name, job.number, "sge", 0),
        *(job.attempts[0].submit * unit, start * unit, end * unit),
        *(failed or _FAILED[attempt.state]),
        *(attempt.run, f"{cpu}.000000", "0.000000", "104188.000000", *[0] * 14),
        *("NONE", job.account, "mpi", attempt.procs, task, f"{cpu}.000000", "7.335", "0.000044"),
        *(f"-l h_rt={job.limit} -pe mpi {attempt.procs}", "0.000000"),
        *(pe_task, "189153280.0", 0, 0),
    ]
    return ":".join(map(str, fields))


def task(job: Job, attempt: Attempt, number: int, cpu: int, *, unit: int = 1) -> str:
    """Return the line of a task of a parallel job, with its own CPU time."""
    host = f"{number + 1}.{job.nodes[0]}"
    return line(replace(job, cpu=cpu), attempt, unit=unit, pe_task=host)


def records(job: Job, *, unit: int = 1) -> list[tuple[int, str]]:
    """Return the lines of all attempts with their times."""
    return [(attempt.end, line(job, attempt, unit=unit)) for attempt in job.attempts]


def text(found: Sequence[tuple[int, str]]) -> bytes:
    lines = [entry[1] for entry in sorted(found, key=lambda entry: entry[0])]
    return "\n".join(["# Version: 8.1.9", "#", *lines, ""]).encode()


def export(jobs: Sequence[Job], *, unit: int = 1) -> bytes:
    return text([entry for job in jobs for entry in records(job, unit=unit)])
