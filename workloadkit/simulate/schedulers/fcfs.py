"""First come, first served."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import NDArray

from workloadkit.simulate.engine import Scheduler
from workloadkit.simulate.workload import Overrun, Workload


@dataclass(frozen=True)
class Fcfs:
    """Jobs start in the order of arrival; the first that does not fit holds up all others."""

    name: ClassVar[str] = "fcfs"

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return FcfsScheduler()

    def compiled(self, workload: Workload, machine: int, overrun: Overrun) -> NDArray:
        """Return the start of each job of `workload` by the compiled engine. [s]."""
        from workloadkit._kernels.easy import Jobs, schedule_in_order

        jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
        return schedule_in_order(jobs, machine, backfill=False, late=overrun == "late")


class FcfsScheduler(Scheduler):
    """First come, first served, in plain Python."""

    def allocate(self) -> None:
        """Start jobs from the head of the queue while they fit."""
        while self.queue and self.queue[0].procs <= self.free:
            self.start(self.queue[0])
