"""The requests for reservations that a simulation answers, for both engines."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.io.reservations import RESERVATION_KINDS, ReservationRequests
from workloadkit.simulation.state import never
from workloadkit.simulation.workload import Overrun, Workload

#: Answer to a request without a start that suits.
REFUSED = -1

_INSIDE, _MAINTENANCE, _CANCELLED = 0, 2, 5  # kinds, and an answer, of the file


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
    place_of = {number: place for place, number in enumerate(workload.job.tolist())}
    asked = sorted(
        (request for request in requests if request.answer != _CANCELLED),
        key=lambda request: (request.asked, request.number),
    )
    dtype, submit = workload.submit.dtype, workload.submit
    job = np.full(len(asked), UNKNOWN)
    for i, request in enumerate(asked):
        who = f"{requests.name}: reservation {request.number}"
        if request.kind not in (_INSIDE, _MAINTENANCE):
            kind = RESERVATION_KINDS.get(request.kind, "unknown")
            raise WorkloadError(f"{who} is of kind {request.kind} ({kind}), which is not simulated")
        if request.procs > procs:
            raise WorkloadError(
                f"{who} is of {request.procs} processors on a machine of {procs}"
            )
        if not request.jobs:
            continue
        if len(request.jobs) > 1 or request.kind == _MAINTENANCE:
            raise WorkloadError(f"{who} lists jobs {request.jobs}; at most one job runs inside")
        if request.jobs[0] not in place_of:
            raise WorkloadError(f"{who} is of job {request.jobs[0]}, which is not simulated")
        job[i] = place = place_of.pop(request.jobs[0])
        if workload.procs[place] > request.procs:
            raise WorkloadError(
                f"{who} is of {request.procs} processors, and job {request.jobs[0]} needs "
                f"{workload.procs[place]}"
            )
        if not request.asked <= submit[place] <= request.earliest:
            raise WorkloadError(
                f"{who} is made at {request.asked} s for {request.earliest} s, and job "
                f"{request.jobs[0]} is submitted at {submit[place]} s, not between"
            )

    def times(values: list[Any]) -> NDArray:
        return np.array(values, dtype)

    duration = times([request.duration for request in asked])
    run = np.where(job >= 0, workload.run[job], duration) if job.size else duration.copy()
    if overrun == "raise":
        duration = np.maximum(duration, run)
    any_time = never(dtype)
    return RequestTable(
        np.array([request.number for request in asked], np.int64),
        times([request.asked for request in asked]),
        times([request.earliest for request in asked]),
        times([any_time if r.latest == UNKNOWN else r.latest for r in asked]),
        duration,
        np.minimum(run, duration),
        np.array([request.procs for request in asked], np.int64),
        job,
    )
