"""The planned free resources of a machine over time, in plain Python."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import inf
from typing import Any

from workloadkit.simulation.engine import JobView, Scheduler


class Profile:
    """Free resources over time, from now on: a level that holds until the next step.

    Parameters
    ----------
    now : int or float
        Where it begins. [s]
    level : level
        Free resources now, see `workloadkit.simulation.machine.plain`; processors may be negative
        while too many of those in use are down. The level is copied.
    ends : iterable of (time, int, job)
        Jobs that release their places, and when, in this order; places with a planned end before
        now count as free.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from workloadkit.simulation.machine.plain import Pool
    >>> class Wish(NamedTuple):
    ...     procs: int
    ...     estimate: int
    >>> profile = Profile(0, Pool(2), [(10, 1, Wish(4, 10)), (20, 2, Wish(2, 20))])
    >>> job = Wish(5, 30)
    >>> profile.earliest(job)
    10
    >>> profile.take(10, job)
    >>> [(time, level.free) for time, level in profile.steps()]
    [(0, 2), (10, 1), (20, 3), (40, 8)]
    >>> profile.earliest(Wish(2, 10)), profile.earliest(Wish(2, 11))
    (0, 20)
    """

    def __init__(self, now: float, level: Any, ends: Iterable[tuple[Any, int, Any]] = ()) -> None:
        self._times, self._levels = [now], [level.copy()]
        for end, _, job in ends:
            if end > self._times[-1]:
                self._times.append(end)
                self._levels.append(self._levels[-1].copy())
            self._levels[-1].give_back(job)

    def steps(self) -> list[tuple[Any, Any]]:
        """Return when each step begins, and the level until the next one."""
        return list(zip(self._times, self._levels, strict=True))

    def fits(self, begin: float, job: JobView) -> bool:
        """Whether there is room for a job from `begin` on, for its whole estimate."""
        first = bisect_right(self._times, begin) - 1
        last = bisect_left(self._times, begin + job.estimate)
        return all(level.fits(job) for level in self._levels[first:last])

    def earliest(self, job: JobView) -> Any:
        """Return the first time with room for a job, for its whole estimate; `inf` for never."""
        begin, duration = self._times[0], job.estimate
        for level, end in zip(self._levels, [*self._times[1:], inf], strict=True):
            if not level.fits(job):
                begin = end
            elif end >= begin + duration:
                return begin
        return inf

    def take(self, begin: float, job: JobView) -> None:
        """Take the room of a job from `begin`, which is not before now, for its estimate."""
        self._change(begin, job, "take")

    def release(self, begin: float, job: JobView) -> None:
        """Release the room of a job."""
        self._change(begin, job, "give_back")

    def _change(self, begin: float, job: JobView, how: str) -> None:
        end = begin + job.estimate
        if not begin < end:  # from never to never
            return
        first, last = self._step(begin), self._step(end)
        for level in self._levels[first:last]:
            getattr(level, how)(job)
        for step in (last, first):
            if step > 0 and self._levels[step - 1] == self._levels[step]:
                del self._times[step], self._levels[step]

    def _step(self, time: float) -> int:
        """Return the step that begins at `time`; add it if necessary."""
        step = bisect_left(self._times, time)
        if step == len(self._times) or self._times[step] != time:
            self._times.insert(step, time)
            self._levels.insert(step, self._levels[step - 1].copy())
        return step


def plan_running(scheduler: Scheduler) -> Profile:
    """Return the resources that the running jobs leave free, by their estimates.

    A job that has reached or outlived its estimate counts as ending now.
    """
    return Profile(scheduler.now, scheduler.level, scheduler.planned_ends)
