"""Conservative backfilling: a reservation for each job."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.errors import check_choice
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload

#: Treatment of reservations when a job ends early.
COMPRESSIONS = ("full", "start", "none")


@dataclass(frozen=True)
class Conservative:
    """Each job gets a reservation at submission; jobs backfill without breaking reservations.

    A job's reservation is the earliest slot for its whole estimate, given the running jobs (by
    their estimates) and the reservations of the others [1]_. In a pass, if the end of a job has
    been taken since the last one, each waiting job in the order of arrival releases its reservation
    and takes the earliest slot, which is never later: the schedule is compressed. Then new jobs
    take theirs; then jobs start whose reservation begins now. (If there is a pass after each event,
    the processors of a job that ends as planned are free in every pass of that second, but the
    schedule is compressed in the pass of its own end.)

    Implementations differ in how much they compress, with large effects on waits. Without
    compression, the order of the queue is kept best: a job that has moved forward may block an
    earlier one when the next job ends early.

    A reservation begins when it is made, or at a planned end. If that job ends earlier, or moves
    forward and ends earlier, its end is an opportunity to move. So with accurate estimates and full
    compression, no reservation's time passes unnoticed, as something ends then. With less
    compression there is a pass at the begin of each reservation, unless a job was overdue in the
    pass before.

    If jobs outlive their estimates (``overrun="late"``), reservations cannot be kept. In a pass in
    which a job is overdue, or whose terminations include one that was, all waiting jobs release
    their reservations, then take the earliest slots again in the order of arrival. A job with a
    slot now, on processors that an overdue job still holds, waits with that reservation. The time
    of a reservation in the slot of an overdue job may pass between two instants; nothing starts
    then.

    Parameters
    ----------
    compression : str
        Treatment of the reservations when a job ends early. "full": all are made again. "start": in
        the order of arrival, jobs with a slot now start; the others keep their reservations.
        "none": all are kept.

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", IEEE Trans. Parallel and
       Distributed Systems 12(6), 2001.
    """

    name: ClassVar[str] = "conservative"

    compression: str = "full"

    def __post_init__(self) -> None:
        check_types(self)
        check_choice(f"scheduler {self.name}: compression", self.compression, COMPRESSIONS)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, for one simulation."""
        from workloadkit.simulation.policies.conservative.plain import ConservativeScheduler

        return ConservativeScheduler(self.compression)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy in the compiled engine, for one simulation."""
        from workloadkit.simulation.policies.conservative.compiled import CompiledConservative

        return CompiledConservative(workload, rules, COMPRESSIONS.index(self.compression))
