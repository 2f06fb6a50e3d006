"""Conservative backfilling: a reservation for each job."""

from dataclasses import dataclass
from typing import Any, ClassVar

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.policies.policy import check_types
from workloadkit.simulation.workload import Rules, Workload

#: What happens to reservations when a job ends early.
COMPRESSIONS = ("full", "start", "none")


@dataclass(frozen=True)
class Conservative:
    """Each job is promised a start when it is submitted, and overtakes without breaking promises.

    A job's reservation is the earliest hole for its whole estimate that the running jobs, by
    their estimates, and the reservations of the others leave [1]_. In a pass, if the end of a job
    has been taken since the last one, each waiting job in the order of arrival gives up its
    reservation and takes the earliest hole, which is never later: the schedule is compressed. Then
    the new jobs take theirs; then the jobs whose time has come start. (Where there is a pass after
    each event, the processors of a job that ends as planned are free in every pass of that second,
    but the schedule is compressed in the pass of its own end.)

    How much is compressed differs among implementations, with large effects on waits: the order of
    the queue is kept best if nothing is, as a job that has moved forward may stand in the way of
    one that came before it when the next job ends early.

    A reservation begins when it is made, or where a planned end leaves room. If that job ends
    earlier, or moves forward and ends earlier, its end is an occasion to move into the room. So
    with estimates that hold and full compression no time of a reservation passes unnoticed:
    something ends then. With less of it there is a pass when the time of a reservation has come,
    unless a job was overdue in the pass before.

    Where jobs outlive their estimates (``overrun="late"``) promises cannot be kept. In a pass in
    which a job is overdue, or whose terminations include one that was, all waiting jobs drop
    their reservations and then take the earliest slots again, in the order of arrival. A job whose
    hole is now but whose processors an overdue job still holds waits, with that reservation. The
    time of a reservation in the room of an overdue job may pass between two instants; nothing
    starts then.

    Parameters
    ----------
    compression : str
        What happens to the reservations when a job ends early. "full": all are tried anew. "start":
        in the order of arrival, jobs start that find a hole now; the others keep theirs. "none":
        all are kept.

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
        if self.compression not in COMPRESSIONS:
            raise ParameterError(
                f"scheduler {self.name}: compression is {self.compression!r}; "
                f"known: {', '.join(COMPRESSIONS)}"
            )

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        from workloadkit.simulation.policies.conservative.plain import ConservativeScheduler

        return ConservativeScheduler(self.compression)

    def compiled(self, workload: Workload, rules: Rules) -> Any:
        """Return the policy for one simulation in the compiled engine."""
        from workloadkit.simulation.policies.conservative.compiled import CompiledConservative

        return CompiledConservative(workload, rules, COMPRESSIONS.index(self.compression))
