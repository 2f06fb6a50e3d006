"""Backfilling with lookahead, in plain Python."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from workloadkit.simulation.engine import JobView
from workloadkit.simulation.policies.easy.plain import OrderedScheduler


class LookaheadScheduler(OrderedScheduler):
    """Backfilling with lookahead, in plain Python.

    Parameters
    ----------
    depth : int
        Number of jobs that are considered.
    """

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth

    def allocate(self) -> None:
        """Start jobs in order while they fit, then the set that fills the machine best."""
        self.release()
        waiting = self.queue.copy()
        while waiting and self.fits(waiting[0]):
            self.start(waiting.pop(0))
        if not waiting or self.free <= 0:
            return
        room = self.reserve_for(waiting[0])
        rooms = ((job, room(self.now + job.estimate)) for job in waiting[1:])
        candidates = list(islice((pair for pair in rooms if pair[0].procs <= pair[1]), self.depth))
        for job in best_set(candidates):
            self.start(job)

    def reserve_for(self, head: JobView) -> Callable[[Any], int]:
        """Make the reservation; return how many processors jobs may use that end at some time."""
        if self.outages_ahead:
            self.reserve(head)
            return self.room_until
        shadow, level = self.reservation(head)
        spare = min(max(level.free, 0), self.free)
        return lambda end: self.free if end <= shadow else spare


def best_set(candidates: Sequence[tuple[JobView, int]]) -> list[JobView]:
    """Return the set of jobs with the most processors; of equal ones, that with the earliest jobs.

    Parameters
    ----------
    candidates : sequence of (JobView, int)
        Each with the processors that it may use together with all others that end no sooner.
    """
    by_room = sorted(range(len(candidates)), key=lambda place: candidates[place][1])
    chosen: list[int] = []

    def most(undecided: int) -> int:
        """Return the most processors of the chosen jobs and some of those from a place on."""
        reached = 1  # bit n: n processors can be used
        for place in by_room:
            job, room = candidates[place]
            more = reached << job.procs & (2 << room) - 1
            if place in chosen:
                reached = more
            elif place >= undecided:
                reached |= more
        return reached.bit_length() - 1

    best = left = most(0)
    for place, (job, _) in enumerate(candidates):
        if left == 0:
            break
        chosen.append(place)
        if most(place + 1) == best:
            left -= job.procs
        else:
            chosen.pop()
    return [candidates[place][0] for place in chosen]
