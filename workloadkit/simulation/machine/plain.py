"""The free resources of a machine, now and as planned, in the plain-Python engine.

A *level* describes the free resources at some time. It has

- ``fits(job)``: whether the needs of a job are left;
- ``take(job)`` and ``give_back(job)``, which change it;
- ``copy()``, an independent level, and ``==``;
- ``free``, the number of free processors;
- ``str``, a description for messages.

`Pool` is the level of identical processors. Policies never compute with the needs of jobs, so that
another machine (with licences, for example) is another level: `Machine(procs, level)`.
"""

from collections.abc import Iterable, Mapping
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, NamedTuple

from workloadkit.errors import WorkloadError

if TYPE_CHECKING:
    from workloadkit.simulation.plain.job import Job, JobView
    from workloadkit.simulation.plain.simulation import Simulation


def just_before(time: float) -> Any:
    """Return the time just before a time: for whole seconds, the second before."""
    return time - 1 if isinstance(time, int) else nextafter(time, -inf)


def just_after(time: float) -> Any:
    """Return the time just after a time: for whole seconds, the second after."""
    return time + 1 if isinstance(time, int) else nextafter(time, inf)


def has_no_place(job: int | None) -> str:
    """Describe a running job of a state that finds no place."""
    return (
        f"job {job} runs in the state, and does not fit next to the jobs that started before: the "
        "state does not hold their places on this machine"
    )


class Claim(NamedTuple):
    """What is set aside for a job, or for a request, from `begin` until `end`.

    If `strictly`, a job that ends at `begin` is in its way, too. On nodes, `place` is the number of
    processors by node.
    """

    begin: Any
    end: Any
    strictly: bool = False
    place: Mapping[int, int] = {}

    def is_in_the_way(self, begin: float, end: float) -> bool:
        """Whether it begins during some time."""
        return begin < self.begin < end or (self.strictly and self.begin == end)


def is_kept_at(end: float, claims: Iterable[Claim]) -> bool:
    """Whether a job that starts keeps its place at its planned end: a strict claim begins then."""
    return any(claim.strictly and claim.begin == end for claim in claims)


class Pool:
    """A number of free, identical processors.

    Parameters
    ----------
    free : int
        Negative while more processors are in use than exist.
    """

    __slots__ = ("free",)

    def __init__(self, free: int) -> None:
        self.free = free

    def fits(self, job: "Job | JobView") -> bool:
        """Whether enough processors are free for a job."""
        return job.procs <= self.free

    def take(self, job: "Job | JobView") -> None:
        """Take the processors of a job."""
        self.free -= job.procs

    def give_back(self, job: "Job | JobView") -> None:
        """Return the processors of a job."""
        self.free += job.procs

    def copy(self) -> "Pool":
        """Return a copy."""
        return Pool(self.free)

    def __eq__(self, other: object) -> bool:
        """Whether as many processors are free."""
        return isinstance(other, Pool) and self.free == other.free

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Describe the level."""
        return f"{self.free} free processors"


class Run(NamedTuple):
    """A run of a job on its processors, to its end or its interruption.

    Parameters
    ----------
    job : int or None
        Job number.
    start, end : int or float
        [s]
    processors : tuple of int
        Their numbers, from 1; empty if processors have no numbers.
    interrupted : bool
        Whether an outage or the scheduler stopped the run.
    row : int
        Row of the job in the schedule's `jobs`, as job numbers may repeat; -1 during the
        simulation.
    nodes : tuple of (int, int)
        On a machine of nodes: their numbers, from 1, and the processors on each.
    """

    job: int | None
    start: Any
    end: Any
    processors: tuple[int, ...]
    interrupted: bool
    row: int = -1
    nodes: tuple[tuple[int, int], ...] = ()


class Machine:
    """A machine that is always available and never changes. Jobs are `JobView`s.

    Parameters
    ----------
    procs : int
        Processors.
    level : level, optional
        Free resources while nothing runs; by default a pool of the processors.

    Attributes
    ----------
    level : level
        Free resources now.
    working : int
        Processors that work.
    runs : list of (JobView, Run)
        Runs of jobs, if processors have numbers; otherwise stopped runs only.
    """

    _simulation: "Simulation"

    #: Whether running jobs have places.
    is_placed = False

    def __init__(self, procs: int, level: Any = None) -> None:
        self.procs = self.working = procs
        self.level: Any = Pool(procs) if level is None else level
        self._whole = self.level.copy()
        self.runs: list[tuple[JobView, Run]] = []
        self._given: dict[JobView, Any] = {}

    def begin(self, simulation: "Simulation") -> None:
        """Schedule the changes of the machine, before the clock starts."""

    def takes_in(self, job: "Job") -> bool:
        """Whether a submitted job runs inside a reservation, and not in the queue."""
        return False

    def without_outages(self) -> "Machine":
        """Return an idle machine of the same size that never changes."""
        return Machine(self.procs, self._whole.copy())

    def can_run(self, job: "Job") -> bool:
        """Whether a job fits on the idle machine."""
        return self._whole.fits(job)

    def fits(self, job: "JobView", now: float) -> bool:
        """Whether enough is free and available to a job until its planned end."""
        return self.level.fits(job)

    def start(self, job: "JobView", now: float) -> None:
        """Start a job."""
        self.level.take(job)

    def put(self, places: "Mapping[JobView, Any]") -> None:
        """Set the places of jobs that are about to run, as `place_of` returns them."""
        self._given = dict(places)

    def place_of(self, job: "JobView") -> Any:
        """Return the place of a running job for a saved state; None if it has none."""
        return None

    def claim_again(self, job: "JobView", claim: Any) -> None:
        """Reserve for a waiting job what `claim_of` returned."""

    def claim_of(self, job: "JobView") -> Any:
        """Return what is reserved for a job, for a saved state; None for nothing."""
        return None

    def end(self, job: "JobView", now: float, interrupted: bool) -> None:
        """Release the resources of a job that has ended or was interrupted."""
        self.level.give_back(job)
        if interrupted:
            self.runs.append((job, Run(job.number, job.start, now, (), interrupted)))

    def changes_ahead(self, now: float) -> bool:
        """Whether plans know of future changes of the machine."""
        return False

    def reserve(self, job: "JobView", now: float, *, strictly: bool = False) -> Any:
        """Reserve resources for a waiting job; return the start, `inf` for never."""
        raise WorkloadError("processors can be reserved only if there are outages")

    def room_until(self, end: float, now: float) -> int:
        """Return the processors of the largest job that can start now and end then."""
        free: int = self.level.free
        return free

    def release(self, job: "JobView | None") -> None:
        """Cancel the reservation of a job, or all reservations."""

    def lasting_losses(self) -> str:
        """Describe the resources that never return, for messages."""
        return ""
