"""A machine whose processors go down and come up, in plain Python.

Processors have numbers 0, 1, 2, … here; files count from 1. An announced outage is known from its
announcement on, with its end. Of an outage that is not announced, the scheduler learns the start
and the end as they happen.

A job receives processors that stay up until its planned end. Among them it takes those with the
earliest other claim (an announced outage, a reservation), and of these the lowest numbers, so that
the remaining ones are free for as long as possible.
"""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.simulation.machine.plain import Machine, Run, just_before
from workloadkit.simulation.machine.shutdowns import Shutdown, what_stays_down
from workloadkit.simulation.plain.job import JobView
from workloadkit.simulation.rules import counted_end

if TYPE_CHECKING:
    from workloadkit.simulation.plain.simulation import Simulation


# Machines that outages change, in plain Python: what they have in common.

_DOWN, _UP, _ANNOUNCED = range(3)  # the order of changes of the machine at one instant


class FailingMachine(Machine):
    """Base of machines with outages; subclasses define `_go_down` and `_come_up`.

    Parameters
    ----------
    procs : int
        Processors.
    level : Any, optional
        As in `Machine`.
    shutdowns : sequence of Shutdown
        What goes down, and when.
    requeues : bool
        Whether interrupted jobs return to the queue; otherwise they are lost.
    """

    def __init__(
        self,
        procs: int,
        level: Any = None,
        *,
        shutdowns: Sequence[Shutdown],
        requeues: bool,
    ) -> None:
        super().__init__(procs, level)
        self._shutdowns, self._requeues = shutdowns, requeues
        self._announced: list[Shutdown] = []  # known outages; subclasses say until when

    def begin(self, simulation: "Simulation") -> None:
        """Schedule the outages: announcements, starts and ends."""
        self._simulation = simulation
        for shutdown in self._shutdowns:
            if shutdown.announced is not None:
                simulation.change_at(shutdown.announced, _ANNOUNCED, self._announce, shutdown)
            simulation.change_at(shutdown.start, _DOWN, self._go_down, shutdown)
            if shutdown.end < inf:
                simulation.change_at(shutdown.end, _UP, self._come_up, shutdown)

    def _announce(self, shutdown: Shutdown) -> None:
        self._announced.append(shutdown)
        self._simulation.scheduler.plans_void()

    def _go_down(self, shutdown: Shutdown) -> None:
        """Begin an outage, and stop jobs."""
        raise NotImplementedError

    def _come_up(self, shutdown: Shutdown) -> None:
        """End an outage."""
        raise NotImplementedError

    def _tell_down(self, shutdown: Shutdown, n_down: int, hit: Sequence[JobView]) -> None:
        """Notify the scheduler of processors that are down, and of the jobs that were stopped."""
        scheduler = self._simulation.scheduler
        if n_down:
            scheduler.processors_down(n_down)
        if hit or shutdown.announced is None:
            scheduler.plans_void()
        for job in hit:
            if self._requeues:
                scheduler.job_interrupted(job)
            else:
                scheduler.job_ends(job)


_AT_A_TIME = 32  # candidate starts per step of the search for a slot


class _Hold(NamedTuple):
    """Processors held for a while: by a running job, or for a promised start."""

    begin: Any
    end: Any
    processors: NDArray[np.int64]


def _numbers(processors: NDArray[np.int64]) -> list[int]:
    """Return the numbers of processors, from 1."""
    numbers: list[int] = (np.sort(processors) + 1).tolist()
    return numbers


class NumberedMachine(FailingMachine):
    """Processors that run jobs, go down and come up.

    Parameters
    ----------
    procs : int
        Processors.
    shutdowns : sequence of Shutdown
        What goes down, and when.
    requeues : bool
        Whether interrupted jobs return to the queue; otherwise they are lost.
    """

    is_placed = True

    def __init__(
        self, procs: int, shutdowns: Sequence[Shutdown] = (), *, requeues: bool = True
    ) -> None:
        super().__init__(procs, shutdowns=shutdowns, requeues=requeues)
        self._down = np.zeros(procs, dtype=np.int64)  # outages of each processor
        self._busy = np.zeros(procs, dtype=bool)
        self._running: dict[JobView, _Hold] = {}
        self._promised: dict[JobView, _Hold] = {}
        self._surprises: list[Shutdown] = []  # not announced, and not over

    def _go_down(self, shutdown: Shutdown) -> None:
        n_down, hit = self._strike(shutdown)
        for job in hit:
            self._simulation.interrupt(job, requeues=self._requeues)
        self._tell_down(shutdown, n_down, hit)

    def _strike(self, shutdown: Shutdown) -> tuple[int, list[JobView]]:
        """Begin an outage; return how many more processors are down, and the jobs on them."""
        which = shutdown.processors
        fresh = which[self._down[which] == 0]
        self._down[which] += 1
        self._count_down()
        if shutdown.announced is None:
            self._surprises.append(shutdown)
        if not self._busy[fresh].any():
            return fresh.size, []
        struck = np.zeros(self.procs, dtype=bool)
        struck[fresh] = True
        hit = [job for job, hold in self._running.items() if struck[hold.processors].any()]
        return fresh.size, hit

    def _come_up(self, shutdown: Shutdown) -> None:
        scheduler, which = self._simulation.scheduler, shutdown.processors
        self._down[which] -= 1
        self._count_down()
        known = self._surprises if shutdown.announced is None else self._announced
        known[:] = [other for other in known if other is not shutdown]
        n_up = int(np.count_nonzero(self._down[which] == 0))
        if n_up:
            scheduler.processors_up(n_up)
        if shutdown.announced is None:
            scheduler.plans_void()

    def _count_down(self) -> None:
        """Update the level with the number of processors that are down."""
        working = self.procs - int(np.count_nonzero(self._down))
        self.level.free += working - self.working
        self._simulation.scheduler.free = self.level.free
        self.working = working

    def changes_ahead(self, now: float) -> bool:
        """Whether a change is known: an announced outage, or the end of one."""
        return any(shutdown.start >= now or shutdown.end < inf for shutdown in self._announced)

    def fits(self, job: JobView, now: float) -> bool:
        """Whether enough of the free processors are available to a job until its planned end."""
        if not self.level.fits(job):
            return False
        if not self._announced and not self._promised:
            return True
        return self.room_until(now + job.estimate, now, job) >= job.procs

    def room_until(self, end: float, now: float, job: JobView | None = None) -> int:
        """Return how many free processors are available until some time, to a certain job."""
        return int(np.count_nonzero(self._free & (self._wanted(job, now) >= end)))

    def start(self, job: JobView, now: float) -> None:
        """Give a job its processors; they must be free, but need not be available until its end."""
        super().start(job, now)
        self._promised.pop(job, None)
        which = self._chosen(job, now)
        self._busy[which] = True
        self._running[job] = _Hold(now, now + job.estimate, which)

    def _chosen(self, job: JobView, now: float) -> NDArray[np.int64]:
        """Return the processors of a job that starts."""
        if (given := self._given.pop(job, None)) is not None:
            return np.array(given, np.int64) - 1
        which = np.flatnonzero(self._free)
        wanted = self._wanted(job, now)[which]
        fitting = wanted >= now + job.estimate
        # unavailable ones come last, and of these first those with the latest claim
        order = np.lexsort((np.where(fitting, wanted, -wanted), ~fitting))
        return which[order[: job.procs]]

    def place_of(self, job: JobView) -> Any:
        """Return the numbers of the processors of a running job."""
        hold = self._running.get(job)
        return hold and _numbers(hold.processors)

    def claim_again(self, job: JobView, claim: Any) -> None:
        """Promise a job its processors again."""
        begin, end, place = claim
        self._promised[job] = _Hold(begin, end, np.array(place, np.int64) - 1)

    def claim_of(self, job: JobView) -> Any:
        """Return the begin, the end and the processors of a promise."""
        hold = self._promised.get(job)
        return hold and [hold.begin, hold.end, _numbers(hold.processors)]

    def end(self, job: JobView, now: float, interrupted: bool) -> None:
        """Release the processors of a job."""
        self.level.give_back(job)
        which = self._running.pop(job).processors
        self._busy[which] = False
        numbers = tuple(_numbers(which))
        self.runs.append((job, Run(job.number, job.start, now, numbers, interrupted)))

    def lasting_losses(self) -> str:
        """Describe the outages that never end."""
        return what_stays_down(self._shutdowns, self.procs)

    def reserve(self, job: JobView, now: float, *, strictly: bool = False) -> Any:
        """Promise a job its processors for its estimate, from the earliest possible second on.

        It takes those with the shortest idle time before, then as jobs that start. If enough are
        free now, it takes of these: then it can start. With `strictly`, they are promised from just
        before that second on.

        Returns
        -------
        int or float
            The start; `inf` for never, without a promise. [s]
        """
        self.release(job)
        procs, duration = job.procs, job.estimate
        which, begin, end = self._plans(now)
        start = self._slot(which, begin, end, procs, duration, now)
        if start == inf:
            return inf
        if isinstance(now, int) and start == int(start):
            start = int(start)
        blocked = np.zeros(self.procs, dtype=bool)
        blocked[which[(begin < start + duration) & (end > start)]] = True
        idle_since, wanted = np.full(self.procs, -inf), np.full(self.procs, inf)
        before, after = end <= start, begin >= start + duration
        np.maximum.at(idle_since, which[before], end[before])
        np.minimum.at(wanted, which[after], begin[after])
        good = np.flatnonzero(~blocked)
        if start <= now and (free := good[self._free[good]]).size >= procs:
            good = free  # without those of a job that has outlived its estimate
        taken = good[np.lexsort((wanted[good], -idle_since[good]))[:procs]]
        begin = just_before(start) if strictly else start
        self._promised[job] = _Hold(begin, start + duration, taken)
        return start

    def release(self, job: JobView | None) -> None:
        """Cancel the reservation of one job, or of all jobs."""
        if job is None:
            self._promised.clear()
        else:
            self._promised.pop(job, None)

    @property
    def _free(self) -> NDArray[np.bool_]:
        """Return which processors are up and run nothing."""
        return ~self._busy & (self._down == 0)

    def _wanted(self, job: JobView | None, now: float) -> NDArray[np.float64]:
        """Return the first claim of an outage or another job on each processor, shape (procs,)."""
        wanted = np.full(self.procs, inf)
        for shutdown in self._announced:
            if shutdown.start >= now:
                wanted[shutdown.processors] = np.minimum(
                    wanted[shutdown.processors], shutdown.start
                )
        for other, hold in self._promised.items():
            if other is not job:
                wanted[hold.processors] = np.minimum(wanted[hold.processors], hold.begin)
        return wanted

    def _plans(self, now: float) -> tuple[NDArray[np.int64], NDArray, NDArray]:
        """Return when processors are unavailable: processor, begin and end, by processor.

        A running job that has outlived its estimate counts as ending now.
        """
        plans = [
            (hold.processors, -inf, counted_end(hold.end, now)) for hold in self._running.values()
        ]
        plans += [(hold.processors, hold.begin, hold.end) for hold in self._promised.values()]
        plans += [(down.processors, down.start, down.end) for down in self._announced]
        plans += [(down.processors, -inf, inf) for down in self._surprises]
        if not plans:
            return np.empty(0, np.int64), np.empty(0), np.empty(0)
        which = np.concatenate([processors for processors, _, _ in plans])
        length = [processors.size for processors, _, _ in plans]
        begin = np.repeat(np.array([begin for _, begin, _ in plans], dtype=float), length)
        end = np.repeat(np.array([end for _, _, end in plans], dtype=float), length)
        order = np.argsort(which, kind="stable")
        return which[order], begin[order], end[order]

    def _slot(
        self,
        which: NDArray[np.int64],
        begin: NDArray,
        end: NDArray,
        procs: int,
        duration: Any,
        now: float,
    ) -> Any:
        """Return the start of the earliest slot of this size: now or at a planned end."""
        if not which.size:
            return now
        first = np.flatnonzero(np.diff(which, prepend=-1))  # of each processor
        starts = np.concatenate([[float(now)], distinct(end[(end > now) & (end < inf)])])
        for i in range(0, starts.size, _AT_A_TIME):
            some = starts[i : i + _AT_A_TIME, np.newaxis]
            in_the_way = (begin < some + duration) & (end > some)
            taken = np.logical_or.reduceat(in_the_way, first, axis=1).sum(axis=1)
            room = np.flatnonzero(self.procs - taken >= procs)
            if room.size:
                return starts[i + room[0]].item()
        return inf
