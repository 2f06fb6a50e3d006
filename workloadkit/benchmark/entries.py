"""Entries: what is compared, and how each is played and checked in a run."""

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from workloadkit.benchmark.grids import META
from workloadkit.benchmark.protocol import RefusedError, identity_of_command, scheduler_of
from workloadkit.benchmark.suite import SEED, Case, stream
from workloadkit.errors import WorkloadError, WorkloadWarning
from workloadkit.io.formats import read_native
from workloadkit.metasystem import Metasystem, simulate_metasystem
from workloadkit.provenance import seed_of
from workloadkit.simulation.check import check_schedule
from workloadkit.simulation.schedule import Schedule
from workloadkit.simulation.simulate import simulate
from workloadkit.trace import Trace

Kind = Literal["policy", "meta-policy", "process", "schedules"]

#: Metrics on machines and in metasystems.
METRICS = ("mean_wait", "mean_response", "mean_bounded_slowdown", "wait_p98", "throughput_per_hour")
META_METRICS = ("mean_wait", "mean_response", "mean_bounded_slowdown", "cost", "added_wait")

#: Those of which larger values are better.
LARGER_IS_BETTER = ("throughput_per_hour",)


@dataclass(frozen=True)
class Entry:
    """An entry of the benchmark.

    Parameters
    ----------
    name : str
    kind : {"policy", "meta-policy", "process", "schedules"}
    what : str or object
        A scheduler or meta-scheduler as of `simulate` and `simulate_metasystem`; the command of a
        process; or the folder with schedules in SWF.
    """

    name: str
    kind: Kind
    what: Any

    def plays(self, case: Case) -> bool:
        """Whether it takes part in a case; a schedule in a file cannot meet users who react."""
        if case.is_grid != (self.kind == "meta-policy"):
            return False
        return self.kind != "schedules" or case.users == "open"

    @property
    def identity(self) -> dict[str, Any]:
        """What it is, for a certificate."""
        if self.kind == "process":
            return {"kind": self.kind, **identity_of_command(self.what)}
        if self.kind == "schedules":
            return {"kind": self.kind}
        return {"kind": self.kind, "policy": str(self.what)}


#: Policies that are entries by default: the built-in ones, without those that need utility
#: functions, a score or a schedule, that equal another one, or that take minutes.
POLICIES = (
    *("fcfs", "easy", "conservative", "reservations:4", "lookahead", "selective", "slack"),
    *("sjf", "ljf", "smallest", "largest", "saf", "laf", "srf", "lrf", "exp", "sexp", "lcfs"),
    *("wfp3", "unicef", "f1", "f2", "f3", "f4"),
    *("priority-fifo", "multi-queue", "creasy", "user-priority"),
)

#: Meta-schedulers that are entries by default: the built-in ones for jobs of one part.
META_POLICIES = ("home", "random", "least-work", "shortest-wait", "cheapest", "redundant")


def built_in() -> list[Entry]:
    """Return the entries by default."""
    return [
        *(Entry(name, "policy", name) for name in POLICIES),
        *(Entry(name, "meta-policy", name) for name in META_POLICIES),
    ]


class Played(NamedTuple):
    """The result of an entry in a run: its metrics, and the digest of its schedule."""

    metrics: Mapping[str, float]
    digest: str


def play(entry: Entry, case: Case, made: Trace | Metasystem, i: int, seed: int = SEED) -> Played:
    """Play an entry in run i of a case, and check its schedule; `made` is `case.run(i, seed)`.

    Raises
    ------
    RefusedError
        If the entry violates a rule, with the reason.
    """
    if isinstance(made, Metasystem):
        return _play_grid(entry, made)
    schedule = scheduled(entry, case, made, i, seed)
    metrics = {name: schedule.measure(name) for name in METRICS}
    jobs = (schedule.workload.job, schedule.workload.submit, schedule.start, schedule.end)
    return Played(metrics, digest_of(*jobs))


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
        with scheduler_of(entry.what) as process:
            try:
                schedule = simulate(trace, process, case.users, engine="python", **how)
            except RefusedError:
                raise
            except WorkloadError as error:  # jobs that it never starts
                raise RefusedError(str(error)) from None
    else:
        schedule = simulate(trace, entry.what, case.users, **how)
    _check(schedule.trace() if case.users != "open" else trace, schedule)
    return schedule


def _read(entry: Entry, case: Case, trace: Trace, i: int) -> Schedule:
    """Read the schedule of a run from a file."""
    name = f"{case.name}.{i}.swf"
    paths = [path for end in ("", ".gz") if (path := Path(entry.what) / f"{name}{end}").is_file()]
    if not paths:
        raise RefusedError(f"{entry.what} has no file {name} or {name}.gz")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorkloadWarning)
            given = read_native(str(paths[0]), strict=False)
    except WorkloadError as error:
        raise RefusedError(str(error)) from None
    _check(trace, given, procs=case.procs)
    rows = np.argsort(given.column("job"), kind="stable")
    ours = np.argsort(trace.column("job"), kind="stable")
    wait = np.empty(trace.n_jobs)
    wait[ours] = given.column("wait")[rows]
    return simulate(trace.with_columns(wait=wait), "recorded", procs=case.procs)


def _check(trace: Trace, schedule: Schedule | Trace, **how: Any) -> None:
    """Check that a schedule is one of the log's jobs on its machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkloadWarning)  # of what a header describes
        report = check_schedule(trace, schedule, policy=None, **how)
    for claim in report.refuted:
        raise RefusedError(f"violated: {claim.text}: {claim.why}")


def _play_grid(entry: Entry, system: Metasystem) -> Played:
    """Play a meta-scheduler in a metasystem."""
    schedule = simulate_metasystem(system, policies={META: entry.what})
    found = schedule.metrics
    local = found["sites"].values()
    n_local = sum(site["local_jobs"] for site in local)
    added = sum(site["added_wait"] * site["local_jobs"] for site in local) / n_local
    metrics = {**found["meta_schedulers"][META], "added_wait": added}
    jobs = schedule.jobs
    sites = {site.name: place for place, site in enumerate(schedule.prepared.system.sites)}
    columns = [jobs[name].to_numpy() for name in ("job", "submit", "start", "end")]
    digest = digest_of(*columns, jobs["site"].map(sites).to_numpy())
    return Played({name: float(metrics[name]) for name in META_METRICS}, digest)


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
