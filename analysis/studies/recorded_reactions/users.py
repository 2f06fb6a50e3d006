"""Users who continue a session by the response time of the work before, in both engines."""

import sys
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit._kernels.compile import bare
from workloadkit.analysis.reactions.continuation import fit_continuation
from workloadkit.clock import DAY
from workloadkit.errors import check_not_negative
from workloadkit.simulation.engine import User
from workloadkit.simulation.parts import register_functions
from workloadkit.simulation.populations.population import Present, Recorded
from workloadkit.simulation.users.batches import BatchContext, BatchUser
from workloadkit.simulation.users.batches.simulated_users import SimulatedBatchUsers
from workloadkit.simulation.workload import Workload
from workloadkit.trace import Trace

#: Behaviours by their names in claims, and whether they are random, which requires several runs.
BEHAVIOURS = {"open": False, "adjusted": False, "distribution": True, "fluid": True, "p(r)": True}


@dataclass(frozen=True)
class ByResponse:
    """Users who continue the sessions of a log with probability p(r) = a / (b r + 1).

    Within a session of the log, a batch follows work with response time r₀. If the simulated
    response time is r, the user continues with probability p(r) / p(r₀), at most 1, after the
    recorded think time; a cancels out. Otherwise the rest of the session is postponed to the same
    time of a later day. A session begins at its recorded time or, if the previous work has not
    ended by then, the smallest sufficient number of whole days later. Response times are those of
    the job submitted last.

    Parameters
    ----------
    b : float
        [1/min]
    """

    name: ClassVar[str] = "by-response"
    draws: ClassVar[bool] = True

    b: float

    def __post_init__(self) -> None:
        check_not_negative(b=self.b)

    def users_of(self, trace: Trace, workload: Workload) -> SimulatedBatchUsers:
        """Return the users of one simulation, who submit the jobs of `workload`."""
        population = Recorded()
        return SimulatedBatchUsers(
            population, self, trace, population.present(trace, lambda _: workload, 0)
        )

    def compiled(self, present: Present) -> Any:
        """Return the compiled form of the behaviour, new for each simulation."""
        activities = present.activities
        last = activities.first_job[1:] - 1
        recorded = activities.ended[last] - (activities.arrival + activities.gap[last])
        return Continuing(
            b=float(self.b),
            arrival=activities.arrival,
            recorded=recorded.astype(np.float64),
            response=np.zeros(present.users.member.size),
        )

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users of the plain-Python engine, new for each simulation."""
        context = BatchContext(present, rng)
        return [ContinuingUser(context, who, self.b) for who in range(present.users.member.size)]


class ContinuingUser(BatchUser):
    """A user who continues a session, or postpones the rest of it.

    Parameters
    ----------
    context : BatchContext
    who : int
    b : float
        [1/min]
    """

    def __init__(self, context: BatchContext, who: int, b: float) -> None:
        super().__init__(context, who)
        self.b = b

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Continue after the recorded think time, or return on a later day."""
        activities = self.context.activities
        recorded = activities.arrival[batch]
        late = max(self.now - recorded, 0)
        if self._opens_session(batch):
            return recorded + ceil(late / DAY) * DAY
        at = activities.first_job[batch] - 1  # the job submitted last before
        before = activities.ended[at] - (activities.arrival[batch - 1] + activities.gap[at])
        job = self.sent[-1]
        if self.context.rng.random() < go_on(job.end - job.submit, before, self.b):
            return self.now + activities.think_time[batch]
        return recorded + (late // DAY + 1) * DAY


def go_on(response: float, recorded: float, b: float) -> float:
    """Return p(r) / p(r₀) of p(r) = a / (b r + 1), times in seconds; above 1 where r is shorter.

    Examples
    --------
    >>> go_on(1200, 0, 0.05), go_on(0, 1200, 0.05)
    (0.5, 2.0)
    """
    return (b * recorded / 60 + 1) / (b * response / 60 + 1)


def fitted_users(trace: Trace) -> ByResponse:
    """Return users who continue by the p(r) fitted to a log; a constant p if it is unknown.

    Parameters
    ----------
    trace : Trace
        The jobs to fit, see `analysis.reactions.fit_continuation`.
    """
    b = fit_continuation(trace, n_resamples=1, rng=0).b
    return ByResponse(b if b == b else 0.0)


# Users who go on with a session by the response time of the work before, compiled.

_DAY = 86400


class Continuing(NamedTuple):
    """Parameters and state of the users; see `users.ByResponse`.

    Parameters
    ----------
    b : float
        [1/min]
    arrival : ndarray, shape (n_batches,)
        Recorded times. [s]
    recorded : ndarray of float64, shape (n_batches,)
        Response time of the last submitted job of each batch. [s]
    response : ndarray of float64, shape (n_users,)
        Response time of the last submitted job of the previous batch in the simulation. [s]
    """

    b: float
    arrival: NDArray
    recorded: NDArray[np.float64]
    response: NDArray[np.float64]


@bare
def job_ended(users: Any, place: Any, response: Any) -> None:
    """Store the response time of the last submitted job."""
    activities, tables = users.activities, users.tables
    who, at = tables.user[place], tables.at[place]
    batch = activities.batch[at]
    if batch == users.progress.next_batch[who] - 1 and at + 1 == activities.first_job[batch + 1]:
        users.behaviour.response[who] = response


@bare
def arrival(users: Any, released: Any, now: Any) -> Any:
    """Return the arrival time of a batch that is released now."""
    who, batch, _ = released
    activities, behaviour = users.activities, users.behaviour
    recorded = behaviour.arrival[batch]
    late = max(now - recorded, 0)
    if activities.session[batch] != activities.session[batch - 1]:
        return float(recorded + ceil(late / _DAY) * _DAY)
    before, response = behaviour.recorded[batch - 1], behaviour.response[who]
    go_on = (behaviour.b * before / 60 + 1) / (behaviour.b * response / 60 + 1)
    if users.rng.random() < go_on:
        return float(now + activities.think_time[batch])
    return float(recorded + (floor(late / _DAY) + 1) * _DAY)


register_functions(Continuing, sys.modules[__name__])
