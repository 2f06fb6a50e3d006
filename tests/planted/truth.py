"""What happened at a site: jobs and their attempts, and what follows from them."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import product

#: A job as it is compared: submission [s], wait [s], run time [s] and processors; the last two are
#: None for a job that never ran.
Fact = tuple[int, int | None, int | None, int | None]

#: Field 11 of the Standard Workload Format, by the state that Slurm prints.
STATUS = {"COMPLETED": 1, "CANCELLED": 5}


@dataclass(frozen=True)
class Attempt:
    """A period in which a job had processors, or waited for them in vain (`start` is None)."""

    submit: int
    start: int | None
    end: int
    procs: int
    state: str = "COMPLETED"

    @property
    def run(self) -> int:
        return 0 if self.start is None else self.end - self.start


@dataclass(frozen=True)
class Job:
    """A job; `resized` if its attempts are parts of one execution with changing processors."""

    number: int
    user: str
    account: str
    partition: str
    name: str
    attempts: tuple[Attempt, ...]
    gpus: int = 0
    limit: int = 7200
    cpu: int = 0
    nodes: tuple[str, ...] = ()
    resized: bool = False

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]

    @property
    def core_hours(self) -> float:
        return sum(part.run * part.procs for part in self.attempts) / 3600

    @property
    def gpu_hours(self) -> float:
        return sum(part.run * self.gpus for part in self.attempts) / 3600

    def facts(self) -> set[Fact]:
        """All true ways to describe the job in one row; a job of one attempt has only one."""
        first, last = self.attempts[0], self.last
        if last.start is None:
            return {(first.submit, last.end - first.submit, None, None)}
        if len(self.attempts) == 1:
            return {(first.submit, last.start - first.submit, last.run, last.procs)}
        waits = {last.start - last.submit, last.start - self.attempts[-2].end}
        if self.resized and first.start is not None:
            waits = {first.start - first.submit}
        runs = {last.run, sum(part.run for part in self.attempts), last.end - (first.start or 0)}
        procs = {part.procs for part in self.attempts}
        if self.resized:  # one row can have only a mean
            procs = set(range(min(procs), max(procs) + 1))
        return set(product({first.submit, last.submit}, waits, runs, procs))


@dataclass(frozen=True)
class Truth:
    """What a log must be read as; what is None or empty is not compared.

    Parameters
    ----------
    facts : list of set of Fact
        One set for each job: the ways to describe it.
    core_hours, gpu_hours, cpu : float
        Sums over all attempts; the CPU time in seconds.
    lost : dict
        Core-hours of the attempts that ended in each state.
    status, names, hours : Counter
        Jobs by field 11, by name, and by local hour of the submission.
    """

    facts: list[set[Fact]] = field(default_factory=list)
    core_hours: float | None = None
    gpu_hours: float | None = None
    cpu: float | None = None
    lost: dict[str, float] = field(default_factory=dict)
    status: Counter[int] | None = None
    names: Counter[str] | None = None
    hours: Counter[int] | None = None


def truth(jobs: list[Job], *parts: str) -> Truth:
    """Return the jobs and core-hours, and the other parts that are named."""
    known = {
        "gpu_hours": sum(job.gpu_hours for job in jobs),
        "cpu": float(sum(job.cpu for job in jobs)),
        "lost": _lost(jobs),
        "status": Counter(STATUS.get(job.last.state, 0) for job in jobs),
        "names": Counter(job.name for job in jobs),
    }
    return Truth(
        [job.facts() for job in jobs],
        sum(job.core_hours for job in jobs),
        **{part: known[part] for part in parts},
    )


def _lost(jobs: list[Job]) -> dict[str, float]:
    hours: Counter[str] = Counter()
    for job in jobs:
        for part in job.attempts:
            state = job.last.state if job.resized else part.state
            if state in ("NODE_FAIL", "PREEMPTED", "FAILED", "TIMEOUT"):
                hours[state] += part.run * part.procs / 3600  # type: ignore[assignment]
    return dict(hours)
