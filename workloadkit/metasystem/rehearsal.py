"""Predicted starts at a site whose scheduler itself decides, in a simulation with estimates."""

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workloadkit.metasystem.plan import Coming
from workloadkit.metasystem.reserving import ReservingMachine
from workloadkit.simulation.engine import Job, Scheduler, User
from workloadkit.simulation.plain.ahead import Ahead
from workloadkit.simulation.plain.events import SUBMISSION
from workloadkit.simulation.plain.job import show
from workloadkit.simulation.policies.policy import plain_form

if TYPE_CHECKING:
    from workloadkit.metasystem.plain_sites import SiteSimulation


def new_scheduler(policy: Any) -> Scheduler:
    """Return the scheduler of a site, for one simulation."""
    own = isinstance(policy, Scheduler)
    scheduler: Scheduler = copy.deepcopy(policy) if own else plain_form(policy)
    scheduler.name = policy.name
    return scheduler


class _Started(Exception):  # noqa: N818 it is no error
    pass


class _Rehearsal(Ahead):
    """What goes on at a site, until a job starts."""

    hardware: ReservingMachine
    goal: Job | None = None

    def __init__(self, other: Any, policy: Any, procs: int, jobs: Sequence[Job], now: Any) -> None:
        hardware = ReservingMachine(procs)
        super().__init__(other, hardware, new_scheduler(policy), jobs)
        self.now = now
        for i, (begin, duration, reserved) in other.hardware.accepted.items():
            hardware.accepted[i] = begin, duration, reserved
            job = Job(self.users[0], 0, reserved, duration, duration, begin, 0)
            self._events.add(begin, SUBMISSION, -1, self._begin_reserved, (i, job))
        self.scheduler.continue_from(other.scheduler, self.copies)

    def _begin_reserved(self, what: tuple[int, Job]) -> None:
        i, job = what
        del self.hardware.accepted[i]
        show(job)
        self._n_waiting += 1
        self.start(job, self.now, self.now + job.run)

    def start(self, job: Job, start: Any, end: Any) -> None:
        """Start a job."""
        super().start(job, start, end)
        if job is self.goal:
            raise _Started


class Rehearsed:
    """Predictions by the scheduler of a site, which continues from what is there now.

    Parameters
    ----------
    site : SiteSimulation
    now : int or float
        [s]
    """

    def __init__(self, site: "SiteSimulation", now: Any) -> None:
        self._policy, self._procs = site.prepared.policy, site.prepared.rules.machine
        self._base = _Rehearsal(site, self._policy, self._procs, (), now)

    def start(self, coming: Sequence[Coming], which: int) -> Any:
        """Return the start of one of the jobs that arrive."""
        user = User()
        jobs = [_job(each, user) for each in coming]
        ahead = _Rehearsal(self._base, self._policy, self._procs, jobs, self._base.now)
        ahead.goal = jobs[which]
        ahead.scheduler.sleep(0)
        with suppress(_Started):
            ahead.go()
        return jobs[which].start


def _job(coming: Coming, user: User) -> Job:
    """Return a job that arrives, with its estimate as run time."""
    length = coming.estimate
    job = Job(user, coming.user, coming.procs, length, length, coming.arrival, coming.number)
    job.group = coming.group
    return job
