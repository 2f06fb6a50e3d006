"""The plain-Python engine: users submit jobs, a scheduler starts them, the clock goes on.

At an instant all terminations that are due come first, then changes of the machine (processors go
down, come up, outages are announced), then submissions (by job number; jobs without one by user
and order of creation), then wake-ups. Whatever these create for the same second is taken in the
same order, until nothing is left. Then the scheduler allocates processors, once. If it starts a job
of run time 0, the end of that job is due now and opens another such round.

Older simulators allocate after each single event instead, at equal times submissions first, then
terminations in the order of the starts; `passes="event"` plays by that.
"""

import heapq
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from typing import Any

import numpy as np

from workloadkit.errors import WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.simulation.machine.processors import Machine, Run, Shutdown
from workloadkit.simulation.workload import Interrupted, Overrun, Passes, UtilityAt, plan
from workloadkit.utility import Point, fault

# The order of events at one instant.
_TERMINATION, _MACHINE, _SUBMISSION, _SCHEDULER_WAKE_UP, _WAKE_UP = range(5)
_DOWN, _UP, _ANNOUNCED = range(3)  # among changes of the machine
_UNCOUNTED = (_MACHINE, _SCHEDULER_WAKE_UP)  # what does not keep a simulation going by itself
_FIRST = -1  # where submissions come before all else: with a pass after each event


@dataclass(eq=False, slots=True)
class Job:
    """A job in the simulation.

    Parameters
    ----------
    submitter : User
        Who submits it and is told of its end.
    user : int
        Number of the user it belongs to.
    procs : int
        Processors that it needs.
    run : int or float
        How long it will run; a scheduler must not look. [s]
    estimate : int or float
        How long its user says it will run at most. [s]
    submit, start, end : int or float
        When it was submitted, started and ended; None before. [s]
    number : int, optional
        Job number; without one, the next after the largest so far: 1, 2, … by submission.
    killed : bool
        Whether it is stopped at its estimate.
    queue : int
        Its queue in the log, -1 for unknown.
    recorded_wait : int or float
        How long it waited in the log. [s]
    utility : tuple of (float, float)
        Points (time since its submission [s], value) of its utility function; none without one.
    interruptions : int
        How often an outage stopped it.
    lost : bool
        Whether it ended so.
    lost_work : int or float
        Processors × seconds that it ran in vain. [s]
    arrival : int
        Its place in the order of arrival, from 0.
    row : int
        Its place among the jobs of the log that its user goes through, -1 for none.
    notes : dict of str to object
        What else its user knows of it: further columns of `Schedule.jobs`.
    """

    submitter: "User"
    user: int
    procs: int
    run: Any
    estimate: Any
    submit: Any = None
    number: int | None = None
    killed: bool = False
    queue: int = UNKNOWN
    recorded_wait: Any = 0
    utility: tuple[Point, ...] = ()
    start: Any = None
    end: Any = None
    interruptions: int = 0
    lost: bool = False
    lost_work: Any = 0
    arrival: int = 0
    row: int = -1
    notes: dict[str, Any] = field(default_factory=dict)


class _Participant:
    """What schedulers and users share: the clock, and the simulation that they are part of."""

    _simulation: "Simulation | None" = None

    @property
    def now(self) -> Any:
        """The clock. [s]."""
        return self._at.now

    @property
    def _at(self) -> "Simulation":
        if self._simulation is None:
            raise WorkloadError(f"{type(self).__name__} is not part of a simulation yet")
        return self._simulation


class Scheduler(_Participant):
    """Base of schedulers in plain Python; override `allocate`, and what else is needed.

    `queue` holds the waiting jobs in the order of their arrival. `start` makes a new list of those
    that still wait, so that a loop over the queue may start jobs as it meets them; a scheduler
    that shares its queue with another one has to hand on the new list. The methods from
    `job_arrives` to `plans_void` are called by the simulation; the others are there to be called.
    """

    queue: list[Job]

    #: What messages call it; by default its class.
    name: str = ""

    #: Whether jobs may be started on more processors than the machine has.
    overcommits = False

    #: Whether it can do with processors that go down and come up.
    bears_outages = True

    def columns(self, jobs: Sequence[Job]) -> dict[str, list]:
        """Return further columns of `Schedule.jobs`, by name: a value for each of `jobs`."""
        return {}

    def history(self) -> dict[str, Any]:
        """Return what the scheduler decided over time, for `Schedule.history`."""
        return {}

    def job_arrives(self, job: Job) -> None:
        """Take a job into the queue; it has just been submitted."""
        self.queue.append(job)

    def job_ends(self, job: Job) -> None:
        """Learn of the end of a job; its processors are free again. Tells the user at once."""
        self.tell_user(job)

    def job_interrupted(self, job: Job) -> None:
        """Learn that an outage stopped a job, which waits again, in its old place in the queue."""
        insort(self.queue, job, key=lambda other: other.arrival)

    def allocate(self) -> None:
        """Start jobs; called once an instant, when no more will arrive or end in it."""
        raise NotImplementedError(f"{type(self).__name__} must say how it allocates processors")

    def wake_up(self) -> None:
        """Continue after `sleep`; allocation follows."""

    def processors_down(self, count: int) -> None:
        """Learn that `count` processors were shut down."""

    def processors_up(self, count: int) -> None:
        """Learn that `count` processors work again."""

    def plans_void(self) -> None:
        """Learn of what no plan knew: an outage that is announced, or comes or ends without."""

    @property
    def machine_size(self) -> int:
        """Processors of the machine that work."""
        return self._at.working

    @property
    def used(self) -> int:
        """Processors that run jobs."""
        return self._at.used

    @property
    def free(self) -> int:
        """Processors that work and are free."""
        return self.machine_size - self.used

    @property
    def running(self) -> Iterable[Job]:
        """The running jobs, in the order of their starts."""
        return self._at.running.keys()

    @property
    def queue_length(self) -> int:
        """Number of waiting jobs."""
        return len(self.queue)

    @property
    def utility_at(self) -> UtilityAt:
        """When the value of a job is read: at its end ("turnaround") or at its "start"."""
        return self._at.utility_at

    @property
    def rng(self) -> np.random.Generator:
        """The generator of the simulation, for a scheduler that draws; users have their own."""
        return self._at.rng

    @property
    def outages_ahead(self) -> bool:
        """Whether outages are announced, or under way with an end that is known."""
        return self._at.outages_ahead

    def fits(self, job: Job) -> bool:
        """Whether enough processors are free for a job and left to it until its planned end.

        Neither an outage that is announced nor what is reserved for another job may take them.
        """
        return job.procs <= self.free and self._at.stays_up(job)

    def reserve(self, job: Job) -> Any:
        """Reserve processors for a waiting job, where outages are ahead, and return when.

        It is promised the earliest second from which on, by the estimates of the running jobs, as
        many processors as it needs are up and free and not reserved for others, for its whole
        estimate; `inf` if there is none.
        """
        return self._at.reserve(job)

    def release(self, job: Job | None = None) -> None:
        """Give up what is reserved for a job; by default for all jobs."""
        self._at.release(job)

    def start(self, job: Job) -> None:
        """Let a waiting job run from now on.

        Where there are outages, the simulation gives it processors that are left to it until its
        planned end; if these are not enough, also others that are free.

        Raises
        ------
        WorkloadError
            If it does not fit or has been started before.
        """
        if job.start is not None or (job.procs > self.free and not self.overcommits):
            who = self.name or type(self).__name__
            why = "a second time" if job.start is not None else f"on {self.free} free processors"
            raise WorkloadError(
                f"{who} starts job {job.number} of {job.procs} processors {why}, at {self.now} s"
            )
        with suppress(ValueError):  # a scheduler may keep a queue of its own
            place = self.queue.index(job)
            self.queue = self.queue.copy()  # whoever loops over the old one goes on in it
            del self.queue[place]
        self._at.start(job)

    def tell_user(self, job: Job, delay: Any = 0) -> None:
        """Tell the user of a job that it has ended, now or `delay` seconds later."""
        self._at.tell_user(job, delay)

    def sleep(self, seconds: Any) -> None:
        """Ask for `wake_up` after so many seconds."""
        self._at.wake_later(self, seconds)


class User(_Participant):
    """Base of users in plain Python; override `wake_up`, and what else is needed.

    The methods from `begin` to `job_ended` are called by the simulation; the others are there to
    be called. Attributes `number` and `rng` (a generator of the user's own, whatever others draw)
    are set when the simulation begins.
    """

    number: int
    rng: np.random.Generator

    def begin(self) -> None:
        """Set out, before the clock starts at 0: by default, ask for a wake-up at second 0."""
        self.sleep(0)

    def wake_up(self) -> None:
        """Continue after `sleep`."""

    def job_ended(self, job: Job) -> None:
        """Learn from the scheduler that a job has ended."""

    def submit(
        self,
        procs: int,
        run: Any,
        estimate: Any = None,
        *,
        at: Any = None,
        number: int | None = None,
        utility: Sequence[Point] = (),
    ) -> Job:
        """Submit a job, now or at a later second, and return it.

        Parameters
        ----------
        procs : int
            Processors that it needs.
        run : int or float
            How long it will run. [s]
        estimate : int or float, optional
            How long it may run; by default exactly `run`. [s]
        at : int or float, optional
            When; by default now. [s]
        number : int, optional
            Its job number; by default jobs are numbered by submission.
        utility : sequence of (float, float), optional
            Points of its utility function, see `workloadkit.utility`: time since the submission
            [s], value.

        Raises
        ------
        WorkloadError
            If the job cannot be: no processors, more than the machine has, a negative run time,
            a time that has passed or points that are no utility function.
        """
        return self._at.submit(self, procs, run, estimate, at, number, utility)

    def sleep(self, seconds: Any) -> None:
        """Ask for `wake_up` after so many seconds."""
        self._at.wake_later(self, seconds)

    def introduce(self, user: "User", number: int) -> None:
        """Let another user take part from now on, who draws from the generator of this one.

        Parameters
        ----------
        user : User
        number : int
            Its number; several may have the same.
        """
        user.number, user.rng, user._simulation = number, self.rng, self._at


class Simulation:
    """A machine, its scheduler and its users, from the first event to the last.

    Parameters
    ----------
    machine : int
        Processors.
    scheduler : Scheduler
    users : sequence of User
        Numbered 1, 2, … in this order.
    overrun : {"kill", "raise", "late"}
        What happens to jobs that outlive their estimates.
    passes : {"instant", "event"}
        Whether the scheduler allocates once an instant or after each single event.
    rng : Generator
        For the scheduler; each user gets a stream of its own, spawned from it in the order of
        `users`.
    outages : sequence of Shutdown, optional
        What goes down and when, see `workloadkit.simulation.machine`; by default the processors are
        only counted.
    interrupted : {"requeue", "lose"}
        What becomes of jobs whose processors go down.
    utility_at : {"turnaround", "start"}
        When the value of a job is read, see `Workload`.
    """

    def __init__(
        self,
        machine: int,
        scheduler: Scheduler,
        users: Sequence[User],
        *,
        overrun: Overrun = "raise",
        passes: Passes = "instant",
        rng: np.random.Generator,
        outages: Sequence[Shutdown] | None = None,
        interrupted: Interrupted = "requeue",
        utility_at: UtilityAt = "turnaround",
    ) -> None:
        self.machine = machine
        self.used = 0
        self.running: dict[Job, int] = {}  # in the order of the starts; serial of the termination
        self.jobs: list[Job] = []
        self.now: Any = 0
        self.first: Any = None  # submission
        self.scheduler = scheduler
        self.users = tuple(users)
        self.overrun = overrun
        self.by_event = passes == "event"
        self._events: list[tuple] = []  # (time, kind, key, serial, what happens)
        self._serial = count()
        self._void: set[int] = set()  # serials of events that will not happen
        self._to_come = 0  # events, without the machine's and the scheduler's own wake-ups
        self._n_waiting = 0
        self._last_number = 0
        scheduler._simulation = self
        scheduler.queue = []
        for i, (user, stream) in enumerate(zip(users, rng.spawn(len(users)), strict=True)):
            user.number = i + 1
            user.rng = stream
            user._simulation = self
        self.outages = outages or ()
        self.requeues = interrupted == "requeue"
        self.rng = rng
        self.utility_at = utility_at
        self.runs: list[Run] = []  # where processors have numbers
        self._processors: Machine | None = None
        if outages is not None:
            self._processors = numbered = Machine(machine)
            for shutdown in outages:
                self._plan_shutdown(numbered, shutdown)

    def go(self) -> list[Job]:
        """Run to the last event; return the jobs in the order of their submission.

        Raises
        ------
        WorkloadError
            If the scheduler leaves jobs waiting for ever.
        """
        for user in self.users:
            user.begin()
        # a scheduler that wakes up for ever has nothing to do once all jobs have started
        while self._to_come or (self._events and self._n_waiting):
            if self._skip_void():
                continue
            self.now = self._events[0][0]
            while due := self._take_due():
                for *_, happen in due:
                    happen()
                if self.by_event:
                    break
            self.scheduler.allocate()
        stuck = [job.number for job in self.jobs if job.start is None]
        if stuck:
            who = self.scheduler.name or type(self.scheduler).__name__
            raise WorkloadError(
                f"{who} never starts {len(stuck)} of {len(self.jobs)} jobs; the first is "
                f"job {stuck[0]}{self._what_stays_down()}"
            )
        return self.jobs

    def submit(
        self,
        user: User,
        procs: int,
        run: Any,
        estimate: Any,
        at: Any,
        number: int | None,
        utility: Sequence[Point] = (),
    ) -> Job:
        """Make a job that arrives now or later; see `User.submit`."""
        at = self.now if at is None else at
        estimate = run if estimate is None else estimate
        if not (1 <= procs <= self.machine and procs == int(procs)):
            raise WorkloadError(
                f"user {user.number} submits a job of {procs} processors to a machine of "
                f"{self.machine}"
            )
        if not (0 <= run < inf and 0 <= estimate < inf):
            raise WorkloadError(
                f"user {user.number} submits a job with run time {run} s and estimate {estimate} s"
            )
        if not self.now <= at < inf:
            raise WorkloadError(
                f"user {user.number} submits a job for {at} s when it is {self.now} s"
            )
        if number is not None and not 0 <= number < 2**63:
            raise WorkloadError(f"user {user.number} submits a job of number {number}")
        if utility and (what := fault(utility)):
            raise WorkloadError(f"user {user.number} submits a job whose utility is none: {what}")
        run, estimate, killed = (value.item() for value in plan(run, estimate, self.overrun))
        job = Job(user, user.number, int(procs), run, estimate, at, number, killed)
        job.utility = tuple((float(time), float(value)) for time, value in utility)
        self.add(job)
        return job

    def add(self, job: Job) -> None:
        """Let a job arrive when it says."""
        if self.by_event:  # in the order in which they were made
            self._later(job.submit, _FIRST, (), partial(self.arrive, job))
            return
        # numbered jobs come first, by number; the others by user and order of creation
        key = (1, job.user) if job.number is None else (0, job.number)
        self._later(job.submit, _SUBMISSION, key, partial(self.arrive, job))

    def start(self, job: Job) -> None:
        """Give a job its processors until it ends."""
        self._n_waiting -= 1
        job.start = self.now
        self.resume(job, self.now + job.run)
        if self._processors is not None:
            self._processors.start(job, job.procs, self.now, self.now + job.estimate)

    def resume(self, job: Job, end: Any) -> None:
        """Let a job that has its start run on until `end`."""
        self.used += job.procs
        self.running[job] = self._later(end, _TERMINATION, (), partial(self._end, job))

    def arrive(self, job: Job) -> None:
        """Let a job arrive at this very second."""
        if self.first is None:
            self.first = job.submit
        job.arrival = len(self.jobs)
        self.jobs.append(job)
        self._n_waiting += 1
        if job.number is None:
            job.number = self._last_number + 1
        self._last_number = max(self._last_number, job.number)
        self.scheduler.job_arrives(job)

    @property
    def working(self) -> int:
        """Processors that are not down."""
        return self.machine - (self._processors.n_down if self._processors is not None else 0)

    @property
    def outages_ahead(self) -> bool:
        """Whether outages are announced, or under way with an end that is known."""
        return self._processors is not None and self._processors.outages_ahead(self.now)

    def stays_up(self, job: Job) -> bool:
        """Whether of the free processors, which are enough, so many are left to a job."""
        return self._processors is None or self._processors.stays_up(
            job, job.procs, self.now, self.now + job.estimate
        )

    def reserve(self, job: Job) -> Any:
        """Reserve processors for a waiting job; see `Scheduler.reserve`."""
        if self._processors is None:
            raise WorkloadError("processors are reserved only where there are outages")
        return self._processors.reserve(job, job.procs, job.estimate, self.now)

    def release(self, job: Job | None) -> None:
        """Give up what is reserved for a job, or for all; see `Scheduler.release`."""
        if self._processors is not None:
            self._processors.release(job)

    def tell_user(self, job: Job, delay: Any) -> None:
        """Tell the user of a job that it has ended, now or `delay` seconds later."""
        tell = partial(job.submitter.job_ended, job)
        if delay == 0:
            tell()
        else:
            self._later(self._after(delay), _TERMINATION, (), tell)

    def wake_later(self, sleeper: Scheduler | User, seconds: Any) -> None:
        """Wake somebody up after so many seconds, the scheduler before the users."""
        if isinstance(sleeper, User):
            self.wake_at(sleeper, self._after(seconds))
        else:
            self._later(self._after(seconds), _SCHEDULER_WAKE_UP, (), sleeper.wake_up)

    def wake_at(self, user: User, time: Any) -> None:
        """Wake a user at a time."""
        self._later(time, _WAKE_UP, (user.number,), user.wake_up)

    def _after(self, seconds: Any) -> Any:
        if not 0 <= seconds < inf:
            raise WorkloadError(f"nothing can happen {seconds} s from now, at {self.now} s")
        return self.now + seconds

    def _later(self, time: Any, kind: int, key: tuple[int, ...], happen: Callable[[], None]) -> int:
        """Let something happen; return its serial."""
        self._to_come += kind not in _UNCOUNTED
        serial = next(self._serial)
        heapq.heappush(self._events, (time, kind, key, serial, happen))
        return serial

    def _take_due(self) -> list[tuple]:
        due = []
        while not self._skip_void() and self._events and self._events[0][0] == self.now:
            due.append(self._take())
            if self.by_event:
                break
        return due

    def _take(self) -> tuple:
        event = heapq.heappop(self._events)
        self._to_come -= event[1] not in _UNCOUNTED
        return event

    def _skip_void(self) -> bool:
        """Take away events that will not happen; whether that left none."""
        while self._events and self._events[0][3] in self._void:
            self._void.remove(self._take()[3])
        return not self._events

    def _end(self, job: Job) -> None:
        job.end = self.now
        self._take_back(job, interrupted=False)
        self.scheduler.job_ends(job)

    def _take_back(self, job: Job, *, interrupted: bool) -> None:
        self.used -= job.procs
        del self.running[job]
        if self._processors is not None:
            which = self._processors.end(job)
            self.runs.append(Run(job.number, job.start, self.now, which, interrupted))

    def _plan_shutdown(self, machine: Machine, shutdown: Shutdown) -> None:
        """Let an outage happen: its announcement, its start and its end."""

        def later(time: Any, kind: int, happen: Callable[[Machine, Shutdown], None]) -> None:
            self._later(time, _MACHINE, (kind,), partial(happen, machine, shutdown))

        if shutdown.announced is not None:
            later(shutdown.announced, _ANNOUNCED, self._announce)
        later(shutdown.start, _DOWN, self._go_down)
        if shutdown.end < inf:
            later(shutdown.end, _UP, self._come_up)

    def _announce(self, machine: Machine, shutdown: Shutdown) -> None:
        machine.announce(shutdown)
        self.scheduler.plans_void()

    def _go_down(self, machine: Machine, shutdown: Shutdown) -> None:
        n_down, hit = machine.go_down(shutdown)
        for job in hit:
            self._interrupt(job)
        if n_down:
            self.scheduler.processors_down(n_down)
        if hit or shutdown.announced is None:
            self.scheduler.plans_void()
        for job in hit:
            if job.lost:
                self.scheduler.job_ends(job)
            else:
                self.scheduler.job_interrupted(job)

    def _come_up(self, machine: Machine, shutdown: Shutdown) -> None:
        n_up = machine.come_up(shutdown)
        if n_up:
            self.scheduler.processors_up(n_up)
        if shutdown.announced is None:
            self.scheduler.plans_void()

    def _interrupt(self, job: Job) -> None:
        """Stop a job whose processors go down: it waits again, or is lost."""
        self._void.add(self.running[job])
        self._take_back(job, interrupted=True)
        job.interruptions += 1
        job.lost_work += job.procs * (self.now - job.start)
        if self.requeues:
            job.start = None
            self._n_waiting += 1
        else:
            job.lost, job.killed = True, False
            job.end, job.run = self.now, self.now - job.start

    def _what_stays_down(self) -> str:
        """Name the outages that keep processors from jobs for ever."""
        endless = [str(shutdown.number) for shutdown in self.outages if shutdown.end == inf]
        if not endless:
            return ""
        return (
            f"; {self.working} of {self.machine} processors are left, for outages without end: "
            f"{', '.join(endless[:5])}"
        )
