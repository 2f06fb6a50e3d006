"""The jobs of a metasystem: local workloads of the sites, and the jobs of its meta-schedulers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.errors import WorkloadError, plural
from workloadkit.header import Header
from workloadkit.io.formats import read_native
from workloadkit.metasystem.description import InvalidFieldError, JobSource, Metasystem, Site
from workloadkit.models import parse as parse_model
from workloadkit.select import choose
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation import schedulers
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.policies.recorded import RecordedSchedule
from workloadkit.simulation.workload import (
    SHORTEST_ESTIMATE,
    Rules,
    Workload,
    machine_size,
    make_workload,
)
from workloadkit.trace import Trace

_SHOWN = 5  # jobs that an error lists


@dataclass(frozen=True)
class MetaJobs:
    """The jobs of all meta-schedulers, in the order of (submit, meta-scheduler, job number).

    Each part of a co-allocated job is a row of its own; the parts of a job follow each other.

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
    left_out: int = 0


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
    """

    site: Site
    trace: Trace | None
    workload: Workload
    policy: Any
    rules: Rules
    seed: np.random.SeedSequence

    @property
    def in_order(self) -> bool:
        """Whether no job overtakes another."""
        return self.policy.name == "fcfs" or getattr(self.policy, "backfill", "") == "none"


@dataclass(frozen=True)
class Prepared:
    """A metasystem with all of its jobs.

    Parameters
    ----------
    system : Metasystem
    sites : sequence of PreparedSite
    jobs : MetaJobs
    seed : SeedSequence
        For the draws of the meta-schedulers.
    """

    system: Metasystem
    sites: Sequence[PreparedSite]
    jobs: MetaJobs
    seed: np.random.SeedSequence


def prepare(system: Metasystem) -> Prepared:
    """Read or make the jobs of a metasystem.

    Raises
    ------
    FormatError, ParameterError, WorkloadError
        If a log cannot be read, or has no jobs that can be simulated.
    """
    logs: dict[str, Trace] = {}
    of_sites, of_sources, of_policies, of_schedulers = np.random.SeedSequence(system.seed).spawn(4)
    how = Arriving(estimates=system.estimates, overrun=system.overrun, oversize=system.oversize)
    sites, n_sites = [], len(system.sites)
    seeds = zip(of_sites.spawn(n_sites), of_schedulers.spawn(n_sites), strict=True)
    for i, (site, (seed, own)) in enumerate(zip(system.sites, seeds, strict=True)):
        trace = None
        if site.jobs is not None:
            trace = _log(site.jobs, site.procs, np.random.default_rng(seed), logs)
        procs = machine_size(Header() if trace is None else trace.header, site.procs)
        workload = _no_jobs()
        if trace is not None:
            workload = _chosen(make_workload(trace, procs, how), trace, site.jobs, seed)
        rules = Rules(procs, system.overrun, seed=int(own.generate_state(1)[0]))
        policy = _policy(site.scheduler, f"sites[{i}].scheduler")
        sites.append(PreparedSite(site, trace, workload, policy, rules, own.spawn(1)[0]))
    sources = [(g, source) for g, each in enumerate(system.meta_schedulers) for source in each.jobs]
    streams: list[tuple[int, JobSource, Workload]] = []
    for (g, source), seed in zip(sources, of_sources.spawn(len(sources)), strict=True):
        rng = np.random.default_rng(seed)
        if source.site is not None:
            place = system.place(source.site)
            local, trace = sites[place].workload, sites[place].trace
            mask = _mask(local, trace, source, rng)
            streams.append((g, source, local.take(mask)))
            sites[place] = replace(sites[place], workload=local.take(~mask))
        else:
            home = None if source.home is None else sites[system.place(source.home)].rules.machine
            trace = _log(source, home, rng, logs)
            every = make_workload(trace, 1, how, of_any_size=True)
            streams.append((g, source, every.take(_mask(every, trace, source, rng))))
    jobs = _joined(system, sites, streams)
    whole = jobs.submit.dtype.kind == "i"
    sites = [each if whole else replace(each, workload=_decimal(each.workload)) for each in sites]
    return Prepared(system, sites, jobs, of_policies)


def _policy(scheduler: Any, field: str) -> Any:
    """Return the scheduler of a site."""
    if isinstance(scheduler, str):
        scheduler = schedulers.parse(scheduler)
    own = isinstance(scheduler, schedulers.Scheduler)
    if isinstance(scheduler, type | RecordedSchedule) or not (own or isinstance(scheduler, Policy)):
        raise InvalidFieldError(field, scheduler, "give a scheduler that is not the recorded one")
    return scheduler


def _log(
    source: JobSource, procs: int | None, rng: np.random.Generator, logs: dict[str, Trace]
) -> Trace:
    """Return the log of a source; one that several sources name is read once."""
    if isinstance(source.log, Trace):
        return source.log
    if source.log is not None:
        path = str(source.log)
        if path not in logs:
            logs[path] = read_native(path)
        return logs[path]
    make, parameters = parse_model(str(source.model))
    if procs is not None:
        parameters = {"procs": procs} | parameters
    return make(source.jobs, rng=rng, load=source.load, **parameters)


def _mask(
    workload: Workload, trace: Trace | None, source: JobSource, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which jobs of a workload a source chooses."""
    mask = np.ones(workload.job.size, np.bool_)
    if source.where is not None and trace is not None:
        mask &= choose(trace, source.where).keep[workload.row]
    if source.share < 1:
        mask &= rng.random(mask.size) < source.share
    return mask


def _chosen(
    workload: Workload, trace: Trace, source: Any, seed: np.random.SeedSequence
) -> Workload:
    """Return the local jobs that a source chooses."""
    mask = _mask(workload, trace, source, np.random.default_rng(seed.spawn(1)[0]))
    return workload if mask.all() else workload.take(mask)


def _no_jobs() -> Workload:
    none = np.empty(0, np.int64)
    names = ("row", "job", "user", "submit", "run", "estimate", "procs", "queue", "wait")
    empty: dict[str, Any] = dict.fromkeys((*names, "group", "partition"), none)
    return Workload(**empty, killed=np.empty(0, np.bool_), left_out=0)


def _decimal(workload: Workload) -> Workload:
    names = ("submit", "run", "estimate")
    times = {name: getattr(workload, name).astype(np.float64) for name in names}
    return replace(workload, **times)


def _joined(
    system: Metasystem,
    sites: Sequence[PreparedSite],
    streams: Sequence[tuple[int, JobSource, Workload]],
) -> MetaJobs:
    """Return the jobs of all meta-schedulers, and what they are on each site."""
    workloads = [*(each.workload for each in sites), *(each for _, _, each in streams)]
    whole = all(each.submit.dtype.kind == "i" for each in workloads)
    names = ("job", "user", "group", "procs", "submit", "run", "estimate", "killed")
    table = {name: _column([getattr(w, name) for _, _, w in streams], name) for name in names}
    sizes = [w.job.size for _, _, w in streams]
    homes = [-1 if s.home_site is None else system.place(s.home_site) for _, s, _ in streams]
    scheduler = np.repeat(np.array([g for g, _, _ in streams], np.int64), sizes)
    home = np.repeat(np.array(homes, np.int64), sizes)
    volume = np.repeat(np.array([s.stage_in for _, s, _ in streams], np.float64), sizes)
    dtype = np.dtype(np.int64 if whole else np.float64)
    order = np.lexsort((table["job"], scheduler, table["submit"]))
    table = {name: values[order] for name, values in table.items()}
    scheduler, home, volume = scheduler[order], home[order], volume[order]
    parts = np.repeat(np.array([s.parts for _, s, _ in streams], np.int64), sizes)[order]
    row, part, table["procs"] = _parts(np.minimum(parts, table["procs"]), table["procs"])
    table = {name: v if name == "procs" else v[row] for name, v in table.items()}
    scheduler, home, volume = scheduler[row], home[row], volume[row]

    n_sites, n_jobs = len(sites), row.size
    speed = np.array([each.site.speed for each in sites], np.float64)
    at_home = np.where(home < 0, 1.0, speed[home])
    run, estimate, delay = (np.empty((n_sites, n_jobs), dtype) for _ in range(3))
    admitted = np.empty((n_sites, n_jobs), np.bool_)
    for m, each in enumerate(sites):
        factor = at_home / speed[m]
        run[m] = _times(table["run"], factor, dtype)
        estimate[m] = np.maximum(_times(table["estimate"], factor, dtype), SHORTEST_ESTIMATE)
        delay[m] = _delay(system, m, home, volume, whole=whole)
        admitted[m] = _admits(each, table)
    jobs = MetaJobs(
        scheduler,
        table["job"],
        table["user"],
        table["group"],
        table["procs"],
        table["submit"].astype(dtype),
        home,
        run,
        estimate,
        delay,
        admitted,
        table["killed"],
        part,
    )
    return _without_too_large(system, jobs)


def _parts(
    parts: NDArray[np.int64], procs: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the job, the number and the processors of each part."""
    row = np.repeat(np.arange(parts.size), parts)
    part = np.arange(row.size) - np.repeat(np.cumsum(parts) - parts, parts)
    each, more = procs // np.maximum(parts, 1), procs % np.maximum(parts, 1)
    return row, part, each[row] + (part < more[row])


def _column(parts: Sequence[NDArray], name: str) -> NDArray:
    empty: NDArray = np.empty(0, np.bool_ if name == "killed" else np.int64)
    return np.concatenate([empty, *parts])


def _times(values: NDArray, factor: NDArray, dtype: np.dtype) -> NDArray:
    """Multiply times; whole seconds are rounded half up."""
    if (factor == 1).all():
        return values.astype(dtype)
    scaled = values * factor
    return np.floor(scaled + 0.5).astype(dtype) if dtype.kind == "i" else scaled


def _delay(
    system: Metasystem, place: int, home: NDArray[np.int64], volume: NDArray, *, whole: bool
) -> NDArray:
    """Return the time until jobs arrive at a site; whole seconds are rounded up."""
    delay = np.zeros(home.size)
    name = system.sites[place].name
    for link in system.links:
        if name in link.between:
            other = link.between[link.between[0] == name]
            there = home == system.place(other)
            delay[there] = link.latency + volume[there] / link.bandwidth
    return np.ceil(delay) if whole else delay


def _admits(each: PreparedSite, table: dict[str, NDArray]) -> NDArray[np.bool_]:
    """Return which jobs a site admits."""
    access = each.site.access
    most = each.rules.machine
    admits = table["procs"] <= (most if access.max_procs is None else min(access.max_procs, most))
    for name, allowed in (("user", access.users), ("group", access.groups)):
        if allowed is not None:
            admits &= np.isin(table[name], allowed)
    return np.asarray(admits)


def _without_too_large(system: Metasystem, jobs: MetaJobs) -> MetaJobs:
    """Return the jobs that a site admits; report the others, or leave them out."""
    keep: NDArray[np.bool_] = np.asarray(jobs.admitted.any(axis=0))
    job = np.cumsum(jobs.part == 0) - 1
    divided = np.unique(job[jobs.part > 0])
    for parts in (np.flatnonzero(job == each) for each in divided):
        keep[parts] = _have_sites(jobs.admitted[:, parts])
    if keep.all():
        return jobs
    if system.oversize == "error":
        refused = jobs.number[~keep & (jobs.part == 0)]
        shown = ", ".join(map(str, refused[:_SHOWN].tolist()))
        more = f" and {refused.size - _SHOWN:,} more" if refused.size > _SHOWN else ""
        raise WorkloadError(
            f"no site admits {plural(refused.size, 'meta job')}: {shown}{more}; leave them out "
            "with oversize 'drop'"
        )
    kept = {
        name: values[..., keep]
        for name, values in vars(jobs).items()
        if isinstance(values, np.ndarray)
    }
    return MetaJobs(**kept, left_out=int((~keep & (jobs.part == 0)).sum()))


def _have_sites(admitted: NDArray[np.bool_]) -> bool:
    """Whether each part of a job can have a site of its own; the largest parts come first.

    A site that admits a part admits smaller ones, so it is enough to count.
    """
    n_sites = admitted.sum(axis=0)
    return bool((n_sites > np.arange(n_sites.size)).all())
