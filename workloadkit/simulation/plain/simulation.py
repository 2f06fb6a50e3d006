"""The simulation in plain Python: clock, participants and the life of jobs."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import takewhile
from math import inf
from numbers import Real
from operator import attrgetter
from time import thread_time
from typing import Any

import numpy as np

from workloadkit.errors import WorkloadError, plural
from workloadkit.settings.simulation import UtilityAt
from workloadkit.simulation.machine.plain import Machine
from workloadkit.simulation.plain.events import EventQueue, Holds
from workloadkit.simulation.plain.job import Job, JobView, replan, show
from workloadkit.simulation.plain.participants import Scheduler, User
from workloadkit.simulation.rules import (
    CANCELLATION,
    FIRST,
    MACHINE,
    REQUEST,
    SCHEDULER_WAKE_UP,
    SUBMISSION,
    TERMINATION,
    WAKE_UP,
)
from workloadkit.simulation.workload import Rules, plan, shortest_estimate
from workloadkit.utility import Point, fault

_BEHIND_NUMBERS = 2**63  # jobs without a number follow those of the same second with one


class OutOfTimeError(Exception):
    """A simulation takes longer than it may."""


_until: ContextVar[float] = ContextVar("_until", default=inf)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` in simulations that take longer than this."""
    token = _until.set(thread_time() + seconds)
    try:
        yield
    finally:
        _until.reset(token)


class Simulation:
    """A machine, its scheduler and its users, from the first event to the last.

    Parameters
    ----------
    hardware : Machine
        The machine, see `workloadkit.simulation.machine.plain`.
    scheduler : Scheduler
    users : sequence of User
        Numbered 1, 2, … in this order.
    rules : Rules
        Of these, the treatment of jobs that outlive their estimates, the passes, and the outages of
        users.
    rng : Generator
        For the scheduler; each user receives a separate stream, spawned from it in the order of
        `users`.
    utility_at : {"turnaround", "start"}
        When the value of a job is read, see `Workload`.
    predictor : object, optional
        ``plan(job)`` returns the planned run time of a job that arrives, before the scheduler sees
        it; ``learn(job)`` is called after its end; ``correct(job)``, if there is such a method,
        returns the planned run time of a job that has outlived it. All receive a `JobView`. If it
        has a true attribute `renewed`, waiting jobs are planned again before a pass if jobs have
        ended. By default, jobs are planned with their limits.

    Attributes
    ----------
    jobs : list of JobView
        The jobs that have arrived, in this order.
    running : dict of JobView to int
        Serials of the terminations of the running jobs, in the order of the starts.
    planned_ends : list of (time, int, JobView)
        The same by planned end: planned end [s], serial, job.
    inside : list of Job
        The jobs that the scheduler never saw, as they ran inside reservations.
    """

    def __init__(
        self,
        hardware: Machine,
        scheduler: Scheduler,
        users: Sequence[User],
        rules: Rules,
        *,
        rng: np.random.Generator,
        utility_at: UtilityAt = "turnaround",
        predictor: Any = None,
    ) -> None:
        self.hardware, self.scheduler, self.users = hardware, scheduler, tuple(users)
        self.overrun, self.by_event = rules.overrun, rules.passes == "event"
        self.rng, self.utility_at, self.predictor = rng, utility_at, predictor
        self._corrects = hasattr(predictor, "correct")
        self._renews = getattr(predictor, "renewed", False)
        self._stale = False  # whether predictions are to be renewed
        self._renewable: list[JobView] = []  # all waiting jobs, and some that run
        self.now: float = 0
        self.first: Any = None  # first submission of all
        self.jobs: list[JobView] = []
        self.running: dict[JobView, int] = {}
        self.planned_ends: list[tuple[Any, int, JobView]] = []
        self.inside: list[Job] = []
        self._events = EventQueue()
        self._n_waiting = 0
        self._last_number = 0
        self._alarm: int | None = None  # serial of the event
        self._cancellations: dict[JobView, int] = {}  # serials of the events
        scheduler._simulation = self
        scheduler.queue = []
        for i, (user, stream) in enumerate(zip(users, rng.spawn(len(users)), strict=True)):
            user.number = i + 1
            user.rng = stream
            user._simulation = self
        hardware.begin(self)
        self._holds = Holds(rules.holds, rules.requeues, self) if rules.holds else None
        scheduler.free = hardware.level.free

    @property
    def machine(self) -> int:
        """Processors of the machine."""
        return self.hardware.procs

    @property
    def queue_length(self) -> int:
        """Number of jobs that wait."""
        return self._n_waiting

    @property
    def is_idle(self) -> bool:
        """Whether no event is left."""
        return self._events.are_over

    def go(self, until: float = inf) -> list[Job]:
        """Run to the last event before a time; return the jobs in the order of their arrival.

        Raises
        ------
        WorkloadError
            If the scheduler leaves jobs waiting for ever.
        """
        for user in self.users:
            user.begin()
        return self.go_on(until)

    def go_on(self, until: float = inf) -> list[Job]:
        """Do the same after the end of a pass, in which the scheduler may have paused."""
        events, by_event, level = self._events, self.by_event, self.hardware.level
        scheduler, allocate = self.scheduler, self.scheduler.allocate
        deadline = _until.get()
        while due := events.take(self._n_waiting > 0, by_event):
            if thread_time() > deadline:
                raise OutOfTimeError
            if due[0][0] >= until:
                return self._records
            self.now = due[0][0]
            if by_event:
                self._free_what_ends()
                _, _, _, _, happen, to = due[0]
                happen(to)
            else:
                events.play(due)
            if self._corrects:
                self._correct_outlived()
            if self._stale:
                self._renew_predictions()
            scheduler.free = level.free
            allocate()
        stuck = [job.number for job in self.jobs if job.start is None and not job._record.left]
        if stuck:
            who = scheduler.name or type(scheduler).__name__
            raise WorkloadError(
                f"{who} never starts {len(stuck):,} of {plural(len(self.jobs), 'job')}; the first "
                f"is job {stuck[0]}{self.hardware.lasting_losses()}"
                f"{self._holds.lasting() if self._holds else ''}"
            )
        return self._records

    @property
    def _records(self) -> list[Job]:
        return [job._record for job in self.jobs]

    @property
    def there(self) -> list[JobView]:
        """The running and waiting jobs, in the order of arrival."""
        over = (job.end is not None or job.left for job in self._records)
        return [job for job, is_over in zip(self.jobs, over, strict=True) if not is_over]

    def submit(
        self,
        user: User,
        procs: int,
        run: float,
        estimate: float | None,
        at: float | None,
        number: int | None,
        utility: Sequence[Point] = (),
    ) -> Job:
        """Create a job that arrives now or later; see `User.submit`."""
        at = self.now if at is None else at
        estimate = run if estimate is None else estimate
        if not (1 <= procs < inf and procs == int(procs)):
            self._refuse(user, f"job of {procs} processors to a machine of {self.machine}")
        if not (0 <= run < inf and 0 <= estimate < inf):
            self._refuse(user, f"job with run time {run} s and estimate {estimate} s")
        if not self.now <= at < inf:
            self._refuse(user, f"job for {at} s, but it is {self.now} s")
        if number is not None and not 0 <= number < 2**63:
            self._refuse(user, f"job of number {number}")
        if utility and (what := fault(utility)):
            self._refuse(user, f"job with an invalid utility function: {what}")
        if shortest_estimate(run, estimate, at) == 0:
            estimate = float(estimate)
        run, estimate, killed = (value.item() for value in plan(run, estimate, self.overrun))
        job = Job(user, user.number, int(procs), run, estimate, at, number, killed)
        if not self.hardware.can_run(job):
            self._refuse(user, f"job of {procs} processors to a machine of {self.machine}")
        job.utility = tuple((float(time), float(value)) for time, value in utility)
        self.add(job)
        return job

    def _refuse(self, user: User, job: str) -> None:
        raise WorkloadError(f"user {user.number} submits a {job}")

    def add(self, job: Job) -> None:
        """Schedule the arrival of a job."""
        self._events.add(*self._arrival(job), self.arrive, job)

    def add_all(self, jobs: Iterable[Job]) -> None:
        """Schedule the arrivals of jobs, in the order of submission; for one user at most."""
        serials, arrive = self._events.serials, self.arrive
        self._events.add_all((*self._arrival(job), next(serials), arrive, job) for job in jobs)

    def _arrival(self, job: Job) -> tuple[Any, int, int]:
        """Return time, kind and key of the arrival of a job."""
        if self.by_event:  # in the order of creation
            return job.submit, FIRST, 0
        # numbered jobs come first, by number; the others by user and order of creation
        key = _BEHIND_NUMBERS + job.user if job.number is None else job.number
        return job.submit, SUBMISSION, key

    def arrive(self, job: Job) -> None:
        """Add a job that arrives now."""
        if self.hardware.takes_in(job):
            self.inside.append(job)
            return
        self.enter(job)
        self._present(job)

    def enter(self, job: Job) -> None:
        """Give a job that arrives its number and its plan."""
        if self.first is None:
            self.first = job.submit
        job.arrival = len(self.jobs)
        self._n_waiting += 1
        if job.number is None:
            job.number = self._last_number + 1
        if job.number > self._last_number:
            self._last_number = job.number
        view = show(job)
        self.jobs.append(view)
        if self.predictor is not None:
            job.prediction = self._predicted(view, self.predictor.plan)
            replan(view, job.prediction)

    def _present(self, job: Job) -> None:
        """Let the scheduler receive a job that waits."""
        if self._renews:
            self._renewable.append(job.view)
        self.scheduler.job_arrives(job.view)
        self.await_cancellation(job)
        if self._holds is not None:
            self._holds.take_in()

    def await_cancellation(self, job: Job) -> None:
        """Schedule the cancellation of a waiting job, if there is one."""
        if job.leaves is not None:
            time = max(job.leaves, self.now)
            serial = self._events.add(time, CANCELLATION, job.arrival, self._leave, job)
            self._cancellations[job.view] = serial

    def _leave(self, job: Job) -> None:
        """Let a waiting job leave the queue."""
        job.left = True
        self._n_waiting -= 1
        del self._cancellations[job.view]
        if self._holds is None or not self._holds.forget(job.view):
            self.scheduler.job_leaves(job.view)

    def _predicted(self, job: JobView, predict: Callable[[JobView], Any]) -> Any:
        """Return the planned run time of a job."""
        estimate = predict(job)
        if not isinstance(estimate, Real) or not 0 <= float(estimate) < inf:  # False for NaN
            raise WorkloadError(
                f"{type(self.predictor).__name__} plans {estimate} s for job {job.number}"
            )
        return max(estimate, shortest_estimate(job.submit, job._record.run, job.limit))

    def _correct_outlived(self) -> None:
        """Correct the estimates that running jobs have outlived, until each is longer or stays."""
        outlived = list(takewhile(lambda planned: planned[0] <= self.now, self.planned_ends))
        corrected = False
        for planned_end, serial, job in outlived:
            end = planned_end
            while end <= self.now:
                estimate = self._predicted(job, self.predictor.correct)
                if estimate == job.estimate:
                    break
                replan(job, estimate)
                end = job.planned_end
            if end != planned_end:
                self.planned_ends.remove((planned_end, serial, job))
                insort(self.planned_ends, (end, serial, job))
                corrected = True
        if corrected:
            self.scheduler.plans_void()

    def _renew_predictions(self) -> None:
        """Predict the run times of waiting jobs again."""
        self._stale, changed = False, False
        self._renewable = [
            job for job in self._renewable if job.start is None and not job._record.left
        ]
        for job in self._renewable:
            before = job.prediction
            replan(job, job.limit)
            prediction = self._predicted(job, self.predictor.plan)
            replan(job, prediction)
            if prediction != before:
                job._record.prediction = prediction
                self.scheduler.prediction_renewed(job, before)
                changed = True
        if changed:
            self.scheduler.plans_void()

    def resume(self, job: Job, end: float) -> None:
        """Continue a job that started elsewhere, until `end`."""
        self._n_waiting += 1
        self.start(job, job.start, end)

    def start(self, job: Job, start: float, end: float) -> None:
        """Run a waiting job."""
        self._n_waiting -= 1
        view, job.start = job.view, start
        if view in self._cancellations:
            self._events.cancel(self._cancellations.pop(view))
        hardware = self.hardware
        hardware.start(view, start)
        self.scheduler.free = hardware.level.free
        self.running[view] = serial = self._events.add(end, TERMINATION, 0, self._end, job)
        insort(self.planned_ends, (start + view.estimate, serial, view))

    def interrupt(self, view: JobView, *, requeues: bool) -> None:
        """Stop a running job: it returns to the queue, or is lost."""
        job = view._record
        self._events.cancel(self.running[view])
        self._take_back(job, True)
        job.interruptions += 1
        job.lost_work += job.procs * (self.now - job.start)
        if requeues:
            job.start = None
            replan(view, job.prediction)
            self._n_waiting += 1
            if self._renews:
                insort(self._renewable, view, key=attrgetter("arrival"))
                self._stale = True
            self.await_cancellation(job)
        else:
            job.lost, job.killed = True, False
            job.end, job.run = self.now, self.now - job.start

    def _free_what_ends(self) -> None:
        """Free the processors of jobs that end now as planned, before this second's first pass."""
        due = takewhile(lambda planned: planned[0] <= self.now, self.planned_ends)
        for job in [view._record for end, _, view in due if end == self.now]:
            if job.start + job.run == self.now:
                job.end = self.now
                self._take_back(job)

    def _end(self, job: Job) -> None:
        if job.end is None:
            job.end = self.now
            self._take_back(job)
        if self.predictor is not None and job.leaves is None:
            self.predictor.learn(job.view)
            self._stale = self._renews
        self.scheduler.job_ends(job.view)

    def _take_back(self, job: Job, interrupted: bool = False) -> None:
        view = job.view
        planned = (job.start + view.estimate, self.running.pop(view))
        del self.planned_ends[bisect_left(self.planned_ends, planned)]
        hardware = self.hardware
        hardware.end(view, self.now, interrupted)
        self.scheduler.free = hardware.level.free

    def notify_user(self, job: Job, delay: Any) -> None:
        """Notify the user of a job of its end, now or `delay` seconds later."""
        tell = job.submitter.job_ended
        if delay == 0:
            tell(job)
        else:
            self._events.add(self.after(delay), TERMINATION, 0, tell, job)

    def wake_scheduler(self, scheduler: Scheduler, seconds: Any) -> None:
        """Wake a scheduler after some time, before the users."""
        self._events.add(self.after(seconds), SCHEDULER_WAKE_UP, 0, _wake_up, scheduler)

    def set_alarm(self, time: float | None) -> None:
        """Request a pass at a time, instead of the one requested before; None for none."""
        if self._alarm is not None:
            self._events.cancel(self._alarm)
        self._alarm = None
        if time is not None:
            self._alarm = self._events.add(time, SCHEDULER_WAKE_UP, 0, self._alarm_rings, None)

    def _alarm_rings(self, _: None) -> None:
        self._alarm = None

    def wake_at(self, user: User, time: float) -> None:
        """Wake a user at a time."""
        self._events.add(time, WAKE_UP, user.number, _wake_up, user)

    def change_at(self, time: float, rank: int, change: Callable[[Any], None], to: Any) -> None:
        """Schedule a change of the machine; within one second, the lowest rank comes first."""
        self._events.add(time, MACHINE, rank, change, to)

    def request_at(self, time: float, rank: int, act: Callable[[Any], None], on: Any) -> None:
        """Schedule an event of a reservation; within one second, the lowest rank comes first."""
        self._events.add(time, REQUEST, rank, act, on)

    def after(self, seconds: Any) -> Any:
        """Return the time after so many seconds."""
        if not 0 <= seconds < inf:
            raise WorkloadError(f"nothing can happen {seconds} s from now, at {self.now} s")
        return self.now + seconds


def _wake_up(sleeper: Scheduler | User) -> None:
    sleeper.wake_up()
