"""Selective backfilling, in plain Python."""

from typing import Any

from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.profile import plan_running


class SelectiveScheduler(Scheduler):
    """Selective backfilling, in plain Python.

    Parameters
    ----------
    threshold : float
        As in `Selective`.
    """

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = threshold

    def due(self, job: JobView) -> Any:
        """Return when a waiting job reaches the threshold."""
        return job.submit + (self.threshold - 1) * job.estimate

    def allocate(self) -> None:
        """Reserve for the jobs that are due, or start them, then backfill around them."""
        self.release()
        due = sorted((job for job in self.queue if self.due(job) <= self.now), key=self.due)
        reserved = set(due)
        others = [job for job in self.queue if job not in reserved]
        if self.outages_ahead:
            for job in due:
                if self.fits(job):
                    self.start(job)
                else:
                    self.reserve(job)
            for job in filter(self.fits, others):
                self.start(job)
            return
        profile = plan_running(self)
        for job in due:
            begin = profile.earliest(job)
            profile.take(begin, job)
            if begin == self.now and self.level.fits(job):
                self.start(job)
        for job in others:
            if self.level.fits(job) and profile.fits(self.now, job):
                profile.take(self.now, job)
                self.start(job)
