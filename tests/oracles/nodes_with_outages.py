"""Schedules on nodes that go down and come up, by the definition: FCFS and EASY.

An outage takes cores of nodes from its start to before its end; one without duration is there in
its second only. Where too few cores are left, the jobs that started last are stopped. They wait
again, in the order of their first submission, and run from the beginning; or they are lost. At an
instant all terminations come first, then outages begin, one after another, then others end, then
jobs are submitted, then comes the pass.

The scheduler knows of an outage, and of its end, from its announcement on, if that comes before its
start. Of any other it knows while it lasts, not when it ends. No job starts on cores that go down
before its planned end: those that come up as others go down are no substitute. The first waiting
job of EASY is planned to start at the earliest second from which on, by the estimates of the
running jobs, it fits for its whole estimate. The others must leave the nodes that it gets to it,
then and for that time. Without such a second they need not.
"""

from functools import reduce
from math import inf
from typing import NamedTuple

from tests.oracles.nodes import CORES, Level, Nodes, Taken, as_planned


class Down(NamedTuple):
    """An outage: sets of cores by node; `end` may be infinite, `announced` None for a surprise."""

    start: float
    end: float
    announced: float | None
    cores: dict


def schedule(
    submit,
    run,
    requested_time,
    requests,
    nodes,
    outages,
    *,
    requeue=True,
    pools=None,
    policy="easy",
    placement="first",
    overrun="raise",
):
    """Simulate a log; return the runs (start, end, processors by node, stopped) of each job."""
    run, estimate, _ = as_planned(run, requested_time, overrun)
    site = FailingNodes(submit, estimate, requests, [*map(list, nodes)], pools or {}, placement)
    site.outages, site.runs = outages, {job: [] for job in range(len(submit))}
    moments = {time for outage in outages for time in outage[:3] if time is not None}
    arrivals = set(range(len(submit)))
    while arrivals or site.waiting or site.running:
        ends = [site.start[job] + run[job] for job in site.running]
        later = {time for time in moments if site.now < time < inf}
        before, times = site.now, [*ends, *later, *(submit[job] for job in arrivals)]
        if not times:
            raise ValueError(f"jobs {site.waiting} never start")
        site.now = min(times)
        for job in list(site.running):
            if site.start[job] + run[job] == site.now:
                site.stop(job, failed=False)
        for job in site.struck() if site.now > before else []:
            site.stop(job, failed=True)
            if requeue:
                site.waiting.append(job)
        site.waiting += [job for job in arrivals if submit[job] == site.now]
        arrivals -= set(site.waiting)
        site.waiting.sort(key=lambda job: (submit[job], job))
        allocate(site, backfills=policy == "easy")
    return [site.runs[job] for job in range(len(submit))]


class FailingNodes(Nodes):
    """What a scheduler sees of nodes with outages."""

    def room(self, job, level, node):
        """How many processors of a job fit on a node, of which more may be taken than is up."""
        return max(super().room(job, level, node), 0)

    def stop(self, job, *, failed):
        """End a run."""
        self.running.remove(job)
        self.runs[job].append((self.start[job], self.now, self.at[job], failed))

    def struck(self):
        """Return the jobs for which too few cores are left: those that started last."""
        begins, stopped = [o for o in self.outages if o.start == self.now], []
        down = [o for o in self.outages if o.start < self.now <= o.end]
        for outage in begins:
            down.append(outage)
            for job in reversed(self.running):
                left = self.left_by(other for other in self.running if other not in stopped)
                lacking = self.without(down, left).nodes
                if job not in stopped and any(lacking[node][CORES] < 0 for node in self.at[job]):
                    stopped.append(job)
        return stopped

    def without(self, outages, level):
        """What is left of a level without the cores that some outages take."""
        lost = {node: set() for node in range(len(level.nodes))}
        for outage in outages:
            for node, cores in outage.cores.items():
                lost[node] |= cores
        return level.minus(Taken({node: [len(lost[node]), 0, 0] for node in lost}, {}))

    def known(self):
        """Return the outages that the scheduler knows of now, and their ends as it knows them."""
        ahead = [
            outage
            for outage in self.outages
            if outage.announced is not None
            and outage.announced <= self.now
            and outage.announced < outage.start
        ]
        surprises = [o for o in self.outages if o not in ahead and o.start <= self.now < o.end]
        return ahead + [outage._replace(end=inf) for outage in surprises]

    def free_from(self, begin, end, claims=()):
        """What is free from one second until another by the estimates of the running jobs."""
        known, levels = self.known(), []
        moments = {
            (begin, False),
            *((start, False) for start, _, _ in claims if begin < start < end),
        }
        moments |= {(outage.start, True) for outage in known if begin < outage.start < end}
        for time, fails in moments:
            # as an outage begins, those that end then still last, and no job starts yet
            down = [o for o in known if o.start <= time < o.end or (fails and time == o.end)]
            level = self.without(down, self.free_at(time))
            for start, until, taken in claims:
                if start <= time < until and not (fails and start == time):
                    level = level.minus(taken)
            levels.append(level)
        return reduce(Level.least, levels)

    def place_now(self, job, claims=()):
        """Return where a job can start now, None if nowhere: an overdue job holds its own."""
        now = self.now
        unused = self.without([o for o in self.known() if o.start <= now < o.end], self.unused())
        return self.place(job, unused.least(self.free_from(now, now + self.estimate[job], claims)))

    def reservations(self, job):
        """Return what a job claims from its earliest start on, as far as there is one."""
        ends = {self.planned_end(job) for job in self.running} | {o.end for o in self.known()}
        for time in sorted(time for time in {self.now, *ends} if self.now <= time < inf):
            until = time + self.estimate[job]
            place = self.place(job, self.free_from(time, until))
            if place is not None:
                return [(time, until, self.takes_at(job, place))]
        return []


def allocate(site, *, backfills):
    """Start jobs until one does not fit, with EASY also those after it that do not delay it."""
    queue = list(site.waiting)
    while queue and (place := site.place_now(queue[0])):
        site.launch(queue.pop(0), place)
    if queue and backfills:
        claims = site.reservations(queue[0])
        for job in queue[1:]:
            if place := site.place_now(job, claims):
                site.launch(job, place)
