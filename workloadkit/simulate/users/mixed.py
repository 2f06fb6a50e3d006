"""Open and closed users on one machine."""

from dataclasses import dataclass
from typing import ClassVar

from workloadkit.errors import ParameterError, check_count, check_not_negative
from workloadkit.parameters import Duration
from workloadkit.simulate.users.customers import ThinkLaw, Visitors
from workloadkit.simulate.users.queueing import QueueingUsers, check_think


@dataclass(frozen=True)
class Mixed(QueueingUsers):
    """Closed users among open ones: Zakay's mixed model [1]_.

    The closed users are numbered first and think first. Column `kind` of `Schedule.jobs` is 0 for
    the jobs of open users and 1 for those of closed ones. No log is needed. The further
    parameters, by keyword, are those of `QueueingUsers`.

    Parameters
    ----------
    rate : float
        Arrivals of open users. [1/s]
    users : int
        Closed users.
    think : float
        Mean time between the end of a job of a closed user and the next. [s]
    think_law : {"exponential", "fixed"}

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on semi-open queueing models, section III.

    Examples
    --------
    Open users meet all closed ones, who do not meet themselves: they wait longer.

    >>> import workloadkit as wk
    >>> schedule = wk.simulate(None, "fcfs", Mixed(0.5, 4, 5.0, jobs=20_000), procs=1, rng=1)
    >>> response = schedule.jobs.groupby("kind")["response"].mean()
    >>> bool(response[0] > response[1])
    True
    """

    name: ClassVar[str] = "mixed"

    rate: float
    users: int
    think: Duration
    think_law: ThinkLaw = "exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(rate=self.rate)
        object.__setattr__(self, "users", check_count("users", self.users))
        check_think(self.think, self.think_law)
        if not self.rate and not self.users:
            raise ParameterError("mixed: rate and users are 0, there is nobody")

    @property
    def visitors(self) -> Visitors:
        """Who they are."""
        return Visitors(self.rate, self.users, self.think, self.think_law)
