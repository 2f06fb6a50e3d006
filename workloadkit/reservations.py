"""Turn a share of a log's jobs into requests for reservations."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import (
    ParameterError,
    WorkloadError,
    check_choice,
    check_not_negative,
    takes_rng,
)
from workloadkit.io.reservations import ReservationRequest, ReservationRequests
from workloadkit.trace import Trace, check_trace

#: Laws of the lead times, by their mean.
LeadLaw = Literal["exponential", "uniform", "fixed"]


@takes_rng
def draw_reservations(
    trace: Trace,
    share: float = 0.1,
    *,
    lead: float = 3600.0,
    law: LeadLaw = "exponential",
    window: float = 0.0,
    rng: int | np.random.Generator | None = None,
) -> ReservationRequests:
    """Turn a share of a log's jobs into requests for reservations.

    Every job is chosen with the same probability, independent of others, as in studies of
    reservations in which 10 to 30 % of a log's jobs request one. A request is made when its job is
    submitted, for a start one lead time later, for the requested time (else the run time, at least
    1 s) and the processors of the job. The log keeps the job, which runs inside.

    Parameters
    ----------
    trace : Trace
    share : float, default 0.1
        Probability that a job requests a reservation, 0 to 1.
    lead : float, default 3600
        Mean of the lead times. [s]
    law : {"exponential", "uniform", "fixed"}, default "exponential"
        Their law; uniform is from 0 to twice the mean.
    window : float, default 0
        Time from the earliest to the latest start that suit. [s]
    rng : int or Generator, optional

    Returns
    -------
    ReservationRequests
        In the order of the log, of the jobs that ran; tied to the log.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    WorkloadError
        If job numbers are repeated or below 1.

    Examples
    --------
    >>> trace = Trace.from_columns({"submit": [0, 50], "run": [60, 9], "procs": [4, 1]})
    >>> made = draw_reservations(trace, 1, lead=600, law="fixed", rng=1)
    >>> made.table[["asked", "earliest", "latest", "duration", "procs"]].to_numpy().tolist()
    [[0, 600, 600, 60, 4], [50, 650, 650, 9, 1]]
    """
    check_trace(trace)
    check_choice("law", law, LeadLaw)
    check_not_negative(share=share, lead=lead, window=window)
    if share > 1:
        raise ParameterError("share", f"is {share:g}; it must be from 0 to 1")
    random = np.random.default_rng(rng)
    chosen = random.random(trace.n_jobs) < share
    leads = _leads(random, trace.n_jobs, lead, law)
    rows = np.flatnonzero(chosen & trace.ran)
    numbers = trace.column("job")
    if distinct(numbers[rows]).size < rows.size or (numbers[rows] < 1).any():
        raise WorkloadError(f"{trace.name}: job numbers are repeated or below 1")
    submit = np.floor(trace.column("submit")).astype(np.int64)
    if (submit[rows] < 0).any():
        raise WorkloadError(f"{trace.name}: jobs are submitted before second 0")
    requested, run = trace.column("requested_time"), trace.column("run")
    duration = np.where(requested > 0, requested, run)
    asked_procs, used = trace.column("requested_procs"), trace.used_procs
    procs = np.where(asked_procs > 0, asked_procs, used)
    user = trace.column("user")
    requests = []
    for number, row in enumerate(rows.tolist(), 1):
        earliest = int(submit[row] + leads[row])
        request = ReservationRequest(
            number,
            int(submit[row]),
            earliest,
            earliest + round(window),
            max(int(np.ceil(duration[row])), 1),
            int(procs[row]),
            user=max(int(user[row]), -1),
            jobs=(int(numbers[row]),),
        )
        requests.append(request)
    return ReservationRequests(tuple(requests)).tied_to(trace)


def _leads(
    random: np.random.Generator, n_jobs: int, mean: float, law: LeadLaw
) -> NDArray[np.int64]:
    """Return lead times in whole seconds."""
    if law == "exponential":
        leads = random.exponential(mean, n_jobs)
    elif law == "uniform":
        leads = random.uniform(0, 2 * mean, n_jobs)
    else:
        leads = np.full(n_jobs, mean)
    return np.rint(leads).astype(np.int64)
