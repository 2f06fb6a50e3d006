"""The schedule that the log tells of."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.engine import Scheduler
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
        from workloadkit.simulation.policies.recorded.plain import RecordedScheduler

        return RecordedScheduler()

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy for one simulation in the compiled engine."""
        from workloadkit.simulation.policies.recorded.kernel import CompiledRecorded

        if workload.users is None:  # there is nothing to decide
            return Outcome(workload.submit + workload.wait)
        return CompiledRecorded(workload, rules)
