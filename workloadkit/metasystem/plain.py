"""The plain-Python engine of metasystems: sites share one clock.

At one instant, sites publish if it is time to; meta-schedulers then decide for the jobs submitted
to them; last, each site in turn processes its events and makes its pass, see
`workloadkit.simulation.engine`. So a publication shows a site just before its time. Jobs that
arrive at a site in the same second are in the order of their numbers, local jobs first.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.metasystem.jobs import MetaJobs, Prepared, PreparedSite
from workloadkit.metasystem.plan import Plan
from workloadkit.metasystem.policies import MetaPolicy
from workloadkit.metasystem.views import MetaJob, Published, SiteView
from workloadkit.simulation.engine import Job, Scheduler, Simulation, User
from workloadkit.simulation.machine.one_pool import OnePool
from workloadkit.simulation.plain.events import SCHEDULER_WAKE_UP, SUBMISSION
from workloadkit.simulation.policies.policy import plain_form
from workloadkit.simulation.users.open import Replay


class Served(NamedTuple):
    """How the jobs of a metasystem were served.

    Parameters
    ----------
    site : ndarray of int64, shape (n_jobs,)
        Place of the site that ran each meta job.
    start : ndarray, shape (n_jobs,)
        Start of each meta job. [s]
    local_starts : sequence of ndarray
        Starts of the local jobs of each site. [s]
    cancelled : ndarray of int64, shape (n_jobs,)
        Number of sites at which each meta job was cancelled.
    """

    site: NDArray[np.int64]
    start: NDArray
    local_starts: Sequence[NDArray]
    cancelled: NDArray[np.int64]


class _MetaUser(User):
    """Submits the jobs that meta-schedulers send to a site."""

    def begin(self) -> None:
        """Do nothing: the meta-schedulers act."""


class SiteSimulation(Simulation):
    """A site: a simulation that goes from instant to instant, and receives jobs.

    Parameters
    ----------
    place : int
        Place of the site.
    prepared : PreparedSite
    jobs : MetaJobs
    """

    def __init__(self, place: int, prepared: PreparedSite, jobs: MetaJobs) -> None:
        self.place, self.prepared, self.meta = place, prepared, jobs
        policy = prepared.policy
        scheduler = _copied(policy) if isinstance(policy, Scheduler) else plain_form(policy)
        scheduler.name = policy.name
        self._grid = _MetaUser()
        super().__init__(
            OnePool(prepared.rules.machine).plain(),
            scheduler,
            [Replay(prepared.workload), self._grid],
            overrun=prepared.rules.overrun,
            rng=np.random.default_rng(prepared.rules.seed),
        )
        self.sent: dict[int, tuple[Job, int]] = {}  # of a meta job: job, serial of its arrival
        self.started: list[int] = []  # meta jobs that started in this instant
        self.published: Any = None  # when it published last
        for user in self.users:
            user.begin()

    @property
    def next_time(self) -> Any:
        """The time of its next event; None if there is none."""
        return self._events.next_time(jobs_wait=self._n_waiting > 0)

    def _arrival(self, job: Job) -> tuple:
        assert job.number is not None
        key = 2 * job.number + (job.submitter is self._grid)  # local jobs first
        return job.submit, SUBMISSION, key, self.arrive, job

    def play_instant(self, now: Any) -> list[int]:
        """Process all events of an instant, with a pass; return the meta jobs that start."""
        self.now, self.started = now, []
        self._events.play(now)
        self.scheduler.allocate()
        return self.started

    def start(self, job: Job) -> None:
        """Start a job."""
        super().start(job)
        if job.submitter is self._grid:
            self.started.append(job.row)

    def send(self, i: int, arrival: Any) -> None:
        """Let a meta job arrive at a time."""
        meta = self.meta
        values = (meta.procs[i], meta.run[self.place, i], meta.estimate[self.place, i])
        procs, run, estimate = (value.item() for value in values)
        user, number = int(meta.user[i]), int(meta.number[i])
        job = Job(self._grid, user, procs, run, estimate, arrival, number, bool(meta.killed[i]))
        job.row, job.group = i, int(meta.group[i])
        self.sent[i] = job, self._events.add(*self._arrival(job))

    def cancel(self, i: int, now: Any) -> None:
        """Cancel a meta job that has not started; a pass follows if jobs wait."""
        job, serial = self.sent.pop(i)
        if job.view is None:
            self._events.cancel(serial)
            return
        self.now = now
        self.scheduler.queue = [view for view in self.scheduler.queue if view is not job.view]
        self._n_waiting -= 1
        self.scheduler.plans_void()
        self._events.add(now, SCHEDULER_WAKE_UP, 0, lambda _: None, None)

    def publish(self, now: Any) -> Published:
        """Return the state just before a time."""
        waiting = self.scheduler.queue
        running = [(end, job.procs) for end, _, job in self.planned_ends]
        work = sum(job.procs * job.estimate for job in waiting)
        work += sum(procs * max(end - now, 0) for end, procs in running)
        free, plan = self.hardware.level.free, None
        if "plan" in self.prepared.site.publishes.what:
            wishes = [(job.procs, job.estimate) for job in waiting]
            plan = Plan(now, free, running, wishes, in_order=self.prepared.in_order)
        return Published(now, free, len(waiting), work, plan)

    def local_starts(self) -> NDArray:
        """Return the starts of the local jobs.

        Raises
        ------
        WorkloadError
            If a job never starts.
        """
        local = [view._record for view in self.jobs if view._record.submitter is not self._grid]
        stuck = [job.number for job in local if job.start is None]
        if stuck:
            raise WorkloadError(
                f"site {self.prepared.site.name}: {self.scheduler.name} never starts "
                f"{plural(len(stuck), 'local job')}; the first is job {stuck[0]}"
            )
        dtype = self.prepared.workload.submit.dtype
        return np.array([job.start for job in local], dtype)


def _copied(scheduler: Scheduler) -> Scheduler:
    import copy

    return copy.deepcopy(scheduler)


class _Broker:
    """A meta-scheduler in a simulation: its policy, and the sites as it sees them."""

    def __init__(self, policy: MetaPolicy, views: Sequence[SiteView]) -> None:
        self.policy, self.views = policy, views


def play_plain(prepared: Prepared, policies: Sequence[MetaPolicy]) -> Served:
    """Simulate a metasystem in plain Python."""
    return _Metasystem(prepared, policies).play()


class _Metasystem:
    """The simulation of a metasystem."""

    def __init__(self, prepared: Prepared, policies: Sequence[MetaPolicy]) -> None:
        self.jobs = prepared.jobs
        self.sites = [
            SiteSimulation(m, each, prepared.jobs) for m, each in enumerate(prepared.sites)
        ]
        self.brokers = [
            _Broker(
                policy,
                [
                    SiteView(m, each.site, each.rules.machine)
                    for m, each in enumerate(prepared.sites)
                ],
            )
            for policy in policies
        ]
        n_jobs = self.jobs.number.size
        self.coming = 0
        self.asked: list[list[int]] = [[] for _ in range(n_jobs)]  # sites that have a job
        self.site = np.full(n_jobs, -1, np.int64)
        self.start = np.zeros(n_jobs, self.jobs.submit.dtype)
        self.cancelled = np.zeros(n_jobs, np.int64)

    def play(self) -> Served:
        """Run to the last event.

        Raises
        ------
        WorkloadError
            If a job never starts.
        """
        while (now := self._next_time()) is not None:
            for site in self.sites:
                self._publish_if_due(site, now)
            while self.coming < self.site.size and self.jobs.submit[self.coming] == now:
                self._decide(self.coming, now)
                self.coming += 1
            for site in self.sites:
                if site.next_time == now:
                    for i in site.play_instant(now):
                        self._started(i, site.place, now)
        stuck = np.flatnonzero(self.site < 0)
        if stuck.size:
            raise WorkloadError(
                f"{plural(stuck.size, 'meta job')} never start; the first is job "
                f"{self.jobs.number[stuck[0]]}"
            )
        local_starts = [site.local_starts() for site in self.sites]
        return Served(self.site, self.start, local_starts, self.cancelled)

    def _next_time(self) -> Any:
        times = [site.next_time for site in self.sites]
        if self.coming < self.site.size:
            times.append(self.jobs.submit[self.coming].item())
        return min((time for time in times if time is not None), default=None)

    def _publish_if_due(self, site: SiteSimulation, now: Any) -> None:
        """Publish at the last multiple of the interval, if that has not been done."""
        every = site.prepared.site.publishes.every
        if every > 0:
            time = now - now % every
            if site.published is None or time > site.published:
                self._publish(site, time)

    def _publish(self, site: SiteSimulation, time: Any) -> None:
        site.published = time
        published = site.publish(time)
        for broker in self.brokers:
            broker.views[site.place].receive(published)

    def _decide(self, i: int, now: Any) -> None:
        """Let a meta-scheduler send a job."""
        jobs = self.jobs
        broker = self.brokers[jobs.scheduler[i]]
        for site in self.sites:
            broker.views[site.place].now = now
            if site.prepared.site.publishes.every == 0 and site.published != now:
                self._publish(site, now)
        job = MetaJob(
            place=i,
            number=int(jobs.number[i]),
            user=int(jobs.user[i]),
            group=int(jobs.group[i]),
            procs=int(jobs.procs[i]),
            submit=now,
            home=int(jobs.home[i]),
            estimates=tuple(jobs.estimate[:, i].tolist()),
            delays=tuple(jobs.delay[:, i].tolist()),
        )
        admitting = [view for view in broker.views if jobs.admitted[view.place, i]]
        chosen = list(broker.policy.choose(job, admitting))
        if not chosen or any(view not in admitting for view in chosen):
            raise ParameterError(
                f"meta-scheduler {broker.policy.name}: it chose {chosen!r} for job {job.number}; "
                "choose among the sites that admit it"
            )
        for view in chosen:
            self.sites[view.place].send(i, view.arrival(job))
            view.send(job)
            self.asked[i].append(view.place)

    def _started(self, i: int, place: int, now: Any) -> None:
        """Note the start of a meta job, and cancel it elsewhere."""
        self.site[i], self.start[i] = place, now
        broker = self.brokers[self.jobs.scheduler[i]]
        for other in self.asked[i]:
            if other != place:
                self.sites[other].cancel(i, now)
                broker.views[other].withdraw(i)
                self.cancelled[i] += 1
