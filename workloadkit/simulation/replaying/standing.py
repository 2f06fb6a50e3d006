"""The jobs of a schedule at an instant, in plain Python: what the passes of policies read."""

from dataclasses import dataclass, field
from math import inf
from typing import Any

from workloadkit.simulation.replaying.plans import Plan, Rounding


@dataclass(slots=True, eq=False)
class ReplayedJob:
    """A job of a schedule; times in seconds.

    Parameters
    ----------
    place : int
        In the order of arrival.
    number, user, queue, group, partition, tier, procs : int
    submit, start, end, run : int or float
        As the schedule has them; of a job that outages stop, those of its present run.
    limit, prediction, estimate : int or float
        The limit, what the job was planned with at its arrival, and what it is planned with now.
    leaves : int or float
        When the job leaves the queue, if it was cancelled while it waited, unless it starts
        before. Infinite for others.
    serial : int
        In the order of the starts; -1 before.
    """

    place: int
    number: int
    user: int
    queue: int
    group: int
    partition: int
    tier: int
    procs: int
    submit: Any
    start: Any
    end: Any
    run: Any
    limit: Any
    prediction: Any
    estimate: Any
    leaves: Any = inf
    serial: int = -1

    @property
    def planned_end(self) -> Any:
        """The end of a running job by its estimate."""
        return self.start + self.estimate


@dataclass(eq=False)
class Standing:
    """The state of a schedule at an instant.

    Parameters
    ----------
    machine : int
        All processors.
    rounding : Rounding
    free : int
        Processors that work and are free.
    first, now : int or float
        The first submission, and the present. [s]
    waiting : list of ReplayedJob
        In the order of arrival.
    running : list of ReplayedJob
        In the order of the starts.
    """

    machine: int
    rounding: Rounding
    free: int
    first: Any
    now: Any = 0
    waiting: list[ReplayedJob] = field(default_factory=list)
    running: list[ReplayedJob] = field(default_factory=list)

    @property
    def is_overdue(self) -> bool:
        """Whether a running job has outlived its estimate."""
        is_before = self.rounding.is_before
        return any(is_before(job.planned_end, self.now) for job in self.running)

    def plan(self) -> Plan:
        """Return the processors that the running jobs leave free, by their estimates."""
        ends = sorted((job.planned_end, job.procs) for job in self.running)
        return Plan(self.now, self.free, ends, self.rounding)
