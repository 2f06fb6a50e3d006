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
from workloadkit.simulate.engine import Job, Scheduler
from workloadkit.simulate.schedulers.policy import Outcome
from workloadkit.simulate.schedulers.profile import plan_running
from workloadkit.simulate.workload import Rules, Workload

#: Orders that are settled when a job arrives: what is small comes first, ties by arrival.
ORDERS: dict[str, Callable[[Any], Any]] = {
    "arrival": lambda jobs: 0 * jobs.procs,
    "sjf": lambda jobs: jobs.estimate,
    "ljf": lambda jobs: -jobs.estimate,
    "smallest": lambda jobs: jobs.procs,
    "largest": lambda jobs: -jobs.procs,
}


@dataclass(frozen=True)
class Ordered:
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

    name: ClassVar[str]

    backfill: str = "same"
    reservations: int = 1

    def __post_init__(self) -> None:
        known = ("same", "none", *ORDERS)
        if self.backfill not in known:
            raise ParameterError(
                f"scheduler {self.name}: backfill is {self.backfill!r}; known: {', '.join(known)}"
            )
        if not self.reservations >= 1:
            raise ParameterError(
                f"scheduler {self.name}: reservations is {self.reservations}; at least 1"
            )

    def key(self, jobs: Any) -> Any:
        """Return what the queue is ordered by, smallest first, of a Job or a Workload."""
        return ORDERS[self.name](jobs)

    def plain(self) -> Scheduler:
        """Return the policy in plain Python, fresh for one simulation."""
        return OrderedScheduler(self.key, self.backfill, self.reservations)

    def compiled(self, workload: Workload, rules: Rules) -> Outcome:
        """Simulate `workload` in the compiled engine."""
        raise NotImplementedError


def rank(key: NDArray) -> NDArray[np.int64]:
    """Place of each job in an order: smallest key first, ties by arrival."""
    place = np.empty(key.size, np.int64)
    place[np.argsort(key, kind="stable")] = np.arange(key.size)
    return place


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
        among = set(map(id, jobs))
        return sorted((job for job in self.queue if id(job) in among), key=ORDERS[self.backfill])

    def allocate(self) -> None:
        """Start jobs in order while they fit, make the reservations, then backfill."""
        waiting = self.in_order()
        while waiting and waiting[0].procs <= self.free:
            self.start(waiting.pop(0))
        if not waiting or self.free <= 0 or self.backfill == "none":
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
