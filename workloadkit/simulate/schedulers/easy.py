"""EASY backfilling: one reservation, for the job at the head of the queue."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from numpy.typing import NDArray

from workloadkit.simulate.engine import Job
from workloadkit.simulate.schedulers.fcfs import FcfsScheduler
from workloadkit.simulate.workload import Overrun, Workload


@dataclass(frozen=True)
class Easy:
    """EASY: jobs may overtake the head of the queue if by the estimates they do not delay it [1]_.

    Heads start while they fit. The shadow time is when the first waiting job will fit, by the
    estimated ends of the running jobs; the spare processors are those it then leaves free. In the
    order of arrival, each job that fits now starts if it ends by the shadow time or needs no more
    than the spare processors, which then shrink.

    References
    ----------
    .. [1] D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
    """

    name: ClassVar[str] = "easy"

    def plain(self) -> "EasyScheduler":
        """Return the policy in plain Python, fresh for one simulation."""
        return EasyScheduler()

    def compiled(self, workload: Workload, machine: int, overrun: Overrun) -> NDArray:
        """Return the start of each job of `workload` by the compiled engine. [s]."""
        from workloadkit._kernels.easy import Jobs, schedule_in_order

        jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
        return schedule_in_order(jobs, machine, backfill=True, late=overrun == "late")


class EasyScheduler(FcfsScheduler):
    """EASY in plain Python."""

    def allocate(self) -> None:
        """Start heads while they fit, then backfill in the order of arrival."""
        super().allocate()
        if not self.queue or self.free <= 0:
            return
        shadow, spare = self.reservation(self.queue[0])
        for job in self.queue[1:]:
            ends_in_time = self.now + job.estimate <= shadow
            if job.procs <= self.free and (ends_in_time or job.procs <= spare):
                if not ends_in_time:
                    spare -= job.procs
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
