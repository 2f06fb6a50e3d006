"""Jobs, as the engine and their users know them, and as schedulers see them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from workloadkit.errors import WorkloadError, quoted
from workloadkit.fields import UNKNOWN
from workloadkit.utility import Point

if TYPE_CHECKING:
    from workloadkit.simulation.plain.participants import User


@dataclass(eq=False, slots=True)
class Job:
    """A job as its user and the engine know it; schedulers receive a `JobView`.

    Parameters
    ----------
    submitter : User
        The user who submits it and is notified of its end.
    user : int
        Number of the user to whom it belongs.
    procs : int
        Processors that it needs.
    run : int or float
        Run time. [s]
    estimate : int or float
        The user's upper limit of the run time. [s]
    submit, start, end : int or float
        When it was submitted, started and ended; None before. [s]
    number : int, optional
        Job number; by default the next after the largest so far: 1, 2, … by submission.
    killed : bool
        Whether it is stopped at its estimate.
    queue : int
        Its queue in the log, -1 for unknown.
    recorded_wait : int or float
        Wait in the log. [s]
    utility : tuple of (float, float)
        Points (time since its submission [s], value) of its utility function; none without one.
    group, partition : int, optional
        Its group and partition in the log.
    tier : int
        The tier of its partition.
    row : int
        Its place among the jobs of the user's log, -1 for none.
    interruptions : int
        Number of times that an outage or the scheduler stopped it.
    lost : bool
        Whether it ended that way.
    lost_work : int or float
        Processors × seconds of its stopped runs. [s]
    leaves : int or float
        When it leaves the queue, unless it has started; None for jobs that are not cancelled. [s]
    left : bool
        Whether it has left the queue.
    arrival : int
        Its place in the order of arrival, from 0.
    prediction : int or float
        What it was planned with at its arrival: the estimate, or the predictor's, as renewed. [s]
    notes : dict of str to object
        Further information of the user: columns of `Schedule.jobs`.
    view : JobView
        The scheduler's view of it; None before its arrival.
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
    group: int | None = None
    partition: int | None = None
    tier: int = 1
    row: int = -1
    start: Any = None
    end: Any = None
    interruptions: int = 0
    lost: bool = False
    lost_work: Any = 0
    leaves: Any = None
    left: bool = False
    arrival: int = 0
    prediction: Any = None
    notes: dict[str, Any] = field(default_factory=dict)
    view: Any = None


class HiddenError(WorkloadError, AttributeError):
    """A scheduler reads or changes hidden information of a job."""


class _Facts:
    """Constants of a job after its arrival, which schedulers read more than anything else."""

    __slots__ = (
        "_record",
        "arrival",
        "estimate",
        "limit",
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
        self.procs = job.procs
        self.estimate: float = job.estimate
        self.limit: Any = job.estimate
        self.submit, self.user, self.queue = job.submit, job.user, job.queue
        self.recorded_wait, self.utility = job.recorded_wait, job.utility


def _once_ended(name: str, why: str) -> Any:
    """Return a property that is readable once a job has ended."""

    def read(view: "JobView") -> Any:
        if view._record.end is None:
            raise HiddenError(f"a scheduler does not know {why.format(view.number)}")
        return getattr(view._record, name)

    return property(read)


def _hidden(name: str) -> Any:
    """Return a property that schedulers cannot read."""

    def read(view: "JobView") -> Any:
        raise HiddenError(f"a scheduler does not see the {name} of a job; its user does")

    return property(read)


class JobView(_Facts):
    """A scheduler's view of a job: read-only; two are equal if they are the same job.

    Attributes
    ----------
    number, user, queue : int
        Job number, user number, queue in the log (-1 for unknown).
    procs : int
        Processors that it needs.
    submit : int or float
        When it was submitted. [s]
    limit : int or float
        The user's upper limit of its run time. [s]
    estimate : int or float
        Planned run time: the limit, or the predictor's, as corrected. [s]
    prediction : int or float
        Planned run time at its arrival, or as renewed while it waits. [s]
    arrival : int
        Its place in the order of arrival, from 0.
    recorded_wait : int or float
        Wait in the log. [s]
    utility : tuple of (float, float)
        Points (time since its submission [s], value) of its utility function; none without one.
    start, planned_end : int or float
        Start, and end by the estimate; None while it waits. [s]
    interruptions : int
        Number of times that it was stopped and returned to the queue.
    lost_work : int or float
        Processors × seconds of its stopped runs. [s]
    run, end : int or float
        Run time and end; only after its end. [s]
    killed, lost : bool
        Whether it was stopped at its estimate, or by an outage for good; only after its end.
    """

    __slots__ = ()

    @property
    def start(self) -> Any:
        """Start; None while it waits. [s]."""
        return self._record.start

    @property
    def prediction(self) -> Any:
        """Planned run time at its arrival. [s]."""
        return self._record.prediction

    @property
    def planned_end(self) -> Any:
        """End by the estimate; None while it waits. [s]."""
        return None if self._record.start is None else self._record.start + self.estimate

    @property
    def interruptions(self) -> int:
        """Number of times that it was stopped and returned to the queue."""
        return self._record.interruptions

    @property
    def lost_work(self) -> Any:
        """Processors × seconds of its stopped runs."""
        return self._record.lost_work

    # no __getattr__: it would slow down each access tenfold
    run = _once_ended("run", "how long job {} will run before it has ended; plan with estimate")
    end = _once_ended("end", "when job {} will end before it has; plan with planned_end")
    killed = _once_ended("killed", "whether job {} is killed before it has ended")
    lost = _once_ended("lost", "whether job {} is lost before it has ended")
    submitter, notes, row = map(_hidden, ("submitter", "notes", "row"))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        """Refuse: schedulers act through their methods."""
        self.__delattr__(name)

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse as well."""
        do = _INSTEAD.get(name, "keep notes on jobs in a dict of the scheduler")
        raise HiddenError(f"a scheduler cannot change {quoted(name)} of job {self.number}; {do}")

    def __repr__(self) -> str:
        """Describe the job."""
        return f"<job {self.number}: {self.procs} processors for {self.estimate} s>"


def show(job: Job) -> JobView:
    """Return the scheduler's view of a job that has just arrived."""
    view: Any = _Facts(job)
    view.__class__ = JobView  # read-only from now on
    job.view, job.prediction = view, job.estimate
    return view


def replan(view: JobView, estimate: float) -> None:
    """Replace the estimate with which a job is planned."""
    _set_estimate(view, estimate)


_set_estimate = vars(_Facts)["estimate"].__set__

_INSTEAD = {
    "start": "a job is started by Scheduler.start and stopped by Scheduler.requeue",
    "end": "a running job is stopped by Scheduler.requeue",
    "estimate": "estimates are the user's, or those of a predictor",
}
