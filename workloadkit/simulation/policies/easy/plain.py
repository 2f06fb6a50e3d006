"""Backfilling in any order, in plain Python."""

from collections.abc import Callable
from math import inf
from typing import Any

from workloadkit.simulation.engine import Job, Scheduler
from workloadkit.simulation.orders import SETTLED, Seen
from workloadkit.simulation.policies.profile import plan_running


class OrderedScheduler(Scheduler):
    """Backfilling in any order, in plain Python; `in_order` and `to_backfill` may be overridden.

    Parameters
    ----------
    key : callable, optional
        What the queue is ordered by, from what is `Seen` of a job as it arrives; smallest first,
        ties by arrival; by default the order of arrival.
    backfill : str
        Order of backfilling, as in `Ordered`.
    reservations : int
        Waiting jobs that are promised a start.
    """

    def __init__(
        self,
        key: Callable[[Seen], Any] | None = None,
        backfill: str = "same",
        reservations: int = 1,
    ) -> None:
        super().__init__()
        self.key, self.backfill, self.reservations = key, backfill, reservations
        self.keys: dict[Job, tuple[Any, Any]] = {}  # of the queue and of backfilling

    def job_arrives(self, job: Job) -> None:
        """Give a job its places in the orders."""
        super().job_arrives(job)
        seen = Seen(job.submit, job.estimate, job.procs, job.user, job.queue, self._at.first)
        key = self.key(seen) if self.key else 0
        backfills = self.backfill not in ("same", "none")
        self.keys[job] = key, SETTLED[self.backfill](seen, ()) if backfills else key

    def in_order(self) -> list[Job]:
        """Return the waiting jobs in the order of the queue, as it is at the start of a pass."""
        return sorted(self.queue, key=lambda job: self.keys[job][0]) if self.key else [*self.queue]

    def to_backfill(self, jobs: list[Job]) -> list[Job]:
        """Return waiting jobs, given in the order of the queue, in the order of backfilling."""
        if self.backfill == "same":
            return jobs
        if self.backfill == "none":
            return []
        among = set(jobs)
        waiting = [job for job in self.queue if job in among]  # by arrival, which breaks the ties
        return sorted(waiting, key=lambda job: self.keys[job][1])

    def allocate(self) -> None:
        """Start jobs in order while they fit, make the reservations, then backfill."""
        self.release()
        waiting = self.in_order()
        while waiting and self.fits(waiting[0]):
            self.start(waiting.pop(0))
        if not waiting or self.free <= 0 or self.backfill == "none":
            return
        if self.outages_ahead:
            self.backfill_around_outages(waiting)
            return
        if self.reservations > 1:
            self.backfill_around(waiting)
            return
        shadow, spare = self.reservation(waiting[0])
        for job in self.to_backfill(waiting[1:]):
            ends_in_time = self.now + job.estimate <= shadow
            if job.procs <= self.free and (ends_in_time or job.procs <= spare):
                if not ends_in_time:
                    spare -= job.procs
                self.start(job)

    def backfill_around(self, waiting: list[Job]) -> None:
        """Make the reservations, in the order of the queue, then backfill, around them all.

        A job whose time is now starts if it fits; processors of a job that has outlived its
        estimate are planned with, but not free.
        """
        profile = plan_running(self)
        n_reserved = 0
        while waiting and n_reserved < self.reservations:
            job = waiting.pop(0)
            begin = profile.earliest(job.procs, job.estimate)
            profile.take(begin, begin + job.estimate, job.procs)
            if begin == self.now and job.procs <= self.free:
                self.start(job)
            else:
                n_reserved += 1
        for job in self.to_backfill(waiting):
            end = self.now + job.estimate
            if job.procs <= min(self.free, profile.least(self.now, end)):
                profile.take(self.now, end, job.procs)
                self.start(job)

    def backfill_around_outages(self, waiting: list[Job]) -> None:
        """Do the same where outages are ahead: reservations are of certain processors then."""
        n_reserved = 0
        while waiting and n_reserved < self.reservations:
            job = waiting.pop(0)
            if self.fits(job):
                self.start(job)
            else:
                self.reserve(job)
                n_reserved += 1
        for job in self.to_backfill(waiting):
            if self.fits(job):
                self.start(job)

    def reservation(self, head: Job) -> tuple[Any, int]:
        """Return the shadow time of `head` and the processors it will then leave free.

        A running job that has outlived its estimate counts as ending at this very second.
        """
        planned = sorted(
            (max(job.start + job.estimate, self.now), job.procs) for job in self.running
        )
        free = self.free
        shadow = None
        for end, procs in planned:
            if shadow is not None and end > shadow:
                break
            free += procs
            if shadow is None and free >= head.procs:
                shadow = end
        if shadow is None:  # too many processors are down for it
            return inf, 0
        return shadow, free - head.procs
