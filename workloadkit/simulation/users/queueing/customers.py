"""Users of queueing models in plain Python, and think times by the response time.

Open users arrive by a Poisson process; closed users are present from second 0 on, and think first.
A user who continues after a job thinks, then submits the next. One generator serves all, in the
order of events: at an arrival, for the job, then for the time to the next arrival; at the end of a
job, for whether there is another one, then for the think time; after that, for the job.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import numpy as np

from workloadkit.errors import ParameterError, check_not_negative, quoted
from workloadkit.parameters import read_duration
from workloadkit.simulation.engine import Job, User
from workloadkit.simulation.users.queueing.again import STEPS, check_points, on_lines, points_of
from workloadkit.simulation.users.queueing.service import Service

ThinkLaw = Literal["exponential", "fixed"]

# Kinds of users.
OPEN, CLOSED = range(2)


class Visitors(NamedTuple):
    """The users of a queueing model.

    Parameters
    ----------
    rate : float
        Arrivals of open users. [1/s]
    users : int
        Closed users.
    think : float or callable
        Mean think time between two jobs [s]; or a function of the response time of the last job [s]
        with this mean as value. Before the first job, the response time counts as 0.
    think_law : {"exponential", "fixed"}
    again : callable, optional
        Probability that an open user submits another job, by the response time of the last [s];
        without it, each has one job.
    longest : float
        Longest queue in which users submit a job; in a longer one they pause, then look again.
    pause : float
        Mean of this time, by the law of the think times. [s]
    """

    rate: float = 0.0
    users: int = 0
    think: float | Callable[[float], float] = 0.0
    think_law: ThinkLaw = "exponential"
    again: Callable[[float], float] | None = None
    longest: float = inf
    pause: float = 0.0


class Shared:
    """The common data of the users of one simulation.

    Parameters
    ----------
    visitors : Visitors
        The users of the model.
    service : Service
        Needs of their jobs.
    rng : Generator
    jobs : int, optional
        Maximal number of submissions.
    until : float, optional
        End of submissions. [s]
    """

    def __init__(
        self,
        visitors: Visitors,
        service: Service,
        rng: np.random.Generator,
        *,
        jobs: int | None,
        until: float | None,
    ) -> None:
        self.visitors, self.service, self.rng = visitors, service, rng
        self.jobs_left = inf if jobs is None else jobs
        self.until = inf if until is None else until

    def sleep(self, user: User, seconds: float) -> None:
        """Wake a user after some time, unless submissions have ended by then."""
        if user.now + seconds < self.until:
            user.sleep(seconds)

    def think(self, user: User, response: float) -> None:
        """Let a user think after a response time [s]."""
        think = self.visitors.think
        self.rest(user, think(response) if callable(think) else think)

    def rest(self, user: User, mean: float) -> None:
        """Let a user rest for a time with a mean [s]."""
        fixed = self.visitors.think_law == "fixed"
        self.sleep(user, mean * (1.0 if fixed else self.rng.standard_exponential()))


class Customer(User):
    """A user who submits a job at each wake-up, and may think after its end."""

    def __init__(self, shared: Shared, kind: int) -> None:
        super().__init__()
        self.shared, self.kind = shared, kind
        self.n_submitted = 0

    def begin(self) -> None:
        """Think first."""
        self.shared.think(self, 0.0)

    def wake_up(self) -> None:
        """Submit another job, if any are left; or pause, if the queue is too long."""
        visitors = self.shared.visitors
        if self.shared.jobs_left == 0:
            return
        if visitors.longest < inf and self.queue_length > visitors.longest:
            self.shared.rest(self, visitors.pause)
        else:
            self.shared.jobs_left -= 1
            job = self.submit(*self.shared.service.make())
            job.notes = {"kind": self.kind, "visit": self.n_submitted}
            self.n_submitted += 1

    def job_ended(self, job: Job) -> None:
        """Think, or leave."""
        response = self.now - job.submit
        if self.shared.jobs_left > 0 and self.goes_on(response):
            self.shared.think(self, response)

    def goes_on(self, response: float) -> bool:
        """Return whether the user submits another job."""
        if self.kind == CLOSED:
            return True
        again = self.shared.visitors.again
        return again is not None and self.shared.rng.random() < again(response)


class ArrivalProcess(User):
    """The arrivals of open users, numbered from its own number on."""

    def __init__(self, shared: Shared) -> None:
        super().__init__()
        self.shared = shared
        self.n_arrived = 0

    def begin(self) -> None:
        """Wait for the first arrival."""
        self.await_next()

    def wake_up(self) -> None:
        """Add an open user, who submits the first job at once."""
        if self.shared.jobs_left > 0:
            customer = Customer(self.shared, OPEN)
            self.introduce(customer, self.number + self.n_arrived)
            self.n_arrived += 1
            customer.wake_up()
            self.await_next()

    def await_next(self) -> None:
        """Wait for the next arrival."""
        gap = self.shared.rng.standard_exponential() / self.shared.visitors.rate
        self.shared.sleep(self, gap)


# Think times that depend on the response time: short ones, or breaks.


@dataclass(frozen=True)
class BreakPause:
    """A short mean think time after a response up to a limit, a long one otherwise.

    Parameters
    ----------
    short, long : float
        Mean think times: within a session, and of a break. [s]
    limit : float
        Longest response time after which the session goes on. [s]

    Examples
    --------
    >>> think = BreakPause(short=60, long=7200, limit=1200)
    >>> think(1200), think(1201)
    (60, 7200)
    """

    short: float
    long: float
    limit: float

    def __post_init__(self) -> None:
        check_not_negative(short=self.short, long=self.long, limit=self.limit)

    def __call__(self, response: float) -> float:
        """Return the mean think time after a response time [s]."""
        return self.short if response <= self.limit else self.long

    def __str__(self) -> str:
        return f"breaks:{self.short!r},{self.long!r},{self.limit!r}"


@dataclass(frozen=True)
class PauseTable:
    """The mean think time is interpolated linearly between the points of a table.

    Outside the table, the first or the last value holds.

    Parameters
    ----------
    times : sequence of float
        Response times, ascending. [s]
    means : sequence of float
        Mean think times. [s]

    Examples
    --------
    >>> PauseTable([0, 600], [60, 360])(300)
    210.0
    """

    times: Sequence[float]
    means: Sequence[float]

    def __post_init__(self) -> None:
        times, means = check_points("think", "mean think times", self.times, self.means)
        for mean in means:
            check_not_negative(think=mean)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "means", means)

    def __call__(self, response: float) -> float:
        """Return the mean think time after a response time [s]."""
        return on_lines(self.times, self.means, response)

    def __str__(self) -> str:
        return f"a table of {len(self.times):,} points"


@dataclass(frozen=True)
class CustomPause:
    """A custom function of the response time.

    Parameters
    ----------
    think : callable
        From a response time [s] to a mean think time [s].
    step : float, optional
        Step of its table. [s]
    """

    think: Callable[[float], float]
    step: float | None = None

    def __call__(self, response: float) -> float:
        """Return the mean think time after a response time [s]."""
        value = self.think(response)
        check_not_negative(**{f"think({response:g})": value})
        return float(value)

    def tabulated(self, steps: int = STEPS) -> PauseTable:
        """Return a table of it with `steps` steps of `step` seconds from 0 on.

        Raises
        ------
        ParameterError
            If no step was given.
        """
        return PauseTable(*points_of("think", self, self.step, steps))


Pause = BreakPause | PauseTable | CustomPause


def parse_pause(text: str, *, name: str = "think") -> float | BreakPause:
    """Read a mean think time, or its dependence on the response time.

    Parameters
    ----------
    text : str
        A duration, or ``breaks:SHORT,LONG,LIMIT``, three durations; they may also be separated by
        slashes.
    name : str, optional
        Name in messages.

    Raises
    ------
    ParameterError
        If it is neither.

    Examples
    --------
    >>> parse_pause("20min"), parse_pause("breaks:1min,2h,20min")
    (1200.0, BreakPause(short=60.0, long=7200.0, limit=1200.0))
    """
    form, *words = text.replace(":", "/").replace(",", "/").split("/")
    try:
        if not words:
            return read_duration(form)
        values = [read_duration(word) for word in words]
    except ValueError:
        values = []
    if form == "breaks" and len(values) == 3:
        return BreakPause(*values)
    raise ParameterError(
        name,
        f"is {quoted(text)}; it is a time, such as 90, 20min, 1.5h or 2d, or "
        "breaks:SHORT,LONG,LIMIT, three times",
    )
