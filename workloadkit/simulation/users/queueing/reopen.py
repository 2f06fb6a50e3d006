"""Users who arrive, and may submit again depending on the response time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from workloadkit.errors import ParameterError, check_positive
from workloadkit.parameters import Duration
from workloadkit.simulation.users.queueing import QueueingUsers, need_plain, reactions, visits
from workloadkit.simulation.users.queueing.again import Again
from workloadkit.simulation.users.queueing.customers import ThinkLaw, Visitors


@dataclass(frozen=True)
class Reopen(QueueingUsers):
    """Users who arrive by a Poisson process and may submit another job after each: re-open.

    After a response time r the user continues with probability p(r), thinks, and submits the next
    job; otherwise leaves [1]_. Column `visit` of `Schedule.jobs` is 0 for the first job of a user,
    1 for the second, and so on. No log is needed. Further parameters, by keyword, are those of
    `QueueingUsers`.

    Parameters
    ----------
    rate : float
        Arrivals. [1/s]
    again : str, float, AgainTable or callable
        p: a constant; ``exp:THETA`` for e^(-THETA r); ``hyperbolic:A,B`` for A / (B r + 1);
        ``table:TIME/P,TIME/P,...``, straight lines between points; ``shmueli``, that is
        0.8 / (0.05 r + 1) with r in minutes, or ``zakay``, the same where a second stands for ten
        minutes. Times in seconds. `workloadkit.simulation.users.queueing.again` has the forms as
        objects. Or any function of r [s]: the plain engine calls it, the compiled one uses a table
        of it.
    think : float, str or callable, default 1
        Mean time between the end of a job and the next [s]. It may depend on the response time:
        ``breaks:SHORT,LONG,LIMIT``, SHORT after a response of LIMIT at most, LONG otherwise; the
        object is `workloadkit.simulation.users.queueing.pauses.BreakPause`. Or any function of the
        response time [s], as in `again`.
    think_law : {"exponential", "fixed"}
    step : float, optional
        Step of the tables of custom functions, of 100,000 steps; beyond them, the last value holds.
        Without it the functions run in the plain engine. [s]

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on semi-open queueing models, section IV; the hyperbola is of E. Shmueli's thesis, 2008.

    Examples
    --------
    With a constant p each user submits 1 / (1 - p) jobs:

    >>> import workloadkit as wk
    >>> schedule = wk.simulate(None, "fcfs", Reopen(0.25, "0.5", jobs=20_000), procs=1, rng=1)
    >>> print(round(1 / (schedule.jobs["visit"] == 0).mean(), 1))
    2.0
    """

    name: ClassVar[str] = "reopen"

    rate: float
    again: str | float | Again | Callable[[float], float]
    think: str | float | Callable[[float], float] = 1.0
    think_law: ThinkLaw = "exponential"
    step: Duration | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(rate=self.rate)
        if self.again is None:
            raise ParameterError("again is None; it is a number")
        again, think = reactions(self.name, self.again, self.think, self.think_law, self.step)
        object.__setattr__(self, "again", again)
        object.__setattr__(self, "think", think)

    @property
    def plain_only(self) -> bool:
        """Whether it has a function without a table for the compiled engine."""
        return need_plain(self.again, self.think, self.step)

    @property
    def visitors(self) -> Visitors:
        """The users of the model."""
        again, think = visits(self.again, self.think, self.step)
        return Visitors(self.rate, 0, think, self.think_law, again)
