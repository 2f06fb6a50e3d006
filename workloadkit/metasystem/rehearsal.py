"""Sites that are not simulated job by job: predicted starts, and sites of modelled waits."""

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.metasystem.plan import Coming
from workloadkit.metasystem.prepared import MetaJobs, PreparedSite
from workloadkit.metasystem.sites import ReservingMachine
from workloadkit.metasystem.views import Published
from workloadkit.simulation.engine import Job, Scheduler, User
from workloadkit.simulation.plain.ahead import Ahead
from workloadkit.simulation.plain.job import show
from workloadkit.simulation.policies.policy import plain_form
from workloadkit.simulation.rules import SUBMISSION

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

    def __init__(
        self, other: Any, policy: Any, procs: int, jobs: Sequence[Job], now: float
    ) -> None:
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

    def start(self, job: Job, start: float, end: float) -> None:
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

    def __init__(self, site: "SiteSimulation", now: float) -> None:
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


# A site of which only the waits are modelled.


class PredictedWaits(NamedTuple):
    """The predicted waits of all meta jobs, by their places. [s]."""

    waits: NDArray

    def start(self, coming: Sequence[Coming], which: int) -> Any:
        """Return the start of one of the jobs that arrive."""
        return coming[which].arrival + self.waits[coming[which].place].item()


class ModelledSite:
    """A site that starts each job after a wait that is drawn, whatever other jobs there are.

    Parameters
    ----------
    place : int
        Place of the site.
    prepared : PreparedSite
        Its site has `waits`.
    jobs : MetaJobs
    ended : callable
        Called with each meta job that ends, and the time.
    """

    def __init__(
        self,
        place: int,
        prepared: PreparedSite,
        jobs: MetaJobs,
        ended: Callable[[int, Any], None],
    ) -> None:
        self.place, self.prepared, self._ended = place, prepared, ended
        self.published: Any = None  # when it published last
        self.moves = True  # it never waits for a job to end
        self.passes = False  # whether jobs start in this instant
        self._run = jobs.run[place]
        self._events: list[tuple[Any, bool, int]] = []  # time, whether it is a start, job
        self._started: list[int] = []
        self._cancelled: set[int] = set()
        waits: Any = prepared.site.waits
        rng, n_jobs = np.random.default_rng(prepared.seed), jobs.number.size
        drawn = np.full(n_jobs, float(waits.mean))
        if waits.law == "exponential":
            drawn = rng.exponential(waits.mean, n_jobs)
        predicted = drawn * np.exp(waits.error * rng.standard_normal(n_jobs))
        whole = jobs.submit.dtype.kind == "i"
        self._wait, self._predicted = (
            np.rint(x).astype(np.int64) if whole else x for x in (drawn, predicted)
        )

    @property
    def next_time(self) -> Any:
        """The time of its next event; None if there is none."""
        while self._events and self._events[0][1] and self._events[0][2] in self._cancelled:
            self._cancelled.remove(heappop(self._events)[2])
        return self._events[0][0] if self._events else None

    def play_events(self, now: float) -> None:
        """Process the events of an instant."""
        while self.next_time == now:
            _, starts, i = heappop(self._events)
            if starts:
                self._started.append(i)
            else:
                self._ended(i, now)
        self.passes = True

    def make_pass(self, now: float) -> list[int]:
        """Return the meta jobs that start in this instant."""
        started, self._started, self.passes = self._started, [], False
        for i in started:
            heappush(self._events, (now + self._run[i].item(), False, i))
        return started

    def send(self, i: int, arrival: float) -> None:
        """Let a meta job arrive at a time."""
        heappush(self._events, (arrival + self._wait[i].item(), True, i))

    def cancel(self, i: int, now: float) -> None:
        """Cancel a meta job that has not started."""
        self._cancelled.add(i)

    def publish(self, now: float) -> Published:
        """Return the predicted waits of all jobs, and nothing else."""
        return Published(now, 0, 0, 0, lambda: PredictedWaits(self._predicted))

    def served(self) -> tuple[PreparedSite, NDArray]:
        """Return the site, and no starts."""
        return self.prepared, self.prepared.workload.submit
