"""Schedulers in plain Python."""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from workloadkit.errors import WorkloadError
from workloadkit.settings.simulation import UtilityAt
from workloadkit.simulation.plain.job import JobView
from workloadkit.simulation.plain.participant import Participant


class Scheduler(Participant):
    """Base of schedulers in plain Python; override `allocate`, and what else is needed.

    Jobs are what a `JobView` shows: all but how long those will run that have not ended. `queue`
    holds the waiting ones in the order of their arrival. A job that starts is gone from it the
    next time that it is looked up, in a new list, so that a loop over the queue may start jobs as
    it meets them; a scheduler that shares its queue with another one has to hand on the new list.

    The methods from `columns` to `plans_void` are called by the simulation; the others are there
    to be called.
    """

    #: What messages call it; by default its class.
    name: str = ""

    #: Whether jobs may be started on more processors than the machine has.
    overcommits = False

    #: Whether it can do with processors that go down and come up.
    bears_outages = True

    _waiting: list[JobView]
    _started: set[JobView] = set()  # noqa: RUF012 those to be taken out; an empty one is replaced

    def columns(self, jobs: Sequence[JobView]) -> dict[str, list]:
        """Return further columns of `Schedule.jobs`, by name: a value for each of `jobs`."""
        return {}

    def history(self) -> dict[str, Any]:
        """Return what the scheduler decided over time, for `Schedule.history`."""
        return {}

    def continue_from(self, other: "Scheduler", twins: Mapping[JobView, JobView]) -> None:
        """Take over what another scheduler of the same policy knows.

        `twins` are the jobs that stand for those of the other one that wait and run; these have
        arrived. To be overridden by schedulers that know more than which jobs wait and run.
        """

    def job_arrives(self, job: JobView) -> None:
        """Take a job into the queue; it has just been submitted."""
        self.queue.append(job)

    def job_ends(self, job: JobView) -> None:
        """Learn of the end of a job; its processors are free again. Tells the user at once."""
        self._simulation.notify_user(job._record, 0)

    def job_interrupted(self, job: JobView) -> None:
        """Learn that a job was stopped, which waits again, in its old place in the queue."""
        self.queue = self.queue.copy()  # whoever loops over the old one goes on in it
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
    def queue(self) -> list[JobView]:
        """The waiting jobs, in the order of their arrival."""
        if started := self._started:
            self._waiting = [job for job in self._waiting if job not in started]
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
        """The running jobs by their planned ends, as (planned end, serial, job); to be read only.

        What has outlived its estimate comes first, with the end that was planned.
        """
        return self._simulation.planned_ends

    @property
    def level(self) -> Any:
        """What is free of the machine; to be copied for plans, see `machine.plain`."""
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
    def free(self) -> int:
        """Processors that work and are free."""
        return self._simulation.hardware.level.free

    @property
    def utility_at(self) -> UtilityAt:
        """When the value of a job is read: at its end ("turnaround") or at its "start"."""
        return self._simulation.utility_at

    @property
    def rng(self) -> np.random.Generator:
        """The generator of the simulation, for a scheduler that draws; users have their own."""
        return self._simulation.rng

    @property
    def outages_ahead(self) -> bool:
        """Whether outages are announced, or under way with an end that is known."""
        return self._simulation.hardware.changes_ahead(self.now)

    def fits(self, job: JobView) -> bool:
        """Whether enough of the machine is free for a job and left to it until its planned end.

        Neither an outage that is announced nor what is reserved for another job may take it.
        """
        simulation = self._simulation
        return simulation.hardware.fits(job, simulation.now)

    def reserve(self, job: JobView, *, strictly: bool = False) -> Any:
        """Reserve processors for a waiting job, where outages are ahead, and return when.

        It is promised the earliest second from which on, by the estimates of the running jobs, as
        many processors as it needs are up and free and not reserved for others, for its whole
        estimate; `inf` if there is none. With `strictly` they are not left to jobs that end at that
        very second.
        """
        return self._simulation.hardware.reserve(job, self.now, strictly=strictly)

    def release(self, job: JobView | None = None) -> None:
        """Give up what is reserved for a job; by default for all jobs."""
        self._simulation.hardware.release(job)

    def start(self, job: JobView) -> None:
        """Let a waiting job run from now on.

        Where there are outages, the simulation gives it processors that are left to it until its
        planned end; if these are not enough, also others that are free.

        Raises
        ------
        WorkloadError
            If it does not fit or has been started before.
        """
        record, level = job._record, self._simulation.hardware.level
        if record.start is not None or not (level.fits(job) or self.overcommits):
            why = "a second time" if record.start is not None else f"on {level}"
            raise WorkloadError(
                f"{self._who} starts job {job.number} of {job.procs} processors {why}, at "
                f"{self.now} s"
            )
        self._simulation.start(record)
        if self._started:
            self._started.add(job)
        else:
            self._started = {job}

    def requeue(self, job: JobView) -> None:
        """Stop a running job. It waits again, in its old place, and then runs from the beginning.

        `job_interrupted` is called, as if its processors had gone down.

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
        """Tell the user of a job that it has ended, now or `delay` seconds later."""
        self._simulation.notify_user(job._record, delay)

    def sleep(self, seconds: Any) -> None:
        """Ask for `wake_up` after so many seconds."""
        self._simulation.wake_scheduler(self, seconds)

    def set_alarm(self, time: Any) -> None:
        """Ask for a pass at a time, instead of at the one asked for before; None for none."""
        self._simulation.set_alarm(time)

    @property
    def _who(self) -> str:
        return self.name or type(self).__name__
