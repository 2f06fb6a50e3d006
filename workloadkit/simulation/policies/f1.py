"""F1: an order found by regression over many simulations."""

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from workloadkit.simulation.engine import Job, Scheduler
from workloadkit.simulation.policies.ordered import Ordered, OrderedScheduler
from workloadkit.simulation.workload import Workload


@dataclass(frozen=True)
class F1(Ordered):
    """EASY in the order of log10(e) · n + 870 · log10(max(s, 1)), the smallest first [1]_.

    Here e is the estimate, n the processors and s the time from the first submission of the
    simulation to that of the job. A job's place is settled when it is submitted.

    References
    ----------
    .. [1] D. Carastan-Santos, R. Y. de Camargo, "Obtaining dynamic scheduling policies with
       simulation and machine learning", SC 2017.
    """

    name: ClassVar[str] = "f1"

    def keys(self, workload: Workload) -> NDArray:
        """Return what the queue is ordered by for all jobs, shape (n_jobs,)."""
        from workloadkit._kernels.orders import f1_of_all

        return f1_of_all(workload.submit, workload.estimate, workload.procs)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return _F1Scheduler(self.backfill, self.reservations)


class _F1Scheduler(OrderedScheduler):
    """F1 in plain Python."""

    def __init__(self, backfill: str, reservations: int) -> None:
        from workloadkit._kernels.orders import f1, in_python

        super().__init__(self._value, backfill, reservations)
        self._f1 = in_python(f1)
        self._first: Any = None  # submission

    def job_arrives(self, job: Job) -> None:
        if self._first is None:
            self._first = job.submit
        super().job_arrives(job)

    def _value(self, job: Job) -> float:
        return self._f1(self._first, job.submit, job.estimate, job.procs)
