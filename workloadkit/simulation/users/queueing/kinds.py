"""The users of queueing models: closed, open, mixed, or users who may submit again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from workloadkit.errors import ParameterError, check_count, check_not_negative, check_positive
from workloadkit.fields import MAX_JOBS_MADE
from workloadkit.parameters import Duration
from workloadkit.simulation.users.queueing import (
    QueueingUsers,
    check_think,
    need_plain,
    reactions,
    visits,
)
from workloadkit.simulation.users.queueing.again import Again
from workloadkit.simulation.users.queueing.customers import ThinkLaw, Visitors


@dataclass(frozen=True)
class Think(QueueingUsers):
    """A number of users who submit one job after the other: the closed model, machine repairmen.

    All think first. No log is needed. Further parameters, by keyword, are those of
    `QueueingUsers`.

    Parameters
    ----------
    users : int
        Number of users.
    think : float
        Mean time between the end of a job and the submission of the next. [s]
    think_law : {"exponential", "fixed"}
        Law of the think times.

    Examples
    --------
    By the interactive response time law, users / throughput is response + think time:

    >>> import workloadkit as wk
    >>> schedule = wk.simulate(None, "fcfs", Think(8, 5.0, jobs=5_000), procs=1, rng=1)
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


@dataclass(frozen=True)
class Cautious(Think):
    """Users as of `Think` who look at the length of the queue before they submit a job [1]_.

    If more jobs wait than the limit, they pause, then look again. Users who look in the same second
    see the same queue. No log is needed. Further parameters, by keyword, are those of
    `QueueingUsers`.

    Parameters
    ----------
    users : int
        Number of users.
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
        Number of closed users.
    think : float, str or callable
        Mean time between the end of a job of a closed user and the next [s]. It may depend on the
        response time, as in `Reopen`; before the first job, the response time counts as 0.
    think_law : {"exponential", "fixed"}
        Law of the think times.
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
    >>> schedule = wk.simulate(None, "fcfs", Mixed(0.5, 4, 5.0, jobs=5_000), procs=1, rng=1)
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
    >>> schedule = wk.simulate(None, "fcfs", Poisson(0.5, jobs=10_000), procs=1, rng=1)
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
        object is `BreakPause` of `workloadkit.simulation.users.queueing.customers`. Or any
        function of the response time [s], as in `again`.
    think_law : {"exponential", "fixed"}
        Law of the think times.
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
    >>> schedule = wk.simulate(None, "fcfs", Reopen(0.25, "0.5", jobs=5_000), procs=1, rng=1)
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
