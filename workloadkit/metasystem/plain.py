"""The plain-Python engine of metasystems: sites share one clock.

At one instant, sites publish if it is time to; meta-schedulers then decide for the jobs submitted
to them; the sites process their events, then the users of meta jobs who wake up. What these create
for the same second follows in the same order. Last, each site that had an event makes its pass, in
turn, see `workloadkit.simulation.engine`. So a publication shows a site just before its time. Jobs
that arrive at a site in the same second are in the order of their numbers, local jobs first.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workloadkit.custom import is_custom
from workloadkit.errors import ParameterError, WorkloadError, plural, quoted
from workloadkit.metasystem.plain_sites import SiteSimulation, Submissions
from workloadkit.metasystem.policies import MetaPolicy
from workloadkit.metasystem.prepared import Links, MetaOutcome, Prepared
from workloadkit.metasystem.rehearsal import ModelledSite
from workloadkit.metasystem.views import MetaJob, SiteView

if TYPE_CHECKING:
    from workloadkit.simulation.engine import Job


class _Broker(NamedTuple):
    """A meta-scheduler in a simulation: its policy, and the sites as it sees them."""

    policy: MetaPolicy
    views: Sequence[SiteView]


def play_plain(prepared: Prepared, policies: Sequence[MetaPolicy]) -> MetaOutcome:
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
        if not any("plan" in policy.needs or is_custom(policy) for policy in policies):
            for site in self.sites:
                site.forecasts = False
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

    def play(self) -> MetaOutcome:
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

    def _served(self) -> MetaOutcome:
        """Return how the jobs were served, those that were submitted."""
        jobs = self.jobs
        order = np.lexsort((jobs.number, jobs.scheduler, jobs.submit))
        order = order[self.is_submitted[order]]
        sites, local_starts = zip(*(site.served() for site in self.sites), strict=True)
        return MetaOutcome(
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

    def _play_round(self, now: float) -> None:
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

    def _ended(self, i: int, now: float) -> None:
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

    def _publish_if_due(self, site: SiteSimulation, now: float) -> None:
        """Publish at the last multiple of the interval, if that has not been done."""
        every = site.prepared.site.publishes.every
        if every > 0:
            time = now - now % every
            if site.published is None or time > site.published:
                self._publish(site, time)

    def _publish(self, site: SiteSimulation, time: float) -> None:
        site.published = time
        published = site.publish(time)
        for broker in self.brokers:
            broker.views[site.place].receive(published)

    def _decide(self, parts: range, now: float) -> None:
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
                    f"meta-scheduler {policy.name}: it chose {quoted(chosen)} for job "
                    f"{job.number}; choose among the sites that admit it"
                )
            for view in chosen:
                if policy.co_allocates:
                    self.sites[view.place].to_hold.add(i)
                    self.parts_of[i] = parts
                self.sites[view.place].send(i, view.arrival(job))
                view.send(job)
                self.asked[i].append(view.place)
                used.add(view.place)

    def _seen(self, i: int, now: float) -> MetaJob:
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

    def _reserve(self, parts: range, now: float) -> None:
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

    def _started(self, i: int, place: int, now: float) -> None:
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

    def _break_deadlock(self, now: float) -> None:
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

    def _release(self, parts: range, now: float) -> None:
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
