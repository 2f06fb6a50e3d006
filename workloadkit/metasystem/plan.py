"""Predicted starts at a site, from what it publishes.

A prediction supposes that all jobs run for their estimates, and that no job arrives but those that
the meta-scheduler has sent itself. `SitePlan` and `QueueByKey` know the order of the queue;
`workloadkit.metasystem.rehearsal` lets the scheduler of the site itself decide.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np

from workloadkit.fields import UNKNOWN
from workloadkit.metasystem.kernels.slots import (
    Line,
    earliest_slot,
    free_from,
    start_by_key,
    start_plan,
    take_slot,
)
from workloadkit.simulation.orders import VisibleJob
from workloadkit.simulation.rules import counted_end


class Coming(NamedTuple):
    """A job that arrives at a site.

    Parameters
    ----------
    arrival : int or float
        [s]
    number, place : int
        Its number, and its place among all meta jobs.
    user, group, procs : int
    estimate : int or float
        On this site. [s]
    """

    arrival: Any
    number: int
    place: int
    user: int
    group: int
    procs: int
    estimate: Any


class Forecast(Protocol):
    """What predicts starts."""

    def start(self, coming: Sequence[Coming], which: int) -> Any:
        """Return the start of one of the jobs that arrive, given in the order of arrival. [s]."""


class SitePlan:
    """Planned free processors of a site.

    Parameters
    ----------
    now : int or float
        Where it begins. [s]
    free : int
        Free processors now.
    running : iterable of (time, int)
        Planned end and processors of the running jobs; an end before now counts as now. [s]
    waiting : iterable of (int, time, time or None)
        Processors, estimates and reserved starts of the waiting jobs, in the order of arrival.
        Without a reserved start, a job takes the earliest slot that the previous ones leave. [s]
    in_order : bool
        Whether no job starts before one that arrived earlier.
    accepted : iterable of (time, time, int)
        Begin, duration and processors of accepted reservations. [s]

    Examples
    --------
    >>> plan = SitePlan(0, 2, running=[(10, 2)], waiting=[(4, 5, None), (2, 10, None)])
    >>> plan.steps()
    [(0, 0), (10, 0), (15, 4)]
    >>> plan.earliest(1, 5), plan.earliest(1, 5, after=20)
    (15, 20)
    """

    _arrays: tuple[Any, ...]  # as in `slots`

    def __init__(
        self,
        now: float,
        free: int,
        running: Iterable[tuple[Any, int]] = (),
        waiting: Iterable[tuple[int, Any, Any]] = (),
        *,
        in_order: bool = False,
        accepted: Iterable[tuple[Any, Any, int]] = (),
    ) -> None:
        running, waiting = list(running), list(waiting)
        self._make_room(2 * (len(running) + len(waiting)) + 2, np.asarray(now).dtype)
        start_plan(*self._arrays, now, free)
        for end, procs in running:
            free_from(*self._arrays, counted_end(end, now), procs)
        for begin, duration, procs in accepted:
            self.take(begin, procs, duration)
        self._in_order, self._last = in_order, now  # the planned start of the last job
        for procs, estimate, reserved in waiting:
            begin = self._next(procs, estimate, now) if reserved is None else max(reserved, now)
            self.take(begin, procs, estimate)
            self._last = begin
        self._published = self._arrays, self._last
        self._taken: list[Coming] = []

    def _next(self, procs: int, estimate: float, after: Any) -> Any:
        """Return the start of a job that arrives behind all others."""
        return self.earliest(procs, estimate, max(after, self._last) if self._in_order else after)

    def start(self, coming: Sequence[Coming], which: int) -> Any:
        """Return the start of one of the jobs that arrive: its slot behind those before it."""
        if coming[: len(self._taken)] != self._taken or len(self._taken) > which:
            arrays, self._last = self._published
            self._arrays, self._taken = tuple(values.copy() for values in arrays), []
        elif not self._taken:
            self._arrays = tuple(values.copy() for values in self._arrays)
        for job in coming[len(self._taken) : which]:
            self._last = self._next(job.procs, job.estimate, job.arrival)
            self.take(self._last, job.procs, job.estimate)
            self._taken.append(job)
        job = coming[which]
        return self._next(job.procs, job.estimate, job.arrival)

    def _make_room(self, size: int, dtype: np.dtype) -> None:
        self._arrays = (
            np.empty(size, dtype),
            np.empty(size, np.int64),
            np.zeros(1, np.int64),
        )

    def earliest(self, procs: int, estimate: float, after: Any = None) -> Any:
        """Return the first time, at or after a given one, with a slot for a job. [s]."""
        time = self._arrays[0]
        after = time[0] if after is None else after
        return time.dtype.type(earliest_slot(*self._arrays, procs, estimate, after)).item()

    def room(self, begin: float, duration: Any) -> int:
        """Return the fewest free processors from a time on, for a duration."""
        steps = self.steps()
        ends = [*(time for time, _ in steps[1:]), inf]
        inside = (
            level
            for (time, level), end in zip(steps, ends, strict=True)
            if end > begin and time < begin + duration
        )
        return min(inside)

    def take(self, begin: float, procs: int, estimate: float) -> None:
        """Take the slot of a job."""
        n_steps = int(self._arrays[2][0])
        if n_steps + 2 > self._arrays[0].size:
            old = self._arrays
            self._make_room(2 * n_steps + 2, old[0].dtype)
            for new, values in zip(self._arrays, old, strict=True):
                new[: min(n_steps, values.size)] = values[:n_steps]
        take_slot(*self._arrays, begin, estimate, procs)

    def steps(self) -> list[tuple[Any, int]]:
        """Return when each step begins, and the free processors until the next one."""
        time, level, count = self._arrays
        n_steps = int(count[0])
        return list(zip(time[:n_steps].tolist(), level[:n_steps].tolist(), strict=True))


class QueueByKey:
    """A queue in the order of a key.

    Parameters
    ----------
    plan : SitePlan
        Without the waiting jobs.
    waiting : sequence of VisibleJob
        In the order of arrival.
    key : callable
        The smallest comes first.
    first : int or float, optional
        First arrival of all. [s]
    overtakes : bool
        Whether jobs overtake others that come first.
    """

    def __init__(
        self,
        plan: SitePlan,
        waiting: Sequence[VisibleJob],
        key: Callable[[VisibleJob], float],
        first: Any,
        overtakes: bool,
    ) -> None:
        self._plan, self._waiting, self._key = plan, waiting, key
        self._first, self._overtakes = first, overtakes

    def start(self, coming: Sequence[Coming], which: int) -> Any:
        """Return the start of one of the jobs that arrive."""
        first = coming[0].arrival if self._first is None else self._first
        line = [
            *self._waiting,
            *(VisibleJob(x.arrival, x.estimate, x.procs, x.user, UNKNOWN, first) for x in coming),
        ]
        time, level, count = self._plan._arrays
        room = np.empty(2 * len(line), time.dtype), np.empty(2 * len(line), np.int64)
        plan = np.append(time, room[0]), np.append(level, room[1]), count.copy()
        jobs = Line(
            np.array([self._key(job) for job in line]),
            np.array([job.submit for job in line], time.dtype),
            np.array([job.procs for job in line], np.int64),
            np.array([job.estimate for job in line], time.dtype),
            np.empty(len(line), np.bool_),
        )
        begin = start_by_key(*plan, jobs, len(line), len(self._waiting) + which, self._overtakes)
        return time.dtype.type(begin).item()
