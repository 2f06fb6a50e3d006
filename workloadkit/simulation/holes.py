"""Holes in what is planned, and whether a schedule respects those that are reserved."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class Passes(NamedTuple):
    """What was seen of the passes of a schedule.

    Parameters
    ----------
    seen, unseen : int
        Passes with jobs that waited, be it to start in it; and instants of several such passes, of
        which a schedule does not tell which of them started what.
    idle : list of (job, now)
        Jobs of those with a reservation that wait though their holes begin now.
    in_the_way : list of (job, now)
        Jobs that start where there is no slot for them next to what is reserved.
    """

    seen: int
    unseen: int
    idle: list[tuple[int, int]]
    in_the_way: list[tuple[int, int]]


def look_at_passes(
    submit: Sequence[int],
    start: Sequence[int],
    end: Sequence[int],
    planned_end: Sequence[int],
    procs: Sequence[int],
    *,
    machine: int,
    depth: int,
    by_event: bool,
) -> Passes:
    """Make the reservations of each pass again, from what runs then, and look at what it starts.

    In the order of arrival the waiting jobs take the earliest holes; those that wait on keep them,
    until there are `depth` of these. What starts from among and behind them needs a hole now.

    Parameters
    ----------
    submit, start, end, planned_end : sequence of int, shape (n_jobs,)
        Of jobs in the order of arrival, none of them overdue. [s]
    procs : sequence of int, shape (n_jobs,)
        Processors that each job needs.
    machine : int
        Processors of the machine.
    depth : int
        Reservations.
    by_event : bool
        Whether there is a pass after each event.

    Examples
    --------
    >>> times = {"submit": [0, 1, 2], "start": [0, 13, 2], "end": [10, 23, 13]}
    >>> found = look_at_passes(
    ...     **times, planned_end=[10, 23, 13], procs=[3, 4, 1], machine=4, depth=1, by_event=False
    ... )
    >>> found.in_the_way  # of job 1, which is promised 10
    [(2, 2)]
    """
    arriving, starting, ending = by_time(submit), by_time(start), by_time(end)
    times = sorted({*submit, *start, *end})
    profile = Profile(times[0], machine)
    waiting: list[int] = []  # in the order of arrival
    seen = unseen = 0
    idle: list[tuple[int, int]] = []
    in_the_way: list[tuple[int, int]] = []

    def look(now: int) -> None:
        plan, n_reserved = profile.copy(), 0
        for job in waiting:
            duration = planned_end[job] - start[job]
            if start[job] == now:
                if plan.least(now + duration) < procs[job]:
                    in_the_way.append((job, now))
                plan.take(now, now + duration, procs[job])
            elif n_reserved < depth:
                n_reserved += 1
                if plan.reserve(duration, procs[job]) == now:
                    idle.append((job, now))

    for now in times:
        profile.forget(now)
        ended, arrived, started = (jobs.get(now, []) for jobs in (ending, arriving, starting))
        for job in ended:
            if start[job] < now:
                profile.take(now, planned_end[job], -procs[job])
        waiting += [job for job in arrived if start[job] >= now]
        if waiting:
            several = by_event and len(ended) + len(arrived) > 1
            if several or any(end[job] == now for job in started):
                unseen += 1
            else:
                seen += 1
                if started or profile.free[0] > 0:  # else no hole begins now
                    look(now)
        for job in started:
            if submit[job] <= now:
                waiting.remove(job)
            if end[job] > now:
                profile.take(now, planned_end[job], procs[job])
    return Passes(seen, unseen, idle, in_the_way)


def by_time(times: Sequence[int]) -> dict[int, list[int]]:
    """Jobs of each instant, in order."""
    jobs: dict[int, list[int]] = {}
    for job, time in enumerate(times):
        jobs.setdefault(time, []).append(job)
    return jobs


class Profile:
    """Free processors from now on, as planned: a level that holds until the next step."""

    def __init__(self, now: int, machine: int) -> None:
        self.times, self.free = [now], [machine]

    def copy(self) -> "Profile":
        """Return another one, to be planned with."""
        other = Profile(self.times[0], self.free[0])
        other.times, other.free = list(self.times), list(self.free)
        return other

    def least(self, end: int) -> int:
        """Return the processors free all the time from now until `end`."""
        return min(self.free[: bisect_left(self.times, end)])

    def forget(self, now: int) -> None:
        """Let time pass."""
        last = bisect_right(self.times, now) - 1
        del self.times[:last], self.free[:last]
        self.times[0] = now

    def earlier(self, begin: int, duration: int, procs: int) -> int:
        """Return when the earliest hole begins for a job that has a reservation from `begin` on.

        What is free until then may go on in the job's own reservation.
        """
        if max(self.free[: bisect_left(self.times, begin)], default=0) < procs:
            return begin
        hole = self.times[0]
        for free, following in zip(self.free, self.times[1:], strict=False):
            if free < procs:
                hole = following
                if hole >= begin:
                    break
            elif following >= begin or following - hole >= duration:
                return hole
        return begin

    def reserve(self, duration: int, procs: int) -> int:
        """Take the earliest hole; return when it begins."""
        begin = self.times[0]
        for free, following in zip(self.free, self.times[1:], strict=False):  # free for ever, last
            if free < procs:
                begin = following
            elif following - begin >= duration:
                break
        self.take(begin, begin + duration, procs)
        return begin

    def take(self, begin: int, end: int, procs: int) -> None:
        """Take processors from `begin`, not before now, until `end`; negative: give them back."""
        if begin >= end:
            return
        first, last = self._step(begin), self._step(end)
        self.free[first:last] = [free - procs for free in self.free[first:last]]
        for step in (last, first):
            if step > 0 and self.free[step - 1] == self.free[step]:
                del self.times[step], self.free[step]

    def _step(self, time: int) -> int:
        """Return the step that begins at a time, made if need be."""
        step = bisect_left(self.times, time)
        if step == len(self.times) or self.times[step] != time:
            self.times.insert(step, time)
            self.free.insert(step, self.free[step - 1])
        return step
