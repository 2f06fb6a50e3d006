"""A metasystem with all of its jobs, how long they travel, and what a simulation makes of them."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, WorkloadWarning, quoted
from workloadkit.fields import MAX_TIME
from workloadkit.metasystem.files import Metasystem
from workloadkit.metasystem.sites import Site
from workloadkit.metasystem.sources import JobSource
from workloadkit.settings import Simulate
from workloadkit.simulation.engine import Scheduler
from workloadkit.simulation.engines import play_log_compiled, play_plain, play_users_plain
from workloadkit.simulation.machine.described import Described
from workloadkit.simulation.orders import VisibleJob
from workloadkit.simulation.policies.easy import SettledOrder
from workloadkit.simulation.simulate import calibrate
from workloadkit.simulation.supports import supports
from workloadkit.simulation.users import OpenUsers
from workloadkit.simulation.workload import Rules, Workload
from workloadkit.trace import Trace


@dataclass(frozen=True)
class MetaJobs:
    """The jobs of all meta-schedulers, in the order of (submit, meta-scheduler, job number).

    Before a simulation, the submit times of users who react are those of their log. Each part of a
    co-allocated job is a row of its own; the parts of a job follow each other.

    Parameters
    ----------
    scheduler : ndarray of int64, shape (n_jobs,)
        Place of the meta-scheduler.
    number, user, group, procs : ndarray of int64, shape (n_jobs,)
    submit : ndarray, shape (n_jobs,)
        [s]
    home : ndarray of int64, shape (n_jobs,)
        Place of the home site, -1 for none.
    run, estimate : ndarray, shape (n_sites, n_jobs)
        On each site; estimates are those for planning. [s]
    delay : ndarray, shape (n_sites, n_jobs)
        Time until a job that is sent to a site arrives there. [s]
    admitted : ndarray of bool, shape (n_sites, n_jobs)
        Whether the site admits the job.
    killed : ndarray of bool, shape (n_jobs,)
        Whether the job is stopped at its estimate.
    left_out : int
        Jobs that no site admits.
    part : ndarray of int64, shape (n_jobs,)
        Number of the part, from 0.
    source, place : ndarray of int64, shape (n_jobs,)
        Place of the source among all sources; place of the job among those of its source.
    """

    scheduler: NDArray[np.int64]
    number: NDArray[np.int64]
    user: NDArray[np.int64]
    group: NDArray[np.int64]
    procs: NDArray[np.int64]
    submit: NDArray
    home: NDArray[np.int64]
    run: NDArray
    estimate: NDArray
    delay: NDArray
    admitted: NDArray[np.bool_]
    killed: NDArray[np.bool_]
    part: NDArray[np.int64]
    source: NDArray[np.int64]
    place: NDArray[np.int64]
    left_out: int = 0

    def take(self, which: NDArray) -> "MetaJobs":
        """Return the jobs at some places, in that order."""
        columns: dict[str, Any] = {
            name: values[..., which]
            for name, values in vars(self).items()
            if isinstance(values, np.ndarray)
        }
        return replace(self, **columns)


@dataclass(frozen=True)
class PreparedSite:
    """A site with its local jobs.

    Parameters
    ----------
    site : Site
    trace : Trace or None
        Log of the local jobs.
    workload : Workload
        Those that are not submitted to a meta-scheduler.
    policy : Policy or Scheduler
    rules : Rules
    seed : SeedSequence
        Of modelled waits.
    users : SimulatedUsers, optional
        Those who submit the local jobs; by default jobs are submitted by timestamps.
    machine : Described, optional
        Its nodes. The hardware of `rules` then serves the local jobs, by their places, and the meta
        jobs behind them.
    """

    site: Site
    trace: Trace | None
    workload: Workload
    policy: Any
    rules: Rules
    seed: np.random.SeedSequence
    users: Any = None
    machine: Described | None = None

    @property
    def overtakes(self) -> bool:
        """Whether jobs overtake others that come first in the order of the queue."""
        return getattr(self.policy, "backfill", "") != "none"

    @property
    def key(self) -> Callable[[VisibleJob], float] | None:
        """Key of the queue, the smallest first; None for the order of arrival."""
        by_arrival = not isinstance(self.policy, SettledOrder) or self.policy.is_by_arrival
        return None if by_arrival else self.policy.place

    @property
    def is_rehearsed(self) -> bool:
        """Whether starts are predicted by its scheduler, and not by the order of the queue."""
        return not supports(self.policy, "queue order")

    def served_alone(self) -> tuple[Workload, NDArray]:
        """Return the local jobs, and their starts, as they would be without meta jobs."""
        policy, name, workload = self.policy, self.policy.name, self.workload
        if self.users is not None:
            played = play_users_plain(policy, name, self.rules, self.users)
            _, workload, _ = self.users.result(played.workload, played.notes, self.rules.machine)
            return workload, played.outcome.start
        if not workload.job.size:
            return workload, workload.submit
        if isinstance(policy, Scheduler) or self.machine is not None:
            users = OpenUsers().plain(workload)
            return workload, play_plain(policy, name, self.rules, users)[1].start
        return workload, play_log_compiled(policy, name, workload, self.rules).outcome.start

    def waits_alone(self, workload: Workload, start: NDArray) -> NDArray:
        """Return the wait of each local job as `served_alone`; NaN where it is unknown. [s]."""
        wait, row = start - workload.submit, self.workload.row
        if np.array_equal(row, workload.row) and self.trace is not None:
            return wait
        found = np.full(row.size, np.nan)
        if self.trace is not None:
            _, here, there = np.intersect1d(row, workload.row, return_indices=True)
            found[here] = wait[there]
        return found


class PreparedSource(NamedTuple):
    """A source of meta jobs, with those who submit them.

    Parameters
    ----------
    scheduler : int
        Place of the meta-scheduler.
    source : JobSource
    trace : Trace
    workload : Workload
    seed : int
        Of the users' draws.
    users : SimulatedUsers, optional
        By default jobs are submitted by timestamps.
    """

    scheduler: int
    source: JobSource
    trace: Trace
    workload: Workload
    seed: int
    users: Any = None


@dataclass(frozen=True)
class Prepared:
    """A metasystem with all of its jobs.

    Parameters
    ----------
    system : Metasystem
    sites : sequence of PreparedSite
    sources : sequence of PreparedSource
        Those of all meta-schedulers.
    jobs : MetaJobs
    seed : SeedSequence
        For the draws of the meta-schedulers.
    """

    system: Metasystem
    sites: Sequence[PreparedSite]
    sources: Sequence[PreparedSource]
    jobs: MetaJobs
    seed: np.random.SeedSequence

    @property
    def all_sources(self) -> Sequence[JobSource]:
        """The sources of local and of meta jobs."""
        local = [each.site.jobs for each in self.sites if each.site.jobs is not None]
        return [*local, *(each.source for each in self.sources)]

    def tasks(self) -> tuple[NDArray[np.int64], NDArray]:
        """Return application and name of the task of each meta job, -1 and "" for none.

        The applications of a meta-scheduler are numbered through all of its graphs.
        """
        jobs = self.jobs
        application = np.full(jobs.number.size, -1, np.int64)
        task = np.full(jobs.number.size, "", dtype=object)
        numbered = [0] * len(self.system.meta_schedulers)
        for n, each in enumerate(self.sources):
            if each.source.graph is not None:
                names = np.array([task.name for task in each.source.graph.tasks], dtype=object)
                own = np.flatnonzero(jobs.source == n)
                application[own] = 1 + numbered[each.scheduler] + jobs.place[own] // names.size
                task[own] = names[jobs.place[own] % names.size]
                numbered[each.scheduler] += own.size // names.size
        return application, task

    @cached_property
    def calibration(self) -> dict[str, dict[str, Any]]:
        """Whether simulations of the logs of the sites reproduce the recorded service, by site."""
        found = {each.site.name: self._calibrated(each) for each in self.sites}
        return {name: one for name, one in found.items() if one}

    def _calibrated(self, each: PreparedSite) -> dict[str, Any]:
        """Simulate the log of a site, all of its jobs, without meta jobs."""
        if each.trace is None or each.users is not None:
            return {}
        settings = Simulate(
            machine=None if each.machine is None else each.machine.description,
            procs=each.rules.machine if each.machine is None else None,
            estimates=self.system.estimates,
            overrun=self.system.overrun,
            oversize=self.system.oversize,
            rng=each.rules.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorkloadWarning)
            return calibrate(each.trace, each.policy, settings)


class MetaOutcome(NamedTuple):
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


# How long jobs take from site to site.


class Links:
    """The links between all sites, as tables."""

    def __init__(self, system: Metasystem) -> None:
        n_sites = len(system.sites)
        self._names = [site.name for site in system.sites]
        self._latency = np.zeros((n_sites, n_sites))
        self._bandwidth = np.full((n_sites, n_sites), np.inf)
        for link in system.links:
            a, b = map(system.place, link.between)
            self._latency[[a, b], [b, a]] = link.latency
            self._bandwidth[[a, b], [b, a]] = link.bandwidth

    def delay(self, origin: NDArray[np.int64], to: Any, volume: NDArray, *, whole: bool) -> NDArray:
        """Return the times that volumes take from sites to one; whole seconds are rounded up.

        From nowhere, -1, and where there is no link, they take no time.
        """
        with np.errstate(over="ignore"):
            time = self._latency[origin, to] + volume / self._bandwidth[origin, to]
        time = np.where(origin < 0, 0, time)
        if (wrong := ~(time <= MAX_TIME)).any():
            i = int(np.argmax(wrong))
            ends = " to ".join(quoted(self._names[place]) for place in (origin[i], to))
            raise WorkloadError(
                f"from {ends}: {volume[i]:g} bytes take more than {float(MAX_TIME):g} s"
            )
        return np.ceil(time) if whole else time
