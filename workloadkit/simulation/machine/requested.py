"""The requests for reservations that a simulation answers, for both engines."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.io.reservations import RESERVATION_KINDS, ReservationRequests
from workloadkit.simulation.state import never
from workloadkit.simulation.workload import Overrun, Workload

#: Answer to a request without a start that suits.
REFUSED = -1

_SIMULATED = _INSIDE, _MAINTENANCE = 0, 2  # kinds of the file
_CANCELLED = 5  # an answer of it


class RequestTable(NamedTuple):
    """Requests in the order of (asked, number).

    Parameters
    ----------
    number : ndarray of int64, shape (n_requests,)
    asked, earliest, latest, duration : ndarray, shape (n_requests,)
        In the type of the workload's times; a `latest` after all times for any. [s]
    run : ndarray, shape (n_requests,)
        How long the processors are in use: the run time of the job inside, else the duration. [s]
    procs : ndarray of int64, shape (n_requests,)
    job : ndarray of int64, shape (n_requests,)
        Place in the workload of the job that runs inside, -1 for none.
    """

    number: NDArray[np.int64]
    asked: NDArray
    earliest: NDArray
    latest: NDArray
    duration: NDArray
    run: NDArray
    procs: NDArray[np.int64]
    job: NDArray[np.int64]


def request_table(
    requests: ReservationRequests, workload: Workload, procs: int, overrun: Overrun
) -> RequestTable:
    """Return the requests for a workload on a machine of so many processors.

    Cancelled requests are left out. A duration is at least the run time of the job inside, unless
    jobs are killed; then the job is stopped at its end.

    Raises
    ------
    WorkloadError
        For a request that cannot be simulated.
    """
    table = requests.table.sort_values(["asked", "number"])
    table = table[table["answer"] != _CANCELLED]
    number, kind, needed, asked, earliest = (
        table[name].to_numpy() for name in ("number", "kind", "procs", "asked", "earliest")
    )
    inside = [*table["jobs"]]
    n_inside = np.array([len(jobs) for jobs in inside], np.int64)
    job = np.array([jobs[0] if jobs else UNKNOWN for jobs in inside], np.int64)
    has_job = n_inside > 0
    order = np.argsort(workload.job, kind="stable")
    place = order[np.searchsorted(workload.job, job, sorter=order).clip(max=order.size - 1)]
    known = has_job & (workload.job[place] == job)
    submit = workload.submit[place]

    def refuse(wrong: NDArray[np.bool_], why: Callable[[int], str]) -> None:
        """Raise an error for the first wrong request, if there is one."""
        for i in np.flatnonzero(wrong)[:1].tolist():
            raise WorkloadError(f"{requests.name}: reservation {number[i]} {why(i)}")

    def what(i: int) -> str:
        return f"is of kind {kind[i]} ({RESERVATION_KINDS.get(int(kind[i]), 'unknown')})"

    refuse(~np.isin(kind, _SIMULATED), lambda i: f"{what(i)}, which is not simulated")
    refuse(
        needed > procs, lambda i: f"is of {needed[i]} processors on a machine of {procs} processors"
    )
    refuse(
        (n_inside > 1) | (has_job & (kind == _MAINTENANCE)),
        lambda i: f"{what(i)} and lists jobs {inside[i]}; at most one runs in a reservation for it",
    )
    refuse(has_job & ~known, lambda i: f"is for job {job[i]}, which is not simulated")
    again = np.ones(job.size, dtype=bool)
    again[np.unique(job, return_index=True)[1]] = False
    refuse(has_job & again, lambda i: f"is for job {job[i]}, as is an earlier one")
    refuse(
        has_job & (workload.procs[place] > needed),
        lambda i: f"is of {needed[i]} processors; job {job[i]} needs {workload.procs[place[i]]}",
    )
    refuse(
        has_job & ~((asked <= submit) & (submit <= earliest)),
        lambda i: (
            f"is requested at {asked[i]} s for {earliest[i]} s; job {job[i]} is submitted at "
            f"{submit[i]} s, not between"
        ),
    )
    dtype = workload.submit.dtype
    latest, duration = (table[name].to_numpy(dtype) for name in ("latest", "duration"))
    run = np.where(has_job, workload.run[place], duration)
    if overrun == "raise":
        duration = np.maximum(duration, run)
    return RequestTable(
        number=number,
        asked=asked.astype(dtype),
        earliest=earliest.astype(dtype),
        latest=np.where(latest == UNKNOWN, never(dtype), latest),
        duration=duration,
        run=np.minimum(run, duration),
        procs=needed,
        job=np.where(has_job, place, UNKNOWN),
    )
