"""Backfilling in any order: the routine that EASY and all its relatives share.

What differs between them is the order of the queue, the order of backfilling, and the number of
reservations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError
from workloadkit.simulation.engine import Job, Scheduler
from workloadkit.simulation.policies.policy import Outcome, check_types
from workloadkit.simulation.policies.profile import plan_running
from workloadkit.simulation.workload import Rules, Workload

#: Orders that are settled when a job arrives: what is small comes first, ties by arrival. They are
#: functions of a Job, or of a Workload for all its jobs at once.
ORDERS: dict[str, Callable[[Any], Any]] = {
    "arrival": lambda jobs: jobs.submit,
    "sjf": lambda jobs: jobs.estimate,
    "ljf": lambda jobs: -jobs.estimate,
    "smallest": lambda jobs: jobs.procs,
    "largest": lambda jobs: -jobs.procs,
}


def check_backfill(scheduler: str, backfill: str) -> None:
    """Refuse an order of backfilling that is not known.

    Raises
    ------
    ParameterError
    """
    known = ("same", "none", *ORDERS)
    if backfill not in known:
        raise ParameterError(
            f"scheduler {scheduler}: backfill is {backfill!r}; known: {', '.join(known)}"
        )


def place_in_order(key: NDArray) -> NDArray[np.int64]:
    """Place of each job in an order: smallest key first, ties by arrival.

    Examples
    --------
    >>> place_in_order(np.array([20, 10, 20])).tolist()
    [1, 0, 2]
    """
    place = np.empty(key.size, np.int64)
    place[np.argsort(key, kind="stable")] = np.arange(key.size)
    return place


def places_to_backfill(
    backfill: str, workload: Workload, queue: NDArray[np.int64] | None
) -> NDArray[np.int64] | None:
    """Place of each job in an order of backfilling; None for no backfilling.

    `queue` are the places in the order of the queue, None where they vary with time.
    """
    if backfill == "none":
        return None
    return queue if backfill == "same" else place_in_order(ORDERS[backfill](workload))


def ranked_as_they_arrive(
    order: str, backfill: str, workload: Workload, queues: tuple[int, ...] = ()
) -> dict[str, Any]:
    """Tables of ranks for jobs of users who react, and what they are to be ranked by."""
    return tables_of_ranks(order, backfill, workload.submit.size, workload.users, queues)


def tables_of_ranks(
    order: str, backfill: str, room: int, users: Any, queues: tuple[int, ...] = ()
) -> dict[str, Any]:
    """As `ranked_as_they_arrive`, with room for so many jobs of some users."""
    from workloadkit._kernels import orders

    codes = {
        "sjf": orders.SJF,
        "ljf": orders.LJF,
        "smallest": orders.SMALLEST,
        "largest": orders.LARGEST,
        "f1": orders.F1,
        "priority-fifo": orders.PRIORITY,
    }
    rank = np.empty(room)
    code = codes.get(order, orders.ARRIVAL)
    backfill_rank = {"none": None, "same": rank}.get(backfill, np.empty(room))
    backfill_code = code if backfill == "same" else codes.get(backfill, orders.ARRIVAL)
    return {
        "rank": rank,
        "backfill_rank": backfill_rank,
        "users": users,
        "keys": orders.Keys(code, backfill_code, np.array(queues, np.int64)),
    }


class FixedOrder:
    """What policies in a fixed order have in common; their parameters are those of `Ordered`."""

    name: ClassVar[str]
    backfill: str
    reservations: int

    def __post_init__(self) -> None:
        check_types(self)
        check_backfill(self.name, self.backfill)
        if not self.reservations >= 1:
            raise ParameterError(
                f"scheduler {self.name}: reservations is {self.reservations}; at least 1"
            )

    def key(self, job: Job) -> Any:
        """Return what the queue is ordered by, smallest first."""
        return ORDERS[self.name](job)

    def keys(self, workload: Workload) -> NDArray:
        """Return what the queue is ordered by for all jobs, shape (n_jobs,)."""
        return ORDERS[self.name](workload)

    @property
    def urgent_queues(self) -> tuple[int, ...]:
        """Queues from the most urgent to the least, where the order goes by them."""
        return ()

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return OrderedScheduler(self.key, self.backfill, self.reservations)

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        from workloadkit._kernels.easy import schedule_in_order
        from workloadkit._kernels.reservations import schedule_with_reservations
        from workloadkit._kernels.state import Jobs

        jobs = Jobs(workload.submit, workload.run, workload.estimate, workload.procs)
        how: dict[str, Any] = {
            "late": rules.overrun == "late",
            "by_event": rules.passes == "event",
        }
        if workload.users is None:
            how["rank"] = rank = place_in_order(self.keys(workload))
            how["backfill_rank"] = places_to_backfill(self.backfill, workload, rank)
        else:
            how |= ranked_as_they_arrive(self.name, self.backfill, workload, self.urgent_queues)
        if self.reservations == 1:
            return Outcome(schedule_in_order(jobs, rules.machine, **how))
        how["reservations"] = self.reservations
        return Outcome(schedule_with_reservations(jobs, rules.machine, **how))


@dataclass(frozen=True)
class Ordered(FixedOrder):
    """A policy that takes jobs in a fixed order and backfills.

    In the order of the queue jobs start while they fit. The first that does not fit gets a
    reservation: its shadow time is when it will fit, by the estimated ends of the running jobs;
    the spare processors are those it then leaves free. Then, in the order of backfilling, each
    job that fits now starts if it ends by the shadow time or needs no more than the spare
    processors, which then shrink.

    With more reservations, the jobs in the order of the queue each take the earliest hole that
    the running jobs and the reservations before leave; it starts if that is now, else it is
    reserved, until there are so many. Of the others, those start that can do so now without
    touching a reservation.

    Parameters
    ----------
    backfill : str
        Order of backfilling: one of `ORDERS`, "same" for the order of the queue, or "none": no
        job overtakes another.
    reservations : int
        Waiting jobs that are promised a start.
    """

    backfill: str = "same"
    reservations: int = 1


class OrderedScheduler(Scheduler):
    """Backfilling in any order, in plain Python; `in_order` and `to_backfill` may be overridden.

    Parameters
    ----------
    key : callable
        What the queue is ordered by, from a Job; smallest first, ties by arrival.
    backfill : str
        Order of backfilling, as in `Ordered`.
    reservations : int
        Waiting jobs that are promised a start.
    """

    def __init__(
        self,
        key: Callable[[Job], Any] = ORDERS["arrival"],
        backfill: str = "same",
        reservations: int = 1,
    ) -> None:
        super().__init__()
        self.key, self.backfill, self.reservations = key, backfill, reservations

    def in_order(self) -> list[Job]:
        """Return the waiting jobs in the order of the queue, as it is at the start of a pass."""
        return sorted(self.queue, key=self.key)

    def to_backfill(self, jobs: list[Job]) -> list[Job]:
        """Return waiting jobs, given in the order of the queue, in the order of backfilling."""
        if self.backfill == "same":
            return jobs
        if self.backfill == "none":
            return []
        among = set(jobs)  # the queue is in the order of arrival, which breaks the ties
        return sorted((job for job in self.queue if job in among), key=ORDERS[self.backfill])

    def allocate(self) -> None:
        """Start jobs in order while they fit, make the reservations, then backfill."""
        self.release()
        waiting = self.in_order()
        while waiting and self.fits(waiting[0]):
            self.start(waiting.pop(0))
        if not waiting or self.free <= 0 or self.backfill == "none":
            return
        if self.outages_ahead:
            self.backfill_around_outages(waiting)
            return
        if self.reservations > 1:
            self.backfill_around(waiting)
            return
        shadow, spare = self.reservation(waiting[0])
        for job in self.to_backfill(waiting[1:]):
            ends_in_time = self.now + job.estimate <= shadow
            if job.procs <= self.free and (ends_in_time or job.procs <= spare):
                if not ends_in_time:
                    spare -= job.procs
                self.start(job)

    def backfill_around(self, waiting: list[Job]) -> None:
        """Make the reservations, in the order of the queue, then backfill, around them all.

        A job whose time is now starts if it fits; processors of a job that has outlived its
        estimate are planned with, but not free.
        """
        profile = plan_running(self)
        n_reserved = 0
        while waiting and n_reserved < self.reservations:
            job = waiting.pop(0)
            begin = profile.earliest(job.procs, job.estimate)
            profile.take(begin, begin + job.estimate, job.procs)
            if begin == self.now and job.procs <= self.free:
                self.start(job)
            else:
                n_reserved += 1
        for job in self.to_backfill(waiting):
            end = self.now + job.estimate
            if job.procs <= min(self.free, profile.least(self.now, end)):
                profile.take(self.now, end, job.procs)
                self.start(job)

    def backfill_around_outages(self, waiting: list[Job]) -> None:
        """Do the same where outages are ahead: reservations are of certain processors then."""
        n_reserved = 0
        while waiting and n_reserved < self.reservations:
            job = waiting.pop(0)
            if self.fits(job):
                self.start(job)
            else:
                self.reserve(job)
                n_reserved += 1
        for job in self.to_backfill(waiting):
            if self.fits(job):
                self.start(job)

    def reservation(self, head: Job) -> tuple[Any, int]:
        """Return the shadow time of `head` and the processors it will then leave free.

        A running job that has outlived its estimate counts as ending at this very second.
        """
        planned = sorted(
            (max(job.start + job.estimate, self.now), job.procs) for job in self.running
        )
        free = self.free
        shadow = None
        for end, procs in planned:
            if shadow is not None and end > shadow:
                break
            free += procs
            if shadow is None and free >= head.procs:
                shadow = end
        if shadow is None:  # too many processors are down for it
            return inf, 0
        return shadow, free - head.procs
