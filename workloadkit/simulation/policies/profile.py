"""Free processors over time, as far as a scheduler has planned."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import inf
from typing import Any

from workloadkit.simulation.engine import Scheduler


class Profile:
    """Free processors over time, from now on: a level that holds until the next step.

    Parameters
    ----------
    now : int or float
        Where it begins. [s]
    free : int
        Processors free now; negative while too many are down for those that run jobs.
    ends : iterable of (time, int)
        Processors that will come free, and when; what should have come free before now counts
        as free.

    Examples
    --------
    >>> profile = Profile(0, 2, [(10, 4), (20, 2)])
    >>> profile.earliest(5, 30)
    10
    >>> profile.take(10, 40, 5)
    >>> profile.steps()
    [(0, 2), (10, 1), (20, 3), (40, 8)]
    >>> profile.earliest(2, 10), profile.earliest(2, 11)
    (0, 20)
    """

    def __init__(self, now: Any, free: int, ends: Iterable[tuple[Any, int]] = ()) -> None:
        self._times, self._free = [now], [free]
        for end, procs in sorted(ends):
            if end > self._times[-1]:
                self._times.append(end)
                self._free.append(self._free[-1])
            self._free[-1] += procs

    def steps(self) -> list[tuple[Any, int]]:
        """Return when each step begins, and the processors free until the next one."""
        return list(zip(self._times, self._free, strict=True))

    def least(self, begin: Any, end: Any) -> int:
        """Return the processors free all the time from `begin` until `end`."""
        first = bisect_right(self._times, begin) - 1
        return min(self._free[first : bisect_left(self._times, end)])

    def earliest(self, procs: int, duration: Any) -> Any:
        """Return from when on so many processors are free for so long; `inf` for never."""
        begin = self._times[0]
        for free, end in zip(self._free, [*self._times[1:], inf], strict=True):
            if free < procs:
                begin = end
            elif end >= begin + duration:
                return begin
        return inf

    def take(self, begin: Any, end: Any, procs: int) -> None:
        """Take processors from `begin`, which is not before now, until `end`."""
        if not begin < end:  # from never to never
            return
        first, last = self._step(begin), self._step(end)
        for step in range(first, last):
            self._free[step] -= procs
        for step in (last, first):
            if step > 0 and self._free[step - 1] == self._free[step]:
                del self._times[step], self._free[step]

    def release(self, begin: Any, end: Any, procs: int) -> None:
        """Give back processors that were taken."""
        self.take(begin, end, -procs)

    def _step(self, time: Any) -> int:
        """Return the step that begins at `time`, made if need be."""
        step = bisect_left(self._times, time)
        if step == len(self._times) or self._times[step] != time:
            self._times.insert(step, time)
            self._free.insert(step, self._free[step - 1])
        return step


def plan_running(scheduler: Scheduler) -> Profile:
    """Return what the running jobs leave free, by their estimates.

    A job that has reached its estimate, or outlived it, counts as ending at this very second.
    """
    ends = [(job.start + job.estimate, job.procs) for job in scheduler.running]
    return Profile(scheduler.now, scheduler.free, ends)
