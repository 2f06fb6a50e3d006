"""The recorded schedule of a log."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import Outcome
from workloadkit.simulation.state import never
from workloadkit.simulation.workload import Rules, Workload


@dataclass(frozen=True)
class RecordedSchedule:
    """Each job starts its recorded wait after its submission; an unknown wait counts as 0.

    Estimates, the size of the machine and its outages have no effect, and no job is killed: real
    logs exceed their machines at times, through gang scheduling or clock errors. The result is the
    schedule of the log's own scheduler, as a reference for others.
    """

    name: ClassVar[str] = "recorded"

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.recorded.plain import RecordedScheduler

        return RecordedScheduler()

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.recorded.kernel import CompiledRecorded

        if workload.users is None:  # all starts are known
            leaves = workload.leaves
            left = {} if leaves is None else {"left": leaves != never(leaves.dtype)}
            return Outcome(workload.submit + workload.wait, left)
        return CompiledRecorded(workload, rules)
