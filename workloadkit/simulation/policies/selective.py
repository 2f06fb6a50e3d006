"""Selective backfilling: jobs that have waited long enough get reservations."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import JobView, Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.policies.profile import plan_running
from workloadkit.simulation.supports import supporting
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class Selective:
    """Backfilling with reservations for jobs whose expansion factor reaches a threshold [1]_.

    The expansion factor is (wait + estimate) / estimate. In each pass the waiting jobs that have
    reached the threshold, in the order in which they did so, take the earliest slots for their
    whole estimates, and start if that is now. The others, in the order of arrival, start if they
    can do so now without delaying a reservation.

    Parameters
    ----------
    threshold : float
        At least 1. With 1 every job has a reservation, with infinity none has.

    References
    ----------
    .. [1] S. Srinivasan, R. Kettimuthu, V. Subramani, P. Sadayappan, "Selective reservation
       strategies for backfill job scheduling", JSSPP 2002.
    """

    name: ClassVar[str] = "selective"
    supports: ClassVar = supporting("each pass", "reservations", "benchmark", "state")
    repeated_as: ClassVar[str] = "Selecting"
    reservations: ClassVar[float] = inf

    threshold: float = 2.0

    def __post_init__(self) -> None:
        check_types(self)
        if not self.threshold >= 1:
            raise ParameterError(
                f"scheduler {self.name}: threshold is {self.threshold:g}; at least 1"
            )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        return SelectiveScheduler(self.threshold)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.orders import settled
        from workloadkit.simulation.policies.order.compiled import settled_score
        from workloadkit.simulation.policies.order.expression import read
        from workloadkit.simulation.policies.order.kernel import Score
        from workloadkit.simulation.policies.reservations.compiled import CompiledReservations

        due = "submit + (threshold - 1) * estimate"
        order, memory = settled_score(Score(read(due, {"threshold": self.threshold})), workload)
        by_arrival, all_of_them = settled("arrival"), workload.submit.size
        policy = CompiledReservations(
            workload, rules, order, by_arrival, all_of_them, self.threshold
        )
        policy.kept = memory
        return policy


# Selective backfilling, in plain Python.


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
