"""Write what happened as LSF accounts for it: JOB_FINISH records of `lsb.acct` (its reference)."""

from collections.abc import Sequence
from dataclasses import replace

from tests.planted.truth import Attempt, Job


def hosts(job: Job, procs: int) -> list[str]:
    """Return where the job ran on some processors."""
    share = procs // max(len(job.nodes), 1)
    return [f"{share}*{node}{chr(97 + i)}" for i, node in enumerate(job.nodes)]


def finish(
    job: Job,
    attempt: Attempt,
    *,
    index: int = 0,
    name: str | None = None,
    resized: int | None = None,
) -> str:
    """Return the record of an attempt, with the fields of LSF 9.1; `resized` is its last resize."""
    ran = attempt.start is not None
    where = hosts(job, attempt.procs) if ran else []
    done = attempt.state == "COMPLETED"
    killed = {"CANCELLED": 15, "TIMEOUT": 5, "PREEMPTED": 18, "NODE_FAIL": 10}.get(attempt.state, 0)
    fields = [
        *("JOB_FINISH", "9.11", attempt.end, job.number, 501, 33882739, attempt.procs),
        *(job.attempts[0].submit, 0, 0, attempt.start or 0, job.user, job.partition),
        *("span[ptile=16]", "", "", "login", f"/home/{job.user}", "", "%J.out", "%J.err"),
        *(f"{attempt.submit}.{job.number}", 0, len(where), *where, 64 if done else 32, 60.0),
        *(job.name if name is None else name, f'#BSUB -R "span[ptile=16]";run {job.name}'),
        *(float(job.cpu) if ran else 0.0, 0.0, *[0] * 14, -1, 0, -1),
        *("", job.account, 0 if done else 256, attempt.procs, "", "", index, 10725376, 0, "", ""),
        *("", "", 0, "", killed, "", -1, f"/{job.account}/{job.user}", "", "", "", -1, "", ""),
        *(
            6160,
            "",
            resized or attempt.start or 0,
            "",
            "",
            0,
            0,
            job.limit,
            0,
            8688640,
            "select[local]",
            "",
            -1,
        ),
        *("", -1, 0, "", 0, 0, "", attempt.run, "/scratch", 1, "18338657682652659712", 1, ""),
    ]
    return _line(fields)


def resize(job: Job, part: Attempt) -> str:
    """Return the record of the change that ended a part of the job."""
    before, grows = hosts(job, part.procs), part.procs < job.last.procs
    fields = [
        *("JOB_RESIZE", "9.11", part.end, job.number, 0, job.attempts[0].start, 501, job.user),
        *(0 if grows else 1, part.start, len(before), *before, len(before), *before),
        *(len(before), *before, len(before), *before),
    ]
    return _line(fields)


def _line(fields: Sequence[object]) -> str:
    return " ".join(
        '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)
        for value in fields
    )


def records(job: Job) -> list[tuple[int, str]]:
    """Return the records of all attempts with their times, or of all parts of a resized job."""
    if job.resized:
        whole = replace(job.last, start=job.attempts[0].start)
        last = finish(job, whole, resized=job.last.start)
        changes = [(part.end, resize(job, part)) for part in job.attempts[:-1]]
        return [*changes, (whole.end, last)]
    return [(attempt.end, finish(job, attempt)) for attempt in job.attempts]


def text(found: Sequence[tuple[int, str]]) -> bytes:
    return "".join(line + "\n" for _, line in sorted(found, key=lambda entry: entry[0])).encode()


def export(jobs: Sequence[Job]) -> bytes:
    return text([line for job in jobs for line in records(job)])
