"""Jobs that were cancelled while they waited, as a simulation has treated them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.simulation.state import never
from workloadkit.simulation.workload import Workload


class CancelledJobs(NamedTuple):
    """Jobs that were cancelled while they waited; they count in no measure of jobs that ran.

    Parameters
    ----------
    workload : Workload
        The jobs, in the order of (submit, job number); `leaves` is when they are cancelled.
    start : ndarray of float64, shape (n_cancelled,)
        Start of each job that the scheduler started before; NaN for those that left the queue. [s]
    """

    workload: Workload
    start: NDArray[np.float64]

    @property
    def waited_until(self) -> NDArray:
        """When each job left the queue: at its start, or as it was cancelled. [s]."""
        leaves = np.asarray(self.workload.leaves)
        until: NDArray = np.where(np.isnan(self.start), leaves, self.start).astype(leaves.dtype)
        return until


def that_ran(workload: Workload) -> NDArray[np.int64]:
    """Return the places of the jobs that were not cancelled while they waited."""
    leaves = workload.leaves
    if leaves is None:
        return np.arange(workload.row.size)
    return np.flatnonzero(leaves == never(leaves.dtype))


def that_wait(workload: Workload) -> Workload:
    """Return the jobs without those cancelled in the second of their submission."""
    if workload.leaves is None:
        return workload
    return workload.take(np.flatnonzero(workload.leaves != workload.submit))
