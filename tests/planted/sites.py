"""Draw what happened at an ordinary site, from a `random.Random`."""

from dataclasses import replace
from random import Random

from tests.planted.truth import Attempt, Job

_YEARS = (1546300800, 1735689600)  # 2019 to 2024
_STATES = ["COMPLETED"] * 7 + ["FAILED", "TIMEOUT", "CANCELLED"]
_NAMES = ["relax", "wrf 4.5", "train", "bash", "mc_run-07", "Straße"]


def jobs(rng: Random, *, least: int = 30, most: int = 120) -> list[Job]:
    """Draw jobs of one attempt each, in the order of their submission."""
    submit = rng.randrange(*_YEARS)
    drawn = []
    for number in range(n := rng.randint(least, most)):
        submit += int(rng.expovariate(1 / 900)) + 1
        drawn.append(job(rng, 1000 + number, submit))
    assert n == len(drawn)
    return drawn


def job(rng: Random, number: int, submit: int, **fields: object) -> Job:
    """Draw one job that ran."""
    n_nodes = rng.choice([1, 1, 1, 2, 4])
    procs = n_nodes * rng.choice([1, 4, 8, 16])
    run = rng.randint(61, 20_000)
    start = submit + rng.randrange(7200)
    attempt = Attempt(submit, start, start + run, procs, rng.choice(_STATES))
    drawn = Job(
        number=number,
        user=f"u{rng.randrange(7)}",
        account=f"lab{rng.randrange(4)}",
        partition=rng.choice(["std", "wide", "gpu"]),
        name=rng.choice(_NAMES),
        attempts=(attempt,),
        gpus=rng.choice([0, 0, 0, 2]),
        limit=60 * rng.choice([120, 600, 1440]),
        cpu=int(rng.uniform(0.2, 1.0) * run) * procs,
        nodes=tuple(f"n{rng.randrange(10, 60):02}" for _ in range(n_nodes)),
    )
    return replace(drawn, **fields)  # type: ignore[arg-type]


def never_started(rng: Random, job: Job, state: str = "CANCELLED") -> Job:
    """Return the job as one that waited long and was cancelled before it started."""
    waited = rng.randint(3600, 200_000)
    attempt = replace(job.last, start=None, end=job.last.submit + waited, state=state)
    return replace(job, attempts=(attempt,), cpu=0, nodes=())


def cancelled_at_once(job: Job) -> Job:
    """Return the job as one that started and was cancelled in the same second."""
    start = job.last.start or 0
    return replace(job, attempts=(replace(job.last, end=start, state="CANCELLED"),), cpu=0)


def requeued(rng: Random, job: Job, state: str, times: int = 1, *, new_submit: bool) -> Job:
    """Put attempts that were lost before the job's last one; a node fails, say."""
    parts = []
    submit, final = job.last.submit, job.last
    for _ in range(times):
        start = submit + rng.randint(10, 900)
        end = start + rng.randint(1800, 40_000)
        parts.append(
            Attempt(submit if new_submit else job.last.submit, start, end, final.procs, state)
        )
        submit = end + rng.randrange(5)
    start = submit + rng.randint(120, 3600)
    parts.append(
        replace(
            final,
            submit=submit if new_submit else job.last.submit,
            start=start,
            end=start + final.run,
        )
    )
    return replace(job, attempts=tuple(parts))


def resized(rng: Random, job: Job) -> Job:
    """Split the execution of the job into parts on changing numbers of processors."""
    parts, begin, final = [], job.last.start or 0, job.last
    for _ in range(rng.randint(1, 3)):
        end = begin + rng.randint(300, 9000)
        parts.append(Attempt(final.submit, begin, end, rng.choice([16, 32, 48]), "RESIZING"))
        begin = end
    parts.append(replace(final, start=begin, end=begin + final.run))
    return replace(job, attempts=tuple(parts), resized=True)
