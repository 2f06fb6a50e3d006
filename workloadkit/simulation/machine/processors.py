"""A machine whose processors go down and come up: which are free, and which will be.

Processors have numbers, 0, 1, 2, … in here, where files count from 1. An outage that was announced
is known from that second on, with its end. Of one that was not, the scheduler learns as it happens,
and of its end as that happens.

A job is put on processors that stay up until its planned end. Among them it takes those that are
wanted soonest by something else (an announced outage, a reservation), and of these the lowest
numbers: what stays free is then free for as long as can be.
"""

from collections.abc import Hashable, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.io.outages import Outage, Outages

_AT_A_TIME = 32  # starts that a search for a hole looks at together


class Shutdown(NamedTuple):
    """An outage as a simulation plays it.

    Parameters
    ----------
    number : int
        Number of the outage.
    announced : int or None
        When it becomes known, None if not before it starts. [s]
    start, end : int or float
        When the processors go down and come up again; `inf` for never. [s]
    processors : ndarray of int64
        Which, from 0.
    """

    number: int
    announced: Any
    start: Any
    end: Any
    processors: NDArray[np.int64]


class Run(NamedTuple):
    """A job on its processors, from its start to its end or until it was interrupted.

    Parameters
    ----------
    job : int or None
        Job number.
    start, end : int or float
        [s]
    processors : tuple of int
        Their numbers, from 1.
    interrupted : bool
        Whether an outage stopped it.
    """

    job: int | None
    start: Any
    end: Any
    processors: tuple[int, ...]
    interrupted: bool


class _Hold(NamedTuple):
    """Processors for a while: of a running job, or of one that is promised a start."""

    begin: Any
    end: Any
    processors: NDArray[np.int64]


def settle(outages: Outages, size: int) -> list[Shutdown]:
    """Say which processors of a machine go down.

    Where the components are not known, outages take the processors of the machine in turn, in the
    order of their starts: each goes on behind the one before, round again after the last, and
    past those that other outages take in that time, as long as there are others. So they hit
    running jobs about as often as processors run any, and the same processors whatever the
    scheduler does.

    Parameters
    ----------
    outages : Outages
    size : int
        Processors of the machine.

    Returns
    -------
    list of Shutdown
        In the order of (start, number); outages of no processor are left out.

    Raises
    ------
    WorkloadError
        For an outage that starts nobody knows when, takes nobody knows how many processors, or
        takes some that the machine does not have.

    Examples
    --------
    >>> outages = Outages((Outage(1, 10, 30, 2), Outage(2, 20, 40, components=(3,)),
    ...                    Outage(3, 35, 50, 2)))
    >>> [shutdown.processors.tolist() for shutdown in settle(outages, 4)]
    [[0, 1], [2], [3, 0]]
    """
    order = sorted(outages, key=lambda outage: (outage.start, outage.number))
    shutdowns: list[Shutdown] = []
    for outage in order:
        _check(outage, size, outages.name)
        end = inf if outage.end == UNKNOWN else outage.end
        announced = outage.announced if outage.planned else None
        which = np.array(outage.components, dtype=np.int64) - 1
        shutdowns.append(Shutdown(outage.number, announced, outage.start, end, which))

    begin = np.array([shutdown.start for shutdown in shutdowns])
    until = np.array([max(shutdown.end, shutdown.start + 1) for shutdown in shutdowns])
    turn = 0
    for i, outage in enumerate(order):
        if outage.components or not outage.procs:
            continue
        taken = np.zeros(size, dtype=bool)
        for other in np.flatnonzero((begin < until[i]) & (begin[i] < until)):
            taken[shutdowns[other].processors] = True
        round_trip = (turn + np.arange(size)) % size
        free_first = round_trip[np.argsort(taken[round_trip], kind="stable")]
        which = free_first[: outage.procs]
        shutdowns[i] = shutdowns[i]._replace(processors=which)
        turn = (int(which[-1]) + 1) % size
    return [shutdown for shutdown in shutdowns if shutdown.processors.size]


def _check(outage: Outage, size: int, name: str) -> None:
    """Refuse an outage that cannot be simulated."""
    which = f"{name}: outage {outage.number}"
    if outage.start == UNKNOWN:
        raise WorkloadError(f"{which} starts at an unknown second")
    if outage.procs == UNKNOWN:
        raise WorkloadError(f"{which} takes an unknown number of processors")
    if max(outage.procs, *outage.components, 0) > size:
        what = f"{outage.procs} processors"
        if outage.procs <= size:
            what = f"processor {max(outage.components)}"
        raise WorkloadError(f"{which} takes {what} of a machine of {size}")


def what_stays_down(shutdowns: Sequence[Shutdown], size: int) -> str:
    """Name the outages that keep processors of a machine from jobs for ever, if any do."""
    endless = [shutdown for shutdown in shutdowns if shutdown.end == inf]
    if not endless:
        return ""
    n_down = np.unique(np.concatenate([shutdown.processors for shutdown in endless])).size
    numbers = ", ".join(str(shutdown.number) for shutdown in endless[:5])
    return f"; {size - n_down} of {size} processors are left, for outages without end: {numbers}"


class Machine:
    """Processors that run jobs, go down and come up.

    Parameters
    ----------
    size : int
        Processors.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._down = np.zeros(size, dtype=np.int64)  # outages that each is subject to
        self._busy = np.zeros(size, dtype=bool)
        self._running: dict[Hashable, _Hold] = {}
        self._promised: dict[Hashable, _Hold] = {}
        self._announced: list[Shutdown] = []  # known, and not over
        self._surprises: list[Shutdown] = []  # not announced, and not over

    @property
    def n_down(self) -> int:
        """Processors that are down."""
        return int(np.count_nonzero(self._down))

    def outages_ahead(self, now: Any) -> bool:
        """Whether something is known to change: an outage announced, or the end of one."""
        return any(shutdown.start >= now or shutdown.end < inf for shutdown in self._announced)

    def announce(self, shutdown: Shutdown) -> None:
        """Let an outage be known."""
        self._announced.append(shutdown)

    def go_down(self, shutdown: Shutdown) -> tuple[int, list[Any]]:
        """Begin an outage; return how many more are down, and the jobs that they ran."""
        which = shutdown.processors
        fresh = which[self._down[which] == 0]
        self._down[which] += 1
        if shutdown.announced is None:
            self._surprises.append(shutdown)
        if not self._busy[fresh].any():
            return fresh.size, []
        struck = np.zeros(self.size, dtype=bool)
        struck[fresh] = True
        hit = [job for job, hold in self._running.items() if struck[hold.processors].any()]
        return fresh.size, hit

    def come_up(self, shutdown: Shutdown) -> int:
        """End an outage; return how many processors work again."""
        which = shutdown.processors
        self._down[which] -= 1
        known = self._surprises if shutdown.announced is None else self._announced
        known[:] = [other for other in known if other is not shutdown]
        return int(np.count_nonzero(self._down[which] == 0))

    def stays_up(self, job: Hashable, procs: int, now: Any, end: Any) -> bool:
        """Whether of the free processors, which are enough, so many are left to it till its end."""
        if not self._announced and not self._promised:
            return True
        return int(np.count_nonzero(self._free & (self._wanted(job, now) >= end))) >= procs

    def start(self, job: Hashable, procs: int, now: Any, end: Any) -> None:
        """Give a job its processors; they must be free, but need not fit."""
        self._promised.pop(job, None)
        which = np.flatnonzero(self._free)
        wanted = self._wanted(job, now)[which]
        fitting = wanted >= end
        # those that do not fit come last, and of them first what is wanted latest
        order = np.lexsort((np.where(fitting, wanted, -wanted), ~fitting))
        which = which[order[:procs]]
        self._busy[which] = True
        self._running[job] = _Hold(now, end, which)

    def end(self, job: Hashable) -> tuple[int, ...]:
        """Take back the processors of a job; return their numbers, from 1."""
        which = self._running.pop(job).processors
        self._busy[which] = False
        return tuple((np.sort(which) + 1).tolist())

    def reserve(self, job: Hashable, procs: int, duration: Any, now: Any) -> Any:
        """Promise a job so many processors for so long from the earliest second on that can be.

        It takes those that would lie idle before for the shortest time; then as jobs that start.
        If enough are free now, it takes of these: then it can start.

        Returns
        -------
        int or float
            When; `inf` for never, and nothing is promised. [s]
        """
        self.release(job)
        which, begin, end = self._plans(now)
        start = self._hole(which, begin, end, procs, duration, now)
        if start == inf:
            return inf
        blocked = np.zeros(self.size, dtype=bool)
        blocked[which[(begin < start + duration) & (end > start)]] = True
        idle_since, wanted = np.full(self.size, -inf), np.full(self.size, inf)
        before, after = end <= start, begin >= start + duration
        np.maximum.at(idle_since, which[before], end[before])
        np.minimum.at(wanted, which[after], begin[after])
        good = np.flatnonzero(~blocked)
        if start <= now and (free := good[self._free[good]]).size >= procs:
            good = free  # and not those of a job that has outlived its estimate
        taken = good[np.lexsort((wanted[good], -idle_since[good]))[:procs]]
        self._promised[job] = _Hold(start, start + duration, taken)
        return start

    def release(self, job: Hashable | None) -> None:
        """Take back what was promised a job, if anything; or all jobs."""
        if job is None:
            self._promised.clear()
        else:
            self._promised.pop(job, None)

    @property
    def _free(self) -> NDArray[np.bool_]:
        """Which processors are up and run nothing."""
        return ~self._busy & (self._down == 0)

    def _wanted(self, job: Hashable, now: Any) -> NDArray[np.float64]:
        """From when on each processor is wanted by an outage or another job, shape (size,)."""
        wanted = np.full(self.size, inf)
        for shutdown in self._announced:
            if shutdown.start >= now:
                wanted[shutdown.processors] = np.minimum(
                    wanted[shutdown.processors], shutdown.start
                )
        for other, hold in self._promised.items():
            if other is not job:
                wanted[hold.processors] = np.minimum(wanted[hold.processors], hold.begin)
        return wanted

    def _plans(self, now: Any) -> tuple[NDArray[np.int64], NDArray, NDArray]:
        """When processors are not to be had: processor, begin and end, in order of processor.

        A running job that has outlived its estimate counts as ending at this very second.
        """
        plans = [(hold.processors, -inf, max(hold.end, now)) for hold in self._running.values()]
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

    def _hole(
        self,
        which: NDArray[np.int64],
        begin: NDArray,
        end: NDArray,
        procs: int,
        duration: Any,
        now: Any,
    ) -> Any:
        """Return from when on so many processors can be had for so long: now, or as plans end."""
        if not which.size:
            return now
        first = np.flatnonzero(np.diff(which, prepend=-1))  # of each processor
        starts = np.concatenate([[float(now)], np.unique(end[(end > now) & (end < inf)])])
        for i in range(0, starts.size, _AT_A_TIME):
            some = starts[i : i + _AT_A_TIME, np.newaxis]
            in_the_way = (begin < some + duration) & (end > some)
            taken = np.logical_or.reduceat(in_the_way, first, axis=1).sum(axis=1)
            room = np.flatnonzero(self.size - taken >= procs)
            if room.size:
                return starts[i + room[0]].item()
        return inf
