"""Backfilling with lookahead, in plain Python."""

from functools import cache
from itertools import islice

from workloadkit.simulation.engine import JobView
from workloadkit.simulation.policies.easy.plain import OrderedScheduler


class LookaheadScheduler(OrderedScheduler):
    """Backfilling with lookahead, in plain Python.

    Parameters
    ----------
    depth : int
        Number of jobs that are considered.
    """

    bears_outages = False

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth

    def allocate(self) -> None:
        """Start jobs in order while they fit, then the set that fills the machine best."""
        waiting = self.queue.copy()
        while waiting and self.fits(waiting[0]):
            self.start(waiting.pop(0))
        fitting = [job for job in waiting[1:] if self.fits(job)]
        if not fitting:
            return
        shadow, level = self.reservation(waiting[0])
        spare = level.free
        late = {job: self.now + job.estimate > shadow for job in fitting}
        may = (job for job in fitting if not late[job] or job.procs <= spare)
        candidates = list(islice(may, self.depth))
        for job in best_set(candidates, late, self.free, spare):
            self.start(job)


def best_set(
    jobs: list[JobView], late: dict[JobView, bool], free: int, spare: int
) -> list[JobView]:
    """Return the set of jobs with the most processors; the first one in their order.

    Parameters
    ----------
    jobs : list of JobView
    late : dict of JobView to bool
        Whether a job runs beyond the shadow time.
    free, spare : int
        Processors that all of them may use, and those that are late.
    """

    @cache
    def most(place: int, free: int, spare: int) -> int:
        """Return the most processors that the jobs from a place on can use."""
        if place == len(jobs):
            return 0
        return max(most(place + 1, free, spare), taken(place, free, spare))

    def taken(place: int, free: int, spare: int) -> int:
        """Return the most if the first of them starts; -1 if it cannot."""
        job = jobs[place]
        left = spare - job.procs * late[job]
        if job.procs > free or left < 0:
            return -1
        return job.procs + most(place + 1, free - job.procs, left)

    chosen = []
    for place, job in enumerate(jobs):
        if taken(place, free, spare) >= most(place + 1, free, spare):
            chosen.append(job)
            free, spare = free - job.procs, spare - job.procs * late[job]
    return chosen
