"""Rules for schedules of metasystems, checked against the description and the submitted jobs.

They share no code with the simulation.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import plural
from workloadkit.metasystem.result import MetaSchedule
from workloadkit.simulation.check import check_schedule
from workloadkit.simulation.check.verdicts import CheckReport, ScheduleClaim, refuted, seconds
from workloadkit.simulation.engine import Scheduler

if TYPE_CHECKING:
    from workloadkit.metasystem.prepared import PreparedSite


def check_metasystem(schedule: MetaSchedule) -> CheckReport:
    """Check the schedule of a metasystem.

    - Each meta job, or each part of one, runs at a site that admits it; parts of a job run at
      different sites.
    - It arrives there when the links allow, and runs for its run time × the speed of its home / the
      speed of the site. That is not checked for the tasks of applications.
    - None starts before it arrives, and the parts of a job start together.
    - At each site the rules of `check_schedule` hold for local and meta jobs together; those of the
      site's scheduler only if no job was cancelled, and none has parts.

    Parameters
    ----------
    schedule : MetaSchedule

    Examples
    --------
    >>> from workloadkit import Trace
    >>> from workloadkit.metasystem import (
    ...     JobSource, MetaScheduler, Metasystem, Site, simulate_metasystem
    ... )
    >>> log = Trace.from_columns({"submit": [0, 1], "run": [10, 10], "procs": [1, 1]})
    >>> system = Metasystem(
    ...     sites=[Site("a", procs=1)],
    ...     meta_schedulers=[MetaScheduler("grid", "random", [JobSource(log=log)])],
    ... )
    >>> check_metasystem(simulate_metasystem(system)).verdict
    'proved'
    """
    claims = [_are_admitted(schedule), *_come_and_run(schedule), _parts_start_together(schedule)]
    for place, each in enumerate(schedule.prepared.sites):
        claims += _at_site(schedule, place, each)
    title = f"metasystem of {plural(len(schedule.prepared.sites), 'site')}"
    return CheckReport(title, tuple(claims), schedule.to_dict()["provenance"])


def _claim(
    schedule: MetaSchedule, text: str, wrong: NDArray[np.bool_], why: str = ""
) -> ScheduleClaim:
    """Return a claim that no meta job violates, or the first that does."""
    jobs = schedule.jobs
    if not wrong.any():
        return ScheduleClaim(text, "proved", plural(len(jobs), "meta job"), determines=True)
    first = jobs.iloc[int(np.argmax(wrong))]
    words = f"job {first['job']} of {first['meta_scheduler']} is at site {first['site']!r}{why}"
    return refuted(text, words, int(wrong.sum()))


def _are_admitted(schedule: MetaSchedule) -> ScheduleClaim:
    """Check that sites admit the jobs that they run."""
    jobs, group = schedule.jobs, schedule.prepared.jobs.group
    wrong = ~jobs["site"].isin([each.site.name for each in schedule.prepared.sites]).to_numpy()
    for each in schedule.prepared.sites:
        access, here = each.site.access, (jobs["site"] == each.site.name).to_numpy()
        admitted = jobs["procs"].to_numpy() <= min(access.max_procs or inf, each.rules.machine)
        for values, allowed in ((jobs["user"], access.users), (group, access.groups)):
            if allowed is not None:
                admitted &= np.isin(values, allowed)
        wrong |= here & ~admitted
    job = (schedule.prepared.jobs.part == 0).cumsum()
    wrong |= jobs.assign(row=job).duplicated(["row", "site"]).to_numpy()
    return _claim(schedule, "sites admit the jobs that they run", wrong)


def _come_and_run(schedule: MetaSchedule) -> Iterator[ScheduleClaim]:
    """Check when jobs arrive at their sites and start there, and how long they run."""
    jobs, prepared = schedule.jobs, schedule.prepared
    system, sources = prepared.system, prepared.sources
    whole = prepared.jobs.submit.dtype.kind == "i"
    links = {frozenset(link.between): link for link in system.links}
    speed = {"": 1.0} | {site.name: site.speed for site in system.sites}
    arrival, run = (jobs[name].to_numpy(np.float64) for name in ("arrival", "run"))
    is_task = np.array([each.source.graph is not None for each in sources], np.bool_)
    wrong_arrival, wrong_run = (np.zeros(len(jobs), np.bool_) for _ in range(2))
    rows = zip(jobs["home"], jobs["site"], jobs["submit"], strict=True)
    for i, (home, site, submit) in enumerate(rows):
        source, place = prepared.jobs.source[i], prepared.jobs.place[i]
        if is_task[source]:
            continue
        link, delay = links.get(frozenset((home, site))), 0.0
        if link is not None:
            delay = link.latency + sources[source].source.stage_in / link.bandwidth
        length = float(sources[source].workload.run[place]) * speed[home] / speed[site]
        if whole:
            delay, length = np.ceil(delay), np.floor(length + 0.5)
        wrong_arrival[i] = abs(arrival[i] - submit - delay) > _ROUNDING
        wrong_run[i] = abs(run[i] - length) > _ROUNDING * max(length, 1)
    yield _claim(schedule, "jobs arrive at their sites as the links allow", wrong_arrival)
    yield _claim(schedule, "jobs run as fast as their sites", wrong_run)
    early = jobs["start"].to_numpy() < arrival - _ROUNDING
    why = f", from {seconds(jobs['start'].to_numpy()[early][0])}" if early.any() else ""
    yield _claim(schedule, "no job starts before it arrives", early, why)


_ROUNDING = 1e-6  # [s]


def _parts_start_together(schedule: MetaSchedule) -> ScheduleClaim:
    """Check that the parts of a job start in one second."""
    start, part = schedule.jobs["start"].to_numpy(), schedule.prepared.jobs.part
    first = np.maximum.accumulate(np.where(part == 0, np.arange(part.size), 0))
    return _claim(schedule, "the parts of a job start together", start != start[first])


def _at_site(schedule: MetaSchedule, place: int, each: "PreparedSite") -> Iterator[ScheduleClaim]:
    """Check the rules of one machine at a site; a site of modelled waits has none."""
    log = schedule.trace(each.site.name)
    if each.site.waits is not None or not log.n_jobs:
        return
    jobs = schedule.prepared.jobs
    sent_elsewhere = schedule.served.cancelled.any() or jobs.part.any()
    plain = isinstance(each.policy, Scheduler) or each.machine is not None
    report = check_schedule(
        log,
        log,
        procs=each.rules.machine,
        policy=None if sent_elsewhere or plain else each.policy,
        overrun=schedule.prepared.system.overrun,
    )
    for claim in report.claims:
        yield replace(claim, text=f"site {each.site.name}: {claim.text}", determines=False)
