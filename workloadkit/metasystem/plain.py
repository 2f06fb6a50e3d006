"""The plain-Python engine of metasystems: sites share one clock.

At one instant, sites publish if it is time to; meta-schedulers then decide for the jobs submitted
to them; last, each site in turn processes its events and makes its pass, see
`workloadkit.simulation.engine`. So a publication shows a site just before its time. Jobs that
arrive at a site in the same second are in the order of their numbers, local jobs first.
"""

import copy
from bisect import insort
from collections.abc import Sequence
from functools import partial
from heapq import heappop
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.metasystem.jobs import MetaJobs, Prepared, PreparedSite
from workloadkit.metasystem.modelled import ModelledSite
from workloadkit.metasystem.plan import Plan
from workloadkit.metasystem.policies import MetaPolicy
from workloadkit.metasystem.reserving import ReservingMachine
from workloadkit.metasystem.views import MetaJob, Published, SiteView
from workloadkit.simulation.engine import Job, Scheduler, Simulation, User
from workloadkit.simulation.plain.events import (
    _UNCOUNTED,
    SCHEDULER_WAKE_UP,
    SUBMISSION,
    TERMINATION,
    EventQueue,
)
from workloadkit.simulation.plain.job import show
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
    held : ndarray, shape (n_jobs,)
        How long the processors of each part were held, idle, for the other parts. [s]
    """

    site: NDArray[np.int64]
    start: NDArray
    local_starts: Sequence[NDArray]
    cancelled: NDArray[np.int64]
    held: NDArray


class _MetaUser(User):
    """Submits the jobs that meta-schedulers send to a site."""

    def begin(self) -> None:
        """Do nothing: the meta-schedulers act."""


class _Events(EventQueue):
    """The events of a site, of which the time of the next one can be read."""

    def next_time(self, jobs_wait: bool) -> Any:
        """Return the time of the next event; None if no relevant one is left, see `take`."""
        heap, void, coming = self._heap, self._void, self._next
        while void and heap and heap[0][3] in void:
            void.remove(heappop(heap)[3])
        if coming is None:
            if not (heap and jobs_wait) and all(event[1] in _UNCOUNTED for event in heap):
                return None
            return heap[0][0]
        return min(heap[0][0], coming[0]) if heap else coming[0]


class SiteSimulation(Simulation):
    """A site: a simulation that goes from instant to instant, and receives jobs.

    Parameters
    ----------
    place : int
        Place of the site.
    prepared : PreparedSite
    jobs : MetaJobs
    """

    hardware: ReservingMachine

    def __init__(self, place: int, prepared: PreparedSite, jobs: MetaJobs) -> None:
        self.place, self.prepared, self.meta = place, prepared, jobs
        policy = prepared.policy
        own = isinstance(policy, Scheduler)
        scheduler = copy.deepcopy(policy) if own else plain_form(policy)
        scheduler.name = policy.name
        self._grid = _MetaUser()
        self.hardware = ReservingMachine(prepared.rules.machine)
        super().__init__(
            self.hardware,
            scheduler,
            [Replay(prepared.workload), self._grid],
            overrun=prepared.rules.overrun,
            rng=np.random.default_rng(prepared.rules.seed),
        )
        self._events: _Events = _Events()
        self.sent: dict[int, tuple[Job, int]] = {}  # of a meta job: job, serial of its arrival
        self.started: list[int] = []  # meta jobs that started in this instant
        self.holding: dict[int, Job] = {}  # parts that hold their processors, idle
        self.to_hold: set[int] = set()  # parts that will
        self.published: Any = None  # when it published last
        for user in self.users:
            user.begin()

    @property
    def next_time(self) -> Any:
        """The time of its next event; None if there is none."""
        return self._events.next_time(self._n_waiting > 0)

    def _arrival(self, job: Job) -> tuple[Any, int, int]:
        assert job.number is not None
        return job.submit, SUBMISSION, 2 * job.number + (job.submitter is self._grid)  # local first

    def play_instant(self, now: Any) -> list[int]:
        """Process all events of an instant, with a pass; return the meta jobs that start."""
        self.now, self.started = now, []
        self._events.play(self._events.take(self._n_waiting > 0, False))
        self.scheduler.free = self.hardware.level.free
        self.scheduler.allocate()
        return self.started

    def start(self, job: Job, start: Any, end: Any) -> None:
        """Start a job; of one that waits for its other parts, hold the processors."""
        if job.submitter is self._grid and job.row in self.to_hold:
            self._n_waiting -= 1
            job.start, self.holding[job.row] = start, job
            self._occupy(job, -1 - job.row)
            self.hardware.start(job.view, start)
            self.scheduler.free = self.hardware.level.free
        else:
            super().start(job, start, end)
        if job.submitter is self._grid:
            self.started.append(job.row)

    @property
    def moves(self) -> bool:
        """Whether a job will end that does not wait for other parts."""
        return len(self.running) > len(self.holding) or bool(self.hardware.accepted)

    def _occupy(self, job: Job, serial: int) -> None:
        """Enter a running job under the serial of its end."""
        self.running[job.view] = serial
        insort(self.planned_ends, (job.start + job.view.estimate, serial, job.view))

    def _job(self, i: int, arrival: Any) -> Job:
        """Return a meta job as a job of this site."""
        meta = self.meta
        values = (meta.procs[i], meta.run[self.place, i], meta.estimate[self.place, i])
        procs, run, estimate = (value.item() for value in values)
        user, number = int(meta.user[i]), int(meta.number[i])
        job = Job(self._grid, user, procs, run, estimate, arrival, number, bool(meta.killed[i]))
        job.row, job.group = i, int(meta.group[i])
        return job

    def send(self, i: int, arrival: Any) -> None:
        """Let a meta job arrive at a time."""
        job = self._job(i, arrival)
        self.sent[i] = job, self._events.add(*self._arrival(job), self.arrive, job)

    def reserve(self, i: int, begin: Any) -> None:
        """Accept a reservation: a meta job starts at a time, for which there is room."""
        job = self._job(i, begin)
        self.hardware.accepted[i] = begin, job.estimate, job.procs
        self.scheduler.plans_void()
        self._events.add(begin, SUBMISSION, -1, self._begin_reserved, job)  # before all arrivals

    def _begin_reserved(self, job: Job) -> None:
        """Start a job at the begin of its reservation; its scheduler never sees it wait."""
        del self.hardware.accepted[job.row]
        job.arrival = len(self.jobs)
        self.jobs.append(show(job))
        self._n_waiting += 1
        self.start(job, self.now, self.now + job.run)

    def run_held(self, i: int, now: Any) -> Any:
        """Let a part run that has held its processors; return for how long it has."""
        job = self.holding.pop(i)
        held = now - job.start
        self.planned_ends.remove((job.view.planned_end, -1 - i, job.view))
        job.start = now
        self._occupy(job, self._events.add(now + job.run, TERMINATION, 0, self._end, job))
        self.scheduler.plans_void()
        return held

    def release_held(self, i: int, now: Any) -> None:
        """Release the processors that a part holds; a pass follows."""
        self.now, job = now, self.holding.pop(i)
        self._take_back(job, True)
        self.scheduler.plans_void()
        self._events.add(now, SCHEDULER_WAKE_UP, 0, lambda _: None, None)

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
        free, in_order = self.hardware.level.free, self.prepared.in_order
        wishes = [(job.procs, job.estimate) for job in waiting]
        plan = partial(Plan, now, free, running, wishes, in_order=in_order)  # takes long
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


class _Broker(NamedTuple):
    """A meta-scheduler in a simulation: its policy, and the sites as it sees them."""

    policy: MetaPolicy
    views: Sequence[SiteView]


def play_plain(prepared: Prepared, policies: Sequence[MetaPolicy]) -> Served:
    """Simulate a metasystem in plain Python."""
    return _Metasystem(prepared, policies).play()


class _Metasystem:
    """The simulation of a metasystem."""

    def __init__(self, prepared: Prepared, policies: Sequence[MetaPolicy]) -> None:
        self.jobs = prepared.jobs
        self.sites: list[Any] = [
            (SiteSimulation if each.site.waits is None else ModelledSite)(m, each, prepared.jobs)
            for m, each in enumerate(prepared.sites)
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
        self.held = np.zeros(n_jobs, self.start.dtype)
        self.partly: dict[int, range] = {}  # jobs of which some parts hold processors, by the first
        self.parts_of: dict[int, range] = {}
        self.released: dict[int, list[range]] = {}  # jobs that wait until another one runs

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
                last = self.coming + 1
                while last < self.site.size and self.jobs.part[last] > 0:
                    last += 1
                self._decide(range(self.coming, last), now)
                self.coming = last
            for site in self.sites:
                if site.next_time == now:
                    for i in site.play_instant(now):
                        self._started(i, site.place, now)
            self._break_deadlock(now)
        stuck = np.flatnonzero(self.site < 0)
        if stuck.size:
            raise WorkloadError(
                f"{plural(stuck.size, 'meta job')} never start; the first is job "
                f"{self.jobs.number[stuck[0]]}"
            )
        local_starts = [site.local_starts() for site in self.sites]
        return Served(self.site, self.start, local_starts, self.cancelled, self.held)

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

    def _decide(self, parts: range, now: Any) -> None:
        """Let a meta-scheduler send a job, perhaps of several parts."""
        broker = self.brokers[self.jobs.scheduler[parts[0]]]
        for site in self.sites:
            broker.views[site.place].now = now
            if site.prepared.site.publishes.every == 0 and site.published != now:
                self._publish(site, now)
        policy = broker.policy
        if policy.co_allocates == "reserve":
            self._reserve(parts, now)
            return
        used: set[int] = set()
        for i in parts:
            jobs, job = self.jobs, self._seen(i, now)
            admitting = [
                view
                for view in broker.views
                if jobs.admitted[view.place, i] and view.place not in used
            ]
            chosen = policy.choose(job, admitting)
            if not chosen or any(view not in admitting for view in chosen):
                raise ParameterError(
                    f"meta-scheduler {policy.name}: it chose {chosen!r} for job {job.number}; "
                    "choose among the sites that admit it"
                )
            for view in chosen:
                if policy.co_allocates:
                    self.sites[view.place].to_hold.add(i)
                    self.parts_of[i] = parts
                self.sites[view.place].send(i, view.arrival(job))
                view.send(job)
                self.asked[i].append(view.place)
                used.add(view.place)

    def _seen(self, i: int, now: Any) -> MetaJob:
        """Return a job as its meta-scheduler sees it."""
        jobs = self.jobs
        return MetaJob(
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

    def _reserve(self, parts: range, now: Any) -> None:
        """Reserve the earliest common window of the parts of a job."""
        jobs, first = self.jobs, parts[0]
        plans = [site.hardware.plan(now) for site in self.sites]
        arrivals = (now + jobs.delay[:, first]).tolist()
        times = {*arrivals, *(time for plan in plans for time, _ in plan.steps() if time >= now)}
        for begin in sorted(times):
            room = {
                m: plan.room(begin, jobs.estimate[m, first].item())
                for m, plan in enumerate(plans)
                if arrivals[m] <= begin
            }
            chosen: list[int] = []
            for i in parts:  # the largest first
                free = [
                    m
                    for m in room
                    if m not in chosen and jobs.admitted[m, i] and room[m] >= jobs.procs[i]
                ]
                if not free:
                    break
                chosen.append(max(free, key=room.__getitem__))
            if len(chosen) == len(parts):
                for i, m in zip(parts, chosen, strict=True):
                    self.sites[m].reserve(i, begin)
                return

    def _started(self, i: int, place: int, now: Any) -> None:
        """Note the start of a meta job, and cancel it elsewhere, or wait for its other parts."""
        self.site[i], self.start[i] = place, now
        broker = self.brokers[self.jobs.scheduler[i]]
        for other in self.asked[i]:
            if other != place:
                self.sites[other].cancel(i, now)
                broker.views[other].withdraw(i)
                self.cancelled[i] += 1
        if i in self.parts_of:
            parts = self.parts_of[i]
            self.partly[parts[0]] = parts
            if all(self.site[part] >= 0 for part in parts):
                del self.partly[parts[0]]
                for part in parts:
                    self.held[part] += self.sites[self.site[part]].run_held(part, now)
                    self.start[part] = now
                for others in self.released.pop(parts[0], ()):
                    for part in others:
                        self.sites[self.asked[part][0]].send(part, now)

    def _break_deadlock(self, now: Any) -> None:
        """If jobs hold what others wait for, let the one submitted last release its processors.

        Its parts are sent again when the first of them runs, which so never releases anything.
        A site moves if a job that runs on it will end: an ordinary one, or one that holds
        processors and gets all of its parts. A job gets them if each missing part waits at a site
        that moves, or has not arrived and fits.
        """
        stuck, moving = dict(self.partly), {site.place for site in self.sites if site.moves}
        found = bool(stuck)
        while found:
            found = False
            for first, parts in list(stuck.items()):
                missing = [i for i in parts if self.site[i] < 0]
                if all(self._may_start(i, moving) for i in missing):
                    moving |= {int(self.site[i]) for i in parts if i not in missing}
                    del stuck[first]
                    found = True
        if stuck:
            self._release(stuck[max(stuck)], now)
            self.released.setdefault(min(stuck), []).append(stuck[max(stuck)])

    def _may_start(self, i: int, moving: set[int]) -> bool:
        """Whether a part may still start at its site."""
        site = self.sites[self.asked[i][0]]
        job = site.sent[i][0]
        return site.place in moving or (job.view is None and site.hardware.level.fits(job))

    def _release(self, parts: range, now: Any) -> None:
        """Release the processors of a job that waits for parts, and cancel these."""
        del self.partly[parts[0]]
        for i in parts:
            site = self.sites[self.asked[i][0]]
            if self.site[i] >= 0:
                self.held[i] += now - self.start[i]
                site.release_held(i, now)
            else:
                site.cancel(i, now)
            self.site[i] = -1
            self.cancelled[i] += 1
