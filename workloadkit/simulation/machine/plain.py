"""What is free of a machine, now and as planned, in the plain-Python engine.

A *level* is what is free at some time. It has

- ``fits(job)``: whether so much is left as a job takes;
- ``take(job)`` and ``give_back(job)``, which change it;
- ``copy()``, a level of its own, and ``==``;
- ``free``, its processors;
- ``str``, what messages say is free.

`Pool` is the level of processors that are all alike. Policies never compute with what jobs take, so
that another machine (with licences, say) is another level: `Machine(procs, level)`.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.errors import WorkloadError

if TYPE_CHECKING:
    from workloadkit.simulation.plain.job import Job, JobView
    from workloadkit.simulation.plain.simulation import Simulation


class Pool:
    """Processors that are all alike: so many are free.

    Parameters
    ----------
    free : int
        Negative where more run jobs than there are.
    """

    __slots__ = ("free",)

    def __init__(self, free: int) -> None:
        self.free = free

    def fits(self, job: "Job | JobView") -> bool:
        """Whether enough are free for a job."""
        return job.procs <= self.free

    def take(self, job: "Job | JobView") -> None:
        """Take those of a job."""
        self.free -= job.procs

    def give_back(self, job: "Job | JobView") -> None:
        """Give those of a job back."""
        self.free += job.procs

    def copy(self) -> "Pool":
        """Return as many."""
        return Pool(self.free)

    def __eq__(self, other: object) -> bool:
        """Whether as many are free."""
        return isinstance(other, Pool) and self.free == other.free

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Say how many."""
        return f"{self.free} free processors"


class Run(NamedTuple):
    """A job on its processors, from its start to its end or until it was interrupted.

    Parameters
    ----------
    job : int or None
        Job number.
    start, end : int or float
        [s]
    processors : tuple of int
        Their numbers, from 1; none where they have none.
    interrupted : bool
        Whether an outage or the scheduler stopped it.
    row : int
        Of the job in the schedule's `jobs`, as a number may stand for several; -1 while the
        simulation goes on.
    """

    job: int | None
    start: Any
    end: Any
    processors: tuple[int, ...]
    interrupted: bool
    row: int = -1


class Machine:
    """What serves jobs, which it knows as their `JobView`: it is always there, and never changes.

    Parameters
    ----------
    procs : int
        Processors.
    level : level, optional
        What is free while nothing runs; by default a pool of the processors.

    Attributes
    ----------
    level : level
        What is free now.
    working : int
        Processors that are not down.
    runs : list of (JobView, Run)
        Who ran where, if processors have numbers; else what was stopped.
    """

    def __init__(self, procs: int, level: Any = None) -> None:
        self.procs = self.working = procs
        self.level: Any = Pool(procs) if level is None else level
        self._whole = self.level.copy()
        self.runs: list[tuple[JobView, Run]] = []

    def begin(self, simulation: "Simulation") -> None:
        """Take part in a simulation, before the clock starts: plan changes, if there are any."""

    def without_outages(self) -> "Machine":
        """Return one as large on which nothing runs, and that never changes."""
        return Machine(self.procs, self._whole.copy())

    def can_run(self, job: "Job") -> bool:
        """Whether a job fits while nothing else runs."""
        return self._whole.fits(job)

    def fits(self, job: "JobView", now: Any) -> bool:
        """Whether enough is free for a job and left to it until its planned end."""
        return self.level.fits(job)

    def start(self, job: "JobView", now: Any) -> None:
        """Give a job its place."""
        self.level.take(job)

    def end(self, job: "JobView", now: Any, *, interrupted: bool) -> None:
        """Take back the place of a job that has ended, or was interrupted."""
        self.level.give_back(job)
        if interrupted:
            self.runs.append((job, Run(job.number, job.start, now, (), interrupted)))

    def changes_ahead(self, now: Any) -> bool:
        """Whether changes of the machine lie ahead that plans know of."""
        return False

    def reserve(self, job: "JobView", now: Any, *, strictly: bool = False) -> Any:
        """Reserve a place for a waiting job; return from when on, `inf` for never."""
        raise WorkloadError("processors are reserved only where there are outages")

    def release(self, job: "JobView | None") -> None:
        """Give up what is reserved for a job, or for all."""

    def lasting_losses(self) -> str:
        """Say what of the machine will be missing for ever, for messages."""
        return ""
