"""Schedulers and users in plain Python."""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

import numpy as np

from workloadkit.errors import WorkloadError
from workloadkit.settings.simulation import UtilityAt
from workloadkit.simulation.plain.job import Job, JobView
from workloadkit.simulation.supports import USUAL, Memory, supporting
from workloadkit.utility import Point

if TYPE_CHECKING:
    from workloadkit.simulation.plain.simulation import Simulation


class _Outside:
    """Stands for the simulation until one begins and replaces it."""

    def __get__(self, participant: object, kind: type) -> Any:
        if participant is None:  # access through the class
            return self
        raise WorkloadError(f"{kind.__name__} is not part of a simulation yet")


class Participant:
    """A participant of a simulation, with access to its clock."""

    _simulation: Any = _Outside()

    @property
    def now(self) -> Any:
        """The clock. [s]."""
        return self._simulation.now

    @property
    def _at(self) -> "Simulation":
        return self._simulation


# Schedulers in plain Python.


class _Free:
    """Processors that work and are free.

    The simulation sets them in its scheduler, which policies read more than anything else; one
    within another scheduler reads them here.
    """

    def __get__(self, scheduler: "Scheduler | None", kind: type) -> Any:
        return self if scheduler is None else scheduler._simulation.hardware.level.free


class Scheduler(Participant):
    """Base of schedulers in plain Python; override `allocate`, and other methods as necessary.

    Schedulers receive jobs as `JobView`s, which hide the run times of jobs that have not ended.
    `queue` contains the waiting jobs in the order of arrival. Once a job starts, the next access
    returns a new list without it, so that a loop over the queue may start jobs. A scheduler that
    shares its queue with another one must pass on the new list.

    The simulation calls the methods from `columns` to `plans_void`; the scheduler calls the others.
    """

    #: Name in messages; by default that of the class.
    name: str = ""

    #: Whether jobs may be started on more processors than the machine has.
    overcommits = False

    #: What it supports: words of `workloadkit.simulation.supports`.
    supports: frozenset[str] = USUAL

    #: What it remembers besides the running and waiting jobs.
    memory: Memory | None = None

    #: Processors that work and are free; read-only.
    free: Any = _Free()

    #: Receives the reasons of decisions, see `because`; None if the simulation is not explained.
    listener: Callable[[str, JobView, dict[str, Any]], None] | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        supporting(*cls.supports)

    _waiting: list[JobView]
    _started: set[JobView] = set()  # noqa: RUF012 to be removed; an empty set is replaced

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list[Any]]:
        """Return further columns of `Schedule.jobs`, by name: a value for each of `jobs`."""
        return {}

    def history(self) -> dict[str, Any]:
        """Return the scheduler's decisions over time, for `Schedule.history`."""
        return {}

    def continue_from(self, other: "Scheduler", copies: Mapping[JobView, JobView]) -> None:
        """Take over the state of another scheduler of the same policy.

        `copies` maps the waiting and running jobs of the other scheduler to their copies in this
        one. Override it in schedulers with more state than the waiting and running jobs.
        """

    def remember(self, jobs: Sequence[JobView]) -> dict[str, Any]:
        """Return what decides starts besides the running and waiting `jobs`, for a saved state.

        By name: numbers, strings, and lists or mappings of them; under ``jobs`` the columns with a
        value for each of `jobs`. Override it together with `recall` and `memory`.
        """
        return {}

    def recall(self, memory: Mapping[str, Any], jobs: Sequence[JobView]) -> None:
        """Receive the waiting ones of jobs, and continue with what `remember` returned."""
        for job in jobs:
            if job.start is None:
                self.job_arrives(job)

    def job_arrives(self, job: JobView) -> None:
        """Add a submitted job to the queue."""
        self._waiting.append(job)

    def job_ends(self, job: JobView) -> None:
        """Handle the end of a job; its processors are free again. Notifies the user at once."""
        record = job._record
        record.submitter.job_ended(record)

    def job_interrupted(self, job: JobView) -> None:
        """Handle a stopped job, which returns to its old place in the queue."""
        self.queue = self.queue.copy()  # a loop over the old list continues in it
        insort(self.queue, job, key=lambda other: other.arrival)

    def prediction_renewed(self, job: JobView, before: Any) -> None:
        """Handle a new prediction of a waiting job; `plans_void` is called once, after all."""

    def job_leaves(self, job: JobView) -> None:
        """Handle a waiting job that is cancelled: it leaves the queue."""
        self.queue = [other for other in self.queue if other is not job]

    def allocate(self) -> None:
        """Start jobs; called once an instant, after all arrivals and ends in it."""
        raise NotImplementedError(f"{type(self).__name__} must define allocate")

    def wake_up(self) -> None:
        """Continue after `sleep`; allocation follows."""

    def processors_down(self, count: int) -> None:
        """Handle the shutdown of `count` processors."""

    def processors_up(self, count: int) -> None:
        """Handle the return of `count` processors."""

    def plans_void(self) -> None:
        """Handle an unplanned change: of predictions, or an outage is announced, starts or ends."""

    @property
    def queue(self) -> list[JobView]:
        """The waiting jobs, in the order of arrival."""
        if started := self._started:
            self._waiting = [*filterfalse(started.__contains__, self._waiting)]
            self._started = set()
        return self._waiting

    @queue.setter
    def queue(self, jobs: list[JobView]) -> None:
        self._waiting, self._started = jobs, set()

    @property
    def queue_length(self) -> int:
        """Number of waiting jobs."""
        return len(self.queue)

    @property
    def running(self) -> Iterable[JobView]:
        """The running jobs, in the order of their starts."""
        return self._simulation.running.keys()

    @property
    def planned_ends(self) -> Sequence[tuple[Any, int, JobView]]:
        """The running jobs by planned end, as (planned end, serial, job); read-only.

        Jobs that have outlived their estimates come first, with their planned ends.
        """
        return self._simulation.planned_ends

    @property
    def level(self) -> Any:
        """The free resources of the machine; copy it for plans, see `machine.plain`."""
        return self._simulation.hardware.level

    @property
    def machine_size(self) -> int:
        """Processors of the machine that work."""
        return self._simulation.hardware.working

    @property
    def used(self) -> int:
        """Processors that run jobs."""
        return self.machine_size - self.free

    @property
    def utility_at(self) -> UtilityAt:
        """Whether the value of a job is read at its end ("turnaround") or at its "start"."""
        return self._simulation.utility_at

    @property
    def rng(self) -> np.random.Generator:
        """The generator of the simulation, for schedulers that draw; users have their own."""
        return self._simulation.rng

    @property
    def outages_ahead(self) -> bool:
        """Whether outages are announced, or under way with a known end."""
        return self._simulation.hardware.changes_ahead(self.now)

    def because(self, rule: str, job: JobView, **values: Any) -> None:
        """Give the reason of a decision on a job, before a start: for `explain_schedule`.

        Parameters
        ----------
        rule : str
            A key of `workloadkit.simulation.plain.decisions.SENTENCES`, or a sentence: ``starts``
            or ``waits``, and why, with the values as fields, such as ``{end}``.
        job : JobView
        **values
            What the rule compares: `begin` and `end`, which are times [s], the job `head`, and
            numbers or texts of other names.
        """
        if self.listener is not None:
            self.listener(rule, job, values)

    def fits(self, job: JobView) -> bool:
        """Whether enough of the machine is free and available to a job until its planned end.

        Announced outages and reservations of other jobs make processors unavailable.
        """
        simulation = self._simulation
        return simulation.hardware.fits(job, simulation.now)

    def room_until(self, end: float) -> int:
        """Return the processors of the largest job that can start now and end at some time.

        For identical processors, of which outages or reservations are ahead.
        """
        return self._simulation.hardware.room_until(end, self.now)

    def reserve(self, job: JobView, *, strictly: bool = False) -> Any:
        """Reserve processors for a waiting job if outages are ahead; return the reserved start.

        It is the earliest second from which on, by the estimates of the running jobs, enough
        processors are up, free and not reserved for others for the job's whole estimate; `inf` if
        there is none. With `strictly`, jobs that end at that second cannot use them.
        """
        return self._simulation.hardware.reserve(job, self.now, strictly=strictly)

    def release(self, job: JobView | None = None) -> None:
        """Cancel the reservation of a job; by default of all jobs."""
        self._simulation.hardware.release(job)

    def start(self, job: JobView) -> None:
        """Start a waiting job.

        If there are outages, the simulation selects processors that are available until the job's
        planned end; if these are not enough, also others that are free.

        Raises
        ------
        WorkloadError
            If it does not fit or has been started before.
        """
        record, simulation = job._record, self._simulation
        level = simulation.hardware.level
        if record.start is not None or not (level.fits(job) or self.overcommits):
            why = "a second time" if record.start is not None else f"on {level}"
            raise WorkloadError(
                f"{self._who} starts job {job.number} of {job.procs} processors {why}, at "
                f"{self.now} s"
            )
        now = simulation.now
        simulation.start(record, now, now + record.run)
        if self._started:
            self._started.add(job)
        else:
            self._started = {job}

    def requeue(self, job: JobView) -> None:
        """Stop a running job. It returns to its old place in the queue, to run from the beginning.

        `job_interrupted` is called, as after an outage.

        Raises
        ------
        WorkloadError
            If it does not run.
        """
        if job not in self._simulation.running:
            state = "waits" if job.start is None else "has ended"
            raise WorkloadError(
                f"{self._who} requeues job {job.number}, which {state}, at {self.now} s"
            )
        self._simulation.interrupt(job, requeues=True)
        self.job_interrupted(job)

    def notify_user(self, job: JobView, delay: Any = 0) -> None:
        """Notify the user of a job of its end, now or `delay` seconds later."""
        self._simulation.notify_user(job._record, delay)

    def sleep(self, seconds: Any) -> None:
        """Request a call of `wake_up` after some time."""
        self._simulation.wake_scheduler(self, seconds)

    def set_alarm(self, time: float | None) -> None:
        """Request a pass at a time, instead of the one requested before; None for none."""
        self._simulation.set_alarm(time)

    @property
    def _who(self) -> str:
        return self.name or type(self).__name__


# Users in plain Python.


class User(Participant):
    """Base of users in plain Python; override `wake_up`, and other methods as necessary.

    The simulation calls the methods from `begin` to `job_ended`; the user calls the others. The
    attributes `number` and `rng` (a separate generator for each user) are set when the simulation
    begins.
    """

    number: int
    rng: np.random.Generator

    def begin(self) -> None:
        """Begin, before the clock starts at 0: by default, request a wake-up at second 0."""
        self.sleep(0)

    def wake_up(self) -> None:
        """Continue after `sleep`."""

    def job_ended(self, job: Job) -> None:
        """Handle the scheduler's notification that a job has ended."""

    def known_jobs(self) -> Iterable[Job] | None:
        """Return all jobs of the user if they are known from the start; otherwise None."""
        return None

    @property
    def queue_length(self) -> int:
        """Number of jobs in the scheduler's queue: those that have arrived and wait now [1]_.

        References
        ----------
        .. [1] E. Shmueli, "Using feedback in evaluating and designing parallel systems schedulers",
           PhD thesis, University of Haifa, 2008, appendix A.1: `queueLength`.
        """
        return self._at.queue_length

    @property
    def load(self) -> float:
        """Share of the machine's processors that run jobs now."""
        return sum(job.procs for job in self._at.running) / self._at.machine

    def submit(
        self,
        procs: int,
        run: float,
        estimate: float | None = None,
        *,
        at: float | None = None,
        number: int | None = None,
        utility: Sequence[Point] = (),
    ) -> Job:
        """Submit a job, now or at a later second, and return it.

        Parameters
        ----------
        procs : int
            Processors that it needs.
        run : int or float
            Run time. [s]
        estimate : int or float, optional
            Upper limit of the run time; by default exactly `run`. [s]
        at : int or float, optional
            Submit time; by default now. [s]
        number : int, optional
            Its job number; by default jobs are numbered by submission.
        utility : sequence of (float, float), optional
            Points of its utility function, see `workloadkit.utility`: time since the submission
            [s], value.

        Raises
        ------
        WorkloadError
            If the job is invalid: no processors, more than the machine has, a negative run time, a
            time that has passed, or points that do not form a utility function.
        """
        return self._at.submit(self, procs, run, estimate, at, number, utility)

    def sleep(self, seconds: Any) -> None:
        """Request a call of `wake_up` after some time."""
        self._at.wake_at(self, self._at.after(seconds))

    def introduce(self, user: "User", number: int) -> None:
        """Add another user from now on, who draws from the generator of this one.

        Parameters
        ----------
        user : User
        number : int
            Its number; several users may share one.
        """
        user.number, user.rng, user._simulation = number, self.rng, self._at
