"""The recorded schedule of a log, in plain Python."""

from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any

from workloadkit.simulation.engine import JobView, Scheduler


class RecordedScheduler(Scheduler):
    """The recorded schedule of a log, in plain Python."""

    overcommits = True

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[Any, int, JobView]] = []  # a heap: start, serial, job
        self._serial = count()

    def job_arrives(self, job: JobView) -> None:
        """Record the start of a job."""
        heappush(self._due, (job.submit + job.recorded_wait, next(self._serial), job))
        self.sleep(job.recorded_wait)

    def job_leaves(self, job: JobView) -> None:
        """Remove a cancelled job."""
        self._due.remove(next(due for due in self._due if due[2] is job))
        heapify(self._due)
        super().job_leaves(job)

    def allocate(self) -> None:
        """Start the jobs that are due."""
        while self._due and self._due[0][0] <= self.now:
            self.start(heappop(self._due)[2])

    @property
    def queue_length(self) -> int:
        """Number of waiting jobs."""
        return len(self._due)
