"""Requests for reservations, and the machines in plain Python that accept them.

A request that is accepted is a *claim* on a number of processors from one second to another, as is
the reservation of a waiting job. Once it begins, it runs like a job, for as long as the job inside.
"""

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError
from workloadkit.fields import UNKNOWN
from workloadkit.io.reservations import RESERVATION_KINDS, ReservationRequests
from workloadkit.simulation.compiled.state import never
from workloadkit.simulation.machine.plain import Claim, Machine, Pool, is_kept_at, just_after
from workloadkit.simulation.plain.job import Job, JobView, show
from workloadkit.simulation.plain.participants import User
from workloadkit.simulation.rules import counted_end
from workloadkit.simulation.workload import Overrun, Workload

if TYPE_CHECKING:
    from workloadkit.simulation.plain.simulation import Simulation


# The requests for reservations that a simulation answers, for both engines.

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


_BEGIN, _ASK = range(2)  # the order of events at one instant


class Answering(Machine):
    """Base of machines that answer requests; subclasses define `offer`.

    Attributes
    ----------
    answer : list of int or float
        Start of each request, `REFUSED` for none. [s]
    """

    def let_reserve(self, table: RequestTable) -> None:
        """Answer these requests."""
        self._table = table
        self._accepted: dict[JobView, Any] = {}  # claims of requests
        self._claims: dict[JobView, Any] = {}  # claims of waiting jobs
        self._request_of = {job: i for i, job in enumerate(table.job.tolist()) if job >= 0}
        self.answer: list[Any] = [REFUSED] * len(table.number)

    def begin(self, simulation: "Simulation") -> None:
        """Schedule the requests."""
        super().begin(simulation)
        self._simulation = simulation
        for request, asked in enumerate(self._table.asked.tolist()):
            simulation.request_at(asked, _ASK, self._ask, request)

    def takes_in(self, job: Job) -> bool:
        """Whether the request of a job was accepted."""
        request = self._request_of.get(job.row)
        return request is not None and self.answer[request] != REFUSED

    def offer(self, view: JobView, earliest: float, latest: float) -> Any:
        """Return the first claim that suits, by running jobs and accepted requests; else None."""
        raise NotImplementedError

    def _ask(self, request: int) -> None:
        """Answer a request."""
        simulation, table = self._simulation, self._table
        procs, run, duration, earliest, latest = (
            getattr(table, name)[request].item()
            for name in ("procs", "run", "duration", "earliest", "latest")
        )
        hold = Job(User(), UNKNOWN, procs, run, duration, simulation.now, 0)
        hold.row = -1 - request
        view = show(hold)
        claim = self.offer(view, earliest, latest)
        if claim is None:
            return
        self.answer[request] = claim.begin
        self._claims.clear()
        self._accepted[view] = claim
        simulation.scheduler.plans_void()
        if claim.begin == simulation.now:
            self._begin_request(view)
        else:
            simulation.request_at(claim.begin, _BEGIN, self._begin_request, view)

    def _begin_request(self, view: JobView) -> None:
        """Begin a reservation: its processors are in use until the job inside ends."""
        hold, now = view._record, self._simulation.now
        self._claims[view] = self._accepted.pop(view)
        hold.start = now
        self._simulation.resume(hold, now + hold.run)


class ReservableMachine(Answering):
    """Processors that are always available and can be reserved."""

    def __init__(self, procs: int, table: RequestTable) -> None:
        super().__init__(procs)
        self._running: dict[JobView, None] = {}
        self.let_reserve(table)

    def offer(self, view: JobView, earliest: float, latest: float) -> Claim | None:
        """Return the first claim that suits, by running jobs and accepted requests; else None."""
        begin = self._slot(view, earliest, latest)
        return None if begin == inf else Claim(begin, begin + view.estimate)

    def _slot(self, view: JobView, earliest: float, latest: float) -> Any:
        """Return the first start that suits, by running jobs and accepted requests; else `inf`."""
        now = self._simulation.now
        ends = {counted_end(running.planned_end, now) for running in self._running}
        ends.update(claim.end for claim in self._accepted.values())
        for begin in [earliest, *sorted(end for end in ends if end > earliest)]:
            end = begin + view.estimate
            others = [c.begin for c in self._accepted.values() if c.is_in_the_way(begin, end)]
            if begin <= latest and all(
                self._planned(time, self._accepted).fits(view) for time in [begin, *others]
            ):
                return begin
        return inf

    def changes_ahead(self, now: float) -> bool:
        """Whether reservations are ahead."""
        return bool(self._accepted)

    def fits(self, job: JobView, now: float) -> bool:
        """Whether there is room for a job until its planned end, next to what is claimed."""
        return self.level.fits(job) and self._is_free(job, now, now)

    def room_until(self, end: float, now: float) -> int:
        """Return how many processors are free and not claimed until some time."""
        claims = {**self._accepted, **self._claims}
        starts = [claim.begin for claim in claims.values() if claim.is_in_the_way(now, end)]
        planned = [self._planned(time, claims).free for time in [now, *starts]]
        return min(self.level.free, *planned)

    def _is_free(self, job: JobView, begin: float, now: float) -> bool:
        """Whether enough is planned to be free during a job that begins at some second."""
        end, claims = begin + job.estimate, {**self._accepted, **self._claims}
        claims.pop(job, None)
        starts = [claim.begin for claim in claims.values() if claim.is_in_the_way(begin, end)]
        return all(self._planned(time, claims).fits(job) for time in [begin, *starts])

    def _planned(self, time: float, claims: dict[JobView, Claim]) -> Pool:
        """Return the level planned for some second, with some claims."""
        level: Pool = self.level.copy()
        for running in self._running:
            if running.planned_end <= time:
                level.give_back(running)
        for other, claim in claims.items():
            if claim.begin <= time < claim.end:
                level.take(other)
        return level

    def start(self, job: JobView, now: float) -> None:
        """Start a job."""
        super().start(job, now)
        self._claims.pop(job, None)
        self._running[job] = None
        if is_kept_at(end := now + job.estimate, self._claims.values()):
            self._claims[job] = Claim(end, just_after(end))

    def end(self, job: JobView, now: float, interrupted: bool) -> None:
        """Release the processors of a job."""
        super().end(job, now, interrupted)
        self._claims.pop(job, None)
        del self._running[job]

    def reserve(self, job: JobView, now: float, *, strictly: bool = False) -> Any:
        """Claim processors for a job, from the earliest possible second on; return that second."""
        self.release(job)
        ends = {running.planned_end for running in self._running}
        ends.update(claim.end for claim in (*self._accepted.values(), *self._claims.values()))
        for time in [now, *sorted(end for end in ends if end > now)]:
            if self._is_free(job, time, now):
                self._claims[job] = Claim(time, time + job.estimate, strictly)
                return time
        return inf

    def release(self, job: JobView | None) -> None:
        """Cancel the claim of a job, or those of all waiting jobs."""
        if job is None:
            self._claims.clear()
        else:
            self._claims.pop(job, None)
