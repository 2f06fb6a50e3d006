"""Entries: what is compared, and how each is played and checked in a run."""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from workloadkit.benchmark.metasystems import META
from workloadkit.benchmark.protocol import (
    ProcessMetaPolicy,
    ProcessScheduler,
    RefusedError,
    identity_of_command,
    started,
)
from workloadkit.benchmark.suite import SEED, Case, stream
from workloadkit.custom import is_custom, source_digest
from workloadkit.errors import WorkloadError, WorkloadWarning
from workloadkit.io.formats import read_native
from workloadkit.metasystem import (
    MetaJob,
    MetaPolicy,
    Metasystem,
    SiteView,
    check_metasystem,
    simulate_metasystem,
)
from workloadkit.metasystem import policies as meta_policies
from workloadkit.parameters import describe
from workloadkit.provenance import seed_of
from workloadkit.simulation import schedulers
from workloadkit.simulation.check import check_schedule
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.simulate import simulate
from workloadkit.simulation.supports import supports
from workloadkit.trace import Trace

Kind = Literal["policy", "process", "schedules", "meta-policy", "meta-process", "meta-schedules"]

#: Metrics on machines and in metasystems.
METRICS = ("mean_wait", "mean_response", "mean_bounded_slowdown", "wait_p98", "throughput_per_hour")
META_METRICS = ("mean_wait", "mean_response", "mean_bounded_slowdown", "cost", "added_wait")

#: Metrics that may be negative, so they have no ratio.
SIGNED = ("added_wait",)

#: Kinds of systems.
KINDS = ("machines", "metasystems")

#: The entries with which the scores compare the others, for each kind.
BASELINES = ("easy", "home")

#: Those of which larger values are better.
LARGER_IS_BETTER = ("throughput_per_hour",)

# Those that are not the measure of their name: all jobs of a run count.
_MEASURED = {"throughput_per_hour": "makespan_throughput_per_hour"}


@dataclass(frozen=True)
class Entry:
    """An entry of the benchmark.

    Parameters
    ----------
    name : str
    kind : {"policy", "process", "schedules", "meta-policy", "meta-process", "meta-schedules"}
        Those of the last three serve metasystems.
    what : str or object
        A scheduler or meta-scheduler as of `simulate` and `simulate_metasystem`; the command of a
        process; or the folder with schedules in SWF.
    """

    name: str
    kind: Kind
    what: Any

    def plays(self, case: Case) -> bool:
        """Whether this entry takes part in a case; recorded schedules cannot react to users."""
        if case.is_grid != self.kind.startswith("meta-"):
            return False
        return self.kind != "schedules" or case.users == "open"

    @property
    def identity(self) -> dict[str, Any]:
        """What it is, for a certificate."""
        if self.kind.endswith("process"):
            return {"kind": self.kind, **identity_of_command(self.what)}
        if self.kind.endswith("schedules"):
            return {"kind": self.kind}
        if is_custom(self.what):
            return {"kind": self.kind, "policy": self.name, "source": source_digest(self.what)}
        policy = self.what if isinstance(self.what, str) else describe(self.what)
        return {"kind": self.kind, "policy": policy}


def built_in() -> list[Entry]:
    """Return the entries by default: the built-in policies that declare to be some.

    Others need utility functions, a score or a schedule, equal another one, or take minutes.

    Examples
    --------
    >>> [entry.name for entry in built_in() if entry.kind == "meta-policy"]
    ['home', 'random', 'least-work', 'shortest-wait', 'cheapest', 'redundant']
    """
    kinds: dict[Kind, Any] = {"policy": schedulers.known(), "meta-policy": meta_policies.known()}
    return [
        Entry(name := getattr(policy, "entry", policy.name), kind, name)
        for kind, known in kinds.items()
        for policy in known.values()
        if supports(policy, "benchmark")
    ]


def is_misnamed(kind: Kind, policy: str | None, name: str) -> bool:
    """Whether an entry has the name of a built-in policy and is not this policy.

    Examples
    --------
    >>> is_misnamed("process", None, "easy"), is_misnamed("process", None, "mine")
    (True, False)
    >>> is_misnamed("policy", "fcfs", "easy"), is_misnamed("policy", "easy", "easy")
    (True, False)
    """
    known = meta_policies.known() if kind.startswith("meta-") else schedulers.known()
    return name.partition(":")[0] in known and policy != name


class Played(NamedTuple):
    """The result of an entry in a run: its metrics, the digest of its schedule, and saturation.

    `saturated` is None if the run is too short to decide, and of metasystems.
    """

    metrics: Mapping[str, float]
    digest: str
    saturated: bool | None


def play(entry: Entry, case: Case, made: Trace | Metasystem, i: int, seed: int = SEED) -> Played:
    """Play an entry in run i of a case, and check its schedule; `made` is `case.run(i, seed)`.

    Raises
    ------
    RefusedError
        If the entry violates a rule, with the reason.
    """
    if isinstance(made, Metasystem):
        return _play_grid(entry, case, made, i)
    schedule = scheduled(entry, case, made, i, seed)
    metrics = {name: schedule.measure(_MEASURED.get(name, name)) for name in METRICS}
    jobs = (schedule.workload.job, schedule.workload.submit, schedule.start, schedule.end)
    return Played(metrics, digest_of(*jobs), schedule.saturated)


def scheduled(entry: Entry, case: Case, trace: Trace, i: int, seed: int = SEED) -> Schedule:
    """Return the checked schedule of an entry for the log of a run.

    Raises
    ------
    RefusedError
        If the entry violates a rule, with the reason.
    """
    if entry.kind == "schedules":
        return _read(entry, case, trace, i)
    how: Any = {"procs": case.procs, "rng": seed_of(stream(case.name, i, seed))}
    if entry.kind == "process":
        with started(entry.what) as process:
            scheduler = ProcessScheduler(process)
            schedule = simulate(trace, scheduler, case.users, engine="python", **how)
    else:
        schedule = simulate(trace, entry.what, case.users, **how)
    _check(schedule.trace() if case.users != "open" else trace, schedule)
    return schedule


def _read(entry: Entry, case: Case, trace: Trace, i: int) -> Schedule:
    """Read the schedule of a run from a file."""
    given = _file(entry, case, i)
    _check(trace, given, procs=case.procs)
    rows = np.argsort(given.column("job"), kind="stable")
    ours = np.argsort(trace.column("job"), kind="stable")
    wait = np.empty(trace.n_jobs)
    wait[ours] = given.column("wait")[rows]
    return simulate(trace.with_columns(wait=wait), "recorded", procs=case.procs)


def _file(entry: Entry, case: Case, i: int) -> Trace:
    """Return the jobs of the file for a run."""
    name = f"{case.name}.{i}.swf"
    paths = [path for end in ("", ".gz") if (path := Path(entry.what) / f"{name}{end}").is_file()]
    if not paths:
        raise RefusedError(f"{entry.what} has no file {name} or {name}.gz")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorkloadWarning)
            return read_native(str(paths[0]), strict=False)
    except WorkloadError as error:
        raise RefusedError(str(error)) from None


def _check(trace: Trace, schedule: Schedule | Trace, **how: Any) -> None:
    """Check that a schedule is one of the log's jobs on its machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # of what a header describes
        report = check_schedule(trace, schedule, policy=None, **how)
    for claim in report.refuted:
        raise RefusedError(f"violated: {claim.text}: {claim.why}")


def _play_grid(entry: Entry, case: Case, system: Metasystem, i: int) -> Played:
    """Play a meta-scheduler in a metasystem."""
    if entry.kind == "meta-process":
        with started(entry.what) as process:
            how: Any = ProcessMetaPolicy(process, system)
            schedule = simulate_metasystem(system, policies={META: how})
    else:
        how = _Sent(_file(entry, case, i), system) if entry.kind == "meta-schedules" else entry.what
        schedule = simulate_metasystem(system, policies={META: how})
    for claim in check_metasystem(schedule).refuted:
        raise RefusedError(f"violated: {claim}")
    found = schedule.metrics
    local = found["sites"].values()
    n_local = sum(site["local_jobs"] for site in local)
    added = sum(site["added_wait"] * site["local_jobs"] for site in local) / n_local
    metrics = {**found["meta_schedulers"][META], "added_wait": added}
    jobs = schedule.jobs
    sites = {site.name: place for place, site in enumerate(schedule.prepared.system.sites)}
    columns = [jobs[name].to_numpy() for name in ("job", "submit", "start", "end")]
    digest = digest_of(*columns, jobs["site"].map(sites).to_numpy())
    return Played({name: float(metrics[name]) for name in META_METRICS}, digest, None)


class _Sent(MetaPolicy):
    """Sends each job where a file says: its partition is the number of the site, from 1."""

    name = "sent"

    def __init__(self, given: Trace, system: Metasystem) -> None:
        columns = ("job", "submit", "procs")
        listed, ours = (
            sorted(zip(*(of(name).tolist() for name in columns), strict=True))
            for of in (given.column, partial(_of_sources, system))
        )
        for job, other in zip_longest(listed, ours):
            if job != other:
                raise RefusedError(
                    f"{given.name}: its jobs are not those of the run: number, submit time and "
                    f"processors are {job}, in the run {other}"
                )
        numbers = (given.column(name).astype(np.int64).tolist() for name in ("job", "partition"))
        self._site = dict(zip(*numbers, strict=True))

    def choose(self, job: MetaJob, sites: Sequence[SiteView]) -> Sequence[SiteView]:
        """Return the site of the file."""
        number = self._site[job.number]
        chosen = [site for site in sites if site.place == number - 1]
        if not chosen:
            raise RefusedError(
                f"job {job.number} is sent to site {number}, which does not admit it"
            )
        return chosen


def _of_sources(system: Metasystem, name: str) -> Any:
    """Return a column of the jobs of the meta-scheduler."""
    return np.concatenate([x.log.column(name) for x in system.meta_schedulers[0].jobs])


def digest_of(*columns: Any) -> str:
    """Return the SHA-256 of columns of numbers, as little-endian float64.

    Examples
    --------
    >>> digest_of([1, 2])[:8], digest_of([1.0, 2.0])[:8]
    ('dc91ce9a', 'dc91ce9a')
    """
    digest = hashlib.sha256()
    for column in columns:
        digest.update(np.ascontiguousarray(column, "<f8").tobytes())
    return digest.hexdigest()
