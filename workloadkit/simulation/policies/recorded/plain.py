"""The schedule that the log contains, in plain Python."""

from heapq import heappop, heappush
from itertools import count
from typing import Any

from workloadkit.simulation.engine import Job, Scheduler


class RecordedScheduler(Scheduler):
    """The schedule that the log tells of, in plain Python."""

    overcommits = True

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[Any, int, Job]] = []  # a heap: start, serial, job
        self._serial = count()

    def job_arrives(self, job: Job) -> None:
        """Take note of when the job is to start."""
        heappush(self._due, (job.submit + job.recorded_wait, next(self._serial), job))
        self.sleep(job.recorded_wait)

    def allocate(self) -> None:
        """Start the jobs whose time has come."""
        while self._due and self._due[0][0] <= self.now:
            self.start(heappop(self._due)[2])

    @property
    def queue_length(self) -> int:
        """Number of waiting jobs."""
        return len(self._due)
