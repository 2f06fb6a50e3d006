"""Open and closed users on one machine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from workloadkit.errors import ParameterError, check_count, check_not_negative
from workloadkit.parameters import Duration
from workloadkit.simulation.users.queueing import QueueingUsers, need_plain, reactions, visits
from workloadkit.simulation.users.queueing.again import Again
from workloadkit.simulation.users.queueing.customers import ThinkLaw, Visitors


@dataclass(frozen=True)
class Mixed(QueueingUsers):
    """Closed users and open ones: Zakay's mixed model [1]_.

    With `again` the open users may submit again, like those of `Reopen`, with the think time of the
    closed ones. Closed users are numbered first and think first. Column `kind` of `Schedule.jobs`
    is 0 for the jobs of open users and 1 for those of closed ones. No log is needed. Further
    parameters, by keyword, are those of `QueueingUsers`.

    Parameters
    ----------
    rate : float
        Arrivals of open users. [1/s]
    users : int
        Closed users.
    think : float, str or callable
        Mean time between the end of a job of a closed user and the next [s]. It may depend on the
        response time, as in `Reopen`; before the first job, the response time counts as 0.
    think_law : {"exponential", "fixed"}
    again : str, float, AgainTable or callable, optional
        Probability that an open user submits another job, by the response time of the last, as in
        `Reopen`. By default each submits one.
    step : float, optional
        Step of the tables of custom functions, as in `Reopen`. [s]

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on semi-open queueing models, section III.

    Examples
    --------
    Open users meet all closed ones, a closed user only the others: open users wait longer.

    >>> import workloadkit as wk
    >>> schedule = wk.simulate(None, "fcfs", Mixed(0.5, 4, 5.0, jobs=20_000), procs=1, rng=1)
    >>> response = schedule.jobs.groupby("kind")["response"].mean()
    >>> bool(response[0] > response[1])
    True
    """

    name: ClassVar[str] = "mixed"

    rate: float
    users: int
    think: str | float | Callable[[float], float]
    think_law: ThinkLaw = "exponential"
    again: str | float | Again | Callable[[float], float] | None = None
    step: Duration | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(rate=self.rate)
        object.__setattr__(self, "users", check_count("users", self.users))
        again, think = reactions(self.name, self.again, self.think, self.think_law, self.step)
        object.__setattr__(self, "again", again)
        object.__setattr__(self, "think", think)
        if not self.rate and not self.users:
            raise ParameterError("mixed: rate and users are 0; there are no users")

    @property
    def plain_only(self) -> bool:
        """Whether it has a function without a table for the compiled engine."""
        return need_plain(self.again, self.think, self.step)

    @property
    def visitors(self) -> Visitors:
        """The users of the model."""
        again, think = visits(self.again, self.think, self.step)
        return Visitors(self.rate, self.users, think, self.think_law, again)
