"""Users who submit batch by batch: single jobs, recorded gaps, or a custom class."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from workloadkit.dependencies import NONE, Activities
from workloadkit.errors import ParameterError, check_choice, quoted
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.population import Present
from workloadkit.simulation.users.batches import BatchContext, BatchUser

# Users who keep their recorded think and inter-arrival times.


@dataclass(frozen=True)
class Adjusted:
    """Each batch arrives as long after its releasing event as in the log.

    A user's first batch arrives at its recorded time. If the end of a job releases a batch, it
    arrives its recorded think time after that end; if the last submission of the previous batch
    does, its recorded inter-arrival time after that submission [1]_. Under the scheduler `recorded`
    this reproduces the log: exactly if its times are whole, or fractions of seconds that floats
    represent exactly, otherwise up to the rounding of their sums.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on feedback-based simulation, section VII.A.
    """

    name: ClassVar[str] = "adjusted"

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, for one simulation."""
        context = BatchContext(present, rng)
        return [AdjustedUser(context, who) for who in range(present.users.member.size)]


class AdjustedUser(BatchUser):
    """A user whose batches keep their recorded think and inter-arrival times."""

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Wait the recorded think time from an end, or inter-arrival time from a submission."""
        activities = self.context.activities
        return self.now + (activities.think_time if by_end else activities.interarrival)[batch]


Think = Literal["none", "recorded"]


@dataclass(frozen=True)
class Closed:
    """Each user's next job arrives after the end of the previous one, whatever its submit time.

    The jobs keep their order.

    Parameters
    ----------
    think : {"none", "recorded"}, default "none"
        Time before the next job. "none": no time, and all users begin with their first jobs at
        once, except those of a resampled population, who begin on arrival. "recorded": the time
        from the end of the previous job in the log, 0 if the next one did not wait for it; each
        user begins with the recorded first job.
    """

    name: ClassVar[str] = "closed"

    think: Think = "none"

    def __post_init__(self) -> None:
        check_choice("think", self.think, Think)

    def adapted(self, present: Present) -> Present:
        """Return users whose batches are single jobs that depend on the previous one."""
        acts = one_at_a_time(present.activities, think=self.think == "recorded")
        users = present.users
        if self.think == "none" and present.numbered and users.begin.size:
            users = users._replace(begin=np.full_like(users.begin, users.begin.min()))
        return replace(present, activities=acts, users=users)

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, for one simulation."""
        return Adjusted().plain(present, rng)


def one_at_a_time(acts: Activities, *, think: bool) -> Activities:
    """Return activities with each job as one batch, and one session per user.

    With `think`, users think for the time from the end of the previous job, 0 s if the next one did
    not wait for it; otherwise for no time. The jobs keep their order.
    """
    n_users, n_jobs = acts.user.size, acts.job.size
    first = acts.first_job[acts.first_batch]  # job of each user
    opens, last = first[:-1], first[1:] - 1
    submit = np.repeat(acts.arrival, np.diff(acts.first_job)) + acts.gap
    interarrival = np.diff(submit, prepend=0)
    think_time = np.zeros_like(submit)
    if think:
        think_time[1:] = np.maximum(submit[1:] - acts.ended[:-1], 0)
    interarrival[opens] = think_time[opens] = NONE
    return Activities(
        user=acts.user,
        first_batch=first,
        first_session=np.arange(n_users + 1),
        first_job=np.arange(n_jobs + 1),
        job=acts.job,
        gap=np.zeros_like(submit),
        session=np.repeat(np.arange(n_users), np.diff(first)),
        arrival=submit,
        think_time=think_time,
        interarrival=interarrival,
        needs=np.zeros(n_jobs, np.int64),
        place=np.zeros(n_users, np.int64),
        begin=submit[opens],
        until=submit[last],
        end=np.maximum.reduceat(acts.ended, opens) if n_users else acts.ended,
        ended=acts.ended,
    )


@dataclass(frozen=True)
class CustomUsers:
    """Users submit their recorded batches; a custom class decides when each arrives.

    They run in the plain engine. `simulate` accepts the class itself as well.

    Parameters
    ----------
    user : subclass of BatchUser
        It overrides `BatchUser.decide`.

    Examples
    --------
    Users who think for a minute, whatever they did in the log:

    >>> import workloadkit as wk
    >>> class Hasty(wk.users.BatchUser):
    ...     def decide(self, batch, *, by_end):
    ...         return self.now + 60
    >>> log = {"submit": [0, 5000], "run": [10, 10], "procs": [1, 1], "user": [3, 3]}
    >>> schedule = wk.simulate(wk.Trace.from_columns(log), "fcfs", Hasty, procs=1)
    >>> schedule.jobs["submit"].tolist()
    [0, 70]
    """

    name: ClassVar[str] = "own"

    user: type[BatchUser]

    def __post_init__(self) -> None:
        if not (isinstance(self.user, type) and issubclass(self.user, BatchUser)):
            raise ParameterError(
                f"user is {quoted(self.user)}; give a subclass of workloadkit.users.BatchUser"
            )

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return the users, for one simulation; they share `rng`."""
        context = BatchContext(present, rng)
        return [self.user(context, who) for who in range(present.users.member.size)]
