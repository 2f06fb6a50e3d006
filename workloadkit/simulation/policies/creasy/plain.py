"""CREASY in plain Python."""

from workloadkit.simulation.engine import JobView
from workloadkit.simulation.policies.creasy.priority import bonus, priority
from workloadkit.simulation.policies.easy.plain import OrderedScheduler
from workloadkit.simulation.policies.overtaking import AS_USUAL, Overtaking


class CreasyScheduler(OrderedScheduler):
    """EASY in the order of the priorities at the beginning of a pass."""

    def __init__(self, alpha: float, overtaking: Overtaking = AS_USUAL) -> None:
        super().__init__(overtaking=overtaking)
        self.bonus = bonus(alpha)

    def in_order(self) -> list[JobView]:
        """Return the waiting jobs by priority, ties by arrival."""
        return sorted(self.queue, key=self._priority, reverse=True)  # stable with reverse, too

    def _priority(self, job: JobView) -> float:
        return priority(self.bonus, self.now - job.submit, job.estimate)
