"""The schedule that the log tells of."""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any, ClassVar

from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.policy import Outcome
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Recorded:
    """Each job starts its recorded wait after its submission; an unknown wait counts as 0.

    Estimates, the size of the machine and its outages play no part, and nothing is killed: real
    logs hold more than the machine at times, by gang scheduling or by the errors of their clocks.
    It is what the log's own scheduler did, to compare others with.
    """

    name: ClassVar[str] = "recorded"

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return RecordedScheduler()

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine: there is nothing to decide."""
        if workload.users is None:
            return Outcome(workload.submit + workload.wait)
        from workloadkit._kernels.recorded import schedule_as_recorded
        from workloadkit._kernels.state import Jobs

        jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
        by_event = rules.passes == "event"
        return Outcome(schedule_as_recorded(jobs, workload.wait, workload.users, by_event))


class RecordedScheduler(Scheduler):
    """The schedule that the log tells of, in plain Python."""

    overcommits = True

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[Any, int, JobView]] = []  # a heap: start, serial, job
        self._serial = count()

    def job_arrives(self, job: JobView) -> None:
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
