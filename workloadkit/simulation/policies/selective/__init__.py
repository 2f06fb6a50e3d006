"""Selective backfilling: jobs that have waited long enough get reservations."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
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
        At least 1, at which every job has a reservation; infinite for none.

    References
    ----------
    .. [1] S. Srinivasan, R. Kettimuthu, V. Subramani, P. Sadayappan, "Selective reservation
       strategies for backfill job scheduling", JSSPP 2002.
    """

    name: ClassVar[str] = "selective"

    threshold: float = 2.0

    def __post_init__(self) -> None:
        check_types(self)
        if not self.threshold >= 1:
            raise ParameterError(
                f"scheduler {self.name}: threshold is {self.threshold:g}; at least 1"
            )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.selective.plain import SelectiveScheduler

        return SelectiveScheduler(self.threshold)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.orders import settled
        from workloadkit.simulation.policies.order import Score
        from workloadkit.simulation.policies.order.compiled import settled_score
        from workloadkit.simulation.policies.order.expression import read
        from workloadkit.simulation.policies.reservations.compiled import CompiledReservations

        due = "submit + (threshold - 1) * estimate"
        order, memory = settled_score(Score(read(due, {"threshold": self.threshold})), workload)
        by_arrival, all_of_them = settled("arrival"), workload.submit.size
        policy = CompiledReservations(
            workload, rules, order, by_arrival, all_of_them, self.threshold
        )
        policy.kept = memory
        return policy
