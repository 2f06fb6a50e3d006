"""How fast metasystems of four logs are simulated, by how often their sites publish."""

import time
from collections.abc import Iterator, Mapping

import numpy as np

import workloadkit as wk
from tests.benchmarks.measure import Row
from tests.data import DATA
from workloadkit.metasystem import JobSource, MetaScheduler, Metasystem, Publishes, Site
from workloadkit.metasystem.compiled import CompiledMetasystem
from workloadkit.metasystem.jobs import prepare
from workloadkit.metasystem.policies import parse
from workloadkit.metasystem.prepared import Prepared
from workloadkit.simulation.policies.policy import compiled_form

SITES = {
    "KTH-SP2-1996-2.1-cln": 100,
    "CTC-SP2-1996-3.1-cln": 338,
    "SDSC-SP2-1998-4.2-cln": 128,
    "HPC2N-2002-2.2-cln": 240,
}
ROUNDS = 5

#: Name of a row, policy, share of meta jobs, interval of publications [s], goal [jobs/s].
CASES = (
    ("four sites, no meta jobs", "home", 0.0, 0, 0.0),
    ("four sites, half of the jobs sent home", "home", 0.5, 0, 0.0),
    ("the same, least work, fresh", "least-work", 0.5, 0, 2e6),
    ("the same, published every 10 minutes", "least-work", 0.5, 600, 5e6),
)


def rows() -> Iterator[Row]:
    """The time is that of all jobs, from tables to starts; jobs at home start as by `simulate`."""
    logs = {name: wk.read_swf(DATA / "traces" / f"{name}.swf.gz") for name in SITES}
    cases = [_prepared(logs, share, every) for _, _, share, every, _ in CASES]
    best, apart = [np.inf] * len(CASES), np.inf
    for _ in range(ROUNDS):
        apart = min(apart, _play_apart(cases[0]))
        for i, (_, policy, *_) in enumerate(CASES):
            best[i] = min(best[i], _play(cases[i], policy)[0])
    _check(cases[1], logs)
    n_jobs = sum(each.workload.job.size for each in cases[0].sites)
    named = [("four simulations, each of one site", *CASES[0][1:]), *CASES]
    for (what, *_, goal), least in zip(named, [apart, *best], strict=True):
        speed = n_jobs / least
        yield Row(
            what,
            f"{len(SITES)} logs, {n_jobs:,} jobs",
            f"{speed / 1e6:.1f} M jobs/s",
            ratio=f"{least / apart:.2f} × the time of four simulations",
            goal=f"≥ {goal / 1e6:.0f} M" if goal else "",
            met=speed >= goal,
        )


def _prepared(logs: Mapping[str, wk.Trace], share: float, every: int) -> Prepared:
    sites = [
        Site(name, procs, jobs=JobSource(log=logs[name]), publishes=Publishes(every))
        for name, procs in SITES.items()
    ]
    sources = [JobSource(site=name, share=share) for name in SITES]
    return prepare(Metasystem(sites, [MetaScheduler("grid", "home", sources)], oversize="drop"))


def _play(prepared: Prepared, policy: str) -> tuple[float, CompiledMetasystem]:
    metasystem = CompiledMetasystem(prepared, [parse(policy)])
    begin = time.process_time()
    metasystem.play()
    return time.process_time() - begin, metasystem


def _play_apart(prepared: Prepared) -> float:
    """Simulate each site by itself, as `simulate` does; return the time from tables to starts."""
    taken = 0.0
    for each in prepared.sites:
        how = compiled_form(each.policy, each.workload, each.rules)
        state = how.new_state()
        begin = time.process_time()
        how.play(state)
        taken += time.process_time() - begin
    return taken


def _check(prepared: Prepared, logs: Mapping[str, wk.Trace]) -> None:
    """Check that jobs sent home start as in independent simulations."""
    served, jobs = _play(prepared, "home")[1].served(), prepared.jobs
    for m, (name, procs) in enumerate(SITES.items()):
        easy = wk.simulate(logs[name], "easy", procs=procs, oversize="drop").jobs
        start = dict(zip(easy["job"], easy["start"], strict=True))
        local = prepared.sites[m].workload.job, served.local_starts[m]
        for numbers, starts in (local, (jobs.number[jobs.home == m], served.start[jobs.home == m])):
            assert [start[number] for number in numbers] == starts.tolist()
