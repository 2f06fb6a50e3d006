"""Closed users who submit less when the queue is long."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.errors import check_count, check_positive
from workloadkit.fields import MAX_JOBS_MADE
from workloadkit.parameters import Duration
from workloadkit.simulation.users.queueing.customers import Visitors
from workloadkit.simulation.users.queueing.think import Think


@dataclass(frozen=True)
class Cautious(Think):
    """Users of `Think` who look at the length of the queue before they submit a job [1]_.

    If more jobs wait than the limit, they pause, then look again. Users who look in the same second
    see the same queue. No log is needed. Further parameters, by keyword, are those of
    `QueueingUsers`.

    Parameters
    ----------
    users : int
    think : float
        Mean time between the end of a job and the next look at the queue. [s]
    think_law : {"exponential", "fixed"}
        Law of think times and pauses.
    limit : int, default 10
        Longest queue in which they submit a job: the number of waiting jobs.
    pause : float, default 3600
        Mean time until they look again. [s]

    References
    ----------
    .. [1] E. Shmueli, "Using feedback in evaluating and designing parallel systems schedulers", PhD
       thesis, University of Haifa, 2008, appendix A.1: users may query the length of the queue, to
       continue or to take a break.

    Examples
    --------
    With the limit 0, a job waits for no more than one other to start:

    >>> import workloadkit as wk
    >>> users = Cautious(8, 5.0, limit=0, pause=2.0, jobs=2_000)
    >>> schedule = wk.simulate(None, "fcfs", users, procs=1, rng=1)
    >>> jobs = schedule.jobs
    >>> int(sum((jobs["start"] < time) & (jobs["end"] > time) for time in jobs["submit"]).max())
    1
    """

    name: ClassVar[str] = "cautious"

    limit: int = 10
    pause: Duration = 3600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        limit = check_count("limit", self.limit, most=MAX_JOBS_MADE)
        check_positive(pause=self.pause)
        object.__setattr__(self, "limit", limit)

    @property
    def visitors(self) -> Visitors:
        """The users of the model."""
        return super().visitors._replace(longest=self.limit, pause=self.pause)
