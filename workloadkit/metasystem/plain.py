"""The plain-Python engine of metasystems: sites share one clock.

At one instant, sites publish if it is time to; meta-schedulers then decide for the jobs submitted
to them; the sites process their events, then the users of meta jobs who wake up. What these create
for the same second follows in the same order. Last, each site that had an event makes its pass, in
turn, see `workloadkit.simulation.engine`. So a publication shows a site just before its time. Jobs
that arrive at a site in the same second are in the order of their numbers, local jobs first.
"""

import copy
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from heapq import heappop
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import ParameterError, WorkloadError, plural
from workloadkit.fields import MAX_PROCS
from workloadkit.metasystem.jobs import Links, MetaJobs, Prepared, PreparedSite, PreparedSource
from workloadkit.metasystem.modelled import ModelledSite
from workloadkit.metasystem.plan import Plan
from workloadkit.metasystem.policies import MetaPolicy
from workloadkit.metasystem.reserving import ReservingMachine
from workloadkit.metasystem.views import MetaJob, Published, SiteView
from workloadkit.simulation.engine import Job, Scheduler, Simulation, User
from workloadkit.simulation.engines import submitted
from workloadkit.simulation.machine.plain import Machine
from workloadkit.simulation.plain.events import (
    _UNCOUNTED,
    SCHEDULER_WAKE_UP,
    SUBMISSION,
    TERMINATION,
    WAKE_UP,
    Event,
    EventQueue,
)
from workloadkit.simulation.plain.job import show
from workloadkit.simulation.policies.policy import plain_form
from workloadkit.simulation.users.open import Replay


class Served(NamedTuple):
    """How the jobs of a metasystem were served.

    Parameters
    ----------
    prepared : Prepared
        The metasystem with all jobs as they were submitted.
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

    prepared: Prepared
    site: NDArray[np.int64]
    start: NDArray
    local_starts: Sequence[NDArray]
    cancelled: NDArray[np.int64]
    held: NDArray


class _MetaUser(User):
    """Submits the jobs that meta-schedulers send to a site.

    Parameters
    ----------
    ended : callable
        Called with each meta job that ends, and the time.
    first : int
        Row of the first meta job.
    """

    def __init__(self, ended: Callable[[int, Any], None], first: int) -> None:
        super().__init__()
        self.ended, self.first = ended, first

    def begin(self) -> None:
        """Do nothing: the meta-schedulers act."""

    def job_ended(self, job: Job) -> None:
        """Pass on that a meta job has ended."""
        self.ended(job.row - self.first, self.now)


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

    def play_once(self, due: list[Event]) -> None:
        """Process taken events, without those that they create for the same second."""
        void = self._void
        for _, _, _, serial, happen, to in due:
            if serial in void:  # cancelled in the same second
                void.remove(serial)
            else:
                happen(to)


class Submissions(Simulation):
    """The users who submit the jobs of a source to a meta-scheduler: their jobs run elsewhere.

    Parameters
    ----------
    place : int
        Place of the source.
    prepared : PreparedSource
        It has users.
    jobs : MetaJobs
    """

    _events: _Events

    def __init__(self, place: int, prepared: PreparedSource, jobs: MetaJobs) -> None:
        self.prepared = prepared
        seed, first = prepared.seed, np.flatnonzero((jobs.source == place) & (jobs.part == 0))
        users = prepared.users.plain(np.random.default_rng(seed).spawn(1)[0])  # as in `simulate`
        super().__init__(Machine(MAX_PROCS), Scheduler(), users, rng=np.random.default_rng(seed))
        self._events = _Events()
        self._wake_ups: list[Event] = []
        self._submitted: list[Job] = []
        #: The first part of each job, by its place.
        self.rows = first[np.argsort(jobs.place[first])]
        for user in users:
            user.begin()

    @property
    def next_time(self) -> Any:
        """The time of its next event; None if there is none."""
        return self._events.next_time(False)

    def arrive(self, job: Job) -> None:
        """Collect a job that is submitted now."""
        self._submitted.append(job)

    def take(self, now: Any) -> list[Job]:
        """Return the jobs that are submitted now; `wake_up` then completes the round."""
        self.now, self._submitted = now, []
        due = self._events.take(False, False) if self.next_time == now else []
        self._wake_ups = [event for event in due if event[1] == WAKE_UP]
        self._events.play_once(due[: len(due) - len(self._wake_ups)])
        return self._submitted

    def wake_up(self) -> None:
        """Wake the users who are due."""
        self._events.play_once(self._wake_ups)


class SiteSimulation(Simulation):
    """A site: a simulation that goes from instant to instant, and receives jobs.

    Parameters
    ----------
    place : int
        Place of the site.
    prepared : PreparedSite
    jobs : MetaJobs
    ended : callable
        Called with each meta job that ends, and the time.
    """

    hardware: Any

    def __init__(
        self,
        place: int,
        prepared: PreparedSite,
        jobs: MetaJobs,
        ended: Callable[[int, Any], None],
    ) -> None:
        self.place, self.prepared, self.meta = place, prepared, jobs
        policy = prepared.policy
        own = isinstance(policy, Scheduler)
        scheduler = copy.deepcopy(policy) if own else plain_form(policy)
        scheduler.name = policy.name
        self._first = prepared.workload.job.size  # rows of meta jobs are behind those of local ones
        self._grid = _MetaUser(ended, self._first)
        local: Sequence[User] = [Replay(prepared.workload)]
        if prepared.users is not None:  # they draw as in `simulate`
            local = prepared.users.plain(np.random.default_rng(prepared.rules.seed).spawn(1)[0])
        nodes = prepared.rules.hardware
        self.hardware = nodes.plain() if nodes else ReservingMachine(prepared.rules.machine)
        super().__init__(
            self.hardware,
            scheduler,
            [*local, self._grid],
            overrun=prepared.rules.overrun,
            rng=np.random.default_rng(prepared.rules.seed),
        )
        self._events: _Events = _Events()
        self.sent: dict[int, tuple[Job, int]] = {}  # of a meta job: job, serial of its arrival
        self.started: list[int] = []  # meta jobs that started in this instant
        self.holding: dict[int, Job] = {}  # parts that hold their processors, idle
        self.to_hold: set[int] = set()  # parts that will
        self.published: Any = None  # when it published last
        self.passes = False  # whether it has had an event in this instant
        for user in self.users:
            user.begin()

    @property
    def next_time(self) -> Any:
        """The time of its next event; None if there is none."""
        return self._events.next_time(self._n_waiting > 0)

    def _arrival(self, job: Job) -> tuple[Any, int, int]:
        time, kind, key = super()._arrival(job)
        return time, kind, 2 * key + (job.submitter is self._grid)  # local jobs first

    def arrive(self, job: Job) -> None:
        """Add a job that arrives now; meta jobs do not count in the numbers of local ones."""
        last = self._last_number
        super().arrive(job)
        if job.submitter is self._grid:
            self._last_number = last

    def play_events(self, now: Any) -> None:
        """Process the events of an instant, without those that they create for it."""
        self.now, self.passes = now, True
        self._events.play_once(self._events.take(self._n_waiting > 0, False))

    def make_pass(self, now: Any) -> list[int]:
        """Let the scheduler start jobs; return the meta jobs that start."""
        self.scheduler.free = self.hardware.level.free
        self.scheduler.allocate()
        started, self.started, self.passes = self.started, [], False
        return started

    def start(self, job: Job, start: Any, end: Any) -> None:
        """Start a job; of one that waits for its other parts, hold the processors."""
        i = job.row - self._first
        if job.submitter is self._grid and i in self.to_hold:
            self._n_waiting -= 1
            job.start, self.holding[i] = start, job
            self._occupy(job, -1 - i)
            self.hardware.start(job.view, start)
            self.scheduler.free = self.hardware.level.free
        else:
            super().start(job, start, end)
        if job.submitter is self._grid:
            self.started.append(i)

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
        job.row, job.group = self._first + i, int(meta.group[i])
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
        del self.hardware.accepted[job.row - self._first]
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

    def served(self) -> tuple[PreparedSite, NDArray]:
        """Return the site with its local jobs as they were submitted, and their starts.

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
        prepared, users = self.prepared, self.prepared.users
        if users is not None and local:
            local.sort(key=attrgetter("submit", "number"))
            notes = {name: np.array([job.notes[name] for job in local]) for name in local[0].notes}
            _, workload, _ = users.result(submitted(local), notes, prepared.rules.machine)
            prepared = replace(prepared, workload=workload)
        dtype = prepared.workload.submit.dtype
        return prepared, np.array([job.start for job in local], dtype)


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
        self.prepared, jobs = prepared, prepared.jobs
        self.jobs = jobs = replace(jobs, submit=jobs.submit.copy(), delay=jobs.delay.copy())
        self.sites: list[Any] = [
            (SiteSimulation if each.site.waits is None else ModelledSite)(
                m, each, jobs, self._ended
            )
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
        n_jobs = jobs.number.size
        self.users = {
            n: Submissions(n, each, jobs)
            for n, each in enumerate(prepared.sources)
            if each.users is not None
        }
        self.links = Links(prepared.system)
        reacts = np.isin(jobs.source, [*self.users])
        #: Jobs whose submit times are known, by their first parts.
        self.known = np.flatnonzero(~reacts & (jobs.part == 0)).tolist()
        self.coming = 0
        self.n_parts = np.diff(np.append(np.flatnonzero(jobs.part == 0), n_jobs))
        self.n_parts = np.repeat(self.n_parts, self.n_parts)
        self.is_submitted = ~reacts
        self.of_users: dict[int, tuple[Job, int]] = {}  # of a job: the users' own, parts to end
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
            while self._next_time() == now:
                self._play_round(now)
            for site in self.sites:
                if site.passes:
                    for i in site.make_pass(now):
                        self._started(i, site.place, now)
            self._break_deadlock(now)
        stuck = np.flatnonzero((self.site < 0) & self.is_submitted)
        if stuck.size:
            raise WorkloadError(
                f"{plural(stuck.size, 'meta job')} never start; the first is job "
                f"{self.jobs.number[stuck[0]]}"
            )
        return self._served()

    def _served(self) -> Served:
        """Return how the jobs were served, those that were submitted."""
        jobs = self.jobs
        order = np.lexsort((jobs.number, jobs.scheduler, jobs.submit))
        order = order[self.is_submitted[order]]
        sites, local_starts = zip(*(site.served() for site in self.sites), strict=True)
        return Served(
            replace(self.prepared, sites=sites, jobs=jobs.take(order)),
            self.site[order],
            self.start[order],
            local_starts,
            self.cancelled[order],
            self.held[order],
        )

    def _next_time(self) -> Any:
        times = [each.next_time for each in (*self.sites, *self.users.values())]
        if self.coming < len(self.known):
            times.append(self.jobs.submit[self.known[self.coming]].item())
        return min((time for time in times if time is not None), default=None)

    def _play_round(self, now: Any) -> None:
        """Process what is due, without what this creates for the same instant."""
        due = []
        while self.coming < len(self.known) and self.jobs.submit[self.known[self.coming]] == now:
            due.append(self.known[self.coming])
            self.coming += 1
        for users in self.users.values():
            for job in users.take(now):
                i = int(users.rows[job.row])
                self.of_users[i] = job, int(self.n_parts[i])
                due.append(i)
        for i in sorted(due, key=lambda i: (self.jobs.scheduler[i], self.jobs.number[i])):
            self._decide(range(i, i + int(self.n_parts[i])), now)
        for site in self.sites:
            if site.next_time == now:
                if self.users and site.prepared.site.publishes.every == 0 and site.published != now:
                    self._publish(site, now)
                site.play_events(now)
        for users in self.users.values():
            users.wake_up()

    def _ended(self, i: int, now: Any) -> None:
        """Notify the users of the end of a job's last part."""
        i -= int(self.jobs.part[i])
        if i in self.of_users:
            job, to_end = self.of_users[i]
            self.of_users[i] = job, to_end - 1
            if to_end == 1:
                users = self.users[int(self.jobs.source[i])]
                job.start, job.end, users.now = self.start[i].item(), now, now
                job.submitter.job_ended(job)

    def _delay(self, parts: range) -> None:
        """Note the time until a task can arrive at each site, from where its volumes are."""
        jobs, users = self.jobs, self.users[int(self.jobs.source[parts[0]])]
        graph = users.prepared.source.graph
        if graph is None:
            return
        place = int(jobs.place[parts[0]])
        task = place % len(graph.tasks)
        if graph.before[task]:
            tasks, volumes = zip(*graph.before[task], strict=True)
            origin = self.site[users.rows[place - task + np.array(tasks)]]
            whole = jobs.delay.dtype.kind == "i"
            for m in range(len(self.sites)):
                delay = self.links.delay(origin, m, np.array(volumes, float), whole=whole)
                jobs.delay[m, parts[0]] = delay.max()

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
        if parts[0] in self.of_users:
            self.is_submitted[parts] = True
            self.jobs.submit[parts] = now
            self._delay(parts)
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
        if not self.partly:
            return
        stuck, moving = dict(self.partly), {site.place for site in self.sites if site.moves}
        found = True
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
