"""Users who submit their batches, one after the other or by the times of sessions."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, Literal

import numpy as np

from workloadkit.dependencies import NONE, THRESHOLD, Activities, with_threshold
from workloadkit.errors import ParameterError, check_choice, check_number, quoted
from workloadkit.parameters import Duration
from workloadkit.sessions import check_threshold
from workloadkit.simulation.engine import User
from workloadkit.simulation.populations.population import Present
from workloadkit.simulation.users.batches import BatchContext, BatchUser
from workloadkit.simulation.users.batches.distribution import DrawingUser, DrawnTimes
from workloadkit.simulation.users.batches.recorded_times import (
    End,
    Recycled,
    Reinserted,
    Skipped,
    flow,
    session_times,
)

# Users who keep their recorded think and inter-arrival times.


@dataclass(frozen=True)
class Adjusted:
    """Each batch arrives as long after its releasing event as in the log.

    A user's first batch arrives at its recorded time. If the end of a job releases a batch, it
    arrives its recorded think time after that end; if the last submission of the previous batch
    does, its recorded inter-arrival time after that submission [1]_. Under the scheduler `recorded`
    this reproduces the log: exactly if its times are whole, or fractions of seconds that floats
    represent exactly, otherwise up to the rounding of their sums.

    Parameters
    ----------
    threshold : float, default 3600
        Longest time between two arrivals of a session. The source's is 60 min. With longer ones
        more batches wait for their user's previous one: at 24 h, mean waits come closer to those
        that the source prints (study ``zakay-feedback``). [s]

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on feedback-based simulation, section VII.A.
    """

    name: ClassVar[str] = "adjusted"

    threshold: Duration = THRESHOLD

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold)
        check_threshold(self.threshold)

    def adapted(self, present: Present) -> Present:
        """Return users with the sessions of this threshold."""
        if self.threshold == THRESHOLD:
            return present
        return replace(present, activities=with_threshold(present.activities, self.threshold))

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


# Users whose sessions keep their times, while batches move between them.


@dataclass(frozen=True)
class Fluid:
    """Users keep the times of their sessions; batches arrive within them, earlier or later.

    A batch released during a session arrives after a time drawn from the user's recorded times
    between batches of one session: a think time if the end of a job released it, an inter-arrival
    time if the last submission did. If that is after the session's end, or if no session is under
    way, it arrives at the begin of the next session [1]_. Users without such a time draw from those
    of all users. The first batch arrives at its recorded time.

    Parameters
    ----------
    end : {"submit", "end", "threshold"}, default "threshold"
        End of a session: its last submission, the latest end of its jobs, or 60 min after its last
        submission. Begin and end belong to the session.
    skipped : {"recycle", "reinsert"}, default "recycle"
        Sessions after the recorded ones. "recycle": all of them are repeated after their length in
        whole weeks [1]_. "reinsert": each session without a submission is repeated weekly until it
        is used; when all have been used, all are available again [2]_. Weekdays and times of day
        stay.
    patience : float, default inf
        A user who waited longer than this for the last of the previous work does not continue in
        this session. [s]
    leave : float, default inf
        A user who waited longer than this leaves for good and, in a resampled population, does not
        begin again. [s]
    overtime : bool, default False
        Whether users continue beyond the end of a session if service is good. A batch that would
        have to wait for the next session arrives after a drawn time instead, if that is before the
        next session, with a probability of 0.8 / (0.05 r + 1), where r is the response time of the
        last of the previous work in minutes.

    Notes
    -----
    The source leaves to future work that "a user may leave the system due to poor performance or
    send more jobs if the performance is good" [1]_, section IX. `leave` is as for users of a site.
    The form of `overtime` is this project's; its probability is that of `Distribution`.

    The source does not specify when a session ends. With 60 min after the last submission,
    recycled, mean waits under EASY come closest to its printed values; with the last submission
    they are half as long (study ``zakay-feedback``). Under the source's own EASY, without spare
    processors and with late jobs, they are then within 4 % of those for HPC2N, SDSC-SP2 and
    SDSC-DS, and differ from those for KTH by 8 %, SDSC-BLUE by 11 % and LANL-CM5 by 23 %.

    References
    ----------
    .. [1] N. Zakay, "Improved realism and representativeness of workloads to improve reliability
       of performance evaluations", PhD thesis, The Hebrew University of Jerusalem, 2018, chapter
       on feedback-based simulation, section VII.C.
    .. [2] The same: trace-based users-oriented simulation, section III.B.
    """

    name: ClassVar[str] = "fluid"
    draws: ClassVar[bool] = True

    end: End = "threshold"
    skipped: Skipped = "recycle"
    patience: Duration = inf
    leave: Duration = inf
    overtime: bool = False

    def __post_init__(self) -> None:
        check_choice("end", self.end, End)
        check_choice("skipped", self.skipped, Skipped)
        for name in ("patience", "leave"):
            value = getattr(self, name)
            check_number(name, value)
            if not value >= 0:
                raise ParameterError(name, f"is {value:g}; it must be 0 or more")

    def compiled(self, present: Present) -> Any:
        """Return the behaviour in the form for kernels, for one simulation."""
        return flow(present, **vars(self))

    def plain(self, present: Present, rng: np.random.Generator) -> list[User]:
        """Return users in plain Python, for one simulation."""
        times = DrawnTimes(BatchContext(present, rng))
        recorded, local = (
            list(zip(*(column.tolist() for column in columns), strict=True))
            for columns in session_times(present, self.end)
        )
        n_users = present.users.member.size
        return [FluidUser(times, who, self, recorded, local) for who in range(n_users)]


class FluidUser(DrawingUser):
    """A user whose batches arrive within sessions.

    Parameters
    ----------
    times : DrawnTimes
    who : int
    behaviour : Fluid
    recorded, local : list of (number, number)
        Begin and end of all sessions, as in `recorded_times`. [s]
    """

    def __init__(
        self,
        times: DrawnTimes,
        who: int,
        behaviour: Fluid,
        recorded: list[tuple[Any, Any]],
        local: list[tuple[Any, Any]],
    ) -> None:
        super().__init__(times, who)
        self.behaviour = behaviour
        first = self.context.activities.first_session
        own = slice(first[self.member], first[self.member + 1])
        self._recorded, self._local = recorded[own], local[own]

    def begin_with(self, opening: int, arrival: float, shift: Any) -> None:
        """Begin with the sessions moved by `shift`."""
        sessions = self._recorded, self._local, shift
        if self.behaviour.skipped == "recycle":
            self.sessions = Recycled(*sessions, seconds=self.times.seconds)
        else:
            activities, batch = self.context.activities, self.context.batch[opening]
            n_over = activities.session[batch] - activities.first_session[self.member]
            self.sessions = Reinserted(*sessions, seconds=self.times.seconds, n_over=n_over)
        self.sessions.use(arrival)
        super().begin_with(opening, arrival, shift)

    def decide(self, batch: int, *, by_end: bool) -> Any:
        """Continue in the present session, or wait for the next."""
        counts, sessions, behaviour = self.times.counts, self.sessions, self.behaviour
        waited = self.response(of_last=False)
        if self._leaves(waited):
            return inf
        end = sessions.latest_end(self.now)
        arrival = inf
        if waited <= behaviour.patience and (end is not None or behaviour.overtime):
            arrival = self.now + self.times.draw(self.member, by_end=by_end, between=False)
        goes_on = end is not None and arrival <= end
        if not goes_on:
            begin = sessions.next_begin(self.now)
            goes_on = behaviour.overtime and arrival < begin and self.continues_session(waited)
            if not goes_on:
                arrival = begin
        counts["continued"] += goes_on
        counts["aborted"] += end is not None and not goes_on
        sessions.use(arrival)
        return arrival

    def all_ended(self) -> None:
        """Begin again, unless the user leaves for good."""
        if self.context.users.again[self.who] and not self._leaves(self.response(of_last=False)):
            super().all_ended()

    def _leaves(self, waited: Any) -> bool:
        """Whether the user leaves for good after waiting this long."""
        leaves = waited > self.behaviour.leave
        self.times.counts["left"] += leaves
        return bool(leaves)
