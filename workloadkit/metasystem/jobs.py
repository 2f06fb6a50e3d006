"""The jobs of a metasystem: local workloads of the sites, and the jobs of its meta-schedulers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloadkit.distinct import distinct
from workloadkit.errors import WorkloadError, plural, quoted
from workloadkit.fields import MAX_TIME
from workloadkit.header import Header
from workloadkit.io.formats import read_native
from workloadkit.metasystem.checks import InvalidFieldError
from workloadkit.metasystem.files import Metasystem
from workloadkit.metasystem.prepared import Links, MetaJobs, Prepared, PreparedSite, PreparedSource
from workloadkit.metasystem.sites import described_machine, serve
from workloadkit.metasystem.sources import JobSource
from workloadkit.models import parse as parse_model
from workloadkit.select import choose
from workloadkit.settings.simulation import Arriving
from workloadkit.simulation import schedulers
from workloadkit.simulation.machine.hardware import Hardware
from workloadkit.simulation.policies.policy import Policy
from workloadkit.simulation.populations import Recorded
from workloadkit.simulation.supports import supports
from workloadkit.simulation.users import LogBehaviour
from workloadkit.simulation.users.batches.simulated_users import SimulatedBatchUsers
from workloadkit.simulation.workload import Rules, Workload, machine_size, shortest_estimate
from workloadkit.simulation.workload.from_log import make_workload
from workloadkit.trace import Trace

_SHOWN = 5  # jobs that an error lists


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
    sites: list[PreparedSite] = []
    n_sites = len(system.sites)
    seeds = zip(of_sites.spawn(n_sites), of_schedulers.spawn(n_sites), strict=True)
    for i, (site, (seed, own)) in enumerate(zip(system.sites, seeds, strict=True)):
        policy = _policy(site.scheduler, f"sites[{i}].scheduler")
        procs, local, workload = site.procs, site.jobs, _no_jobs()
        trace, machine, field = None, None, f"sites[{i}].machine"
        if site.machine not in (None, "log"):
            machine = described_machine(site.machine, None, policy, field)
            procs = machine.procs
        if local is not None and local.have_no_log:
            procs = local.behaviour.processors if procs is None else procs
        elif local is not None:
            trace = _log(local, procs, np.random.default_rng(seed), logs)
        if site.machine == "log":
            machine = described_machine("log", trace, policy, field)
            procs = machine.procs
        reacts = local is not None and local.behaviour is not None
        procs = machine_size(Header() if trace is None else trace.header, procs)
        if trace is not None:
            workload = make_workload(trace, procs, how, reacting=reacts)
            if machine is not None:
                workload = machine.admit(trace, workload, drops=system.oversize == "drop")
            workload = _chosen(workload, trace, local, seed)
        rules = Rules(procs, system.overrun, seed=int(own.generate_state(1)[0]))
        seed = own.spawn(1)[0]
        sites.append(PreparedSite(site, trace, workload, policy, rules, seed, machine=machine))
    named = [(g, source) for g, each in enumerate(system.meta_schedulers) for source in each.jobs]
    sources: list[PreparedSource] = []
    for (g, source), seed in zip(named, of_sources.spawn(len(named)), strict=True):
        rng, draws = np.random.default_rng(seed), int(seed.generate_state(1)[0])
        if source.site is not None:
            place = system.place(source.site)
            workload, trace = sites[place].workload, sites[place].trace
            assert trace is not None  # as was checked
            mask = _mask(workload, trace, source, rng)
            sites[place] = replace(sites[place], workload=workload.take(~mask))
        else:
            home = None if source.home is None else sites[system.place(source.home)].rules.machine
            trace = _log(source, home, rng, logs)
            workload = make_workload(
                trace, 1, how, of_any_size=True, reacting=source.behaviour is not None
            )
            mask = _mask(workload, trace, source, rng)
        sources.append(PreparedSource(g, source, trace, workload.take(mask), draws))
    return _with_users(system, sites, sources, of_policies)


def _with_users(
    system: Metasystem,
    sites: Sequence[PreparedSite],
    sources: Sequence[PreparedSource],
    seed: np.random.SeedSequence,
) -> Prepared:
    """Return all jobs, and the users who react; times are whole if those of all are."""
    sites = [replace(each, users=_users_at(each)) for each in sites]
    react: list[Any] = [*sites, *map(_react, sources)]
    logs = [each.users.of_log for each in react if each.users is not None]
    workloads = [None if log is None else log[1] for log in logs]
    workloads += [each.workload for each in react]
    if not all(workload is not None and _is_whole(workload) for workload in workloads):
        sites = [replace(each, workload=_decimal(each.workload)) for each in sites]
        sites = [replace(each, users=_users_at(each)) for each in sites]
        sources = [each._replace(workload=_decimal(each.workload)) for each in sources]
    jobs = _joined(system, sites, sources)
    place, kept = jobs.place.copy(), []
    for n, each in enumerate(sources):
        own = jobs.source == n
        which, place[own] = np.unique(place[own], return_inverse=True)
        kept.append(_react(each._replace(workload=each.workload.take(which))))
    jobs = replace(jobs, place=place)
    sites = [_with_hardware(m, each, kept, jobs) for m, each in enumerate(sites)]
    return Prepared(system, sites, kept, jobs, seed)


def _with_hardware(
    place: int, each: PreparedSite, sources: Sequence[PreparedSource], jobs: MetaJobs
) -> PreparedSite:
    """Return a site with the hardware of its described machine, if it has one and jobs."""
    if each.machine is None or not (sources or each.trace):
        return each
    hardware, _ = _serve(each, sources, vars(jobs) | {"estimate": jobs.estimate[place]})
    return replace(each, rules=replace(each.rules, hardware=hardware))


def _serve(
    each: PreparedSite, sources: Sequence[PreparedSource], table: dict[str, NDArray]
) -> tuple[Hardware, NDArray[np.bool_]]:
    """Return the hardware of a described machine, and which meta jobs it can serve."""
    assert each.machine is not None
    local = each.workload
    logs = [(source.trace, source.workload.row) for source in sources]
    if each.trace is not None:
        logs.insert(0, (each.trace, local.row))
    first = np.cumsum([local.job.size, *(source.workload.job.size for source in sources)])
    jobs = replace(
        local,
        row=np.append(np.arange(local.job.size), first[table["source"]] + table["place"]),
        procs=np.append(local.procs, table["procs"]),
        estimate=np.append(local.estimate, table["estimate"]),
    )
    hardware, fits = serve(each.machine, jobs, logs)
    return hardware, fits[local.job.size :]


def _is_whole(workload: Workload) -> bool:
    return workload.submit.dtype.kind == "i"


def _users_at(each: PreparedSite) -> Any:
    """Return the users who react of a site; None if there are none."""
    behaviour = None if each.site.jobs is None else each.site.jobs.behaviour
    if behaviour is None or (each.trace is not None and not each.workload.job.size):
        return None
    if each.trace is None:
        return behaviour.simulated_users(each.rules.machine)
    return _who_react(behaviour, each.trace, each.workload)


def _react(each: PreparedSource) -> PreparedSource:
    """Return a source with its users who react, if there are any."""
    behaviour = each.source.behaviour
    if behaviour is None or not each.workload.job.size:
        return each
    return each._replace(users=_who_react(behaviour, each.trace, each.workload))


def _who_react(behaviour: Any, trace: Trace, workload: Workload) -> Any:
    """Return the users of a log who react."""
    if isinstance(behaviour, LogBehaviour):
        return behaviour.users_of(trace, workload)
    present = Recorded().present(trace, lambda _: workload, 0)
    if hasattr(behaviour, "adapted"):
        present = behaviour.adapted(present)
    return SimulatedBatchUsers(Recorded(), behaviour, trace, present)


def _policy(scheduler: Any, field: str) -> Any:
    """Return the scheduler of a site."""
    if isinstance(scheduler, str):
        scheduler = schedulers.parse(scheduler)
    is_one = isinstance(scheduler, schedulers.Scheduler | Policy)
    if isinstance(scheduler, type) or not is_one or supports(scheduler, "recorded starts"):
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
    if source.graph is not None:
        return source.graph.log(source.submit or (0,))
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
    system: Metasystem, sites: Sequence[PreparedSite], sources: Sequence[PreparedSource]
) -> MetaJobs:
    """Return the jobs of all meta-schedulers, and what they are on each site."""
    workloads = [each.workload for each in sources]
    whole = all(map(_is_whole, [*(each.workload for each in sites), *workloads]))
    names = ("job", "user", "group", "procs", "submit", "run", "estimate", "killed")
    table = {name: _column([getattr(w, name) for w in workloads], name) for name in names}
    sizes = [w.job.size for w in workloads]
    table["place"] = _column([np.arange(size) for size in sizes], "place")
    dtype = np.dtype(np.int64 if whole else np.float64)
    described = [each.source for each in sources]
    of_sources: dict[str, NDArray] = {
        "source": np.arange(len(sources)),
        "scheduler": np.array([each.scheduler for each in sources], np.int64),
        "home": np.array(
            [-1 if s.home_site is None else system.place(s.home_site) for s in described], np.int64
        ),
        "stage_in": np.array([s.stage_in for s in described], np.float64),
        "parts": np.array([s.parts for s in described], np.int64),
    }
    table |= {name: np.repeat(values, sizes) for name, values in of_sources.items()}
    order = np.lexsort((table["job"], table["scheduler"], table["submit"]))
    table = {name: values[order] for name, values in table.items()}
    parts = np.minimum(table["parts"], table["procs"])
    row, part, table["procs"] = _parts(parts, table["procs"])
    table = {name: v if name == "procs" else v[row] for name, v in table.items()}
    home, volume = table["home"], table["stage_in"]

    n_sites, n_jobs = len(sites), row.size
    speed = np.array([each.site.speed for each in sites], np.float64)
    at_home = np.where(home < 0, 1.0, speed[home])
    run, estimate, delay = (np.empty((n_sites, n_jobs), dtype) for _ in range(3))
    admitted = np.empty((n_sites, n_jobs), np.bool_)
    links = Links(system)
    for m, each in enumerate(sites):
        with np.errstate(over="ignore"):
            factor = at_home / speed[m]
            scaled = [_times(table[name], factor, whole=whole) for name in ("run", "estimate")]
        _check_times(each.site.name, table["job"], *scaled)
        run[m], delay[m] = scaled[0], links.delay(home, m, volume, whole=whole)
        estimate[m] = np.maximum(scaled[1], shortest_estimate(dtype))
        admitted[m] = _admits(each, table)
        if each.machine is not None and sources:
            admitted[m] &= _serve(each, sources, table | {"estimate": estimate[m]})[1]
    jobs = MetaJobs(
        table["scheduler"],
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
        table["source"],
        table["place"],
    )
    return _without_too_large(system, sources, jobs)


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


def _times(values: NDArray, factor: NDArray, *, whole: bool) -> NDArray:
    """Multiply times; whole seconds are rounded half up."""
    if (factor == 1).all():
        return values
    scaled = values * factor
    return np.floor(scaled + 0.5) if whole else scaled


def _check_times(site: str, job: NDArray[np.int64], *times: NDArray) -> None:
    """Check that times of jobs at a site are those that a log can have."""
    for seconds in times:
        if (wrong := ~(seconds <= MAX_TIME)).any():
            raise WorkloadError(
                f"site {quoted(site)}: by its speed, job {job[wrong][0]} takes more than "
                f"{float(MAX_TIME):g} s"
            )


def _admits(each: PreparedSite, table: dict[str, NDArray]) -> NDArray[np.bool_]:
    """Return which jobs a site admits."""
    access = each.site.access
    most = each.rules.machine
    admits = table["procs"] <= (most if access.max_procs is None else min(access.max_procs, most))
    for name, allowed in (("user", access.users), ("group", access.groups)):
        if allowed is not None:
            admits &= np.isin(table[name], allowed)
    return np.asarray(admits)


def _without_too_large(
    system: Metasystem, sources: Sequence[PreparedSource], jobs: MetaJobs
) -> MetaJobs:
    """Return the jobs that a site admits; report the others, or leave them out.

    An application is left out if one of its tasks is.
    """
    keep: NDArray[np.bool_] = np.asarray(jobs.admitted.any(axis=0))
    job = np.cumsum(jobs.part == 0) - 1
    divided = distinct(job[jobs.part > 0])
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
    for n in distinct(jobs.source[~keep]):
        if sources[n].source.graph is not None:
            keep[jobs.source == n] = False
    left_out = int((~keep & (jobs.part == 0)).sum())
    return replace(jobs.take(np.flatnonzero(keep)), left_out=left_out)


def _have_sites(admitted: NDArray[np.bool_]) -> bool:
    """Whether each part of a job can have a site of its own; the largest parts come first.

    A site that admits a part admits smaller ones, so it is enough to count.
    """
    n_sites = admitted.sum(axis=0)
    return bool((n_sites > np.arange(n_sites.size)).all())
