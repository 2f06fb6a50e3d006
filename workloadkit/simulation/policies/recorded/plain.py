"""The recorded schedule of a log, in plain Python."""

from heapq import heappop, heappush
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

    def allocate(self) -> None:
        """Start the jobs that are due."""
        while self._due and self._due[0][0] <= self.now:
            self.start(heappop(self._due)[2])

    @property
    def queue_length(self) -> int:
        """Number of waiting jobs."""
        return len(self._due)
