"""Backfilling with lookahead, in plain Python."""

from itertools import islice
from math import inf

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

    def after(job: JobView, left: tuple[int, int]) -> tuple[int, int]:
        """Return the processors that are left after the start of a job; negative if it cannot."""
        return left[0] - job.procs, left[1] - job.procs * late[job]

    # what may be left before each job, and after the last one
    possible = [{(free, spare)}]
    for job in jobs:
        started = {after(job, left) for left in possible[-1]}
        possible.append(possible[-1] | {left for left in started if min(left) >= 0})
    # the most processors that the jobs from each one on can use, by what is left
    most: list[dict[tuple[int, int], float]] = [dict.fromkeys(possible[-1], 0)]
    for job, before in zip(reversed(jobs), reversed(possible[:-1]), strict=True):
        then = most[-1]
        most.append(
            {left: max(then[left], job.procs + then.get(after(job, left), -inf)) for left in before}
        )
    most.reverse()
    chosen, left = [], (free, spare)
    for job, then in zip(jobs, most[1:], strict=True):
        if job.procs + then.get(after(job, left), -inf) >= then[left]:
            chosen.append(job)
            left = after(job, left)
    return chosen
