"""Open users: each arrives, submits one job and leaves."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.errors import check_positive
from workloadkit.simulation.users.queueing import QueueingUsers
from workloadkit.simulation.users.queueing.customers import Visitors


@dataclass(frozen=True)
class Poisson(QueueingUsers):
    """Users who arrive by a Poisson process, with one job each: the open model M/·/c.

    No log is needed. Further parameters, by keyword, are those of `QueueingUsers`.

    Parameters
    ----------
    rate : float
        Arrivals. [1/s]

    Examples
    --------
    An M/M/1 queue at half load, whose mean response is 1 / (1 - 0.5) = 2 s:

    >>> import workloadkit as wk
    >>> schedule = wk.simulate(None, "fcfs", Poisson(0.5, jobs=50_000), procs=1, rng=1)
    >>> print(round(schedule.metrics["mean_response"], 1))
    2.0
    """

    name: ClassVar[str] = "poisson"

    rate: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(rate=self.rate)

    @property
    def visitors(self) -> Visitors:
        """The users of the model."""
        return Visitors(rate=self.rate)
