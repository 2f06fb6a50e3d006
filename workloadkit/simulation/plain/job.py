"""Jobs: what the engine and its user know of one, and what a scheduler sees."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from workloadkit.errors import WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.utility import Point

if TYPE_CHECKING:
    from workloadkit.simulation.plain.user import User


@dataclass(eq=False, slots=True)
class Job:
    """A job in the simulation, as its user and the engine know it; schedulers get a `JobView`.

    Parameters
    ----------
    submitter : User
        Who submits it and is notified of its end.
    user : int
        Number of the user it belongs to.
    procs : int
        Processors that it needs.
    run : int or float
        How long it will run. [s]
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
        How often an outage, or its scheduler, stopped it.
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
    view : JobView
        What schedulers see of it; None before it has arrived.
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
    view: Any = None


class HiddenError(WorkloadError, AttributeError):
    """A scheduler reads or changes of a job what it may not."""


class _Facts:
    """What is settled as a job arrives; schedulers read it more than anything else."""

    __slots__ = (
        "_record",
        "arrival",
        "estimate",
        "number",
        "procs",
        "queue",
        "recorded_wait",
        "submit",
        "user",
        "utility",
    )

    def __init__(self, job: Job) -> None:
        self._record = job
        self.arrival, self.number = job.arrival, job.number
        self.procs, self.estimate = job.procs, job.estimate
        self.submit, self.user, self.queue = job.submit, job.user, job.queue
        self.recorded_wait, self.utility = job.recorded_wait, job.utility


def _once_ended(name: str, why: str) -> Any:
    """Return a property that is known once a job has ended."""

    def read(view: "JobView") -> Any:
        if view._record.end is None:
            raise HiddenError(f"a scheduler does not know {why.format(view.number)}")
        return getattr(view._record, name)

    return property(read)


def _hidden(name: str) -> Any:
    """Return a property that schedulers never see."""

    def read(view: "JobView") -> Any:
        raise HiddenError(f"a scheduler does not see the {name} of a job; its user does")

    return property(read)


class JobView(_Facts):
    """What a scheduler sees of a job. It cannot be written to; two are equal if they are the same.

    Attributes
    ----------
    number, user, queue : int
        Job number, user number, queue in the log (-1 for unknown).
    procs : int
        Processors that it needs.
    submit : int or float
        When it was submitted. [s]
    estimate : int or float
        How long it is planned to run: the user's estimate, or the predictor's. [s]
    arrival : int
        Its place in the order of arrival, from 0.
    recorded_wait : int or float
        How long it waited in the log. [s]
    utility : tuple of (float, float)
        Points (time since its submission [s], value) of its utility function; none without one.
    start, planned_end : int or float
        When it has started, and when by its estimate it will end; None while it waits. [s]
    interruptions : int
        How often it was stopped and waited again.
    lost_work : int or float
        Processors × seconds that it ran in vain. [s]
    run, end : int or float
        How long it ran and when it ended; only once it has ended. [s]
    killed, lost : bool
        Whether it was stopped at its estimate, or by an outage for good; only once it has ended.
    """

    __slots__ = ()

    @property
    def start(self) -> Any:
        """When it has started; None while it waits. [s]."""
        return self._record.start

    @property
    def planned_end(self) -> Any:
        """When it will end by its estimate; None while it waits. [s]."""
        return None if self._record.start is None else self._record.start + self.estimate

    @property
    def interruptions(self) -> int:
        """How often it was stopped and waited again."""
        return self._record.interruptions

    @property
    def lost_work(self) -> Any:
        """Processors × seconds that it ran in vain."""
        return self._record.lost_work

    # no __getattr__: with one all that is read of a job would be read ten times as slowly
    run = _once_ended("run", "how long job {} will run before it has ended; plan with estimate")
    end = _once_ended("end", "when job {} will end before it has; plan with planned_end")
    killed = _once_ended("killed", "whether job {} is killed before it has ended")
    lost = _once_ended("lost", "whether job {} is lost before it has ended")
    submitter, notes, row = map(_hidden, ("submitter", "notes", "row"))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        """Refuse: schedulers act by their methods."""
        self.__delattr__(name)

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse, too."""
        do = _INSTEAD.get(name, "what is noted of jobs belongs into a dict of the scheduler")
        raise HiddenError(f"a scheduler cannot change {name!r} of job {self.number}; {do}")

    def __repr__(self) -> str:
        """Name the job."""
        return f"<job {self.number}: {self.procs} processors for {self.estimate} s>"


def show(job: Job) -> JobView:
    """Return what schedulers see of a job that has just arrived."""
    view: Any = _Facts(job)
    view.__class__ = JobView  # from now on it cannot be written to
    job.view = view
    return view


def replan(view: JobView, estimate: Any) -> None:
    """Let a job be planned with another estimate than its user's."""
    _set_estimate(view, estimate)


_set_estimate = vars(_Facts)["estimate"].__set__

_INSTEAD = {
    "start": "a job is started by Scheduler.start and stopped by Scheduler.requeue",
    "end": "a running job is stopped by Scheduler.requeue",
    "estimate": "estimates are the user's, or those of a predictor",
}
