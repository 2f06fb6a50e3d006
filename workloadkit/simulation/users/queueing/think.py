"""Closed users: a constant population that thinks between jobs."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.errors import check_count
from workloadkit.parameters import Duration
from workloadkit.simulation.users.queueing import QueueingUsers, check_think
from workloadkit.simulation.users.queueing.customers import ThinkLaw, Visitors


@dataclass(frozen=True)
class Think(QueueingUsers):
    """A number of users who submit one job after the other: the closed model, machine repairmen.

    All think first. No log is needed. Further parameters, by keyword, are those of
    `QueueingUsers`.

    Parameters
    ----------
    users : int
    think : float
        Mean time between the end of a job and the submission of the next. [s]
    think_law : {"exponential", "fixed"}

    Examples
    --------
    By the interactive response time law, users / throughput is response + think time:

    >>> import workloadkit as wk
    >>> schedule = wk.simulate(None, "fcfs", Think(8, 5.0, jobs=50_000), procs=1, rng=1)
    >>> jobs = schedule.jobs
    >>> print(round(8 / (len(jobs) / jobs["submit"].max()) - jobs["response"].mean(), 1))
    5.0
    """

    name: ClassVar[str] = "think"

    users: int
    think: Duration
    think_law: ThinkLaw = "exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "users", check_count("users", self.users, least=1))
        check_think(self.think, self.think_law)

    @property
    def visitors(self) -> Visitors:
        """The users of the model."""
        return Visitors(users=self.users, think=self.think, think_law=self.think_law)
