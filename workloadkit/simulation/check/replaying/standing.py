"""The jobs of a schedule at an instant, and the planned processors, in plain Python."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

# Planned free processors from now on, in plain Python: levels that each hold until the next.


class Rounding:
    """Comparisons of times that may have been rounded.

    Parameters
    ----------
    tie : int or float
        Times that are no further apart may be one; 0 for whole seconds. [s]

    Attributes
    ----------
    decides : bool
        Whether only rounding decided one of the comparisons.
    """

    def __init__(self, tie: Any) -> None:
        self.tie, self.decides = tie, False

    def is_before(self, time: float, other: Any) -> bool:
        """Whether a time is before another one by more than rounding."""
        self.compare(time, other)
        return bool(time + self.tie < other)

    def compare(self, time: float, other: Any) -> None:
        """Record that two times may be one."""
        self.decides |= 0 < self.tie >= abs(time - other)


class ReplayedPlan:
    """When how many processors are free.

    Parameters
    ----------
    now : int or float
        [s]
    free : int
        Processors that are free now.
    ends : iterable of (time, int)
        Planned ends of the running jobs, ascending, and their processors; those that have passed
        count as now.
    rounding : Rounding
    """

    def __init__(
        self, now: float, free: int, ends: Iterable[tuple[Any, int]], rounding: Rounding
    ) -> None:
        self.times, self.levels, self.rounding = [now], [free], rounding
        for end, procs in ends:
            if end > self.times[-1]:
                self.times.append(end)
                self.levels.append(self.levels[-1])
            self.levels[-1] += procs

    def copy(self) -> "ReplayedPlan":
        """Return a copy."""
        copy = ReplayedPlan(self.times[0], 0, (), self.rounding)
        copy.times, copy.levels = self.times.copy(), self.levels.copy()
        return copy

    def earliest(self, duration: Any, procs: int) -> Any:
        """Return the first time from which processors are free that long; `inf` for never."""
        begin = self.times[0]
        for level, end in zip(self.levels, [*self.times[1:], inf], strict=True):
            if level < procs:
                begin = end
            elif not self.rounding.is_before(end, begin + duration):
                return begin
        return inf

    def fits(self, end: float, procs: int) -> bool:
        """Whether processors are free from now until a time; for 0 s they always are."""
        if end <= self.times[0]:
            return True
        for time, level in zip(self.times, self.levels, strict=True):
            if time != self.times[0] and not self.rounding.is_before(time, end):
                return True
            if level < procs:
                return False
        return True

    def take(self, begin: float, end: float, procs: int) -> None:
        """Take processors from a time, or from now if that is later; negative: return them."""
        if begin < inf:
            first, last = self._step(max(begin, self.times[0])), self._step(end)
            for step in range(first, last):
                self.levels[step] -= procs

    def take_at(self, time: float, procs: int) -> None:
        """Take processors of jobs that run at a time, or at now if that is later."""
        if time < inf:
            self.levels[self._step(max(time, self.times[0]))] -= procs

    def level(self, time: float) -> int:
        """Return the processors that are free at a time."""
        return self.levels[self._step(time)] if time < inf else self.levels[-1]

    def _step(self, time: float) -> int:
        """Return the step that begins at a time; add it if necessary."""
        times, step = self.times, bisect_left(self.times, time)
        for near in times[max(step - 1, 0) : step + 1]:
            self.rounding.compare(near, time)
        if step == len(times) or times[step] != time:
            times.insert(step, time)
            self.levels.insert(step, self.levels[step - 1])
        return step


@dataclass(slots=True, eq=False)
class ReplayedJob:
    """A job of a schedule; times in seconds.

    Parameters
    ----------
    place : int
        In the order of arrival.
    number, user, queue, group, partition, tier, procs : int
    submit, start, end, run : int or float
        As the schedule has them; of a job that outages stop, those of its present run.
    limit, prediction, estimate : int or float
        The limit, what the job was planned with at its arrival, and what it is planned with now.
    leaves : int or float
        When the job leaves the queue, if it was cancelled while it waited, unless it starts
        before. Infinite for others.
    serial : int
        In the order of the starts; -1 before.
    """

    place: int
    number: int
    user: int
    queue: int
    group: int
    partition: int
    tier: int
    procs: int
    submit: Any
    start: Any
    end: Any
    run: Any
    limit: Any
    prediction: Any
    estimate: Any
    leaves: Any = inf
    serial: int = -1

    @property
    def planned_end(self) -> Any:
        """The end of a running job by its estimate."""
        return self.start + self.estimate


@dataclass(eq=False)
class Standing:
    """The state of a schedule at an instant.

    Parameters
    ----------
    machine : int
        All processors.
    rounding : Rounding
    free : int
        Processors that work and are free.
    first, now : int or float
        The first submission, and the present. [s]
    waiting : list of ReplayedJob
        In the order of arrival.
    running : list of ReplayedJob
        In the order of the starts.
    """

    machine: int
    rounding: Rounding
    free: int
    first: Any
    now: float = 0
    waiting: list[ReplayedJob] = field(default_factory=list)
    running: list[ReplayedJob] = field(default_factory=list)

    @property
    def is_overdue(self) -> bool:
        """Whether a running job has outlived its estimate."""
        is_before = self.rounding.is_before
        return any(is_before(job.planned_end, self.now) for job in self.running)

    def plan(self) -> ReplayedPlan:
        """Return the processors that the running jobs leave free, by their estimates."""
        ends = sorted((job.planned_end, job.procs) for job in self.running)
        return ReplayedPlan(self.now, self.free, ends, self.rounding)
